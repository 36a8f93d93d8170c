"""Each block type in each medium; third-party text never becomes markup."""

import dataclasses
import io
import re
from html import unescape as html_text
from typing import get_args

import pytest
from markdown_it import MarkdownIt
from rich.console import Console

from gigamind.formats import moment
from gigamind.i18n import translator
from gigamind.reports import document as doc
from gigamind.reports import html, markdown, terminal
from gigamind.reports.charts import Course, Trend

BAD = '</script><img src=x onerror=pwned()> | `a` **b** \u202eabc @someone "q"'
SAY = translator("en")
CHART = Trend("t", [Course("m", [0.2, 0.4])], [True, True], ("a", "b"))
EXAMPLE = doc.Example(
    BAD, BAD, BAD, (BAD,), (doc.Side(BAD, (doc.SideLine(BAD, doc.Proportion(0.5), "wrong"),)),)
)
SAMPLES = {
    doc.Verdict: doc.Verdict("failed", BAD, (BAD,)),
    doc.Banner: doc.Banner(BAD),
    doc.Prose: doc.Prose(BAD),
    doc.Bullets: doc.Bullets((BAD,), warning=True),
    doc.Conditions: doc.Conditions((("failed", BAD),)),
    doc.Steps: doc.Steps((doc.Step(BAD, BAD),)),
    type(doc.Table.of((), ())): doc.Table.of(
        (BAD, "v", "d"),
        [(BAD, doc.Proportion(0.5, 3), doc.Difference(-0.1, -0.2, -0.05, -0.02, False))],
        BAD,
    ),
    doc.KeyFigures: doc.KeyFigures(
        (doc.KeyFigure(BAD, doc.Proportion(0.5), doc.Interval(0.4, 0.6), 3, BAD),)
    ),
    doc.Plot: doc.Plot(CHART, BAD),
    doc.Examples: doc.Examples(BAD, (EXAMPLE,), 9),
    doc.Facts: doc.Facts(((BAD, doc.Code(BAD)),)),
    doc.Listing: doc.Listing("report_item.js", "{}"),
    doc.Section: doc.Section("s", BAD, (doc.Prose(BAD),), folded=True),
}


def test_there_is_a_sample_and_a_renderer_for_every_block_type():
    assert set(SAMPLES) == set(get_args(doc.Block))
    macros = html._environment().get_template("blocks.html.jinja").make_module()
    for renderer in (macros, markdown._Page):
        assert all(hasattr(renderer, block.__name__.lower()) for block in get_args(doc.Block))


def _document(block):
    return doc.Document("title", "subject", (block,))


@pytest.mark.parametrize("block", SAMPLES.values(), ids=lambda block: type(block).__name__)
def test_hostile_text_stays_text_in_every_medium(block):
    page = html.render_html(_document(block), SAY)
    assert "<img" not in page
    assert "\u202e" not in page
    assert page.count("<script") == 2
    text = markdown.render_markdown(_document(block), SAY)
    shown = MarkdownIt("commonmark").enable("table").render(text)
    assert "<img" not in shown
    assert "<strong>b</strong>" not in shown
    assert "\u202e" not in text
    assert "@someone" not in text
    out = io.StringIO()
    terminal.show(_document(block), Console(file=out, force_terminal=False), SAY)
    assert "\u202e" not in out.getvalue()


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        (None, "–"), (doc.Proportion(0.5), "0.500"), (doc.Proportion(None), "–"),
        (doc.Interval(0.1, 0.25), "0.100 – 0.250"), (doc.Interval(None, None), "–"),
        (doc.Difference(-0.104), "−10.4 pp"),
        (doc.Difference(-0.104, -0.12, 0.001), "−10.4 pp (−12.0 to +0.1)"), (doc.Difference(None), "–"),
        (doc.Count(1234), "1,234"), (doc.Count(3, 1000), "3 of 1,000"), (doc.Time(12.34, 1), "12.3 ms"),
        (moment("2026-01-31T12:00:59+00:00"), "2026-01-31 12:00 UTC"),
        (moment("2026-01-31T12:00:59+09:00"), "2026-01-31 12:00 +09:00"),
        (doc.Money(0.0123), "0.012300 USD"), (doc.Link("x", "u"), "x"), (doc.Result("passed"), "passed"),
    ],
)  # fmt: skip
def test_each_type_of_value_has_one_format(cell, text):
    assert doc.cell_text(cell, SAY) == text


def test_proportions_and_differences_are_never_mixed_up_in_a_table():
    sample = next(
        b for b in SAMPLES.values() if dataclasses.is_dataclass(b) and hasattr(b, "groups")
    )
    text = markdown.render_markdown(_document(sample), SAY)
    assert "|---|---:|---:|" in text
    assert "0.500" in text
    assert "−10.0 pp" in text


def test_differences_of_a_table_share_one_axis():
    rows = [("a", doc.Difference(-0.2, -0.4, 0.0)), ("b", doc.Difference(0.1, 0.0, 0.2))]
    page = html.render_html(_document(doc.Table.of(("m", "d"), rows)), SAY)
    zeros = re.findall(r'class="zero" x="([\d.]+)"', page)
    dots = re.findall(r'class="dot" x="([\d.]+)"', page)
    assert zeros == ["50.0", "50.0"]
    assert [float(dot) for dot in dots] == pytest.approx([26, 62], abs=0.5)


def test_a_legend_explains_only_what_is_drawn():
    def legends(difference):
        page = html.render_html(_document(doc.Table.of(("m", "d"), [("a", difference)])), SAY)
        return "Bars" in page, "at the limit" in page

    assert legends(doc.Difference(0.1, 0.0, 0.2, -0.02)) == (True, True)
    assert legends(doc.Difference(0.1, 0.0, 0.2)) == (True, False)
    assert legends(doc.Difference(0.1, limit=-0.02)) == (False, True)
    assert legends(doc.Difference(0.1)) == (False, False)


def test_lines_of_a_file_keep_their_line_ends_on_pages_and_are_not_on_the_terminal():
    lines = '[search]\nmode = "hybrid"\nnotes = "a|b"'
    document = _document(doc.Steps((doc.Step("put", lines),)))
    out = io.StringIO()
    terminal.show(document, Console(file=out), SAY)
    assert not out.getvalue()
    [fence] = [
        x for x in MarkdownIt().parse(markdown.render_markdown(document, SAY)) if x.tag == "code"
    ]
    assert fence.content == f"{lines}\n"
    page = html.render_html(document, SAY)
    code = re.search("<details>.*?<code>(.*?)</code>", page, re.DOTALL)[1]
    assert html_text(re.sub("<[^>]*>", "", code)) == lines


def test_the_terminal_leaves_sections_out_and_a_comment_folds_them():
    section = doc.Section("s", "inside", (doc.Prose("hidden"),), folded=True)
    document = doc.Document("title", "subject", (doc.Verdict("passed", "fine"), section))
    out = io.StringIO()
    terminal.show(document, Console(file=out), SAY)
    assert "fine" in out.getvalue()
    assert "hidden" not in out.getvalue()
    assert "<details>" in markdown.render_markdown(document, SAY, fold=True)
    assert "<details>" not in markdown.render_markdown(document, SAY)


def test_at_most_three_warnings_come_first_each_once():
    page = doc.shaped("t", "s", verdict=None, warnings=["a", "b", "a", "c", "d"])
    [first, rest] = page.blocks
    assert first == doc.Bullets(("a", "b", "c"), warning=True)
    assert isinstance(rest, doc.Section)
    assert rest.blocks == (doc.Bullets(("d",)),)


def test_a_page_has_one_heading_of_the_first_level_and_one_policy():
    for verdict in (doc.Verdict("passed", "fine"), doc.Banner("wait"), None):
        page = html.render_html(doc.shaped("t", "s", verdict=verdict), SAY)
        assert page.count("<h1") == 1
        assert page.count("Content-Security-Policy") == 1
