"""A run of each task, compared with the out folder that it once wrote and that was read by a person.

To write those folders anew after a wanted change, run
`GIGAMIND_WRITE_GOLDEN=1 python -m pytest tests/e2e/test_golden.py` and read `git diff tests/data/golden`.
"""

import json
import os
import re
from pathlib import Path

import pytest

from gigamind.datasets.generate_links import generate_links
from gigamind.tasks import evaluate
from gigamind.tasks.options import LinkEvalOptions, SearchEvalOptions

GOLDEN = Path(__file__).parents[1] / "data" / "golden"
FILES = ["errors.jsonl", "per_item.jsonl", "run.json", "summary.json", "summary.md"]
EXAMPLES = Path(__file__).parents[2] / "examples" / "vault"
MASKED = {
    "run_id", "created_at", "environment", "hardware", "out", "cache_dir", "passes", "checksum",
}  # fmt: skip


def mask(value, name=""):
    """The value without times, versions, machine and places; floats to nine digits, for C libraries differ."""
    if name in MASKED or (name.endswith("_ms") and name != "timeout_ms"):
        return "*"
    if isinstance(value, dict):
        return {key: mask(part, key) for key, part in value.items()}
    if isinstance(value, list):
        return [mask(part) for part in value]
    return round(value, 9) if isinstance(value, float) else value


def masked_text(file):
    text = file.read_text(encoding="utf-8")
    if file.suffix == ".json":
        return json.dumps(mask(json.loads(text)), ensure_ascii=False, indent=2) + "\n"
    if file.suffix == ".jsonl":
        rows = (mask(json.loads(line)) for line in text.splitlines())
        return "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    rows = r"latency p\d+|indexing|all queries|run|created|gigamind version|Python|hardware"
    rows += "|package versions|run options"
    head = re.sub(r"\b\d{8}-\d{6} · \d{4}-\d\d-\d\d \d\d:\d\d UTC", "*", text)
    head = re.sub(r"promote [^`\n]*", "promote *", head)
    head = re.sub(r"\S+/errors\.jsonl", "errors.jsonl", head)
    cells = re.sub(r"(?m)\| [^|\n]+ (ms|s|min) \|$", "| * |", head)
    return re.sub(rf"(?m)^\| ({rows}) \| .* \|$", r"| \1 | * |", cells)


def masked_run(folder, run, golden):
    """The masked out folder of what `run` writes to a folder when called in `folder`."""
    before = Path.cwd()
    os.chdir(folder)  # so that the paths in the reports are the same everywhere
    try:
        made = run()
    finally:
        os.chdir(before)
    # report.html is mostly style, script and drawings: its tests look at it in a browser.
    files = [file for file in made.iterdir() if file.name != "report.html"]
    found = {file.name: masked_text(file) for file in files}
    if os.environ.get("GIGAMIND_WRITE_GOLDEN"):
        golden.mkdir(exist_ok=True)
        for name, text in found.items():
            (golden / name).write_text(text, encoding="utf-8", newline="\n")
    return found


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The masked out folder of a search run."""
    place = tmp_path_factory.mktemp("golden")

    def run():
        evaluate(
            SearchEvalOptions(
                dataset=Path("queries.jsonl"),
                notes=Path("vault"),
                out=place / "out",
                mode="keyword",
                graph_rerank=True,
                cache_dir=place / "cache",
            )
        )
        return place / "out"

    return masked_run(GOLDEN, run, GOLDEN / "out")


@pytest.fixture(scope="module")
def links(tmp_path_factory):
    """The masked out folder of a link run over the examples, a third of their links removed."""
    place = tmp_path_factory.mktemp("golden-links")
    generate_links(EXAMPLES, place / "vault", place / "links.jsonl")

    def run():
        options = LinkEvalOptions(
            dataset=Path("links.jsonl"),
            notes=Path("vault"),
            out=place / "out",
            context_chars=100,
            semantic=False,  # the last digits of vectors differ between machines
            sample="6",
            save_snapshot=True,
        )
        evaluate(options)
        return place / "out"

    return masked_run(place, run, GOLDEN / "links")


def test_the_out_folder_holds_the_files_of_the_golden_one(out):
    assert sorted(out) == FILES == sorted(file.name for file in (GOLDEN / "out").iterdir())


@pytest.mark.parametrize("name", FILES)
def test_a_file_is_the_golden_one_but_for_times_and_machine(out, name):
    assert out[name] == (GOLDEN / "out" / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("name", [*FILES, "snapshot.json"])
def test_a_file_of_a_link_run_is_the_golden_one_but_for_times_and_machine(links, name):
    assert links[name] == (GOLDEN / "links" / name).read_text(encoding="utf-8")


def test_the_out_folder_of_a_link_run_holds_the_files_of_the_golden_one(links):
    assert sorted(links) == sorted(file.name for file in (GOLDEN / "links").iterdir())
