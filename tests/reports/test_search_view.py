"""The page of a search run as blocks."""

import json
import re
from dataclasses import replace
from itertools import pairwise

import pyromark
import pytest
from blocks import HOSTILE, find, harmless
from hypothesis import given
from hypothesis import strategies as st
from search_records import make_hit, make_item, make_record, make_slice

from gigamind.i18n import translator
from gigamind.records.schema import ErrorReport, IntervalReport, PassageReport
from gigamind.release.compare import compare
from gigamind.reports import document as doc
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import Outcome, run_document
from gigamind.tasks import KINDS
from gigamind.tasks.search.schema import UnjudgedHit, UnjudgedReport, WeakVerdicts
from gigamind.tasks.search.view import SearchView, _failed_items, _failure_text

EN = translator("en")
NONE_LEFT = {"queries_total": 2, "queries_unanswerable": 0}


@pytest.fixture
def record():
    """Four queries: found first, found second, correctly refused, wrongly answered."""
    items = (
        make_item(1, ranking=(make_hit("right.md"),), top_base_score=0.5),
        make_item(2, ranking=(make_hit("other.md"),), metrics={"mrr": 0.5}, top_base_score=0.6),
        make_item(3, **_unanswerable(0.2)),
        make_item(4, **_unanswerable(0.4)),
    )
    return make_record(items)


def _unanswerable(score):
    return {
        "answerable": False, "expected_notes": (), "metrics": {}, "top_base_score": score,
        "judged_unanswerable": score < 0.3,
    }  # fmt: skip


def document(record, **outcome):
    return run_document(SearchView(), record, Outcome(**outcome), EN)


def section(record, name, **outcome):
    page = document(record, **outcome)
    return next(
        (b.blocks for b in page.blocks if isinstance(b, doc.Section) and b.id == name), None
    )


def table(blocks, columns):
    """Return the rows of the table with this number of columns."""
    (found,) = (b for b in blocks if isinstance(b, doc.Table) and len(b.columns) == columns)
    return list(found.rows)


@pytest.mark.parametrize(
    ("answerable", "unanswerable", "numbers_shown"),
    [
        (2, 2, ["1 of 2", "50.0%", "0 of 2", "0.0%", "1 of 2", "50.0%"]),
        (2, 0, ["1 of 2", "50.0%"]), (0, 2, ["1 of 2", "50.0%"]), (0, 0, []),
    ],
)  # fmt: skip
def test_the_result_counts_the_kinds_of_queries_that_there_are(
    answerable, unanswerable, numbers_shown
):
    counts = {"queries_answerable": answerable, "queries_unanswerable": unanswerable}
    result = SearchView().result(make_record(counts=counts))
    assert re.findall(r"\d+ of \d+|[\d.]+%", result) == numbers_shown


def test_generated_queries_and_weak_verdicts_are_warnings():
    weak = WeakVerdicts(across_languages=1, near_misses=2, unanswerable=3)
    record = make_record(counts={"queries_generated": 3}, summary={"weak_verdicts": weak})
    generated, across, near = SearchView().warnings(record)
    assert (generated.values["generated"], across.values["n"], near.values["n"]) == (3, 1, 2)
    assert not list(SearchView().warnings(make_record()))


def test_the_three_worst_failures_are_examples_with_their_first_results():
    hits = tuple(make_hit(f"{n}.md", 0.5 - n / 10) for n in range(5))
    items = [make_item(n, metrics={"mrr": 1 / n}) for n in range(1, 5)]
    lost = make_item(9, metrics={"mrr": 0.0}, ranking=hits, expected_notes=("4.md",))
    examples = find(document(make_record((*items, lost))).blocks, doc.Examples)
    assert [example.id for example in examples.items] == ["q9", "q4", "q3"]
    assert examples.of == 4
    (side,) = examples.items[0].sides
    assert [line.value for line in side.lines] == [
        doc.Proportion(h.base_score) for h in (*hits[:3], hits[4])
    ]
    assert [line.mark for line in side.lines] == ["", "", "", "expected"]
    assert find(document(make_record(items[:1])).blocks, doc.Examples) is None


@pytest.mark.parametrize(("failed", "shown"), [(0, None), (9, 9), (10, 10), (11, 10)])
def test_ten_failures_are_listed_of_all(failed, shown):
    items = tuple(make_item(n, metrics={"mrr": 0.0}) for n in range(failed))
    blocks = section(make_record((*items, make_item(99))), "failures")
    if shown is None:
        assert blocks is None
    else:
        assert [row[1] for row in table(blocks, 4)] == [doc.Code(f"q{n}") for n in range(shown)]
        assert find(blocks, doc.Table).caption.values["of"] == failed


def test_metrics_have_their_intervals_in_the_order_of_rank():
    labels = ["hit@1", "hit@10", "MRR", "nDCG@1", "nDCG@10", "recall@10"]
    rows = list(find(section(make_record(counts=NONE_LEFT), "metrics"), doc.Table).rows)
    assert [row[:4] for row in rows] == [
        (label, doc.Proportion(value), doc.Interval(value, value), doc.Count(2))
        for label, value in zip(labels, (0.5, 1.0, 0.75, 0.5, 0.8125, 1.0), strict=True)
    ]


def test_a_bad_judge_is_improved_by_a_command_with_a_threshold_that_is_better(record):
    chosen = {"dataset": "q.jsonl", "notes": "v", "mode": "hybrid", "min_score": 0.3}
    options = record.run.options | chosen
    record = replace(record, run=record.run.model_copy(update={"options": options}))
    # One of two unanswerable queries is missed at 0.3, none at 0.45; no answerable one is refused.
    (better,) = SearchView().steps(record, "unanswerable.far")
    assert better.label.values["now"] == "0.300"
    assert (better.label.values["missed"], better.label.values["refused"]) == (0, 0)
    assert "--dataset q.jsonl --notes v --min-score 0.45" in better.command
    mixed = [item.model_copy(update={"answerable_score": 0.5}) for item in record.items]
    (by_model,) = SearchView().steps(replace(record, items=tuple(mixed)), "unanswerable.far")
    assert by_model.label.values["now"] == "0.300"
    assert by_model.command.endswith("--unanswerable-mode llm --model MODEL")
    assert "--min-score" not in by_model.command


def test_without_unanswerable_queries_no_other_threshold_is_shown():
    items = (make_item(1, judged_unanswerable=True, top_base_score=0.1), make_item(2))
    blocks = section(make_record(items, counts=NONE_LEFT), "judge")
    assert [row[2] for row in table(blocks, 6)] == [doc.Count(1, 2)]
    assert find(blocks, doc.Table) == blocks[-1]


def test_results_without_a_label_are_counted_only_if_there_are_labels():
    assert section(make_record(), "unjudged") is None
    hit = UnjudgedHit(id="a", query="q", note="n.md", rank=3, ndcg_change=-0.25, text="")
    holes = UnjudgedReport(k=10, hits=4, unjudged=0, worst=())
    (known,) = section(make_record(summary={"holes": holes}), "unjudged")
    holes = holes.model_copy(update={"unjudged": 1, "worst": (hit,)})
    (unknown,) = section(make_record(summary={"holes": holes}), "unjudged")
    assert known.text.id != unknown.text.id


def test_slices_come_from_the_whole_to_its_parts():
    summary = {
        "by_language": {"ko": make_slice(2, 2), "en": make_slice(2, 0)},
        "cross_lingual": make_slice(2, 0),
        "by_difficulty": {"hard": make_slice(), "strange": make_slice(), "easy": make_slice()},
        "by_tag": {
            "few": make_slice(1, 1),
            "cross-lingual": make_slice(2, 0),  # repeats that slice
            "many": make_slice(5, 5),
        },
    }
    blocks = section(make_record(summary=summary), "slices")
    rows = table(blocks, 10)
    assert [row[0] for row in rows] == [
        "all queries", "language: ko", "language: en",
        "cross-lingual (query and note in different languages)", "difficulty: easy",
        "difficulty: hard", "difficulty: strange", "tag: many", "tag: few",
    ]  # fmt: skip
    assert rows[2][1:5] == (doc.Count(2), doc.Count(0), doc.Proportion(0.5), doc.Proportion(0.75))
    assert rows[2][-1] == doc.Proportion(None)


def test_columns_of_slices_have_values():
    search = {"hit_at_1": 0.5, "mrr": 0.5, "ndcg_at_1": 0.5, "ndcg_at_4": 0.6, "recall_at_4": 0.7}
    known = {f"search.{name}": IntervalReport(low=0, high=1, n=2) for name in search}
    small = make_slice(2, 0, search=search, intervals=known)
    summary = {"overall": small, "by_language": {"en": small}}
    blocks = section(make_record(summary=summary, counts=NONE_LEFT), "slices")
    labels = list(find(blocks, doc.Table).columns)
    assert labels[3:] == ["hit@1", "MRR", "nDCG@4", "recall@4"]  # no F1


def test_a_run_without_slices_has_no_section_on_them():
    assert section(make_record(), "slices") is None


def test_times_are_in_milliseconds_and_those_that_were_not_measured_left_out():
    blocks = section(make_record(), "latency")
    times = [doc.Time(1234.56, 1)] * 3
    assert [row[1] for row in table(blocks, 2)] == [*times, doc.Time(2500.4), doc.Time(10.0)]
    performance = make_record().summary.performance.model_copy(update={"cold_start_ms": 3000.0})
    cold = section(make_record(summary={"performance": performance}), "latency")
    assert [row[1] for row in table(cold, 2)][3] == doc.Time(3000.0)


def test_a_baseline_is_shown_in_the_list_beside_the_run(record):
    before = make_record((make_item(1, metrics={"mrr": 0.25}), *record.items[1:]))
    baseline = KINDS["search"].take_snapshot(before)
    comparison = compare(baseline, KINDS["search"].take_snapshot(record))
    listing = SearchView().listing(record, EN, comparison, baseline)
    data = json.loads(find(listing.blocks, doc.Listing).data)
    item, same = data["items"][:2]
    assert data["compared"] is True
    assert item[4] & 32  # better
    assert item[11][:2] == [4, 0]  # found at rank 4
    notes = [(data["notes"][note], score) for note, score in item[11][2]]
    assert notes == [(hit.note, hit.base_score) for hit in before.items[0].ranking]
    assert same[11][2] == []  # one ranking is enough


def test_a_run_without_any_query_still_gives_a_page():
    nothing = {"queries_total": 0, "queries_answerable": 0, "queries_unanswerable": 0}
    page = document(make_record((), counts=nothing))
    assert find(page.blocks, doc.KeyFigures) is None
    assert find(page.blocks, doc.Verdict).state == "measured"
    assert "<h1>" in render_html(page, EN)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_hostile_text_stays_text_and_the_page_runs_only_its_own_script(lang):
    passage = PassageReport(note=HOSTILE, utf16_start=0, utf16_end=len(HOSTILE), text=HOSTILE)
    hit = make_hit(HOSTILE).model_copy(update={"chunk": passage, "evidence": passage})
    item = make_item(
        id=HOSTILE, query=HOSTILE * 20, tags=(HOSTILE,), expected_notes=(HOSTILE,), ranking=(hit,),
        metrics={"mrr": 0.0},
    )  # fmt: skip
    record = make_record(
        (item,),
        (ErrorReport(kind="item", id=HOSTILE, error="E", message=HOSTILE),),
        run={"warnings": (HOSTILE,), "dataset": HOSTILE, "notes": HOSTILE},
        summary={"by_tag": {HOSTILE: make_slice()}, "by_language": {HOSTILE: make_slice()}},
    )
    say = translator(lang)
    page = run_document(SearchView(), record, Outcome(), say)
    shown = harmless(page, lang)
    data = json.loads(re.search(r'id="data">(.*?)</script>', shown)[1])
    assert (data["notes"], data["texts"], data["tags"]) == ([HOSTILE], [HOSTILE], [HOSTILE])
    assert "<script>" not in pyromark.html(render_markdown(page, say))


@given(text=st.text(min_size=1).filter(str.strip))
def test_no_query_changes_the_shape_of_the_markdown(text):
    def shape(query):
        page = document(make_record((make_item(query=query, metrics={"mrr": 0.0}),)))
        rendered = pyromark.html(render_markdown(page, EN), options=pyromark.Options.ENABLE_TABLES)
        return re.findall(r"</?[a-zA-Z][^>]*>", rendered)

    assert shape(text) == shape("x")


def test_a_lone_surrogate_does_not_keep_the_page_from_being_written():
    error = ErrorReport.model_construct(
        kind="row", line=3, id=None, field=None, error="E", message="before \ud800 behind"
    )
    record = replace(make_record((make_item(1, id="\ud800"),)), errors=[error])
    assert "before \ufffd behind" in render_html(document(record), EN).encode().decode()


def test_headings_do_not_skip_a_level_and_ids_are_unique(record):
    page = render_html(document(record), EN)
    levels = [int(level) for level in re.findall(r"<h([1-6])[ >]", page)]
    assert levels.count(1) == 1
    assert all(after - before <= 1 for before, after in pairwise(levels))
    ids = re.findall(r' id="([^"]*)"', page)
    assert len(ids) == len(set(ids))


def test_the_worst_comes_first_and_equals_keep_the_order_of_the_dataset():
    items = [
        make_item(1, metrics={"mrr": 0.5}),  # 1 - 1/2
        make_item(2, metrics={"mrr": 0.0}),  # 1
        make_item(3, answerable=False, top_base_score=0.7, metrics={}),  # 0.7
        make_item(4, judged_unanswerable=True, top_base_score=0.2),  # 1 - 0.2
        make_item(5, metrics={"mrr": 0.0}),  # 1
        make_item(6, judged_unanswerable=True, top_base_score=0.2, metrics={"mrr": 0.1}),  # 0.9
        make_item(7),  # no failure
        make_item(8, answerable=False, judged_unanswerable=True, metrics={}),  # no failure
    ]
    assert [item.id for item in _failed_items(items)] == ["q2", "q5", "q6", "q4", "q3", "q1"]


@pytest.mark.parametrize(("hits", "what"), [(2, " 2 "), (1, "not found")])
def test_a_note_that_is_not_found_is_told_with_the_number_of_results(hits, what):
    ranking = tuple(make_hit(f"{n}.md") for n in range(hits))
    assert what in _failure_text(make_item(ranking=ranking, metrics={"mrr": 0.0}))
