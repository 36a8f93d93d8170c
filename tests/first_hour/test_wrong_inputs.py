"""What a new user gets wrong in the first hour is answered in one line that says what to type, in either language.

Not here: a missing extra (tests/cli/test_extras.py), Prefect's server (tests/publish/), and what each command refuses
of its own files, which stands beside the command's tests.
"""

import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import pytest

SEARCH = "eval search --notes vault --mode keyword --min-score 0 --speed-passes 0 --out out"
ASKED = f"{SEARCH} --dataset queries.jsonl"
SYSTEM = "eval search --dataset queries.jsonl --notes vault --out out --system"
MODEL = f"{ASKED} --unanswerable-mode llm".replace(" --min-score 0", "")
ROW = '{"id": "q1", "query": "...", "answerable": true, "expected_notes": ["note.md"]}'


class Case(NamedTuple):
    """A wrong command line.

    Attributes:
        typed: what stands behind `gigamind`; {taken} and {closed} are ports.
        code: the exit code, of docs/quick-start.md.
        says: parts of the line, the last one what to type or to do.
        rows: lines behind it that list rows, each with file and line.
    """

    typed: str
    code: int
    says: tuple[str, ...]
    rows: int = 0


CASES = [
    # Commands and options
    Case("evla", 1, ("evla", "gigamind eval")),
    Case("search --dataset queries.jsonl", 1, ("search", "gigamind eval search")),
    Case("eval serach", 1, ("serach", "gigamind eval search")),
    Case("dataset chek", 1, ("chek", "gigamind dataset check")),
    Case("xyzzy", 1, ("xyzzy", "gigamind --help")),
    Case("eval search", 1, ("--dataset", "gigamind eval search --dataset queries.jsonl --notes vault")),
    Case("eval search --datset q.jsonl", 1, ("--datset", "--dataset")),
    Case("eval search --dataset", 1, ("--dataset", "--help")),
    Case(f"{ASKED} more", 1, ("more", "gigamind eval search --help")),
    Case(f"{ASKED} --mode keywords", 1, ("--mode", "semantic, hybrid, keyword")),
    Case(f"{ASKED} --lang kr", 1, ("--lang", "auto, en, ko")),
    Case(f"{ASKED} --topk ten", 1, ("--topk", "gigamind eval search --help")),
    Case(f"{ASKED} --topk 0", 1, ("--topk 0", "1")),
    Case(f"{ASKED} --alpha 2", 1, ("--alpha 2.0", "1")),
    Case(f"{ASKED} --min-score 30", 1, ("--min-score 30", "0", "1")),
    Case(f"{ASKED} --sample half", 1, ("--sample half", "50", "0.2")),
    Case("eval search --dataset queries.jsonl", 1, ("--notes",)),
    Case(f"{ASKED} --mode hybrid --embedder openai", 1, ('"openai"', "use-multilingual, e5-small")),
    Case(f"{ASKED} --runner threads:2", 1, ("--runner", "--flow")),
    Case("--nonsense", 1, ("--nonsense", "gigamind --help")),
    Case("compare run", 1, ("gigamind compare runs/a runs/b",)),
    Case("compare run run run --junit x.xml", 1, ("--junit",)),
    Case("compare run run --changed note", 1, ("--changed note",)),
    Case(f"{ASKED} --fail-on-regression", 1, ("--compare eval/baselines",)),
    Case("suggest-links --notes vault", 1, ("--note", "--all")),
    Case("suggest-links --notes vault --apply copy", 1, ("--note", "--all")),
    Case("suggest-links --notes vault --all --in-place", 1, ("--yes",)),
    Case("suggest-links --notes vault --note deply", 1, ("--note deply", "deploy.md")),
    Case("suggest-links --notes vault --all --out links.txt", 1, ("--out links.txt", ".jsonl", ".md")),
    Case("suggest-links --notes vault --all --min-confidence 80", 1, ("--min-confidence", "--help")),
    Case("memory graduate --session talk.jsonl", 1, ("--extracted", "--model")),
    Case("init", 1, ("--dataset", "--notes", "--system")),
    # Files and folders
    Case(f"{SEARCH} --dataset none.jsonl", 1, ("none.jsonl",)),
    Case(f"{SEARCH} --dataset vault", 1, ("vault", "JSONL")),
    Case("eval search --dataset queries.jsonl --notes none --quiet", 2, ("none",)),
    Case("eval search --dataset queries.jsonl --notes queries.jsonl --quiet", 2, ("queries.jsonl",)),
    Case("eval search --dataset queries.jsonl --notes nothing --quiet", 2, ("nothing", "*.md")),
    Case("eval search --dataset queries.jsonl --notes no-notes --quiet", 2, ("no-notes", "*.md")),
    Case(f"{ASKED} --out full", 1, ("--out full",)),
    Case(f"{ASKED} --out queries.jsonl", 1, ("--out queries.jsonl",)),
    Case(f"{ASKED} --out /proc/out", 1, ("--out /proc/out",)),
    # Rows
    Case(f"{SEARCH} --dataset questions.csv", 1, ("questions.csv:1", '"id,query"', ROW)),
    Case(f"{SEARCH} --dataset array.json", 1, ("array.json:1", "jq -c '.[]' array.json > array-rows.jsonl")),
    Case(f"{SEARCH} --dataset pretty.json", 1, ("pretty.json:1", "jq -c '.[]' pretty.json > pretty-rows.jsonl")),
    Case(f"{SEARCH} --dataset empty.jsonl", 1, ("empty.jsonl", "JSON")),
    Case(
        f"{SEARCH} --dataset utf16.jsonl",
        1,
        ("UTF-16", "iconv -f UTF-16 -t UTF-8 utf16.jsonl > utf16-rows.jsonl"),
    ),
    Case(f"{SEARCH} --dataset cp949.jsonl", 1, ("cp949.jsonl:1", "iconv -f CP949 -t UTF-8"), rows=1),
    Case(f"{SEARCH} --dataset cut.jsonl", 1, ("cut.jsonl:1", "JSON"), rows=1),
    Case(f"{SEARCH} --dataset no-field.jsonl", 1, ("no-field.jsonl:1", '"query"'), rows=1),
    Case(f"{SEARCH} --dataset no-list.jsonl", 1, ("no-list.jsonl:1", '["a", "b"]'), rows=1),
    Case(f"{SEARCH} --dataset typo.jsonl", 1, ("typo.jsonl:1", '"deply.md"', '"deploy.md"'), rows=1),
    Case(f"{SEARCH} --dataset unsure.jsonl", 1, ("unsure.jsonl:1", "answerable", "false"), rows=1),
    Case(f"{SEARCH} --dataset twice.jsonl --strict", 1, ("twice.jsonl:2", '"a"', "id"), rows=1),
    Case(f"{SEARCH} --dataset answers.jsonl", 1, ("answers.jsonl:1", "--answer-model"), rows=3),
    Case("eval answers --dataset queries.jsonl --notes vault --model openai/m --out out", 1,
         ("queries.jsonl:1", "--answer-model"), rows=6),
    Case("eval links --dataset queries.jsonl --notes bare --out out", 1, ("queries.jsonl:1",), rows=6),
    # Another system
    Case(f"{SYSTEM} elastic", 1, ("--system elastic", "builtin, run:FILE, http://...")),
    Case(f"{SYSTEM} localhost:9200/notes", 1, ("--system localhost:9200/notes", "http://...")),
    Case(f"{SYSTEM} run:none.run", 1, ("run:none.run",)),
    Case(f"{SYSTEM} run:two-columns.run", 1, ("two-columns.run:1", '"query Q0 note rank score tag"')),
    Case(f"{SYSTEM} run:foreign.run", 1, ("foreign.run", "(zz)")),
    Case(f"{SYSTEM} python:nowhere:ask", 1, ("nowhere", "python:MODULE:FUNCTION")),
    Case(f"{SYSTEM} command:no-such-program", 1, ("no-such-program",)),
    Case(f"{SYSTEM} http://127.0.0.1:{{closed}}/ask", 3, ("http://127.0.0.1:{closed}/ask", "--system")),
    Case(f"{SYSTEM} http://127.0.0.1:{{taken}}/ask", 3, ("404", "--system")),
    Case(f"{SYSTEM} http://127.0.0.1:{{taken}}/page", 3, ("HTML", "--system")),
    Case(f"{SYSTEM} http://127.0.0.1:{{taken}}/page --system-config elastic", 1,
         ("--system-config elastic", "opensearch")),
    Case(f"{SYSTEM} http://127.0.0.1:{{taken}}/page --system-config system.toml", 1, ("system.toml", "url", "hits")),
    # Models
    Case(MODEL, 1, ("--model openai/gpt-4o-mini",)),
    Case(f"{MODEL} --model gpt-4o-mini", 1, ("gpt-4o-mini", "export OPENAI_API_KEY=...")),
    Case(f"{MODEL} --model openai/gpt-4o-mini", 1, ("export OPENAI_API_KEY=...",)),
    Case(f"{MODEL} --model mine/gpt-9", 3, ("mine/gpt-9", "openai/gpt-9")),
    Case(f"{MODEL} --model openai/m --prices prices.toml", 1, ("prices.toml", '[models."NAME"]')),
    Case(f"{ASKED} --judge none.toml", 1, ("none.toml",)),
    Case(f"{ASKED} --judge judge.toml", 1, ("judge.toml", "threshold, answer_score, calibrated, llm")),
    Case(f"{ASKED} --judge cut-judge.toml", 1, ("cut-judge.toml", "1")),
    Case("llm check", 1, ("--model", "gigamind llm check --model openai/gpt-4o-mini")),
    Case("serve --notes vault --model openai/m --port {taken}", 1, ("--port {taken}", "0")),
    Case("serve --notes none --model openai/m --port 0 --api-base http://127.0.0.1:{closed}/v1 --quiet", 2, ("none",)),
    Case("serve --notes vault --model openai/m --port 0 --quiet --mode keyword", 1, ("export OPENAI_API_KEY=...",)),
    Case("serve --notes vault --model openai/m --host 0.0.0.0", 1, ("--host 0.0.0.0", "--token")),
    # Comparing
    Case(f"{ASKED} --compare none", 1, ("none", "snapshot.json")),
    Case(f"{ASKED} --compare full", 1, ("full/run.json",)),
    Case(f"{ASKED} --compare queries.jsonl", 1, ("queries.jsonl:2", "snapshot.json")),
    Case(f"{ASKED} --compare links-run", 1, ("links", "search")),
    Case("compare run other-run", 1, ("run", "other-run", "run.json")),
    Case("compare run run --phase prod", 1, ("--phase", "mvp, beta, ga")),
    Case("compare run run --gates none.toml", 1, ("none.toml",)),
    Case("compare none run", 1, ("none",)),
    Case("compare run/per_item.jsonl run", 1, ("per_item.jsonl:2",)),
    Case("history none", 1, ("none",)),
    Case("history vault", 1, ("vault",)),
    Case("baseline promote vault", 1, ("vault/run.json",)),
    # gigamind.toml
    Case(f"{ASKED} --config none.toml", 1, ("none.toml", "gigamind init")),
    Case(f"{ASKED} --config broken.toml", 1, ("broken.toml:1",)),
    Case(f"{ASKED} --config typo.toml", 1, ("typo.toml:2", "topk")),
    Case(f"{ASKED} --config text.toml", 1, ("text.toml:2", "topk = 'ten'")),
    # Files of other tools
    Case("import ragas set.txt --out out", 1, ("set.txt", ".csv, .json")),
    Case("import ragas set.json --out out", 1, ("set.json", "JSON")),
    Case("import squad set.json --out out", 1, ("set.json", "SQuAD")),
    Case("import beir vault --out out", 1, ("vault/qrels/test.tsv", "corpus.jsonl, queries.jsonl")),
    Case(
        "dataset label --dataset queries.jsonl --labels labels.txt --out out.jsonl",
        1,
        ("labels.txt", "gigamind label"),
    ),
    Case(
        "dataset label --dataset queries.jsonl --labels labels.jsonl --out out.jsonl",
        1,
        ("labels.jsonl", "gigamind label"),
    ),
    Case("align --source vault/deploy.md --quotes quotes.jsonl", 1, ("quotes.jsonl:1", "quote, source_index")),
    Case("align --source vault --quotes quotes.jsonl", 1, ("vault",)),
    Case("export trec links-run --out out", 1, ("links-run", "search")),
    Case("export csv none --out out", 1, ("none/run.json",)),
]  # fmt: skip


Call = Callable[..., tuple[int, str, str]]
ERROR = {"en": "Error: ", "ko": "오류: "}
# As in tests/cli/test_korean.py: four words in a row, which no name, option or field has.
SENTENCE = re.compile(r"(?<![\w./@-])[A-Za-z][a-z]*(?:[ ,;:]+[a-z]+){3,}(?![\w/@=])")
# Commands to type, what the user wrote, and names in a row.
QUOTED = re.compile(r"gigamind [a-z -]+|\"[^\"]*\"|iconv.*|\(Expected .*|(\w+, )+\w+")
LISTED = re.compile(r"\S+:\d+: .|\.\.\. ")


def answer(case: Case, gigamind: Call, ports: Mapping[str, int], place: Path) -> str:
    """The text of the error, once the exit code and an untouched folder are sure."""

    def files() -> list[Path]:
        return sorted(path for path in place.rglob("*") if "cache" not in path.parts)

    before = files()
    code, stdout, stderr = gigamind(*case.typed.format(**ports).split())
    after = files()
    for out in ("out", "out.unfinished"):  # else all that follow fail, too
        shutil.rmtree(place / out, ignore_errors=True)
    assert "Traceback" not in stderr
    assert (code, stdout) == (case.code, ""), stderr
    assert after == before
    return stderr


def check(case: Case, told: str, ports: Mapping[str, int], language: str) -> None:
    """That it is one line, and the rows that are listed behind it, with all that it must say."""
    first, *rows = told.splitlines()
    assert first.startswith(ERROR[language]), told
    assert len(rows) == case.rows, told
    assert all(LISTED.match(row) for row in rows), told
    for part in case.says:
        assert re.sub(r"\{(closed|taken)\}", lambda name: str(ports[name[1]]), part) in told, told


@pytest.mark.each("case", CASES)
def test_one_line_says_what_is_wrong_where_and_what_to_type(case, gigamind, ports, place):
    check(case, answer(case, gigamind, ports, place), ports, "en")


@pytest.mark.each("case", CASES)
def test_in_korean_too_without_an_english_sentence(case, gigamind, ports, place, monkeypatch):
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    told = answer(case, gigamind, ports, place)
    check(case, told, ports, "ko")
    assert not SENTENCE.findall(QUOTED.sub("", told)), told
