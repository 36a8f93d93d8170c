import base64
import hashlib
import json
import re
from html.parser import HTMLParser
from itertools import pairwise

import pytest

from gigamind.records.schema import ErrorReport, PassageReport
from gigamind.release.policy import GateResult, RuleResult
from gigamind.tasks import KINDS
from gigamind.tasks.search.page import render_html

HOSTILE = "</script><script>window.pwned=1</script><!-- <img src=x onerror=pwned()> & \"'"
OPTIONS = {"mode": "hybrid", "min_score": 0.3, "topk": 10, "seed": 42}


class Page(HTMLParser):
    """Elements with their attributes, and the text of the elements that are asked for."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.elements = []
        self.texts = {}
        self._open = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        self._open.append(tag)

    def handle_endtag(self, tag):
        if tag in self._open:
            while self._open.pop() != tag:
                pass

    def handle_data(self, data):
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)

    def named(self, tag):
        return [attrs for name, attrs in self.elements if name == tag]

    @property
    def data(self):
        """What the page's script reads."""
        return json.loads(next(text for text in self.texts["script"] if text.startswith("{")))


@pytest.fixture
def record(make_record, make_item, make_hit):
    """Four queries: found first, found second, rightly refused, wrongly answered."""
    items = (
        make_item(1, ranking=(make_hit("right.md"),), top_base_score=0.5),
        make_item(2, ranking=(make_hit("other.md"),), metrics={"mrr": 0.5}, top_base_score=0.6),
        make_item(3, **_unanswerable(0.2)),
        make_item(4, **_unanswerable(0.4)),
    )
    return make_record(items, run={"options": OPTIONS})


def _unanswerable(score):
    return {
        "answerable": False,
        "expected_notes": (),
        "metrics": {},
        "top_base_score": score,
        "judged_unanswerable": score < 0.3,
    }


def _page(record, **how):
    return Page(render_html(record, **how))


def test_the_page_asks_for_nothing_from_elsewhere(record):
    page = _page(record)
    addresses = [
        value
        for _, attrs in page.elements
        for name, value in attrs.items()
        if name in {"src", "href", "action", "data", "poster", "srcset"}
    ]
    assert addresses
    assert all(address.startswith(("#", "data:")) for address in addresses)
    assert "url(" not in "".join(page.texts["style"])
    assert "@import" not in "".join(page.texts["style"])


def test_the_policy_names_the_one_script_and_the_one_style_by_their_hash(record):
    page = _page(record)
    policy = next(a["content"] for a in page.named("meta") if "http-equiv" in a)
    code = [text for text in page.texts["script"] if not text.startswith("{")]
    assert len(code) == len(page.texts["style"]) == 1
    assert policy.startswith("default-src 'none'; ")
    for kind, text in (("script", code[0]), ("style", page.texts["style"][0])):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"{kind}-src 'sha256-{digest}'" in policy
    assert "unsafe" not in policy


def test_no_element_has_a_handler_or_a_style_of_its_own(record):
    names = {name for _, attrs in _page(record).elements for name in attrs}
    assert not {name for name in names if name.startswith("on") or name == "style"}


def test_ids_are_unique(record):
    ids = [attrs["id"] for _, attrs in _page(record).elements if "id" in attrs]
    assert len(ids) == len(set(ids))


def test_text_of_others_stays_text_wherever_it_stands(make_record, make_item, make_hit):
    passage = PassageReport(note=HOSTILE, utf16_start=0, utf16_end=len(HOSTILE), text=HOSTILE)
    hit = make_hit(HOSTILE).model_copy(update={"chunk": passage, "evidence": passage})
    item = make_item(
        1, id=HOSTILE, query=HOSTILE, tags=(HOSTILE,), expected_notes=(HOSTILE,), ranking=(hit,)
    )
    errors = (ErrorReport(kind="item", id=HOSTILE, error="E", message=HOSTILE),)
    options = OPTIONS | {"mode": HOSTILE}
    record = make_record(
        (item,), errors, run={"options": options, "warnings": (HOSTILE,), "dataset": HOSTILE}
    )
    text = render_html(record)
    page = Page(text)
    assert len(page.named("script")) == 2
    assert not page.named("img")
    assert not re.search(r"<!--", text.removeprefix("<!doctype html>"))
    data = page.data
    assert data["items"][0][:2] == [HOSTILE, HOSTILE]
    assert (data["notes"], data["texts"], data["tags"]) == ([HOSTILE], [HOSTILE], [HOSTILE])


def test_a_lone_surrogate_does_not_keep_the_page_from_being_written(make_record, make_item):
    record = make_record((make_item(1),), run={"options": OPTIONS})
    broken = ErrorReport.model_construct(
        kind="row", line=3, id=None, field=None, error="E", message="before \ud800 behind"
    )
    text = render_html(type(record)(record.run, record.summary, record.items, [broken]))
    assert "before \ufffd behind" in text.encode().decode()


def test_a_direction_override_turns_nothing_on_the_page_round(make_record, make_item):
    turned = ErrorReport(
        kind="row", line=3, id=None, field=None, error="E", message="red \u202eneerg"
    )
    record = make_record((make_item(1),), run={"options": OPTIONS})
    text = render_html(type(record)(record.run, record.summary, record.items, [turned]))
    assert "red ‹U+202E›neerg" in text
    assert "\u202e" not in text


@pytest.mark.parametrize(("lang", "title"), [("en", "Search evaluation"), ("ko", "검색 평가")])
def test_the_page_says_its_language_and_speaks_it(record, lang, title):
    page = _page(record, lang=lang)
    assert page.named("html")[0]["lang"] == lang
    assert title in page.texts["title"][0]


def test_headings_do_not_skip_a_level(record, make_record, make_item):
    for shown in (record, make_record((make_item(1),), run={"options": OPTIONS})):
        levels = [int(tag[1]) for tag, _ in _page(shown).elements if re.fullmatch("h[1-6]", tag)]
        assert levels.count(1) == 1
        assert levels[0] == 1
        assert all(after - before <= 1 for before, after in pairwise(levels))


def test_every_figure_says_what_it_is(record):
    figures = _page(record).named("svg")
    drawn = [attrs for attrs in figures if "aria-label" in attrs]
    assert len(drawn) == 4
    assert all(attrs["role"] == "img" and attrs["aria-label"] for attrs in drawn)
    assert all("aria-hidden" in attrs for attrs in figures if "aria-label" not in attrs)


def test_errors_and_warnings_have_sections_only_when_there_are_any(record, make_record, make_item):
    ids = {attrs.get("id") for attrs in _page(record).named("section")}
    assert not ids & {"errors", "warnings"}
    errors = (ErrorReport(kind="row", line=7, field="query", error="E", message="line 7: empty"),)
    told = make_record(
        (make_item(1),), errors, run={"options": OPTIONS, "warnings": ("two notes",)}
    )
    text = render_html(told)
    assert {"errors", "warnings"} <= {attrs.get("id") for attrs in Page(text).named("section")}
    assert "line 7: empty" in text
    assert "two notes" in text


def test_an_interrupted_run_says_so(make_record, make_item):
    record = make_record(
        (make_item(1),),
        run={"options": OPTIONS},
        summary={"status": "interrupted"},
        counts={"queries_not_run": 96},
    )
    assert "96 queries were not run" in render_html(record)


def test_a_run_without_any_query_still_gives_a_page(make_record):
    nothing = {"queries_total": 0, "queries_answerable": 0, "queries_unanswerable": 0}
    record = make_record((), run={"options": OPTIONS}, counts=nothing)
    page = _page(record)
    assert page.texts["h1"] == ["No queries were evaluated."]
    assert page.data["items"] == []


def test_the_settings_table_holds_what_the_best_setting_would_give(record):
    # Scores 0.2 and 0.4 are unanswerable, 0.5 and 0.6 answerable: 0.45 tells all four apart.
    cells = _page(record).texts["td"]
    at = cells.index("0.450")
    assert cells[at + 1 : at + 5] == ["1.000", "1.000", "1.000", "0.000"]


def test_a_baseline_is_shown_beside_the_run(record, make_record, make_item):
    before = make_record(
        (make_item(1, metrics={"mrr": 0.25}), *record.items[1:]),
        run={"options": OPTIONS, "run_id": "20260101-000000"},
    )
    text = render_html(record, baseline=KINDS["search"].take_snapshot(before))
    assert "20260101-000000" in text
    item = Page(text).data["items"][0]
    assert item[4] & 32  # better
    assert item[11][:2] == [4, 0]  # it was found at rank 4
    notes = Page(text).data["notes"]
    found = [(notes[note], score) for note, score in item[11][2]]
    assert found == [(hit.note, hit.base_score) for hit in before.items[0].ranking]
    assert Page(text).data["items"][1][11][2] == []  # alike: one ranking says it
    assert (
        '<th scope="col" class="number">N compared</th>' in text
    )  # F1 of a run alone has another N
    assert '<th scope="col" class="number">N</th>' in render_html(record)


def test_the_questions_that_got_worse_stand_right_under_the_verdict(record, make_record, make_item):
    worse = make_record(
        (make_item(1, metrics={"mrr": 0.25}), *record.items[1:]), run={"options": OPTIONS}
    )
    text = render_html(worse, baseline=KINDS["search"].take_snapshot(record))
    top = text[text.index("<h1>") : text.index('<p class="subject">')]
    assert "Worse (1)" in top
    assert record.items[0].id in top
    assert "→ rank 4" in top
    assert 'class="reasons worst"' not in render_html(
        record, baseline=KINDS["search"].take_snapshot(record)
    )


def test_the_verdict_on_the_release_comes_first(record):
    rule = RuleResult(
        metric="search.mrr", status="failed", baseline=0.9, current=0.7, limit=0.02, explanation="x"
    )
    gate = GateResult(
        phase="ga", verdict="failed", rules=(rule,), reasons=("MRR fell <by> 0.2: `<promote>` it.",)
    )
    text = render_html(record, baseline=KINDS["search"].take_snapshot(record), gate=gate)
    assert text.index("Release gate failed") < text.index("<h1>")
    assert "MRR fell &lt;by&gt; 0.2: <code>&lt;promote&gt;</code> it." in text
    assert "릴리스 게이트 실패" in render_html(
        record, baseline=KINDS["search"].take_snapshot(record), gate=gate, lang="ko"
    )


def test_a_baseline_of_another_embedding_model_is_told(record, make_record):
    other = record.run.environment.model_copy(update={"embedding_model": "another"})
    before = make_record(record.items, run={"options": OPTIONS, "environment": other})
    page = render_html(record, baseline=KINDS["search"].take_snapshot(before))
    assert "(another → " in page


def test_equal_runs_give_equal_pages(record):
    assert render_html(record) == render_html(record)
