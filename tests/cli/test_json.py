"""`--json` of every command, and every file they read and write, compared with their JSON Schemas."""

import functools
import importlib.util
import json
import shutil
from pathlib import Path

import jsonschema
import pytest
from able_model import able
from called import ran
from command_line import SEARCH, reached
from faulty_model import running
from judged_folders import write_judged_run
from memory_rows import entry, extracted
from row_files import read_rows, write_rows

from gigamind.cli.command import every_command
from gigamind.cli.main import cli
from schemas import FOR_OTHER_TOOLS, OUTPUTS, described, schema_of

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples"
QUOTES = ({"quote": "The deploy runs every Friday."}, {"quote": "nowhere to be found at all"})


@functools.cache
def schema(name):
    return schema_of(described()[name])


def fits(value, name):
    jsonschema.Draft202012Validator(schema(name)).validate(value)


def prepare(folder):
    """What the commands below read."""
    for name in ("vault", "queries.jsonl", "answers.jsonl"):
        copied = shutil.copytree if (EXAMPLES / name).is_dir() else shutil.copy
        copied(EXAMPLES / name, folder / name)
    (folder / "note.md").write_text("The deploy runs every Friday.\n", "utf-8")
    write_rows(folder / "quotes.jsonl", QUOTES)
    (folder / "qrels").write_text("q1 0 a 1\nq1 0 b 0\n", "utf-8")
    write_rows(folder / "topics", [{"_id": "q1", "text": "deploy"}])
    sessions = folder / "sessions"
    sessions.mkdir()
    write_rows(sessions / "s.jsonl", [{"role": "user", "content": "Tea is at four."}])
    found = extracted(entry("e", "Tea is at four.", "Tea is at four."))
    (sessions / "s.extracted.json").write_text(json.dumps(found), "utf-8")
    judged = (
        {"id": f"q{n}", "query": f"question {n}", "language": "en", "answerable": n % 2 == 0}
        | {"judged_unanswerable": False, "judgement": None}
        | {"judges": {"threshold": {"unanswerable": False, "score": 0.9 - n % 2 / 2}}}
        for n in range(80)
    )
    write_judged_run(folder / "judged", list(judged))


def commands(model):
    """A call of each command, in an order in which each finds what it reads."""
    run = (*SEARCH, "--save-snapshot", "--sample", "20")
    links = ("--dataset", "links.jsonl", "--notes", "unlinked", "--no-semantic")
    answers = ("--dataset", "answers.jsonl", "--notes", "vault", "--sample", "2", *model)
    yield "eval search", (*run, "--out", "runs/a", "--speed-passes", "1")
    yield "eval search", (*run, "--out", "runs/b", "--topk", "3", "--compare", "runs/a")
    yield "eval search", (*SEARCH, "--dry-run")
    made = ("--notes", "vault", "--out-notes", "unlinked", "--dataset", "links.jsonl")
    yield "eval generate-links", ("eval", "generate-links", *made)
    yield "eval links", ("eval", "links", *links, "--out", "runs/links", "--save-snapshot")
    yield "eval answers", ("eval", "answers", *answers, "--out", "runs/answers", "--save-snapshot")
    yield "eval answers", ("eval", "answers", *answers, "--dry-run")
    generated = ("--notes", "vault", "--out", "made.jsonl")
    yield "eval generate-queries", ("eval", "generate-queries", *generated)
    yield "baseline promote", ("baseline", "promote", "runs/a")
    yield "compare", ("compare", "runs/a", "runs/b", "--out", "two")
    yield "compare", ("compare", "runs/a", "runs/b", "runs/a", "--out", "three")
    yield "history", ("history", "runs", "--out", "history")
    yield "dataset check", ("dataset", "check", "--dataset", "queries.jsonl", "--notes", "vault")
    yield "import trec", ("import", "trec", "qrels", "--topics", "topics", "--out", "trec")
    yield "export trec", ("export", "trec", "runs/a", "--out", "exported")
    yield "export csv", ("export", "csv", "runs/a", "--out", "items.csv")
    yield "export ragas", ("export", "ragas", "runs/a", "--out", "samples.jsonl")
    suggest = ("suggest-links", "--notes", "unlinked", "--no-semantic")
    yield "suggest-links", (*suggest, "--all")
    yield "suggest-links", (*suggest, "--note", "glossary")
    yield "align", ("align", "--source", "note.md", "--quotes", "quotes.jsonl")
    said = ("--session", "sessions/s.jsonl", "--extracted", "sessions/s.extracted.json")
    yield "memory graduate", ("memory", "graduate", *said)
    yield "memory graduate-all", ("memory", "graduate-all", "--folder", "sessions")
    tuned = ("judged", "--judge", "unanswerable_threshold", "--out", "j.toml")
    yield "judge tune", ("judge", "tune", *tuned)
    yield "judge certify", ("judge", "certify", "runs/a", "--out", "card")
    yield "judge attack", ("judge", "attack", "unanswerable_llm", *model, "--out", "attacks.json")
    yield "judge test", ("judge", "test", "unanswerable_llm", *model, "--out", "tests.json")
    yield "init", ("init", "--notes", "vault", "--dataset", "queries.jsonl", "--lang", "en")
    yield "doctor", ("doctor",)


# Alike but for the format that they read; tuning takes its time.
ALIKE = {
    *("tune search", "dataset label", "gate waive"),
    *(name for name in OUTPUTS if name.split()[0] in FOR_OTHER_TOOLS),
}


@pytest.fixture(scope="module")
def ended(tmp_path_factory, gigamind, examples_cache):
    """How each command ended, and the folder that they worked in."""
    folder = tmp_path_factory.mktemp("json")
    prepare(folder)
    done = []
    with pytest.MonkeyPatch.context() as environment, running() as server:
        server.respond = able
        environment.chdir(folder)
        environment.setenv("GIGAMIND_CACHE_DIR", str(examples_cache))
        environment.setenv("OPENAI_API_KEY", "none")
        environment.delenv("GITHUB_STEP_SUMMARY", raising=False)
        model = ("--model", "openai/judge", *reached(server))
        for name, arguments in commands(model):
            done.append((name, gigamind(*arguments, "--json")))
    return folder, done


@pytest.mark.timeout(300)
def test_with_json_standard_output_is_one_document_that_fits_its_schema(ended):
    _, done = ended
    assert {name for name, _ in done} | ALIKE == OUTPUTS.keys()
    for name, end in done:
        assert end.code == 0, (name, end.stderr)
        fits(json.loads(end.stdout), OUTPUTS[name])


FILES = {
    "per_item.search": "runs/a/per_item.jsonl", "per_item.links": "runs/links/per_item.jsonl",
    "per_item.answers": "runs/answers/per_item.jsonl", "summary.search": "runs/a/summary.json",
    "summary.links": "runs/links/summary.json", "summary.answers": "runs/answers/summary.json",
    "snapshot.search": "runs/a/snapshot.json", "snapshot.links": "runs/links/snapshot.json",
    "snapshot.answers": "runs/answers/snapshot.json", "run": "runs/answers/run.json",
    "attempts": "runs/answers/attempts.jsonl", "compare": "runs/b/compare.json",
    "history": "history/history.json", "judge_card": "card/judge_card.json",
    "attacks": "attacks.json", "tests": "tests.json", "queries": "made.jsonl",
    "links": "links.jsonl", "answers": "answers.jsonl", "quotes": "quotes.jsonl",
    "session": "sessions/s.jsonl", "extracted": "sessions/s.extracted.json",
}  # fmt: skip


def test_the_files_of_real_runs_fit_their_schemas(ended):
    folder, _ = ended
    for name, file in FILES.items():
        path = folder / file
        values = (
            read_rows(path) if path.suffix == ".jsonl" else [json.loads(path.read_text("utf-8"))]
        )
        assert values, file
        for value in values:
            fits(value, name)


@pytest.mark.each("run", ["a", "links", "answers"])
def test_per_item_jsonl_is_a_table_as_data_frames_want_it(ended, run):
    folder, _ = ended
    items = read_rows(folder / "runs" / run / "per_item.jsonl")
    columns = {tuple(item) for item in items}
    assert len(columns) == 1  # the same in every line, so each is a column
    for column in next(iter(columns)):
        kinds = {type(item[column]) for item in items} - {type(None)}
        assert len(kinds - {int}) <= 1, (column, kinds)  # a number may be written as a whole one


@pytest.mark.filterwarnings("ignore:unclosed file:ResourceWarning")  # a one-liner closes nothing
def test_the_documented_one_liners_open_per_item_jsonl(ended, monkeypatch):
    folder, _ = ended
    monkeypatch.chdir(folder / "runs" / "a")
    page = (ROOT / "docs" / "command-line.md").read_text("utf-8")
    ways = [line for line in page.splitlines() if line.startswith("items = ")]
    tried = []
    for way in ways:
        library = way.rpartition("# ")[2]
        if importlib.util.find_spec(library):
            names = {library: importlib.import_module(library)}
            exec(way, names)
            assert len(names["items"]) == 20
            tried.append(library)
    assert len(ways) == 3
    assert "json" in tried


def test_lines_that_only_a_troubled_run_writes_fit_their_schemas(tmp_path, monkeypatch, gigamind):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    asked = {"id": "q", "query": "tea", "answerable": True, "expected_notes": ["a"]}
    judged = asked | {"id": "r", "gains": {"a": 1}}
    write_rows(tmp_path / "q.jsonl", [asked, judged, {}])
    ranked = ({"id": name, "hits": [{"note": "b"}, {"note": "a"}]} for name in "qr")
    write_rows(tmp_path / "run.jsonl", ranked)
    given = ("--dataset", "q.jsonl", "--system", "run:run.jsonl", "--out", "out")
    assert gigamind("eval", "search", *given).code == 0
    errors = read_rows(tmp_path / "out" / "errors.jsonl")
    for row in errors:
        fits(row, "errors")
    assert errors


def test_every_command_that_prints_figures_has_json():
    commands = {" ".join(path): command for path, command in every_command(cli)}
    having = {
        name
        for name, command in commands.items()
        if any("--json" in param.opts for param in command.params)
    }
    assert having == OUTPUTS.keys()
    # What is left prints events as JSON lines already, waits for a signal, or tells in sentences.
    others = commands.keys() - having
    assert others == {"deploy", "label", "memory events", "serve", "llm check", "llm batches"}


def test_an_error_leaves_standard_output_empty_and_keeps_its_exit_code(case, gigamind):
    assert case.is_dir()
    asked = ("--dataset", "none.jsonl", "--notes", "vault", "--json", "--quiet")
    ended = gigamind("eval", "search", *asked)
    assert (ended.code, ended.stdout) == (1, "")
    assert ended.stderr.startswith("Error: none.jsonl: ")
    assert ended.stderr.count("\n") == 1


def test_a_run_that_is_no_result_is_a_document_that_says_why(case, gigamind):
    hits = {"id": "a", "hits": ["deploy.md"]}  # of three queries
    (case / "ours.jsonl").write_text(json.dumps(hits), "utf-8")
    asked = ("--dataset", "queries.jsonl", "--system", "run:ours.jsonl", "--out", "part")
    ended = gigamind("eval", "search", *asked, "--json")
    told = json.loads(ended.stdout)
    fits(told, OUTPUTS["eval search"])
    assert (ended.code, told["refused"]["exit_code"], told["out"]) == (3, 3, "part")
    assert ended.stderr.endswith(f"Error: {told['refused']['message']}\n")
    assert told["summary"] == json.loads((case / "part" / "summary.json").read_text("utf-8"))
    complete = gigamind("eval", "search", *asked, "--out", "all", "--allow-partial", "--json")
    assert (complete.code, json.loads(complete.stdout)["refused"]) == (0, None)


def test_bad_rows_are_told_in_the_document_and_by_the_exit_code(case, gigamind):
    with (case / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "d"}\n')
    ended = gigamind("dataset", "check", "--dataset", "queries.jsonl", "--json")
    told = json.loads(ended.stdout)
    assert (ended.code, told["rows"], told["usable"]) == (1, 4, 3)
    assert {problem["line"] for problem in told["problems"]} == {4}
    fits(told, OUTPUTS["dataset check"])


def test_format_json_says_the_same(case, gigamind):
    given = ("dataset", "stats", "--dataset", str(case / "queries.jsonl"))
    assert gigamind(*given, "--format", "json").stdout == gigamind(*given, "--json").stdout


def test_the_document_is_json_where_standard_output_has_no_utf_8(case):
    name = "질문-é-😀.jsonl"
    shutil.copy(case / "queries.jsonl", case / name)
    ended = ran("dataset", "check", "--dataset", name, "--json", encoding="ascii")
    assert json.loads(ended.stdout)["dataset"] == name
