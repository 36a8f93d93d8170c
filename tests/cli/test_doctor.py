"""`gigamind init` and `gigamind doctor`: options are written down, and what is wrong is said with how to mend it."""

import json
import sys
import tomllib

import pytest
import yaml
from called import ran
from fault_work import index
from terminal import Terminal

SECRET = "sk-not-to-be-shown"


@pytest.fixture
def healthy(case, monkeypatch):
    """A working directory with nothing to mend, whatever the machine is."""
    for name in ("PREFECT_API_URL", "GIGAMIND_CONFIG", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("ANTHROPIC_API_KEY", SECRET)
    monkeypatch.setattr("gigamind.cli.doctor._LEAST_FREE", 0)
    return case


@pytest.fixture
def doctor(healthy, gigamind):
    assert healthy.is_dir()

    def call():
        ended = gigamind("doctor", "--json")
        told = json.loads(ended.stdout)
        problems = {
            (finding["area"], finding["what"]): finding["mend"]
            for finding in told["findings"]
            if finding["status"] == "problem"
        }
        assert ended.code == (1 if problems else 0)
        assert told["healthy"] is not bool(problems)
        assert all(problems.values())
        return told, problems

    return call


def test_a_sound_installation_needs_no_mending_and_no_key_is_shown(healthy, gigamind):
    assert healthy.is_dir()
    ended = gigamind("doctor")
    assert (ended.code, ended.stderr) == (0, "")
    (keys,) = [line for line in ended.stdout.splitlines() if line.startswith("ok  keys ")]
    assert keys.endswith(": ANTHROPIC_API_KEY")
    assert SECRET not in ended.stdout + gigamind("doctor", "--json").stdout


def test_versions_keys_and_caches_are_told_to_programs(doctor):
    told, problems = doctor()
    assert problems == {}
    assert told["packages"]["click"].startswith("8.")
    assert (told["keys"]["ANTHROPIC_API_KEY"], told["keys"]["OPENAI_API_KEY"]) == (True, False)
    assert {"TYPESENSE_API_KEY", "QDRANT_API_KEY"} <= told["keys"].keys()  # of systems/*.toml
    assert told["free_bytes"] > 0


def test_everything_wrong_in_the_file_of_options_is_told_at_once(doctor, healthy):
    lines = ("[search]", 'notes = "nowhere"', 'dataset = "queries.jsonl"', 'embedder = "e9"')
    more = ("[links]", "topk = 0", "[serch]", "[judge.test]", 'key_variable = "OUR_KEY"')
    (healthy / "gigamind.toml").write_text("\n".join((*lines, *more, "[judge.tets]")), "utf-8")
    _, problems = doctor()
    wrong = sorted(what for area, what in problems if area == "config")
    places = (("10", "[judge.tets]"), ("6", "topk = 0"), ("7", "[serch]"))
    for what, (line, name) in zip(wrong, places, strict=True):
        assert what.startswith(f"gigamind.toml:{line}: ")
        assert name in what
    assert problems["vault", "[search] notes: nowhere is not a folder"]
    assert any(what.startswith("e9: ") for area, what in problems if area == "embedder")
    mend = problems["keys", "[judge.test] key_variable: OUR_KEY is not set"]
    assert mend == "export OUR_KEY=..."


def test_a_file_that_is_no_toml_is_a_finding_and_no_end(doctor, healthy):
    (healthy / "gigamind.toml").write_text("[search\n", "utf-8")
    told, problems = doctor()
    ((area, what),) = problems
    assert (area, what.startswith("gigamind.toml:1: ")) == ("config", True)
    assert len(told["findings"]) > 5


def test_a_cache_in_which_a_search_kept_its_vectors_is_sound(doctor, healthy):
    index(str(healthy))
    assert (healthy / "cache" / "embeddings.sqlite").is_file()
    assert doctor()[1] == {}


def test_caches_disk_prefect_and_keys_that_cannot_be_used_are_told(doctor, healthy, monkeypatch):
    (healthy / "cache").mkdir(exist_ok=True)
    (healthy / "cache" / "embeddings.sqlite").write_text("no database" * 100)
    monkeypatch.setattr("gigamind.cli.doctor._LEAST_FREE", 1e18)
    monkeypatch.setenv("PREFECT_API_URL", "http://me:secret@127.0.0.1:4200")
    monkeypatch.setenv("OPENAI_API_KEY", f"{SECRET}\n")
    told, problems = doctor()
    assert {area for area, _ in problems} == {"cache", "disk", "prefect", "keys"}
    assert "secret" not in json.dumps(told)
    assert SECRET not in json.dumps(told)
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(healthy / "queries.jsonl"))
    _, problems = doctor()
    assert any("queries.jsonl" in what for _, what in problems)


def test_init_writes_what_eval_and_doctor_then_read(doctor, healthy, gigamind):
    ended = gigamind("init", "--notes", "vault", "--dataset", "queries.jsonl", "--lang", "ko")
    assert (ended.code, ended.stderr) == (0, "")
    assert ": gigamind eval search\n" in ended.stdout
    written = tomllib.loads((healthy / "gigamind.toml").read_text("utf-8"))
    search = {"notes": "vault", "dataset": "queries.jsonl", "lang": "ko"}
    assert written == {"search": search, "suggest-links": {"notes": "vault"}}
    assert doctor()[1] == {}
    assert gigamind("eval", "search", "--mode", "keyword", "--dry-run").code == 0


def test_init_makes_questions_a_baseline_and_jobs_that_need_no_further_option(
    doctor, healthy, gigamind
):
    jobs = ("--github", "--gitlab", "--nightly", "0 3 * * *")
    (healthy / "queries.jsonl").unlink()
    given = ("init", "--notes", "vault", "--dataset", "queries.jsonl", "--lang", "en", *jobs)
    ran(*given)
    assert (healthy / "queries.jsonl").is_file()
    gate = ("--compare", "eval/baselines", "--gates", "eval/gates.toml", "--fail-on-regression")
    assert gigamind("eval", "search", *gate).code == 0
    [deployment] = yaml.safe_load((healthy / "prefect.yaml").read_text("utf-8"))["deployments"]
    options = deployment["parameters"]["options"]
    assert (options["notes"], options["dataset"]) == ("vault", "queries.jsonl")
    assert deployment["schedules"][0]["cron"] == "0 3 * * *"
    github = yaml.safe_load((healthy / ".github/workflows/gigamind.yml").read_text("utf-8"))
    assert github["jobs"]["gate"]["steps"][1]["with"]["gates"] == "eval/gates.toml"
    gitlab = yaml.safe_load((healthy / ".gitlab/gigamind.yml").read_text("utf-8"))
    assert "--fail-on-regression" in gitlab["search"]["script"][-1]
    assert "eval/gates.toml queries.jsonl;" in gitlab["search"]["script"][-2]
    assert doctor()[1] == {}
    text = (healthy / "prefect.yaml").read_text("utf-8")
    for damaged in (text.replace("eval/gates.toml", "eval/gone.toml"), "deployments: 1", "{"):
        (healthy / "prefect.yaml").write_text(damaged, "utf-8")
        assert {area for area, _ in doctor()[1]} == {"prefect"}
    (healthy / "prefect.yaml").write_text(text, "utf-8")
    assert "eval/out/" in (healthy / ".gitignore").read_text("utf-8").split()
    (healthy / ".gitlab/gigamind.yml").unlink()
    before = {path.name: path.read_bytes() for path in healthy.glob("*.*") if path.is_file()}
    assert gigamind("init", "--gitlab").code == 0  # takes the rest from gigamind.toml
    assert (healthy / ".gitlab/gigamind.yml").is_file()
    assert {
        path.name: path.read_bytes() for path in healthy.glob("*.*") if path.is_file()
    } == before
    kept = (healthy / "prefect.yaml").read_bytes()
    (healthy / "gigamind.toml").unlink()
    assert gigamind(*given).code == 1
    assert (healthy / "prefect.yaml").read_bytes() == kept
    assert not (healthy / "gigamind.toml").exists()


def test_init_asks_three_questions_at_a_terminal(healthy):
    terminal = Terminal(healthy, "init", LC_ALL="ko_KR.UTF-8")
    for question, answer in (("노트", ""), ("질문", "new.jsonl"), ("언어", "")):
        terminal.read_until(question)
        terminal.type(f"{answer}\n")
    code, output = terminal.end()
    assert code == 0, terminal.shown
    assert "gigamind eval generate-queries --notes vault --out new.jsonl" in output
    written = tomllib.loads((healthy / "gigamind.toml").read_text("utf-8"))
    assert written["search"] == {"notes": "vault", "dataset": "new.jsonl", "lang": "ko"}


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("--notes", "no", "--dataset", "q", "--lang", "en"), "--notes no: "),
        (("--notes", "vault", "--dataset", "q", "--lang", "en", "--nightly", "3"), "--nightly 3: "),
    ],
)
def test_init_writes_nothing_where_it_cannot(healthy, gigamind, monkeypatch, given, told):
    with (healthy / "queries.jsonl").open() as no_terminal:
        monkeypatch.setattr(sys, "stdin", no_terminal)
        ended = gigamind("init", *given)
    assert (ended.code, told in ended.stderr) == (1, True)
    assert not (healthy / "gigamind.toml").exists()


def test_init_replaces_no_file(healthy, gigamind):
    (healthy / "gigamind.toml").write_text("# mine\n", "utf-8")
    ended = gigamind("init", "--notes", "vault", "--dataset", "q", "--lang", "en")
    assert (ended.code, "gigamind.toml" in ended.stderr) == (1, True)
    assert (healthy / "gigamind.toml").read_text("utf-8") == "# mine\n"
