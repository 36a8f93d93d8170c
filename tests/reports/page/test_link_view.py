import json
from dataclasses import replace

import pyromark
import pytest
from blocks import HOSTILE, find, harmless, section
from link_records import make_links, make_note

from gigamind.i18n import translator
from gigamind.release.compare import compare
from gigamind.release.gates import judge_release
from gigamind.release.policy import Policy, Release
from gigamind.reports import document as doc
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import Outcome, run_document
from gigamind.tasks import KINDS
from gigamind.tasks.links.task import LinkTask

EN, VIEW = translator("en"), LinkTask.view
RANKED = {"anchor": "omega", "target": "o.md", "reason": "alias", "features": {}}


def document(record, outcome=None):
    return run_document(VIEW, record, outcome or Outcome(), EN)


def counted(record, **changes):
    overall = record.summary.overall.model_copy(update=changes)
    return replace(record, summary=record.summary.model_copy(update={"overall": overall}))


def test_a_run_that_suggested_nothing_has_another_result():
    silent = make_note(suggestions=(), terms={"precision_at_5": (0, 0), "recall_at_5": (0, 2)})
    results = {VIEW.result(make_links(*notes)) for notes in ((silent,), (), (make_note(),))}
    assert len(results) == 3


def test_key_figures_have_the_highest_value_that_the_dataset_allows():
    page = document(make_links(make_note()))
    values = {str(f.label): f.value for f in find(page.blocks, doc.KeyFigures).figures}
    assert values["recall@5"] == doc.Proportion(0.5, ceiling=0.75)
    assert values["precision@5"] == doc.Proportion(1 / 3)
    rendered = render_html(page, EN)
    assert rendered.count('class="ceiling"') == 1
    for text in (rendered, render_markdown(page, EN)):
        assert "0.750" in text


def test_the_notes_with_the_most_missed_links_are_the_examples():
    more = make_note(note="dir/b.md", suggestions=())
    found = make_note(note="c.md", expected=make_note().expected[:1], misses=())
    examples = VIEW.examples(make_links(make_note(), found, more))
    assert [(one.id, one.title) for one in examples.items] == [("dir/b.md", "b"), ("a.md", "a")]
    assert examples.of == 2
    missed, suggested = examples.items[1].sides
    assert [line.value for line in missed.lines] == ["target note not suggested"]
    assert [(line.mark, line.value) for line in suggested.lines] == [
        ("expected", doc.Proportion(0.9)),
        ("", doc.Proportion(0.5)),
        ("", doc.Proportion(0.25)),
    ]


def test_missed_links_are_grouped_by_cause_with_a_few_examples():
    own, instead = ({**RANKED, "place": place, "confidence": 0.25} for place in (7, 2))
    low = {"id": "Omega", "cause": "ranked_too_low", "own": own, "instead": instead}
    notes = [make_note(note=f"{n}.md") for n in range(5)]
    record = counted(
        make_links(*notes, make_note(note="low.md", misses=(low,))),
        misses={"no_candidate": 5, "ranked_too_low": 1, "namesake": 0},
    )
    table = find(section(document(record), "misses").blocks, doc.Table)
    first, second = table.groups
    assert "3 of 5" in first.title
    assert [row[0] for row in first.rows] == ["0.md", "1.md", "2.md"]
    assert [row[2:4] for row in second.rows] == [(doc.Count(7), doc.Proportion(0.25))]


def test_languages_are_compared_if_there_are_two():
    record = make_links(make_note())
    sections = {b.id for b in document(record).blocks if isinstance(b, doc.Section)}
    assert "thresholds" in sections
    assert not {"slices", "misses"} & sections
    part = record.summary.overall
    by_language = {"en": part, "ko": part}
    two = replace(record, summary=record.summary.model_copy(update={"by_language": by_language}))
    blocks = section(document(two), "slices").blocks
    assert [row[1:4] for row in find(blocks, doc.Table).rows] == [
        (doc.Count(1), doc.Proportion(1 / 3), doc.Proportion(0.5, ceiling=0.75))
    ] * 3


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_hostile_text_stays_text_and_the_page_runs_only_its_own_script(lang):
    expected = [row.model_copy(update={"anchor": HOSTILE}) for row in make_note().expected]
    note = make_note(note=HOSTILE, text=HOSTILE * 20, expected=expected, suggestions=())
    plain = [row.model_copy(update={"passage": None}) for row in expected]
    note = note.model_copy(update={"expected": tuple(plain)})
    misses = {"no_candidate": 1}
    record = counted(make_links(note, warnings=(HOSTILE,), dataset=HOSTILE), misses=misses)
    say = translator(lang)
    page = run_document(VIEW, record, Outcome(), say)
    harmless(page, lang)
    markdown = render_markdown(page, say)
    assert "<script>" not in pyromark.html(markdown)
    assert "\u202e" not in markdown


def test_a_run_without_a_note_still_gives_a_page():
    page = document(make_links(status="interrupted"))
    assert "<h1>" in render_html(page, EN)
    assert not any(isinstance(b, doc.Section) and b.id == "list" for b in page.blocks)


def test_a_comparison_has_its_verdict_and_the_list_has_both_runs():
    before = make_links(*(make_note(note=f"{i}.md") for i in range(8)))
    worse = {"precision_at_5": (0, 3), "recall_at_5": (0, 2)}
    wrong = [
        one.model_copy(update={"hit": False, "novel": True}) for one in make_note().suggestions
    ]
    after = make_links(
        *(make_note(note=f"{i}.md", terms=worse, suggestions=wrong) for i in range(8)),
        run_id="20260201-000000",
    )
    baseline = KINDS["links"].take_snapshot(before)
    comparison = compare(baseline, KINDS["links"].take_snapshot(after))
    release = Release(
        comparison=comparison, gate=judge_release(comparison, Policy.read(None), "ga")
    )
    page = document(after, Outcome(release=release, baseline=baseline))
    assert find(page.blocks, doc.Verdict).state == "failed"
    data = json.loads(find(section(page, "list").blocks, doc.Listing).data)
    assert data["compared"] is True
    assert data["items"][0][3] == "worse"
    assert data["items"][0][10] == ["1 / 2", "1 / 3"]


def test_rows_whose_range_does_not_match_are_a_warning():
    record = make_links(make_note())
    counts = record.summary.counts.model_copy(update={"ranges_misfit": 2})
    misfit = replace(record, summary=record.summary.model_copy(update={"counts": counts}))
    assert list(VIEW.warnings(record)) == []
    (warning,) = VIEW.warnings(misfit)
    assert "2" in warning
