import struct
import xml.etree.ElementTree as ET

import pytest

from gigamind.reports.page.plots import figures, save_figures
from gigamind.reports.page.svg import inline_svg
from gigamind.reports.page.typeface import can_draw, columns, shortened

SVG = "{http://www.w3.org/2000/svg}"
OPTIONS = {"mode": "hybrid", "min_score": 0.3, "topk": 10, "seed": 42}
UNDRAWABLE = "\U00017000"  # Tangut, which no usual font has


@pytest.fixture
def record(make_record, make_item, make_slice):
    items = (
        make_item(1, top_base_score=0.8, latency_ms=0.0),
        make_item(2, top_base_score=0.6, latency_ms=100.0),
        make_item(3, answerable=False, metrics={}, top_base_score=0.2, latency_ms=3.0),
        make_item(4, answerable=False, metrics={}, top_base_score=None, latency_ms=5.0),
    )
    tags = {"회의": make_slice(), "$x_$": make_slice(3, 1), UNDRAWABLE: make_slice(4, 1)}
    return make_record(items, run={"options": OPTIONS}, summary={"by_tag": tags})


def _texts(path):
    root = ET.fromstring(path.read_text(encoding="utf-8"))
    return [element.text for element in root.iter(f"{SVG}text")]


def test_a_run_with_both_kinds_of_queries_has_five_figures(record):
    assert list(figures(record)) == ["metrics", "threshold", "scores", "latency", "slices"]


def test_without_unanswerable_queries_no_threshold_is_drawn(make_record, make_item):
    counts = {"queries_unanswerable": 0}
    record = make_record((make_item(1),), run={"options": OPTIONS}, counts=counts)
    assert list(figures(record)) == ["metrics", "latency", "slices"]


def test_a_run_without_queries_has_no_figures(make_record):
    counts = {"queries_answerable": 0, "queries_unanswerable": 0}
    assert figures(make_record((), run={"options": OPTIONS}, counts=counts)) == {}


def test_svg_keeps_every_text_as_text_also_korean_and_dollar_signs(record, tmp_path):
    save_figures(record, tmp_path, format="svg", lang="ko")
    texts = _texts(tmp_path / "slices.svg")
    assert {"구분별 MRR", "태그: 회의", "태그: $x_$", f"태그: {UNDRAWABLE}"} <= set(texts)


def test_equal_runs_give_equal_svg(record, tmp_path):
    first, second = (save_figures(record, tmp_path / name, format="svg") for name in "ab")
    assert [p.read_bytes() for p in first] == [p.read_bytes() for p in second]


def test_the_settings_now_and_best_are_marked(record, tmp_path):
    # Scores none and 0.2 are unanswerable, 0.6 and 0.8 answerable: the best lies midway, at 0.4.
    save_figures(record, tmp_path, format="svg")
    assert {"now 0.300", "best F1 0.400"} <= set(_texts(tmp_path / "threshold.svg"))


def test_png_files_are_889_pixels_wide(record, tmp_path):
    paths = save_figures(record, tmp_path, format="png")
    assert [path.name for path in paths] == [
        f"{name}.png" for name in ("metrics", "threshold", "scores", "latency", "slices")
    ]
    for path in paths:
        header = path.read_bytes()[:24]
        assert header.startswith(b"\x89PNG")
        # 400 points at 160 pixels an inch are 888.9.
        assert struct.unpack(">I", header[16:20])[0] in {888, 889}


def test_a_slice_whose_name_no_font_has_is_left_out_and_the_figure_says_so(record):
    drawn = figures(record, drawable=lambda text: UNDRAWABLE not in text)
    texts = {text.get_text() for text in drawn["slices"].findobj(lambda a: hasattr(a, "get_text"))}
    assert "tag: 회의" in texts
    assert not any(UNDRAWABLE in text for text in texts)
    assert any(text.startswith("1 slices left out") for text in texts)


def test_letters_are_drawable_when_a_font_has_them():
    assert can_draw("hit@1 – 95 %")
    assert not can_draw(UNDRAWABLE)


def test_the_baseline_speed_is_marked_on_the_same_hardware_only(record, make_record):
    def marks(baseline):
        drawn = figures(record, baseline)["latency"]
        return {text.get_text() for text in drawn.findobj(lambda a: hasattr(a, "get_text"))}

    other = record.run.hardware.model_copy(update={"hash": "other"})
    foreign = make_record(record.items, run={"options": OPTIONS, "hardware": other})
    assert "baseline p95 1234.6" in marks(record)
    assert "baseline p95 1234.6" not in marks(foreign)


def test_a_figure_in_a_page_has_no_style_attributes_and_the_pages_colours(record):
    drawn = inline_svg(figures(record)["metrics"], "metrics", 'what "it" shows')
    root = ET.fromstring(drawn)
    attributes = [element.attrib for element in root.iter()]
    assert root.get("aria-label") == 'what "it" shows'
    assert not any("style" in found for found in attributes)
    assert any(found.get("fill") == "var(--accent)" for found in attributes)
    colours = {found[name] for found in attributes for name in ("fill", "stroke") if name in found}
    assert all(colour == "none" or colour.startswith("var(") for colour in colours)


def test_ids_in_a_page_carry_the_figures_name_and_links_follow(record):
    root = ET.fromstring(inline_svg(figures(record)["threshold"], "threshold", ""))
    ids = {element.get("id") for element in root.iter() if element.get("id")}
    links = {element.get("href") for element in root.iter() if element.get("href")}
    clips = {element.get("clip-path") for element in root.iter() if element.get("clip-path")}
    assert all(id_.startswith("threshold-") for id_ in ids)
    assert {link.removeprefix("#") for link in links} <= ids
    assert clips
    assert {clip.removeprefix("url(#").removesuffix(")") for clip in clips} <= ids


@pytest.mark.parametrize(
    ("text", "width", "expected"),
    [("abcd", 4, "abcd"), ("abcde", 4, "abc…"), ("회의록", 6, "회의록"), ("회의록", 5, "회의…")],
)
def test_a_label_is_cut_by_its_width_on_screen(text, width, expected):
    assert shortened(text, width) == expected


def test_hangul_takes_two_columns():
    assert columns("a회") == 3
