"""Where things stand on a chart, worked out by hand; y grows downwards."""

import xml.etree.ElementTree as ET
from itertools import combinations

import pytest

from gigamind.records.schema import IntervalReport
from gigamind.reports.charts import (
    INK,
    Course,
    Curve,
    Forest,
    Line,
    Mark,
    Pen,
    Row,
    Scatter,
    Spot,
    Steps,
    Surface,
    Trend,
    inline_svg,
    linear_ticks,
    log_ticks,
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
COMPARED = Forest("T", [Row("ab", measured(0.5), measured(0.0, 0.0, 0.25))], ("now", "before"))
CURVES = Steps(
    "T",
    "x",
    (0.0, 0.25, 0.5, 1.0),
    [
        Line("a", (None, 0.51, 0.0), Pen("accent")),
        Line("b", (0.0, None, 0.0), Pen("warn", "dotted")),
    ],
    [Mark(0.25, "first"), Mark(0.75, "second", Pen("muted", "dashed"))],
)
COUNTS = Steps("T", "x", (1.0, 10.0, 100.0), [Line("", (0, 4), Pen("accent"))], (), "n", log=True)
SURFACE = Surface(
    "T",
    "alpha",
    [
        Curve("off", [Spot(0, 0.5, (0.4, 0.6)), Spot(1, 0.7, (0.6, 0.8))], (), Pen("accent")),
        Curve("on", [], [Spot(1.17, 0.6, (0.5, 0.7))], Pen("warn", "dashed")),
    ],
    {1.17: "balanced"},
    "",
    (0.5, "as it is"),
)
SCATTER = Scatter("T", "x", "y", [(0.5, 0.51, 4), (1.0, 1.0, 1)])
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


def test_what_was_before_stands_hollow_below_and_the_legend_names_both():
    # The legend moves the row down by 24, to 66.5; both leave its middle.
    circles = [(c.get("cx"), c.get("cy"), c.get("fill")) for c in page(COMPARED).iter("circle")]
    paper, accent = "var(--paper)", "var(--accent)"
    assert circles == [
        ("19", "38", accent),
        ("71.9", "38", paper),
        ("32.6", "71.5", paper),
        ("191.3", "64.5", accent),
    ]
    assert {"now", "before"} <= set(texts(COMPARED))


def test_a_curve_breaks_where_a_value_is_missing():
    # x from 38 to 386; two marks take 28 above, so y goes from 218 for 0 up to 82 for 1.02: 150 is 0.51.
    first, second = (path.get("d") for path in page(CURVES).iter("path"))
    assert first == "M125 150H212V218H386"
    assert second == "M38 218H125M212 218H386"


def test_a_histogram_is_closed_to_the_ground_on_a_log_axis():
    # x from 56 to 386: 10 lies midway between 1 and 100.  No legend: y from 148 for 0 up to 32 for 4 * 1.05.
    path = next(page(COUNTS).iter("path"))
    assert path.get("d") == "M56 148H56V148H221V37.52H386V148H386"
    assert (path.get("fill"), path.get("fill-opacity")) == ("var(--accent)", "0.13")
    assert texts(COUNTS)["10"]["x"] == "221"


def test_counts_have_whole_numbers_with_their_unit():
    counts = Steps("T", "x", (0.0, 1.0), [Line("", (2,), Pen("accent"))], (), "n", " %")
    assert {"0 %", "1 %", "2 %"} == {text for text in texts(counts) if "%" in text}


def test_an_empty_histogram_can_be_drawn():
    empty = Steps("T", "x", (0.0, 1.0), [Line("", (0,), Pen("accent"))], (), "n")
    assert next(page(empty).iter("path")).get("d") == "M56 148H56V148H386V148H386"


def test_words_of_a_mark_stand_beside_its_line_towards_the_middle():
    # x: 38 + 348 * 0.25 = 125 and 38 + 348 * 0.75 = 299, each 4 away from its words.
    found = texts(CURVES)
    assert (found["first"]["x"], found["first"]["text-anchor"]) == ("129", "start")
    assert (found["second"]["x"], found["second"]["text-anchor"]) == ("295", "end")
    assert found["first"]["y"] != found["second"]["y"]
    line = next(line for line in page(CURVES).iter("line") if line.get("stroke") == "var(--muted)")
    assert (line.get("x1"), line.get("x2"), line.get("stroke-dasharray")) == ("299", "299", "5 2.5")


def test_marks_nearer_to_an_edge_stand_higher_so_that_no_line_crosses_words_beside_it():
    marks = [Mark(0.6, "inner"), Mark(0.9, "outer"), Mark(0.7, "between")]
    found = texts(Steps("T", "x", (0.0, 1.0), [Line("", (1.0,), Pen("ink"))], marks))
    heights = [float(found[label]["y"]) for label in ("outer", "between", "inner")]
    assert heights == [41.0, 55.0, 69.0]


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


def test_points_are_larger_where_they_stand_for_more():
    # x from 56 to 386, y from 212 for 0 up to 34 for 1.02; radius 2 + 5 * sqrt(share of the most).
    assert dots(SCATTER) == [{"cx": 221, "cy": 123, "r": 7}, {"cx": 386, "cy": 37.49, "r": 4.5}]


@pytest.mark.parametrize(
    ("low", "high", "most", "least", "expected"),
    [
        (0.0, 1.0, 5, 0, [0, 0.2, 0.4, 0.6, 0.8, 1]),
        (0.27, 0.42, 9, 0, [0.28, 0.3, 0.32, 0.34, 0.36, 0.38, 0.4, 0.42]),
        (0.0, 46, 6, 1, [0, 10, 20, 30, 40]),
        (0.0, 2.1, 6, 1, [0, 1, 2]),
    ],
)
def test_ticks_are_round_numbers(low, high, most, least, expected):
    assert linear_ticks(low, high, most, least) == pytest.approx(expected)


@pytest.mark.parametrize(
    ("low", "high", "expected"),
    [
        (0.9, 110, [1, 2, 5, 10, 20, 50, 100]),
        (1, 1000, [1, 10, 100, 1000]),
        (0.009, 110, [0.01, 0.1, 1, 10, 100]),
        (5.6, 7.1, [5.6, 5.8, 6, 6.2, 6.4, 6.6, 6.8, 7]),  # neither 5 nor 10 lies in there
    ],
)
def test_ticks_of_a_log_axis_are_few_and_never_none(low, high, expected):
    assert log_ticks(low, high) == pytest.approx(expected)


@pytest.mark.parametrize("chart", [FOREST, COMPARED, CURVES, COUNTS, SCATTER, SURFACE, TREND])
def test_in_a_page_colours_are_the_pages_and_nothing_needs_a_style_or_an_id(chart):
    root = ET.fromstring(inline_svg(chart, 'what "it" shows'))
    assert (root.get("role"), root.get("aria-label")) == ("img", 'what "it" shows')
    attributes = [element.attrib for element in root.iter()]
    assert not any({"style", "id", "href", "class"} & set(found) for found in attributes)
    colours = {found[name] for found in attributes for name in ("fill", "stroke") if name in found}
    assert colours - {"none"} <= {f"var(--{name})" for name in INK}


@pytest.mark.parametrize("chart", [FOREST, COMPARED, CURVES, COUNTS, SCATTER, SURFACE, TREND])
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
    chart = Forest(HOSTILE, [Row(HOSTILE, measured(0.5))], (HOSTILE, HOSTILE))
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


def test_lines_of_one_chart_differ_by_more_than_colour():
    for one, other in combinations(CURVES.lines, 2):
        assert (one.pen.style, one.pen.width) != (other.pen.style, other.pen.width)
    dashes = [path.get("stroke-dasharray") for path in page(CURVES).iter("path")]
    assert dashes == [None, "1.8 2.7"]


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


def test_curves_stand_side_by_side_over_one_scale_with_the_level_across():
    drawing = ET.fromstring(svg_file(SURFACE))
    dots = [(float(dot.get("cx")), float(dot.get("cy"))) for dot in drawing.iter(f"{SVG}circle")]
    (first, low), (last, high), (apart, middle) = dots
    assert first < last < apart
    assert low > middle > high  # 0.5, 0.6 and 0.7
    assert middle == pytest.approx((low + high) / 2, abs=0.01)
    dashed = [
        line
        for line in drawing.iter(f"{SVG}line")
        if line.get("stroke") == INK["muted"] and line.get("y1") == line.get("y2")
    ]
    assert float(dashed[-1].get("y1")) == pytest.approx(low)
    whiskers = [line for line in drawing.iter(f"{SVG}line") if line.get("stroke-width") == "1"]
    assert len(whiskers) == 3
    assert [dot.get("fill") for dot in drawing.iter(f"{SVG}circle")][1:] == [
        INK["accent"],
        INK["paper"],
    ]
    assert "balanced" in [text.text for text in drawing.iter(f"{SVG}text")]
