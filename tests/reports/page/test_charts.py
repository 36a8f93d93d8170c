"""Where things stand on a chart, worked out by hand; y grows downwards."""

import xml.etree.ElementTree as ET

import pytest

from gigamind.i18n import translator
from gigamind.reports.charts import INK, Course, Trend, shortened

SVG = "{http://www.w3.org/2000/svg}"
EN = translator("en")
OTHER = "run with another dataset or judge"
HOSTILE = "</svg><script>x</script> \"'& \u202e\x00\ud800\uffff var(--accent)"


TREND = Trend(
    "T",
    [Course("a", (0.2, None, 0.9), 0.5, (2,)), Course("b", (0.5, 0.5, None))],
    (False, True, True),
    ("first", "last"),
)


def page(chart):
    return ET.fromstring(chart.inline_svg("label", EN))


def texts(chart):
    return {text.text: text.attrib for text in page(chart).iter("text")}


def dots(chart):
    return [
        {name: float(dot.get(name)) for name in ("cx", "cy", "r")}
        for dot in page(chart).iter("circle")
    ]


def test_a_trend_has_its_runs_baseline_and_changes():
    assert {"a", "b", "first", "last", "run", OTHER, "baseline", "change point", "0.900"} <= set(
        texts(TREND)
    )
    solid, hollow = "var(--accent)", "var(--paper)"
    fills = [dot.get("fill") for dot in page(TREND).iter("circle")]
    assert fills == [solid, hollow, hollow, solid, hollow, solid]  # two of the legend, then a and b
    dashes = [line.get("stroke-dasharray") for line in page(TREND).iter("line")]
    assert (dashes.count("5 2.5"), dashes.count("1.8 2.7")) == (2, 2)  # of legend and a each
    plain = Trend("T", [Course("a", (0.5,))], (True,), ("", ""))
    assert not {OTHER, "baseline"} & set(texts(plain))


def test_in_a_page_colours_are_the_pages_and_nothing_needs_a_style_or_an_id():
    root = ET.fromstring(TREND.inline_svg('what "it" shows', EN))
    assert (root.get("role"), root.get("aria-label")) == ("img", 'what "it" shows')
    attributes = [element.attrib for element in root.iter()]
    assert not any({"style", "id", "href", "class"} & set(found) for found in attributes)
    colours = {found[name] for found in attributes for name in ("fill", "stroke") if name in found}
    assert colours - {"none"} <= {f"var(--{name})" for name in INK}


def test_a_file_stands_alone_on_white_in_colours_of_its_own():
    text = TREND.svg_file(EN)
    root = ET.fromstring(text)
    assert (root.tag, root.get("width"), root.get("aria-label")) == (f"{SVG}svg", "400", "T")
    assert root.get("viewBox") == f"0 0 400 {root.get('height')}"
    assert (root[0].tag, root[0].get("fill")) == (f"{SVG}rect", "#ffffff")
    assert {"Malgun Gothic", "Noto Sans KR"} <= set(root.get("font-family").split('"'))
    assert "var(" not in text
    assert "style=" not in text
    assert text == TREND.svg_file(EN)


def test_texts_of_others_stay_texts():
    chart = Trend(HOSTILE, [Course(HOSTILE, [0.5])], [True], (HOSTILE, ""))
    for text in (chart.inline_svg(HOSTILE, EN), chart.svg_file(EN)):
        root = ET.fromstring(text.encode())
        assert {element.tag.removeprefix(SVG) for element in root.iter()} <= {
            "svg", "rect", "line", "circle", "text"
        }  # fmt: skip
        shown = "</svg><script>x</script> \"'& ‹U+202E›‹U+0000›\ufffd\ufffd var(--accent)"
        assert [element.text for element in root.iter() if element.text == shown]
        assert "<script" not in text


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("회의록", 6, "회의록"), ("회의록", 5, "회의…")],
)
def test_a_label_is_cut_by_its_width_on_screen(text, width, expected):
    assert shortened(text, width) == expected


def test_the_dot_of_the_lowest_value_lies_on_no_label():
    chart = Trend("T", [Course("hit@1", [0.2, 0.9])], [True] * 2, ("a", "b"))
    ends = [float(at["x"]) for at in texts(chart).values() if at.get("text-anchor") == "end"]
    left = min(dot["cx"] - dot["r"] for dot in dots(chart) if dot["cy"] > 40)
    assert left - max(end for end in ends if end < 300) >= 8
