import json
import re
from dataclasses import fields, replace

import pytest
from link_features import MEANT, suggestions_of
from vault_files import write_files

from gigamind.cli.suggestions import Suggested, _summary
from gigamind.linking.features import MeantFeatures, NamedFeatures
from gigamind.linking.insertion import LinkWriter
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

NOTES = {
    "RAG 아키텍처.md": "---\nlang: ko\naliases: [RAG 시스템]\n---\n구조.",
    "projects/gigamind.md": "---\nlang: ko\n---\n👋 RAG 시스템의 구조를 본다.",
    "other.md": "[[RAG 아키텍처|RAG 시스템]]",
}


@pytest.fixture
def suggest(gigamind, tmp_path):
    """Runs the command on names alone, unless options say otherwise."""
    command = ("suggest-links", "--no-semantic", "--notes", write_files(tmp_path / "v", NOTES))
    return lambda *options: gigamind(*command, *options)


def test_a_suggestion_reads_as_the_format_says(suggest):
    ended = suggest("--note", "projects/gigamind.md")
    confidence = re.search(r"Confidence: (0\.\d\d)\n", ended.stdout)[1]
    scores = re.search(r"Scores: (.*)\n", ended.stdout)[1]
    reason = re.search(r"Reason: (.*)\n", ended.stdout)[1]
    assert "1 of 1" in reason
    assert ended.stdout == (
        "Found 1 link suggestion:\n"
        "\n"
        '1. "RAG 시스템" → [[RAG 아키텍처]]\n'
        f"   Position: projects/gigamind.md:4, Confidence: {confidence}\n"
        f"   Reason: {reason}\n"
        f"   Scores: {scores}\n"
    )
    assert re.fullmatch(r"mention 0\.\d\d, context 0\.\d\d, centrality 1\.00", scores)
    assert ended.code == 0


def test_where_a_vault_has_few_links_it_is_said_whose_the_confidence_is(suggest, tmp_path):
    said = "too few links"
    assert said in suggest("--all").stderr
    assert said not in suggest("--all", "--quiet").stderr
    assert said not in suggest("--all", "--min-confidence", 1).stderr  # of nothing
    for number in range(40):
        text = "RAG 시스템은 [[RAG 아키텍처|RAG 시스템]]에서 본다."
        (tmp_path / "v" / f"{number}.md").write_text(text, "utf-8")
    ended = suggest("--all")
    assert (said in ended.stderr, "RAG" in ended.stdout) == (False, True)


def test_a_target_is_shown_as_it_would_be_written(suggest, tmp_path):
    for name in ("other.md", "more.md"):
        (tmp_path / "v" / name).write_text("[RAG 시스템](RAG%20아키텍처.md)", encoding="utf-8")
    assert '1. "RAG 시스템" → ../RAG 아키텍처.md\n' in suggest("--note", "gigamind").stdout


def test_json_carries_range_confidence_and_features(suggest):
    found = json.loads(suggest("--note", "gigamind", "--format", "json").stdout)
    (only,) = found["suggestions"]
    assert found["note"] == "projects/gigamind.md"
    assert only["anchor_range"] == {"start": 20, "end": 27}
    assert only["suggested_target"] == "RAG 아키텍처.md"
    assert 0 < only["confidence"] < 1
    # One other note says the alias, and links it; of aliases (1 + 1) / (2 + 2) are linked: (1 + 2 / 2) / (1 + 2).
    assert only["features"].keys() == {field.name for field in fields(NamedFeatures)}
    assert (
        only["features"].items()
        >= {
            "link_probability": pytest.approx(2 / 3),
            "commonness": 1.0,
            "kind": "alias",
            "linked_notes": 1,
            "saying_notes": 1,
            "chars": 7,
            "words": 2,
            "occurrence": 1,
            "spelled_as_name": True,
            "names_in_note": 1,
            "folders_between": 1,
            "linked": False,
            "linked_back": False,
            "centrality": 1.0,
        }.items()
    )
    assert only["scores"].keys() == {"mention", "context", "centrality"}
    assert only["scores"]["centrality"] == 1.0
    assert all(0 < score <= 1 for score in only["scores"].values())


def test_phrases_that_mean_a_note_are_suggested_unless_names_alone_are_asked_for(
    suggest, tmp_path, monkeypatch
):
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    (tmp_path / "v" / "other.md").unlink()  # without links, what a person would accept counts
    rules = "# 연차 사용 규정\n\n연차는 입사 1년 뒤부터 쓴다. 쉬는 날은 팀장이 승인한다."
    (tmp_path / "v" / "연차 사용 규정.md").write_text(rules, encoding="utf-8")
    (tmp_path / "v" / "t.md").write_text(
        "새로 온 사람은 휴가 정책을 먼저 읽는다.", encoding="utf-8"
    )
    shown = suggest("--note", "t", "--semantic").stdout
    assert '. "휴가 정책" → [[연차 사용 규정]]\n' in shown
    assert 'close in meaning to "연차 사용 규정' in shown
    assert (tmp_path / "cache" / "embeddings.sqlite").is_file()
    assert suggest("--note", "t").stdout == "No link suggestions.\n"
    found = json.loads(suggest("--note", "t", "--semantic", "--format", "json").stdout)
    features = next(one["features"] for one in found["suggestions"] if one["anchor"] == "휴가 정책")
    assert features.keys() == {field.name for field in fields(MeantFeatures)}
    assert features["passage"].startswith("연차 사용 규정")


def test_all_notes_are_summed_up(suggest, tmp_path):
    confidence = re.search(r"Confidence: (0\.\d\d)\n", suggest("--note", "gigamind").stdout)[1]
    reason = re.search(r"Reason: (.*)\n", suggest("--note", "gigamind").stdout)[1]
    counts, best, _more = suggest("--all").stdout.split("\n\n")
    assert re.findall(r"[\d.]+\d", counts) == ["0.0"]
    assert re.findall(r"\d+", counts)[:3] == ["1", "1", "3"]
    assert best.splitlines()[1:] == [
        f'  {confidence}  projects/gigamind.md:4: "RAG 시스템" → [[RAG 아키텍처]]',
        f"        {reason}",
    ]
    rows = json.loads(suggest("--all", "--format", "json").stdout)
    assert [row["note"] for row in rows] == [note.path for note in Vault.read(tmp_path / "v").notes]


def test_every_suggestion_goes_into_a_file(suggest, tmp_path):
    assert suggest("--all", "--out", tmp_path / "every.md").stdout.endswith(
        f": {tmp_path / 'every.md'}\n"
    )
    text = (tmp_path / "every.md").read_text("utf-8")
    assert text.partition("\n\n")[2] == (
        "# projects/gigamind.md\n" + suggest("--note", "gigamind").stdout
    )
    suggest("--all", "--out", tmp_path / "every.jsonl")
    (row,) = [
        json.loads(line) for line in (tmp_path / "every.jsonl").read_text("utf-8").splitlines()
    ]
    assert row == json.loads(suggest("--note", "gigamind", "--format", "json").stdout)


def test_a_summary_of_thousands_is_a_page_with_the_surest_first(tmp_path):
    for number in range(100):
        (tmp_path / f"n{number:02}.md").write_text("gate " * 20, encoding="utf-8")
    for name in ("gate.md", "other.md"):
        (tmp_path / name).write_text("x", encoding="utf-8")
    vault = Vault.read(tmp_path)
    every = [
        Suggested(
            note,
            [
                replace(one, confidence=(2_000 - number) / 2_000, target=target)
                for number, one in enumerate(suggestions_of(note, "gate", "gate.md"), rank)
                for target in ("gate.md", "other.md")[: 1 + (number % 20 == 0)]
                + ("n00.md",) * (number == 1)
            ],
        )
        for rank, note in enumerate(vault.notes)
    ]
    lines = _summary(every, LinkWriter(vault, Identities(vault.notes))).splitlines()
    assert re.findall(r"[\d,]+", lines[0])[:3] == ["2,101", "100", "102"]
    rows = [line for line in lines if line.startswith("  0.99  ")]
    assert rows[0] == '  0.99  n00.md:1: "gate" → [[gate]]'
    assert len([line for line in lines if '"gate" → ' in line]) == 20
    assert len(lines) < 60


@pytest.mark.parametrize(("names_first", "order"), [(True, "1b 2a"), (False, "2a 1b")])
def test_names_stand_before_phrases_where_nothing_tells_what_these_are_worth(
    tmp_path, names_first, order
):
    for name in ("1b", "2a", "gate"):
        (tmp_path / f"{name}.md").write_text("gate", encoding="utf-8")
    vault = Vault.read(tmp_path)
    name, phrase = (suggestions_of(note, "gate", "gate.md")[0] for note in vault.notes[:2])
    every = [
        Suggested(vault.notes[0], [replace(name, confidence=0.4)]),
        Suggested(vault.notes[1], [replace(phrase, confidence=0.8, features=MEANT)]),
    ]
    writer = LinkWriter(vault, Identities(vault.notes))
    shown = _summary(every, writer, names_first=names_first)
    assert " ".join(re.findall(r"(\w+)\.md:1: ", shown)) == order


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--all", "--out", "v/x.md"), "--out v/x.md"),
        (("--all", "--out", "old.md"), "old.md"),
        (("--note", "gigamind", "--out", "x.md"), "--all"),
        (("--all", "--format", "json", "--out", "x.md"), "--all"),
    ],
)
def test_a_file_that_cannot_be_written_is_told_before_any_work(
    suggest, tmp_path, monkeypatch, options, message
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.md").write_text("kept", encoding="utf-8")
    ended = suggest(*options)
    assert (ended.code, message in ended.stderr) == (1, True)
    assert (tmp_path / "old.md").read_text("utf-8") == "kept"


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
