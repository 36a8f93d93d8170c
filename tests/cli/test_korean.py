"""What a Korean reader is shown has no English sentence in it, but for what people wrote themselves."""

import json
from pathlib import Path

import pytest
from called import ran
from command_line import SEARCH
from korean import english, shown
from row_files import query_row, write_rows
from vault_files import write_files

from gigamind.datasets.generate_links import generate_links

NOTES = {
    "휴가.md": "# 휴가\n\n연차는 사흘 전에 신청합니다. 자세한 절차는 [[경비]]와 같습니다.\n",
    "경비.md": "# 경비\n\n경비는 매달 25일까지 청구합니다. 승인은 [[배포]] 담당자가 합니다.\n",
    "배포.md": "# 배포\n\n배포는 화요일과 목요일에만 합니다. [[휴가]] 중에는 하지 않습니다.\n",
}
ROWS = [
    query_row("연차", "연차는 언제 신청하나요", "휴가.md"),
    query_row("청구", "경비 청구 마감", "경비.md", tags=["돈"]),
    query_row("요일", "무슨 요일에 배포하나요", "배포.md"),
    query_row("주차", "주차장은 어디인가요"),
]


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A vault and questions in Korean, in an environment that is Korean."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LC_ALL", "ko_KR.UTF-8")
    write_files(tmp_path / "vault", NOTES)
    write_rows(tmp_path / "queries.jsonl", ROWS)
    return tmp_path


def test_what_counts_as_an_english_sentence():
    assert english("The notes changed since then.")
    assert not english("지표 MRR, nDCG@10 (sha256 0801a75dadd4) report.html --speed-passes")


def test_a_search_run_its_comparison_and_the_terminal_are_korean(place, gigamind):
    first = gigamind(*SEARCH, "--out", "first")
    second = gigamind(*SEARCH, "--topk", "1", "--out", "second", "--compare", "first")
    compared = gigamind("compare", "first", "second", "--out", "compared")
    history = gigamind("history", ".", "--out", "history")
    assert [ended.code for ended in (first, second, compared, history)] == [0, 0, 0, 0]
    assert json.loads(Path("second", "run.json").read_text("utf-8"))["options"]["lang"] == "ko"
    files = ("first/summary.md", "second/summary.md", "second/compare.md", "compared/compare.md")
    for file in files:
        assert english((place / file).read_text("utf-8")) == [], file
    pages = ("second/report.html", "compared/compare.html", "history/history.html")
    for file in pages:
        assert english(shown((place / file).read_text("utf-8"))) == [], file
    for ended in (first, second, compared, history):
        assert english(ended.stdout) == []
    assert "지표" in first.stdout


def test_a_link_run_is_korean(place):
    generate_links(place / "vault", place / "bare", place / "links.jsonl")
    asked = ("eval", "links", "--dataset", "links.jsonl", "--notes", "bare", "--out", "links")
    ended = ran(*asked, "--no-semantic")
    assert english((place / "links/summary.md").read_text("utf-8")) == []
    assert english(shown((place / "links/report.html").read_text("utf-8"))) == []
    assert english(ended.stdout) == []


ANSWERS = [
    {
        "id": name,
        "question": question,
        "answer": answer,
        "language": "ko",
        "context_notes": [{"title": "규정", "text": text}],
    }
    for name, question, answer, text in (
        ("신청", "연차는 언제 신청하나요", "연차는 사흘 전에 신청합니다.", "연차는 사흘 전에 신청합니다."),
        ("마감", "경비 마감은 언제인가요", "경비는 매달 30일에 청구합니다.", "경비는 매달 25일에 청구합니다."),
    )
]  # fmt: skip
OTHERS = (
    ("dataset", "check", "--dataset", "queries.jsonl", "--notes", "vault"),
    ("eval", "generate-queries", "--notes", "vault", "--out", "made.jsonl"),
    ("eval", "generate-links", "--notes", "vault", "--out-notes", "bare", "--dataset", "l.jsonl"),
    ("eval", "answers", "--dataset", "answers.jsonl", "--judge", "words", "--out", "answered"),
    (*SEARCH, "--dry-run"),
    ("eval", "answers", "--dataset", "answers.jsonl", "--model", "openai/x", "--dry-run"),
    (*SEARCH, "--out", "kept", "--save-snapshot", "--gates", "floors.toml", "--junit", "junit.xml"),
    ("baseline", "promote", "kept"),
    ("export", "trec", "kept", "--out", "exported"),
    ("suggest-links", "--notes", "vault", "--all", "--no-semantic"),
    ("suggest-links", "--notes", "vault", "--note", "휴가.md", "--no-semantic"),
    ("doctor",),
)


def test_no_other_command_tells_a_korean_reader_anything_in_english(place, gigamind):
    write_rows(place / "answers.jsonl", ANSWERS)
    (place / "floors.toml").write_text('[floors]\n"search.mrr" = 0.99\n', "utf-8")
    for command in OTHERS:
        ended = gigamind(*command)
        assert ended.code == 0, (command, ended.stderr)
        assert english(ended.stdout) == english(ended.stderr) == [], command
    for file in (*place.glob("*/*.md"), *place.glob("*/*.html"), place / "junit.xml"):
        if file.parent.name not in {"vault", "bare"}:
            text = file.read_text("utf-8")
            assert english(shown(text) if file.suffix == ".html" else text) == [], file


def test_a_command_without_pages_speaks_the_language_that_it_is_told(place, gigamind, monkeypatch):
    monkeypatch.setenv("LC_ALL", "C")
    check = ("dataset", "check", "queries.jsonl")
    links = ("--notes", "vault", "--out-notes", "copy", "--dataset", "links.jsonl")
    assert gigamind(*check).stdout == "4 of 4 rows are usable\n"
    assert gigamind(*check, "--lang", "ko").stdout == "4행 중 4행을 쓸 수 있습니다\n"
    assert not english(gigamind("eval", "generate-links", *links, "--lang", "ko").stdout)
    promoted = gigamind("baseline", "promote", "nowhere", "--lang=ko")
    assert (promoted.code, promoted.stderr[:3]) == (1, "오류:")
    (place / "gigamind.toml").write_text('[dataset.check]\nlang = "ko"\n', encoding="utf-8")
    assert gigamind(*check).stdout == "4행 중 4행을 쓸 수 있습니다\n"
    for typed in ((*check, "--lang", "en"), ("--lang", "en", *check)):
        assert gigamind(*typed).stdout == "4 of 4 rows are usable\n"
    for typed in (("--lang", "ko", "--help"), ("eval", "--help", "--lang=ko")):
        assert gigamind(*typed).stdout.startswith("사용법: gigamind "), typed
    assert not english(gigamind("--lang", "ko").stderr)
