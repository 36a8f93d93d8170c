import json

import pytest
from click.testing import CliRunner

from gigamind.cli.align import align
from gigamind.errors import InputError

SOURCE = "👋 DuckDB의 JSONB를 JSON으로 변경했다.\n삭제한 노트는 휴지통에 30일 동안 보관한 다음 완전히 지운다."
GOOD = {"quote": "JSONB를 JSON으로"}
MISSING = {"quote": "어디에도 없는 말"}
FLIPPED = {"quote": "삭제한 노트는 휴지통에 90일 동안 보관한 다음 완전히 지운다."}


@pytest.fixture
def run(tmp_path):
    def invoke(*rows, options=(), sources=(SOURCE,), raw=None):
        arguments = [*options]
        for index, text in enumerate(sources):
            path = tmp_path / f"note{index}.md"
            path.write_bytes(text if isinstance(text, bytes) else text.encode())
            arguments += ["--source", str(path)]
        quotes = tmp_path / "quotes.jsonl"
        lines = "\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        quotes.write_text(lines if raw is None else raw, encoding="utf-8")
        arguments += ["--quotes", str(quotes)]
        return CliRunner().invoke(align, arguments)

    return invoke


def refused(result):
    assert isinstance(result.exception, InputError), result.output
    return str(result.exception)


def test_json_has_one_result_a_quote_with_both_kinds_of_offsets(run):
    result = run(GOOD, MISSING, FLIPPED, options=["--json"])
    assert result.exit_code == 0
    document = json.loads(result.stdout)
    good, missing, flipped = document["results"]
    assert good["status"] == "aligned"
    assert good["offset_unit"] == "code_point"
    assert (good["start"], good["end"]) == (10, 23)
    assert (good["utf16_start"], good["utf16_end"]) == (11, 24)
    assert SOURCE[good["start"] : good["end"]] == GOOD["quote"]
    assert (missing["status"], missing["reason"]) == ("failed", "quote_too_short_for_fuzzy")
    found = (flipped["method"], flipped["critical"], flipped["promotable"])
    assert found == ("fuzzy", ["number"], False)
    assert document["quality"]["quotes"] == 3
    assert document["quality"]["exact"] == pytest.approx(1 / 3)
    assert document["quality"]["failed"] == pytest.approx(1 / 3)
    assert document["quality"]["critical"] == pytest.approx(1 / 3)
    (source,) = document["sources"]
    assert source["sha256"] == good["source_sha256"]
    assert source["chars"] == len(SOURCE)


def test_a_near_miss_is_written_with_its_offsets(run):
    row = {"quote": "abcdefghijklmnopWXYZ"}
    result = run(row, options=["--json"], sources=["👋 abcdefghijklmnopqrst yy"])
    (failed,) = json.loads(result.stdout)["results"]
    assert failed["near_miss"] == {
        "offset_unit": "code_point",
        "start": 2,
        "end": 22,
        "utf16_start": 3,
        "utf16_end": 23,
        "similarity": 0.8,
    }


def test_the_text_shows_the_passage_and_why_a_quote_failed(run):
    output = run(GOOD, MISSING).stdout
    assert "10..23" in output
    assert "11..24" in output
    assert "\x1b[" not in output


def test_a_passage_is_between_marks_with_a_few_words_around_it(run):
    words = "하나 둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열"
    source = f"{words} 찾을 말 {words}"
    output = run({"quote": "찾을 말"}, sources=[source]).stdout
    # 24 characters on each side, less what may be a part of a word.
    assert (
        "…둘 셋 넷 다섯 여섯 일곱 여덟 아홉 열 >>찾을 말<< 하나 둘 셋 넷 다섯 여섯 일곱 여덟…\n"
        in output
    )
    short = run({"quote": "찾을 말"}, sources=["앞 찾을 말 뒤"]).stdout
    assert "   앞 >>찾을 말<< 뒤\n" in short


def test_the_source_of_each_quote_is_named(run):
    assert "note0.md" in run(GOOD).stdout
    row = {"quote": "둘", "source_index": 1}
    assert "note1.md" in run(row, sources=["하나", "둘"]).stdout


def test_escapes_in_a_source_never_reach_the_screen(run):
    output = run({"quote": "찾을 말"}, sources=["\x1b]0;owned\x07 찾을 말 \x1b[31m\u202e"]).stdout
    assert "찾을 말" in output
    assert "\x1b" not in output
    assert "\u202e" not in output


@pytest.mark.parametrize(
    ("rows", "options", "code"),
    [
        ([GOOD], ["--require-all"], 0),
        ([GOOD, MISSING], ["--require-all"], 1),
        ([GOOD, MISSING], [], 0),
    ],
)
def test_a_failed_quote_ends_in_1_only_when_all_are_required(run, rows, options, code):
    assert run(*rows, options=options).exit_code == code


def test_a_row_names_its_source_by_index_path_or_file_name(run, tmp_path):
    rows = [
        {"quote": "하나", "source_index": 0},
        {"quote": "둘", "source": "note1.md"},
        {"quote": "둘", "source": str(tmp_path / "note1.md")},
        {"quote": "둘", "source_index": 7},
    ]
    result = run(*rows, sources=["하나", "둘"], options=["--json"])
    outcomes = json.loads(result.stdout)["results"]
    assert [one["status"] for one in outcomes] == ["aligned"] * 3 + ["failed"]
    assert outcomes[3]["reason"] == "source_index_out_of_range"


def test_context_and_entry_single_a_place_out(run):
    rows = [
        {"quote": "네.", "prefix": "아니오. "},
        {"quote": "네.", "hint": 8},
        {"quote": "네.", "entry_id": "a"},
        {"quote": "네.", "entry_id": "a"},
    ]
    result = run(*rows, sources=["네. 아니오. 네."], options=["--json"])
    outcomes = json.loads(result.stdout)["results"]
    assert [one["start"] for one in outcomes] == [8, 8, 0, 8]
    assert [one["ambiguous"] for one in outcomes] == [False, True, True, True]


def test_the_threshold_is_an_option(run):
    row, source = {"quote": "DuckDB JSONB 타입 제거"}, "DuckDB에서 JSONB 타입을 제거"
    assert run(row, sources=[source], options=["--require-all"]).exit_code == 0
    strict = ["--require-all", "--threshold", "0.86"]
    assert run(row, sources=[source], options=strict).exit_code == 1
    assert run(row, sources=[source], options=["--threshold", "0.8"]).exit_code == 0
    assert "--threshold" in run(row, options=["--threshold", "0.79"]).output
    assert "nan" in refused(run(row, options=["--threshold", "nan"]))


@pytest.mark.parametrize(
    ("raw", "told"),
    [
        ('{"quote": "a"}\n\n{"quote": }', "quotes.jsonl:3: "),
        ('{"quote": 1}', "quotes.jsonl:1: quote: "),
        ('{"quotes": "a"}', "quotes.jsonl:1: quote"),
        ('{"quote": "a", "span": [0, 1]}', "quotes.jsonl:1: span: "),
        ('{"quote": "a", "hint": -1}', "quotes.jsonl:1: hint: "),
        ('{"quote": "\\ud800"}', "quotes.jsonl:1: quote: "),
        ('["a"]', "quotes.jsonl:1: "),
        ("[" * 100_000, "quotes.jsonl:1: "),
        ("9" * 5_000, "quotes.jsonl:1: "),
        ('{"quote": "a", "source": "note0.md", "source_index": 0}', "source_index"),
        ('{"quote": "a", "source": "other.md"}', "'other.md'"),
        (" \n", "quotes.jsonl: "),
    ],
)
def test_a_bad_row_is_refused_with_file_and_line(run, raw, told):
    assert told in refused(run(raw=raw))


def test_with_several_sources_a_row_must_say_which(run):
    assert "quotes.jsonl:1: " in refused(run(GOOD, sources=["a", "b"]))


def test_a_source_that_is_not_text_is_refused(run):
    message = refused(run(GOOD, sources=[b"abc\xff\xfe"]))
    assert "note0.md" in message


@pytest.mark.parametrize("name", ["missing.md", ".", "a\0b"])
def test_a_source_that_cannot_be_read_is_refused(run, name):
    assert refused(run(GOOD, sources=[], options=["--source", name]))


def test_a_source_of_100_megabytes_is_refused_with_the_limit(run, tmp_path):
    big = tmp_path / "big.md"
    with big.open("wb") as file:
        file.truncate(100_000_000)
    options = ["--source", str(big)]
    assert "40,000,000" in refused(run(GOOD, sources=[], options=options))
