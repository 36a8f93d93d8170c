import json
import re

from korean import HANGUL
from loopback import Answering, listening


def add_row(case, row):
    line = row if isinstance(row, str) else json.dumps(row)
    with (case / "queries.jsonl").open("a", encoding="utf-8") as file:
        file.write(line + "\n")


def test_the_warning_about_errors_is_in_the_language_of_the_reader(case, search):
    add_row(case, "{broken")
    korean = search("--min-score", 0, "--lang", "ko", "--out", "ko")
    (warning,) = [line for line in korean.stdout.splitlines() if line.startswith("  ! ")]
    assert "ko/errors.jsonl" in warning
    assert HANGUL.search(warning)
    assert "queries.jsonl:4: " in (case / "ko" / "report.html").read_text("utf-8")
    no_page = search("--min-score", 0, "--format", "json", "--out", "data")
    assert "data/errors.jsonl" in no_page.stdout


def test_a_broken_row_under_strict_ends_with_code_1(case, search):
    add_row(case, "{broken")
    ended = search("--strict", "--min-score", 0)
    assert ended.code == 1
    first, second, *_ = ended.stderr.splitlines()
    assert first.startswith("Error: queries.jsonl: 1 ")
    assert second.startswith("queries.jsonl:4: ")
    assert not (case / "out").exists()


def test_a_collision_under_strict_ends_with_code_1_in_the_format_of_the_specification(case, search):
    (case / "vault" / "Garden_.md").write_text("Another.\n", encoding="utf-8")
    with (case / "queries.jsonl").open("a", encoding="utf-8") as dataset:
        dataset.write(
            '{"id": "g", "query": "q", "answerable": true, "expected_notes": ["GARDEN"]}\n'
        )
    ended = search("--strict")
    assert ended.code == 1
    assert (
        '[WARN] Note identifier collision: "garden" matches multiple files:\n'
        "  - Garden_.md (selected)\n"
        "  - garden.md (ignored)\n"
    ) in ended.stderr
    assert search("--min-score", 0).code == 0


class RefusesQueries(Answering):
    """Speaks the OpenAI protocol: embeds several texts, and refuses one alone, as a query is."""

    def do_POST(self):
        texts = json.loads(self.body())["input"]
        rows = [
            {"object": "embedding", "index": n, "embedding": [1.0, 0.0]} for n in range(len(texts))
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        told = {"object": "list", "model": "m", "data": rows, "usage": usage}
        self.answer(200 if len(texts) > 1 else 401, told)


def test_a_model_that_refuses_every_query_ends_with_code_3_and_its_reason(
    case, gigamind, monkeypatch
):
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    command = "eval search --dataset queries.jsonl --notes vault --out out --min-score 0 --embedder litellm:openai/m"
    with listening(RefusesQueries) as server:
        ended = gigamind(*command.split(), "--embedding-api-base", f"{server.url}/v1")
    assert ended.code == 3, ended.stderr
    assert "litellm:openai/m at " in ended.stderr
    assert "sk-secret" not in ended.stderr
    assert not (case / "out").exists()


def test_a_dry_run_counts_and_writes_nothing(case, search):
    add_row(case, "{broken")
    ended = search("--dry-run", "--min-score", 0)
    assert ended.code == 0
    counts, rejected, row, *hashes, estimate = ended.stdout.splitlines()
    assert re.findall(r"\d+", counts) == ["3", "2", "1", "3"]
    assert rejected.startswith("1 ")
    assert row.startswith("  queries.jsonl:4: ")
    assert [line.split()[0] for line in hashes] == ["dataset_hash", "notes_hash"]
    assert all(part in estimate for part in (" 3 ", "threshold", "0 USD", "1 s"))
    assert sorted(file.name for file in case.iterdir()) == ["queries.jsonl", "vault"]


def test_a_dry_run_is_strict_where_asked(case, search):
    add_row(case, "{broken")
    assert search("--dry-run", "--strict").code == 1
