import json
import re

import pytest

from gigamind.vault.notes import read_vault

NOTES = {
    "RAG 아키텍처.md": "---\nlang: ko\naliases: [RAG 시스템]\n---\n구조.",
    "projects/gigamind.md": "---\nlang: ko\n---\n👋 RAG 시스템의 구조를 본다.",
    "other.md": "[[RAG 아키텍처|RAG 시스템]]",
}


@pytest.fixture
def suggest(gigamind, tmp_path):
    for path, text in NOTES.items():
        (tmp_path / "v" / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "v" / path).write_text(text, encoding="utf-8")
    return lambda *options: gigamind("suggest-links", "--notes", tmp_path / "v", *options)


def test_a_suggestion_reads_as_the_format_says(suggest):
    ended = suggest("--note", "projects/gigamind.md")
    confidence = re.search(r"Confidence: (0\.\d\d)\n", ended.stdout)[1]
    assert ended.stdout == (
        "Found 1 link suggestion:\n"
        "\n"
        '1. "RAG 시스템" → [[RAG 아키텍처]]\n'
        f"   Position: 20-27, Confidence: {confidence}\n"
        "   Reason: 노트의 별칭과 같음; 이 말을 쓴 다른 노트 1개 중 1개가 연결함\n"
    )
    assert ended.code == 0


def test_json_carries_range_confidence_and_features(suggest):
    found = json.loads(suggest("--note", "gigamind", "--format", "json").stdout)
    (only,) = found["suggestions"]
    assert found["note"] == "projects/gigamind.md"
    assert only["anchor_range"] == {"start": 20, "end": 27}
    assert only["suggested_target"] == "RAG 아키텍처.md"
    assert 0 < only["confidence"] < 1
    # One other note says the alias, and links it; of aliases (1 + 1) / (2 + 2) are linked: (1 + 2 / 2) / (1 + 2).
    assert only["features"] == {
        "link_probability": pytest.approx(2 / 3),
        "commonness": 1.0,
        "kind": "alias",
        "linked_notes": 1,
        "saying_notes": 1,
        "chars": 7,
        "words": 2,
        "spelled_as_name": True,
        "names_in_note": 1,
        "linked_back": False,
        "centrality": 1.0,
    }


def test_an_embedder_adds_the_cosine_of_paragraph_and_note(suggest, tmp_path, monkeypatch):
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    options = ("--note", "gigamind", "--format", "json", "--embedder", "use-multilingual")
    (only,) = json.loads(suggest(*options).stdout)["suggestions"]
    assert -1 <= only["features"]["cosine"] <= 1
    assert (tmp_path / "cache" / "embeddings.sqlite").is_file()


def test_an_unknown_embedder_is_invalid_input(suggest):
    ended = suggest("--note", "gigamind", "--embedder", "no-such")
    assert (ended.code, 'unknown embedder "no-such"' in ended.stderr) == (1, True)


def test_all_notes_at_once(suggest, tmp_path):
    text = suggest("--all").stdout
    assert text.startswith("1 link suggestions in 1 of 3 notes.\n\n# projects/gigamind.md\n")
    rows = json.loads(suggest("--all", "--format", "json").stdout)
    assert [row["note"] for row in rows] == [note.path for note in read_vault(tmp_path / "v").notes]


def test_confidence_and_number_are_limits(suggest):
    options = ("--note", "gigamind", "--format", "json")
    (only,) = json.loads(suggest(*options).stdout)["suggestions"]
    sure = only["confidence"]
    assert json.loads(suggest(*options, "--min-confidence", sure).stdout)["suggestions"]
    assert not json.loads(suggest(*options, "--min-confidence", sure + 1e-9).stdout)["suggestions"]
    assert suggest("--note", "gigamind", "--min-confidence", 1.0).stdout == "No link suggestions.\n"
    assert suggest("--note", "gigamind", "--min-confidence", 1.01).code == 1
    assert suggest("--note", "gigamind", "--max", 0).code == 1


def test_linked_targets_are_suggested_only_when_asked_for(suggest, tmp_path):
    with (tmp_path / "v" / "projects" / "gigamind.md").open("a", encoding="utf-8") as note:
        note.write(" [[RAG 아키텍처]]")
    assert suggest("--note", "gigamind").stdout == "No link suggestions.\n"
    assert suggest("--note", "gigamind", "--include-linked").stdout.startswith("Found 1")


def test_a_note_that_does_not_exist_is_invalid_input(suggest):
    ended = suggest("--note", "projects/gigamnd.md")
    assert ended.code == 1
    assert "no such note" in ended.stderr
    assert "Did you mean projects/gigamind.md?" in ended.stderr


def test_one_of_note_and_all_must_be_given(suggest):
    assert suggest().code == 1
    assert suggest("--note", "gigamind", "--all").code == 1
