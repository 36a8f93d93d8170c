import pytest

from gigamind.evidence.again import find_again
from gigamind.spans import Span
from gigamind.tasks.search.prepare import prepare

LONG = "Invoices above 500 euros need the approval of two people."


@pytest.mark.each(
    "text, note, expected",
    [
        ("휴가는 팀장에게", "새 머리말\n\n휴가는 팀장에게 신청한다.", Span(7, 15)),
        ("휴가는 팀장에게", "휴가는\n**팀장**에게 신청한다.", Span(0, 12)),
        (LONG, f"# Money\n\n{LONG.replace('need the', 'need an')}", Span(9, 65)),
        (LONG, LONG.replace("500", "900"), None),  # says something else now
        ("휴가는 팀장에게", "휴가는 팀장에게. 휴가는 팀장에게.", None),  # which of the two?
        ("휴가는 팀장에게", "회의는 월요일에 한다.", None),
        ("가" * 5_000, "나" + "가" * 5_000, Span(1, 5_001)),
        ("가" * 5_001, "나" + "가" * 5_001, None),
        ("가", "", None),
    ],
)
def test_a_text_is_found_again_only_when_its_place_is_sure(text, note, expected):
    assert find_again(text, note) == expected


def labelled(start, end, text):
    return {
        "id": "a",
        "query": "휴가 신청",
        "answerable": True,
        "expected_notes": ["휴가.md"],
        "expected_spans": [{"note_path": "휴가.md", "start": start, "end": end, "text": text}],
    }


def warnings_of(options):
    """Those of the dataset, which name its file first."""
    found = prepare(options).warnings
    return [warning for warning in found if warning.startswith(f"{options.dataset}:")]


def test_a_span_whose_text_moved_is_warned_of_with_where_it_stands_now(make_options):
    # "---\nlang: ko\n---\n" has 17 UTF-16 units, the palm tree two and a space one: "휴가는 팀장에게" is at 20..28.
    (warning,) = warnings_of(make_options([labelled(0, 8, "휴가는 팀장에게")]))
    assert warning.endswith(
        '휴가.md says "---\\nlang", the dataset "휴가는 팀장에게". '
        'Its text stands at "start": 20, "end": 28 now'
    )
    assert warnings_of(make_options([labelled(20, 28, "휴가는 팀장에게")])) == []


def test_a_text_that_is_gone_is_warned_of_as_before(make_options):
    (warning,) = warnings_of(make_options([labelled(0, 8, "장미")]))
    assert warning.endswith('휴가.md says "---\\nlang", the dataset "장미"')


def test_a_span_beyond_a_note_that_was_shortened_is_mended_by_where_its_text_stands(make_options):
    rows = [labelled(90, 98, "휴가는 팀장에게"), labelled(90, 98, "장미") | {"id": "b"}]
    moved, gone = prepare(
        make_options([*rows, labelled(17, 19, "🌴") | {"id": "c"}], min_rows=0)
    ).errors
    assert moved.message.endswith(
        'offset 90 is outside 0..35 of 휴가.md. Its text stands at "start": 20, "end": 28 now.'
    )
    assert gone.message.endswith(
        "Count UTF-16 code units from the start of the file: start inclusive, end exclusive."
    )


def test_no_more_than_500_texts_are_looked_for(make_options):
    rows = [labelled(0, 8, "휴가는 팀장에게") | {"id": f"q{number}"} for number in range(501)]
    warnings = warnings_of(make_options(rows))
    assert [warning.endswith(" now") for warning in warnings] == [True] * 500 + [False]
