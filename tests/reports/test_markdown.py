import re

import pyromark
import pytest
from gigamind.tasks.search.markdown import render_summary
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jinja2 import UndefinedError

from gigamind.formats import share
from gigamind.i18n import translator
from gigamind.records.schema import ErrorReport
from gigamind.reports import text as templating
from gigamind.reports.figures import metric_rows

HOSTILE = "a|b `x` ```\n| c |\n\n# head\n<script>alert(1)</script> [[l]] - 1. **b"
NONE_LEFT = {"queries_total": 2, "queries_unanswerable": 0}


def section(text, title):
    return text.partition(f"## {title}\n")[2].partition("\n## ")[0]


def rows(text, title):
    return [line for line in section(text, title).splitlines() if line.startswith("|")][2:]


def shape(text):
    return re.findall(
        r"</?[a-zA-Z][^>]*>", pyromark.html(text, options=pyromark.Options.ENABLE_TABLES)
    )


def test_sections_come_in_the_order_of_their_weight(make_record, make_item):
    error = ErrorReport(kind="item", error="EmbeddingError", message="query a: refused")
    record = make_record(
        (make_item(metrics={"mrr": 0.0}),),
        (error,),
        run={"warnings": ("careful",)},
        counts={"queries_failed": 1},
    )
    assert re.findall(r"(?m)^##? (.*)$", render_summary(record)) == [
        "Search evaluation",
        "Ranking",
        "Unanswerable queries",
        "Latency",
        "Worst failures",
        "Errors (1)",
        "Warnings (1)",
        "Run details",
    ]


def test_the_headline_says_what_was_measured_and_how_it_ended(make_record):
    headline, notices = render_summary(
        make_record(counts={"rows_rejected": 1, "queries_failed": 2}, run={"warnings": ("w",)})
    ).splitlines()[2:5:2]
    assert re.findall(r"[\d.]*\d%?", headline) == ["4", "5", "50.0%", "0.750", "0.0%", "50.0%"]
    assert notices == "> 1 rejected row, 2 failed queries, 1 warning: see below."


def test_a_run_without_problems_has_no_notice(make_record):
    assert "\n> " not in render_summary(make_record())


def test_large_numbers_are_grouped_and_single_ones_singular(make_record):
    text = render_summary(make_record(counts={"queries_total": 12_000, "notes": 1}))
    assert "**12,000 queries** over **1 note**" in text


def test_metrics_stand_in_the_order_of_rank_with_their_intervals(make_record):
    assert rows(render_summary(make_record()), "Ranking") == [
        "| hit@1 | 0.500 | 0.500 – 0.500 | 2 |",
        "| hit@10 | 1.000 | 1.000 – 1.000 | 2 |",
        "| MRR | 0.750 | 0.750 – 0.750 | 2 |",
        "| nDCG@1 | 0.500 | 0.500 – 0.500 | 2 |",
        "| nDCG@10 | 0.812 | 0.812 – 0.812 | 2 |",
        "| recall@10 | 1.000 | 1.000 – 1.000 | 2 |",
    ]


def test_times_are_in_milliseconds_with_grouped_thousands(make_record):
    assert rows(render_summary(make_record()), "Latency") == [
        "| latency p50 | 1,234.6 |",
        "| latency p95 | 1,234.6 |",
        "| latency p99 | 1,234.6 |",
        "| indexing | 2,500 |",
        "| all queries | 10 |",
    ]


def test_a_cold_start_takes_the_place_of_indexing(make_record):
    performance = make_record().summary.performance.model_copy(update={"cold_start_ms": 3000.0})
    speed = rows(render_summary(make_record(summary={"performance": performance})), "Latency")
    assert "| cold start | 3,000 |" in speed
    assert not any("indexing" in row for row in speed)


def test_without_an_unanswerable_query_the_section_says_so_instead_of_dashes(
    make_record, make_item
):
    items = (make_item(1, judged_unanswerable=True, top_base_score=0.1), make_item(2))
    text = section(render_summary(make_record(items, counts=NONE_LEFT)), "Unanswerable queries")
    assert "No unanswerable query was evaluated" in text
    assert "1 of 2 answerable queries" in text
    assert "|" not in text
    assert "–" not in text


def test_without_an_answerable_query_the_section_says_so(make_record):
    counts = {"queries_total": 2, "queries_answerable": 0}
    text = render_summary(make_record(counts=counts))
    assert section(text, "Ranking").strip().startswith("No answerable query was evaluated")
    assert "came first" not in text


def test_a_precision_of_nothing_is_explained(make_record, make_item, make_slice):
    unknown = make_slice(
        unanswerable={
            "precision": None,
            "recall": 0.0,
            "f1": 0.0,
            "far": 1.0,
            "false_refusals": 0.0,
        }
    )
    text = render_summary(make_record((make_item(),), summary={"overall": unknown}))
    assert "| precision | – |" in text
    assert "A dash means" in text
    judged = (make_item(judged_unanswerable=True),)
    assert "A dash" not in render_summary(make_record(judged))


def test_an_interrupted_run_says_so_first(make_record):
    text = render_summary(
        make_record(summary={"status": "interrupted"}, counts={"queries_not_run": 7})
    )
    assert text.startswith("# Search evaluation (interrupted)\n")
    assert "7 queries were not run" in text


def test_a_run_that_measured_nothing_does_not_praise_itself(make_record):
    nothing = {"queries_total": 0, "queries_answerable": 0, "queries_unanswerable": 0}
    text = render_summary(make_record(counts=nothing))
    assert section(text, "Worst failures").strip() == "No queries were evaluated."
    assert "**0 queries** over **5 notes**, hybrid search." in text


def test_a_run_without_a_failure_says_so(make_record, make_item):
    text = section(render_summary(make_record((make_item(),))), "Worst failures")
    assert text.strip().startswith("None: ")


@pytest.mark.parametrize(("failed", "shown"), [(9, 9), (10, 10), (11, 10)])
def test_ten_failures_are_shown_of_all(make_record, make_item, failed, shown):
    items = tuple(make_item(n, metrics={"mrr": 0.0}) for n in range(failed))
    text = section(render_summary(make_record(items)), "Worst failures")
    assert f"{shown} of {failed} failures, worst first" in text
    assert len(re.findall(r"(?m)^\d+\. ", text)) == shown


def test_the_tenth_failure_keeps_its_details_under_itself(make_record, make_item):
    items = tuple(make_item(n, metrics={"mrr": 0.0}) for n in range(10))
    html = pyromark.html(section(render_summary(make_record(items)), "Worst failures"))
    assert html.count("<ol") == 1
    assert html.count("<ul>") == 10


def test_slices_show_their_size_and_the_figures_that_they_have(make_record, make_slice):
    summary = {
        "by_language": {"ko": make_slice(2, 2), "en": make_slice(2, 0)},
        "cross_lingual": make_slice(2, 0),
        "by_difficulty": {"easy": make_slice(), "hard": make_slice(), "mid": make_slice()},
        "by_tag": {"rare": make_slice(1, 1), "common": make_slice(5, 5)},
    }
    text = render_summary(make_record(summary=summary))
    assert (
        "| slice | answerable | unanswerable | hit@1 | MRR | nDCG@10 | recall@10 | F1 | FAR | false refusals |"
        in text
    )
    found = rows(text, "Slices")
    assert found[:2] == [
        "| language: ko | 2 | 2 | 0.500 | 0.750 | 0.812 | 1.000 | 0.667 | 0.500 | 0.000 |",
        "| language: en | 2 | 0 | 0.500 | 0.750 | 0.812 | 1.000 | – | – | – |",
    ]
    assert [row.split(" | ")[0] for row in found[2:]] == [
        "| cross-lingual",
        "| difficulty: easy",
        "| difficulty: mid",
        "| difficulty: hard",
        "| tag: common",
        "| tag: rare",
    ]


def test_slices_are_compared_at_topk_where_that_is_less_than_ten(make_record, make_slice):
    search = {"hit_at_1": 0.5, "mrr": 0.5, "ndcg_at_1": 0.5, "ndcg_at_4": 0.6, "recall_at_4": 0.7}
    small = make_slice(search=search)
    text = render_summary(make_record(summary={"overall": small, "by_language": {"en": small}}))
    assert "| hit@1 | MRR | nDCG@4 | recall@4 |" in text


@pytest.mark.parametrize(("tags", "left"), [(15, 0), (16, 1)])
def test_of_many_tags_the_largest_are_shown(make_record, make_slice, tags, left):
    by_tag = {f"t{n}": make_slice(n + 1, 0) for n in range(tags)}
    text = render_summary(make_record(summary={"by_tag": by_tag}))
    assert ("1 more tag: see summary.json" in text) == bool(left)
    assert ("tag: t0 " in text) == (not left)


def test_text_of_others_breaks_no_table_no_list_and_no_fence(
    make_record, make_item, make_hit, make_slice
):
    def page(text):
        item = make_item(
            id=text,
            query=text,
            expected_notes=(text,),
            ranking=(make_hit(text),),
            metrics={"mrr": 0.0},
        )
        error = ErrorReport(kind="row", error="DatasetError", message=text)
        return render_summary(
            make_record(
                (item,),
                (error,),
                run={"warnings": (text,), "dataset": text, "notes": text},
                summary={"by_tag": {text: make_slice()}, "by_language": {text: make_slice()}},
            )
        )

    assert shape(page(HOSTILE)) == shape(page("x"))
    assert "<script>" not in pyromark.html(page(HOSTILE))


@given(st.text(min_size=1).filter(str.strip))
@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_no_query_changes_the_shape_of_the_page(make_record, make_item, text):
    def page(query):
        return shape(render_summary(make_record((make_item(query=query, metrics={"mrr": 0.0}),))))

    assert page(text) == page("x")


@pytest.mark.parametrize(("count", "more"), [(10, False), (11, True)])
def test_of_many_errors_ten_are_shown(make_record, count, more):
    errors = tuple(ErrorReport(kind="row", error="E", message=f"m{n}") for n in range(count))
    text = section(render_summary(make_record((), errors)), f"Errors ({count})")
    assert ("... and 1 more in errors.jsonl" in text) == more
    assert ("- m10" in text) is False


@pytest.mark.parametrize(("count", "more"), [(20, False), (21, True)])
def test_of_many_warnings_twenty_are_shown(make_record, count, more):
    text = render_summary(make_record(run={"warnings": tuple(f"w{n}" for n in range(count))}))
    assert ("... and 1 more in run.json" in text) == more


def test_no_page_holds_a_value_of_python(make_record, make_item):
    text = render_summary(make_record((make_item(metrics={"mrr": 0.0}),)))
    assert not re.search(r"\b(nan|None|inf|True|False(?! refusal)|Undefined)\b", text)


@pytest.mark.parametrize(
    ("value", "shown"), [(None, "–"), (0.0, "0.000"), (2 / 3, "0.667"), (1.0, "1.000")]
)
def test_shares_have_three_decimals(value, shown):
    assert share(value) == shown


def test_rows_leave_out_what_has_no_interval(make_slice):
    assert [row.metric for row in metric_rows(make_slice(), "search", translator("en"))][
        -1
    ] == "recall@10"
    assert [row.metric for row in metric_rows(make_slice(), "unanswerable", translator("en"))] == [
        "precision",
        "recall",
        "F1",
        "FAR",
        "false refusals",
    ]


def test_a_name_that_the_template_misspells_is_an_error():
    with pytest.raises(UndefinedError, match="misspelt"):
        templating._templates("en").from_string("{{ misspelt }}").render()
