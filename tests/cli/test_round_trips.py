"""What is exported comes back whole: each export that has an import, evaluated again, has the same figures."""

import json

import pytest
from called import ran
from row_files import query_row, write_rows
from vault_files import write_files

QUERIES = [
    query_row(
        "q 1",
        "apple trees",
        "a b.md",
        gains={"a b.md": 2, "c.md": 0},
        expected_spans=[{"note_path": "a b.md", "start": 4, "end": 9, "text": "apple"}],
        language="en",
        difficulty="hard",
        tags=["fruit"],
    ),
    query_row("2", "배 나무", "배.md", "c.md"),
    query_row("3", "zebra"),
    query_row("4", "pear zebra"),
]
NOTES = {"a b.md": "The apple trees bloom.", "배.md": "배 나무가 있다.", "c.md": "Pear trees grow."}
CLAIMS = [
    {"text": "The apple trees bloom [1].", "verdict": "supported", "note": 1, "correct": True},
    {"text": "The zebra trees sleep.", "verdict": "not_found", "note": None, "correct": False},
]
FACTS = [{"text": "The apple trees bloom."}, {"text": "Pear trees grow.", "vital": False}]
ANSWERS = [
    {
        "id": "a1",
        "question": "What blooms?",
        "answer": "The apple trees bloom [1]. The zebra trees sleep.",
        "context_notes": [{"path": "a b.md"}, {"title": "C", "text": "Pear trees grow."}],
        "language": "en",
        "tags": ["fruit"],
        "labels": {"correctness": 0.5, "claims": CLAIMS, "facts": FACTS},
    },
    {
        "id": "a2",
        "question": "무엇이 있나?",
        "answer": "배 나무가 있다.",
        "context_notes": [{"path": "배.md"}],
    },
]
FREE = ("--speed-passes", "0")


@pytest.fixture
def work(tmp_path, monkeypatch):
    write_files(tmp_path / "vault", NOTES)
    write_rows(tmp_path / "queries.jsonl", QUERIES)
    write_rows(tmp_path / "answers.jsonl", ANSWERS)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def items(folder):
    lines = (folder / "per_item.jsonl").read_text("utf-8").splitlines()
    return {item["query" if "query" in item else "id"]: item for item in map(json.loads, lines)}


# Metrics of passages, which TREC files and CSV tables do not hold.
OF_PASSAGES = ("span_", "answer_in_")
SEARCH = ("eval", "search", "--dataset")


@pytest.mark.parametrize("form", ["trec", "ragas", "csv"])
def test_a_search_run_comes_back_with_its_labels_and_figures(work, form):
    vault = ("--notes", "vault", *FREE, "--out")
    ran(*SEARCH, "queries.jsonl", "--mode", "keyword", *vault, "first")
    out = {"trec": "files", "ragas": "samples.jsonl", "csv": "items.csv"}[form]
    ran("export", form, "first", "--out", out)
    read = {
        "trec": ("trec", "files/qrels.trec", "--topics", "files/topics.jsonl"),
        "ragas": ("ragas", out),
        "csv": ("table", out),
    }[form]
    ran("import", *read, "--out", "back")
    run = "files/run.trec" if form == "trec" else "back/run.jsonl"
    ran(*SEARCH, "back/queries.jsonl", "--system", f"run:{run}", *vault, "again")
    first, again = items(work / "first"), items(work / "again")
    assert list(again) == [row["query"] for row in QUERIES]
    kept = ("language", "difficulty", "tags", "answerable", "expected_notes", "gains")
    for name, item in first.items():
        assert {k: again[name].get(k) for k in kept} == {k: item.get(k) for k in kept}
        assert [hit["note"] for hit in again[name]["ranking"]] == [
            hit["note"] for hit in item["ranking"]
        ]
        for metric, value in item["metrics"].items():
            if form == "ragas" or not metric.startswith(OF_PASSAGES):
                assert again[name]["metrics"].get(metric) == value, metric
    counts = json.loads((work / "again" / "summary.json").read_text("utf-8"))["counts"]
    assert (counts["queries_total"], counts["queries_unanswerable"]) == (4, 2)


def test_an_answer_run_comes_back_with_its_references_and_figures(work):
    judged = ("eval", "answers", "--judge", "words", "--dataset")
    ran(*judged, "answers.jsonl", "--notes", "vault", "--out", "first")
    ran("export", "ragas", "first", "--out", "samples.jsonl")
    sample = json.loads((work / "samples.jsonl").read_text("utf-8").splitlines()[0])
    assert sample["reference"] == "The apple trees bloom.\nPear trees grow."
    ran("import", "ragas", "samples.jsonl", "--out", "back")
    ran(*judged, "back/answers.jsonl", "--out", "again")
    first, again = items(work / "first"), items(work / "again")
    assert first["a1"]["metrics"]["completeness"] == 0.5
    assert first["a1"]["metrics"]["hallucination"] is not None
    kept = ("question", "answer", "language", "tags", "labels", "metrics", "outcome")
    assert {n: {k: item[k] for k in kept} for n, item in again.items()} == {
        n: {k: item[k] for k in kept} for n, item in first.items()
    }


def test_a_row_with_contexts_is_answered_with_what_reads_it(gigamind, work):
    row = {"id": "a", "question": "q?", "answer": "a", "contexts": ["The apple trees bloom."]}
    (work / "log.jsonl").write_text(json.dumps(row), encoding="utf-8")
    refused = gigamind(
        "eval", "answers", "--judge", "words", "--dataset", "log.jsonl", "--out", "o"
    )
    assert refused.code == 1
    assert "gigamind import table" in refused.stderr
    evaluated = ("--", "--judge", "words", "--out", "o")
    ran("import", "table", "log.jsonl", "--out", "back", *evaluated)
    assert items(work / "o")["a"]["outcome"] == "scored"
