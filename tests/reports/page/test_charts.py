"""Where things stand on a chart, worked out by hand; y grows downwards."""

import xml.etree.ElementTree as ET

import pytest

from gigamind.records.schema import IntervalReport
from gigamind.reports.charts import (
    INK,
    Course,
    Forest,
    Row,
    Trend,
    inline_svg,
    shortened,
    svg_file,
)
from gigamind.reports.figures import Figure
from gigamind.text import columns

SVG = "{http://www.w3.org/2000/svg}"
HOSTILE = "</svg><script>x</script> \"'& \u202e\x00\ud800\uffff var(--accent)"


def measured(value, low=None, high=None):
    return Figure("search", "mrr", value, IntervalReport(low=low, high=high, n=4))


FOREST = Forest("T", [Row("ab", measured(0.5, 0.25, 1.0))])
TREND = Trend(
    "T",
    [Course("a", (0.2, None, 0.9), 0.5, (2,)), Course("b", (0.5, 0.5, None))],
    (False, True, True),
    ("first", "last"),
    ("run", "other run", "baseline"),
    "change",
)


def page(chart):
    return ET.fromstring(inline_svg(chart, "label"))


def texts(chart):
    return {text.text: text.attrib for text in page(chart).iter("text")}


def dots(chart):
    return [
        {name: float(dot.get(name)) for name in ("cx", "cy", "r")}
        for dot in page(chart).iter("circle")
    ]


def test_a_value_stands_at_its_place_between_the_ends_of_its_interval():
    # "ab" takes 2 * 6.3 after the 20 of the margins: the axis goes from 32.6 to 350, 317.4 long.
    # One row of 21 below the title's 32: its middle is at 42.5.
    assert dots(FOREST) == [{"cx": 191.3, "cy": 42.5, "r": 3.0}]
    whisker = next(
        line for line in page(FOREST).iter("line") if line.get("stroke") == "var(--accent)"
    )
    assert [whisker.get(name) for name in ("x1", "x2", "y1", "y2")] == [
        "111.95",
        "350",
        "42.5",
        "42.5",
    ]
    assert {"0", "0.25", "0.5", "0.75", "1", "0.500", "ab", "T"} == set(texts(FOREST))


def test_a_trend_has_its_runs_baseline_and_changes():
    assert {"a", "b", "first", "last", "run", "other run", "baseline", "change", "0.900"} <= set(
        texts(TREND)
    )
    solid, hollow = "var(--accent)", "var(--paper)"
    fills = [dot.get("fill") for dot in page(TREND).iter("circle")]
    assert fills == [solid, hollow, hollow, solid, hollow, solid]  # two of the legend, then a and b
    dashes = [line.get("stroke-dasharray") for line in page(TREND).iter("line")]
    assert (dashes.count("5 2.5"), dashes.count("1.8 2.7")) == (2, 2)  # of legend and a each
    plain = Trend("T", [Course("a", (0.5,))], (True,), ("", ""), ("run", "other run", "baseline"))
    assert not {"other run", "baseline"} & set(texts(plain))


@pytest.mark.parametrize("chart", [FOREST, TREND])
def test_in_a_page_colours_are_the_pages_and_nothing_needs_a_style_or_an_id(chart):
    root = ET.fromstring(inline_svg(chart, 'what "it" shows'))
    assert (root.get("role"), root.get("aria-label")) == ("img", 'what "it" shows')
    attributes = [element.attrib for element in root.iter()]
    assert not any({"style", "id", "href", "class"} & set(found) for found in attributes)
    colours = {found[name] for found in attributes for name in ("fill", "stroke") if name in found}
    assert colours - {"none"} <= {f"var(--{name})" for name in INK}


@pytest.mark.parametrize("chart", [FOREST, TREND])
def test_a_file_stands_alone_on_white_in_colours_of_its_own(chart):
    text = svg_file(chart)
    root = ET.fromstring(text)
    assert (root.tag, root.get("width"), root.get("aria-label")) == (f"{SVG}svg", "400", "T")
    assert root.get("viewBox") == f"0 0 400 {root.get('height')}"
    assert (root[0].tag, root[0].get("fill")) == (f"{SVG}rect", "#ffffff")
    assert {"Malgun Gothic", "Noto Sans KR"} <= set(root.get("font-family").split('"'))
    assert "var(" not in text
    assert "style=" not in text
    assert text == svg_file(chart)


def test_texts_of_others_stay_texts():
    chart = Forest(HOSTILE, [Row(HOSTILE, measured(0.5))])
    for text in (inline_svg(chart, HOSTILE), svg_file(chart)):
        root = ET.fromstring(text.encode())
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "svg", "rect", "line", "circle", "text"
        }  # fmt: skip
        shown = "</svg><script>x</script> \"'& ‹U+202E›‹U+0000›\ufffd\ufffd var(--accent)"
        assert [element.text for element in root.iter() if element.text == shown]
        assert "<script" not in text


def test_a_label_is_cut_as_it_is_shown():
    # Each override is named by 8 letters: two fit into 24 columns beside an ellipsis, the third is cut.
    found = texts(Forest("T", [Row("\u202e" * 9, measured(0.5))]))
    assert "‹U+202E›‹U+202E›‹U+202E…" in found


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("회의록", 6, "회의록"), ("회의록", 5, "회의…")],
)
def test_a_label_is_cut_by_its_width_on_screen(text, width, expected):
    assert shortened(text, width) == expected


def test_hangul_takes_two_columns_and_the_axis_begins_behind_the_widest_label():
    assert columns("a회") == 3
    # 20 + 6.3 * 4, and 12 before it ends the label.
    assert (
        texts(Forest("T", [Row("회의", measured(0.5)), Row("abc", measured(0.5))]))["회의"]["x"]
        == "33.2"
    )


@pytest.mark.parametrize(
    "chart",
    [
        Forest("T", [Row("hit@1", measured(0.0, 0.0, 0.1))]),
        Trend("T", [Course("hit@1", [0.2, 0.9])], [True] * 2, ("a", "b"), ("run", "", "")),
    ],
)
def test_the_dot_of_the_lowest_value_lies_on_no_label(chart):
    ends = [float(at["x"]) for at in texts(chart).values() if at.get("text-anchor") == "end"]
    left = min(dot["cx"] - dot["r"] for dot in dots(chart) if dot["cy"] > 40)
    assert (
        left - max(end for end in ends if end < 300) >= 8
    )  # at the right stands when the last run was
