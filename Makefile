# Each target sets up what it needs by itself, in .venv; nothing is installed outside this folder.
PYTHON ?= python3
# Else each process of the tests would compile the package anew.
unexport PYTHONDONTWRITEBYTECODE
BIN := .venv/bin
READY := .venv/.ready
LIGHT := .venv/.light
PINS := .venv/demo-constraints.txt
LOCAL := .venv/.local
DOCS := .venv-docs
REDIS := .venv/.redis
CATALOGUES := $(patsubst %.po,%.mo,$(wildcard gigamind/locales/*/LC_MESSAGES/gigamind.po))

.PHONY: help all demo demo-answers demo-llm serve test test-deployed test-faults test-docs test-browser test-model test-stack fuzz audit sbom format lint catalogue bench bench-verdicts conformance size generated schemas reference figures docs dist server deploy worker run lock clean

help:
	@echo "Try it:"
	@echo "  make demo             compare 24 search settings on the example notes, evaluate the current and the recommended one"
	@echo "  make demo-answers     judge the example answers with a scripted model; PAGE=ko for Korean"
	@echo "  make demo-llm         judge with a small real model on this machine (150 MB, minutes)"
	@echo "  make serve            ask the example notes in a browser, at http://127.0.0.1:8000; scripted answers, no key"
	@echo "Run it on a schedule (deployments/README.md):"
	@echo "  make server           start a Prefect server and the reports on this machine"
	@echo "  make deploy           register deployments/prefect.yaml"
	@echo "  make worker           run what is due"
	@echo "  make run              run a deployment at once: DEPLOYMENT=eval-search/search-nightly"
	@echo "Change it (CONTRIBUTING.md):"
	@echo "  make test             run the tests, except those below"
	@echo "  make test-docs        run the commands of the pages"
	@echo "  make test-deployed    run deployments on a Prefect server with a worker"
	@echo "  make test-faults      kill runs, fill disks, damage files, run flows and deployments"
	@echo "  make test-browser     test the pages in Chromium"
	@echo "  make test-model       test with the small real model"
	@echo "  make test-stack       test Prefect on PostgreSQL and Redis (Debian packages, minutes)"
	@echo "  make format           format the code, and fix what ruff can"
	@echo "  make lint             check format, code, types, import layers, translations, plain words"
	@echo "  make fuzz             fuzz the readers of untrusted data: TARGET=note MINUTES=10, ATHERIS=1 for coverage guidance"
	@echo "  make audit            compare the pinned packages with published advisories"
	@echo "  make sbom             list the packages as CycloneDX in sbom.json"
	@echo "  make bench            compare speed with other packages (20 minutes): ONLY=\"search ranking\", MILLION=1"
	@echo "  make bench-verdicts   measure fusions and free judges (minutes): XQUAD=DIR with xquad.en.json, ..."
	@echo "Generate files:"
	@echo "  make docs             build the site of the docs in site/"
	@echo "  make catalogue        update the translations after messages changed: LANG=ja for a new language, KEEP=1 to keep translations of reworded ones"
	@echo "  make dist             build the wheel and the sdist in dist/"
	@echo "  make reference        docs/generated/, docs/metrics.md and docs/glossary*.md from the code, and digests"
	@echo "  make schemas          schemas/ from the models in the code, and digests"
	@echo "  make size             lower the limits of the code's size to what it is"
	@echo "  make conformance      docs/conformance.md from tests/conformance/demands"
	@echo "  make figures          the pictures of the READMEs (Chromium)"
	@echo "  make lock             constraints files and lists of packages from pyproject.toml (needs uv)"
	@echo "  make all              install all extras and test packages"
	@echo "  make clean            remove what the commands above created"

# Packages are compiled when they are imported first, which most never are.
define packages
@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
  || { echo "gigamind needs Python 3.11 or later; name one: make PYTHON=/path/to/python3.11"; exit 1; }
@test -x $(1)/bin/python || $(PYTHON) -m venv $(1)
@echo "Installing the packages of $< into $(1) (once, about a minute) ..."
@$(1)/bin/python -m pip install --quiet --disable-pip-version-check --no-compile --require-hashes --no-deps -r $<
endef
define install
$(call packages,.venv)
@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e .
@touch $@
endef

$(READY): constraints.txt pyproject.toml
	$(install)

all: $(READY)

# An install compiles the catalogues; this does after an edit.
%.mo: %.po
	@$(BIN)/python tools/compile_catalogues.py gigamind/locales

# What the demo needs: half of the packages that the tests need.
$(PINS): constraints.txt deployments/packages.txt
	@mkdir -p .venv
	@awk 'NR == FNR { if (/ demo/) wanted[$$1]; next } /^[^# ]/ { name = $$1; sub(/==.*/, "", name); kept = name in wanted } kept' \
	  deployments/packages.txt constraints.txt > $@

$(LIGHT): $(PINS) pyproject.toml
	$(install)

SMALLEST := $(if $(wildcard $(READY)),$(READY),$(LIGHT))
demo: $(SMALLEST) $(CATALOGUES)
	@$(BIN)/gigamind tune search --flow --dataset examples/queries.jsonl --notes examples/vault

demo-answers: $(READY) $(CATALOGUES)
	$(BIN)/python examples/demo_answers.py --lang $(or $(PAGE),en)

serve: $(READY) $(CATALOGUES)
	$(BIN)/python examples/demo_serve.py

# 100 MB. Each version is another build of llama.cpp, with other names and replies.
$(LOCAL): $(READY)
	@echo "Installing the model server into .venv (once) ..."
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check xllamacpp==2026.10.11549
	@touch $@

demo-llm: $(LOCAL)
	$(BIN)/python examples/demo_llm.py

# What a change may break; `.ci/run` runs the rest as well.
QUICK := not browser and not model and not docs and not faults and not whole
WORKERS := auto
test: TESTS ?= $(QUICK)
test-deployed: TESTS ?= deployed
test-deployed: WORKERS := 1 # each starts a Prefect server of its own
test-faults: TESTS ?= faults or whole
test-docs: TESTS ?= docs
test test-deployed test-faults test-docs: $(READY) $(CATALOGUES)
	$(BIN)/python -m pytest -m "$(TESTS)" -n $(WORKERS) --dist worksteal

test-browser: $(READY) $(CATALOGUES)
	$(BIN)/python -m pytest -m browser tests/e2e/browser

test-model: $(LOCAL)
	$(BIN)/python examples/demo_llm.py --fetch
	$(BIN)/python -m pytest -m model

$(REDIS): $(READY)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-build-isolation -e '.[redis]'
	@touch $@

# A server of a team, from Debian's PostgreSQL and Redis: see deployments/README.md.
test-stack: $(REDIS)
	$(BIN)/python tests/e2e/team_server.py

# Each of tests/fuzz/fuzzing/targets.py; ATHERIS=1 is guided by what was reached, and installs atheris.
TARGET ?= dataset labels note quote run-file imports snapshot out-folder toml system-reply model reply session event http
MINUTES ?= 10
fuzz: $(READY)
	$(if $(ATHERIS),@$(BIN)/python -m pip install --quiet --disable-pip-version-check atheris)
	for target in $(TARGET); do PYTHONPATH=tests/fuzz:tests/support:examples $(BIN)/python -m fuzzing $$target \
	  --minutes $(MINUTES) --engine $(if $(ATHERIS),atheris,hypothesis) || exit 1; done

# Tools in an environment of their own: what they need is no part of what is audited.
.venv/.audit: $(READY)
	@$(PYTHON) -m venv .venv/audit && .venv/audit/bin/pip install --quiet --disable-pip-version-check pip-audit cyclonedx-bom
	@touch $@

# Packages that the data base was not asked about are listed as skipped; that is no clean result.
audit: .venv/.audit
	.venv/audit/bin/pip-audit -r constraints.txt --disable-pip --require-hashes --strict

sbom: .venv/.audit
	.venv/audit/bin/cyclonedx-py requirements constraints.txt --output-reproducible -o sbom.json

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/pyright
	$(BIN)/pyright -p benchmarks
	$(BIN)/lint-imports
	$(BIN)/python tools/catalogue.py check
	$(BIN)/python tools/plain_language.py --commits

# After new or reworded messages: KEEP=1 if their translations are still right, LANG=ja for a new language.
catalogue: $(READY)
	$(BIN)/python tools/catalogue.py $(if $(KEEP),keep,update) $(if $(filter command line,$(origin LANG)),$(LANG))

# After removing code: lowers the limits of tools/size.txt.
size: $(READY)
	$(BIN)/python tools/size.py --record

conformance: $(READY)
	PYTHONPATH=tests/conformance $(BIN)/python -m demands

bench: $(READY)
	$(BIN)/python benchmarks/all.py $(if $(ONLY),--only $(ONLY)) $(if $(MILLION),--million)

bench-verdicts: $(READY)
	$(BIN)/python benchmarks/verdicts.py $(if $(XQUAD),--xquad $(XQUAD))
	$(BIN)/python benchmarks/verdict_fusion.py $(if $(XQUAD),--xquad $(XQUAD))

# The profile that server, worker and deploy share.
PROFILE := set -a; . deployments/server.env; set +a;

# One line and exit code 3 where the server or what else is needed is not there; see deployments/check.py.
CHECK := $(BIN)/python deployments/check.py

# Beside it the reports of runs, read only, for a page of the UI can link to no file; both end together. Both run in the
# background: a shell heeds SIGTERM only between commands and in `wait`. The second waits until Prefect has ended.
server: $(READY)
	@$(PROFILE) $(CHECK) reports "$$PREFECT_SERVER_API_HOST" "$$GIGAMIND_REPORTS_PORT" || exit; \
	  mkdir -p "$$GIGAMIND_REPORTS"; \
	  $(BIN)/python -m http.server --bind "$$PREFECT_SERVER_API_HOST" --directory "$$GIGAMIND_REPORTS" \
	    "$$GIGAMIND_REPORTS_PORT" >/dev/null 2>&1 & reports=$$!; \
	  $(BIN)/prefect server start & api=$$!; \
	  $(CHECK) database 60 & watch=$$!; \
	  trap 'kill $$api $$reports $$watch 2>/dev/null' EXIT INT TERM HUP; \
	  echo "Reports of runs: $$GIGAMIND_REPORTS_URL"; \
	  wait $$api; code=$$?; wait $$api; exit $$code

# POOL=docker or POOL=kubernetes: deployments/README.md; GIT=URL#BRANCH: runs clone it.
POOL ?= local
KIND := $(if $(filter local,$(POOL)),process,$(POOL))
worker: $(READY)
	@$(PROFILE) $(CHECK) worker $(POOL) $(KIND) && exec $(BIN)/prefect worker start --pool $(POOL) --type $(KIND)

# The commit of this clone, marked where files differ from it; what is no clone has the version of the package.
COMMIT := git describe --always --dirty --abbrev=12 --exclude='*' 2>/dev/null \
  || $(BIN)/python -c 'import gigamind.version; print(gigamind.version.__version__)'

deploy: $(READY)
	@$(PROFILE) $(CHECK) server && GIGAMIND_COMMIT="$$($(COMMIT))" GIGAMIND_POOL=$(POOL) GIGAMIND_GIT='$(GIT)' \
	  exec $(BIN)/python deployments/deploy.py

run: $(READY)
	@$(PROFILE) exec $(CHECK) run '$(DEPLOYMENT)'

COMPILE := uv pip compile --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-annotate --quiet
# The names of the packages of some extras, each with what they are for.
NAMES := uv pip compile --universal --python-version 3.11 --no-header --no-annotate --quiet pyproject.toml \
  --constraint constraints.txt
lock:
	@$(COMPILE) --group docs > docs/constraints.txt
	@$(COMPILE) pyproject.toml --extra all --group dev > constraints.new
	@{ sed -n '/^#/p' constraints.txt; cat constraints.new; } > constraints.all
	@mv constraints.all constraints.txt && rm constraints.new
	@$(NAMES) --extra prefect --group editable > constraints.demo
	@$(NAMES) --extra prefect --extra llm --extra qdrant > constraints.image
	@{ sed -n '/^#/p' deployments/packages.txt; \
	  { sed -n 's/==.*/ demo/p' constraints.demo; sed -n 's/==.*/ image/p' constraints.image; } | LC_ALL=C sort -u \
	  | awk '{ uses[$$1] = uses[$$1] " " $$2 } END { for (name in uses) print name uses[name] }' | LC_ALL=C sort; \
	  } > constraints.all
	@mv constraints.all deployments/packages.txt && rm constraints.demo constraints.image

# What git ignores and the site and the sdist contain; the digests in tools/generated.sha256 stay as they are.
generated: $(SMALLEST) $(CATALOGUES)
	@$(BIN)/python tools/generated.py

schemas: $(READY) $(CATALOGUES)
	$(BIN)/python tools/generated.py --record

reference: $(READY) $(CATALOGUES)
	$(BIN)/python tools/reference.py docs
	$(BIN)/python tools/generated.py --record

dist: generated
	$(BIN)/python -m hatchling build -d $(or $(DIST),dist)

figures: $(READY)
	$(BIN)/python docs/figures/make.py

$(DOCS)/.ready: docs/constraints.txt
	$(call packages,$(DOCS))
	@touch $@

# What a page would fetch from elsewhere; nothing may.
REMOTE := <(script|link|img|iframe)[^>]* (src|href)="?(https?:)?//|url\(.?(https?:)?//|@import
docs: $(DOCS)/.ready generated
	@$(DOCS)/bin/python -m sphinx --fail-on-warning --keep-going --quiet --fresh-env -c docs -d $(DOCS)/pages . site
	@! grep -rnE '$(REMOTE)' site --include='*.html' --include='*.css' || { echo "site/ asks the network for these"; exit 1; }
	@echo "site/index.html"

clean:
	rm -rf .venv $(DOCS) site eval .pytest_cache .ruff_cache .hypothesis .import_linter_cache
