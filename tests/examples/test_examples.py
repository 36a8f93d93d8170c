"""The example data keeps what its README promises."""

import json
import re
import struct
import unicodedata
import zlib
from collections import Counter
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from gigamind.spans import Utf16

EXAMPLES = Path(__file__).parents[2] / "examples"
VAULT = EXAMPLES / "vault"
STUBS = {"projects/화물-자전거.md"}
NFD_NOTE = "people/신규입사자 안내.md"


def nfc(text: str) -> str:
    return unicodedata.normalize("NFC", text)


def identity_key(name: str) -> str:
    return re.sub(r"[\s_-]+", " ", nfc(name).casefold().removesuffix(".md")).strip()


def split_frontmatter(text: str) -> tuple[str, str]:
    found = re.match(r"---\n(.*?\n)---\n", text, re.DOTALL)
    return (found[1], text[found.end() :]) if found else ("", text)


def field(frontmatter: str, name: str) -> list[str]:
    """The scalar, flow list or block list of one frontmatter field; enough YAML for the example notes."""
    found = re.search(rf"^{name}:(.*)\n((?:  - .*\n)*)", frontmatter, re.MULTILINE)
    if not found:
        return []
    inline, items = found[1].strip(), found[2]
    values = re.findall(r"- (.*)\n", items) or (
        inline[1:-1].split(",") if inline.startswith("[") else [inline]
    )
    return [value.strip().strip('"') for value in values if value.strip()]


def script_of(body: str) -> str:
    """`ko` when a third of the letters or more are Hangul: Korean notes are full of English terms."""
    hangul = len(re.findall("[가-힣]", body))
    latin = len(re.findall("[A-Za-z]", body))
    return "ko" if 2 * hangul > latin else "en"


NOTES = {
    nfc(path.relative_to(VAULT).as_posix()): path.read_bytes().decode()
    for path in sorted(VAULT.rglob("*.md"))
}
LANGUAGES = {note: script_of(split_frontmatter(text)[1]) for note, text in NOTES.items()}
QUERIES: list[dict[str, Any]] = [
    json.loads(line)
    for line in (EXAMPLES / "queries.jsonl").read_text(encoding="utf-8").splitlines()
]
ANSWERABLE = [query for query in QUERIES if query["answerable"]]
UNANSWERABLE = [query for query in QUERIES if not query["answerable"]]


def test_half_of_the_notes_are_korean_and_half_english():
    assert Counter(LANGUAGES.values()) == {"ko": 35, "en": 35}


def test_most_notes_have_frontmatter_and_its_language_is_the_language_of_the_body():
    declared = {
        note: field(split_frontmatter(text)[0], "lang")
        for note, text in NOTES.items()
        if text.startswith("---\n")
    }
    assert len(NOTES) - len(declared) == 4
    assert {note: [LANGUAGES[note]] for note in declared} == declared


def test_every_body_but_the_stub_has_300_to_3000_characters():
    lengths = {note: len(split_frontmatter(text)[1].strip()) for note, text in NOTES.items()}
    assert {note for note, length in lengths.items() if not 300 <= length <= 3000} == STUBS


def test_no_note_has_a_carriage_return_because_line_ends_count_in_offsets():
    assert [note for note, text in NOTES.items() if "\r" in text] == []


def test_exactly_three_names_belong_to_two_notes():
    bearers: dict[str, set[str]] = {}
    for note, text in NOTES.items():
        frontmatter, _ = split_frontmatter(text)
        stem = note.rpartition("/")[2].removesuffix(".md")
        for name in [stem, *field(frontmatter, "title"), *field(frontmatter, "aliases")]:
            bearers.setdefault(identity_key(name), set()).add(note)
    assert {key: notes for key, notes in bearers.items() if len(notes) > 1} == {
        "deploy guide": {"howto/Deploy Guide.md", "projects/deploy-guide.md"},
        "운영 주간 회의": {"meetings/2025-03-05 주간.md", "meetings/2025-03-12 주간.md"},
        "on call": {"howto/first-shift.md", "policies/on-call.md"},
    }


@pytest.mark.each(
    "form",
    [
        "[[incident-severity]]", "[[glossary.md]]", "[[howto/rotate-secrets]]",
        "[[onboarding-engineers|Onboarding for engineers]]", "[[incident-severity#Levels]]",
        "[[2025-01-18 gateway outage#Timeline#Recovery|", "[[#언어]]",
        "[[policies/on-call#^ack-times]]", "![[glossary#Glossary]]", "![[lock-v3.png|100x145]]",
        "(howto/Deploy%20Guide.md)", "[[policies/on-call\\|pager rules]] | ", "[[결재 규정]]에 따라",
    ],
)  # fmt: skip
def test_every_form_of_a_link_is_written_somewhere(form):
    assert any(form in text for text in NOTES.values())


@pytest.mark.parametrize(
    "trap",
    [
        "if [[ -f .hold ]]", "`[[note#heading]]`", "\n    [[들여쓴 코드]]", "\\[[이렇게]]",
        "%% Editors: the old landing page was [[Handbook 2022]];", "f[[i]]",
        "See [[ops/raw-log-0118]] on the old share",
    ],
)  # fmt: skip
def test_every_kind_of_false_link_is_written_somewhere(trap):
    assert any(trap in text for text in NOTES.values())


@pytest.mark.parametrize("name", ["Winter fleet plan 2026", "2026 예산 초안", "단체보험 갱신 2026"])
def test_unwritten_notes_are_linked_and_do_not_exist(name):
    assert any(f"[[{name}]]" in text for text in NOTES.values())
    assert not any(name in note for note in NOTES)


def test_one_file_name_is_decomposed_on_disk_and_all_others_are_not():
    on_disk = [path.relative_to(VAULT).as_posix() for path in VAULT.rglob("*.md")]
    assert [nfc(name) for name in on_disk if name != nfc(name)] == [NFD_NOTE]
    assert unicodedata.normalize("NFD", NFD_NOTE) in on_disk


def test_the_picture_is_a_png_of_the_size_that_its_embed_says():
    data = (VAULT / "assets" / "lock-v3.png").read_bytes()
    assert data[:16] == b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"
    assert struct.unpack(">II", data[16:24]) == (100, 145)
    assert struct.unpack(">I", data[29:33])[0] == zlib.crc32(data[12:29])


def test_there_are_as_many_queries_of_each_kind_as_the_readme_says():
    assert Counter((query["language"], query["answerable"]) for query in QUERIES) == {
        ("ko", True): 82,
        ("en", True): 76,
        ("ko", False): 22,
        ("en", False): 22,
    }
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    for count in (
        "202 questions",
        "104 Korean",
        "98 English",
        "44 unanswerable",
        "36 cross-lingual",
    ):
        assert count in readme


def test_ids_and_questions_are_unique():
    assert [query["id"] for query in QUERIES] == [f"q-{n:03d}" for n in range(1, len(QUERIES) + 1)]
    assert len({query["query"] for query in QUERIES}) == len(QUERIES)


def test_difficulties_tags_and_dates_are_well_formed():
    assert {query["difficulty"] for query in QUERIES} == {"easy", "mid", "hard"}
    assert all(query["tags"] for query in QUERIES)
    assert all(datetime.fromisoformat(query["created_at"]).tzinfo for query in QUERIES)


def test_an_answerable_query_has_one_or_two_expected_notes_that_exist():
    assert all(1 <= len(set(query["expected_notes"])) <= 2 for query in ANSWERABLE)
    assert {note for query in QUERIES for note in query["expected_notes"]} <= set(NOTES)


def test_an_unanswerable_query_expects_nothing():
    assert len(UNANSWERABLE) >= 30
    assert all(query["expected_notes"] == query["expected_spans"] == [] for query in UNANSWERABLE)


def test_all_notes_but_the_stub_answer_a_query():
    assert set(NOTES) - {note for query in QUERIES for note in query["expected_notes"]} == STUBS


def test_cross_lingual_marks_exactly_the_queries_without_a_note_in_their_language():
    foreign = {
        query["id"]
        for query in ANSWERABLE
        if all(LANGUAGES[note] != query["language"] for note in query["expected_notes"])
    }
    assert {query["id"] for query in QUERIES if "cross-lingual" in query["tags"]} == foreign
    assert len(foreign) == 36


@pytest.mark.each("query", ANSWERABLE)
def test_spans_lie_in_every_expected_note_and_cut_out_their_text(query):
    assert {span["note_path"] for span in query["expected_spans"]} == set(query["expected_notes"])
    for span in query["expected_spans"]:
        text = NOTES[span["note_path"]]
        found = Utf16(text).span_to_code_points(span["start"], span["end"]).slice(text)
        assert found == span["text"]
        units = text.encode("utf-16-le")[2 * span["start"] : 2 * span["end"]]
        assert units.decode("utf-16-le") == span["text"]


def test_many_spans_stand_behind_an_emoji_so_that_units_and_code_points_differ():
    shifted = [
        span
        for query in ANSWERABLE
        for span in query["expected_spans"]
        if NOTES[span["note_path"]][span["start"] : span["end"]] != span["text"]
    ]
    assert len(shifted) >= 20
