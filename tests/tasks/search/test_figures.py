"""Rankings, and the figures that come of them."""

import json
import math

import pytest
from out_files import items_of, rows_of
from row_files import query_row

from gigamind.tasks import evaluate


@pytest.fixture(scope="module")
def keyword_run(options_in, tmp_path_factory):
    """Summary and lines by id of the keyword run of all queries."""
    summary, out, *_ = evaluate(options_in(tmp_path_factory.mktemp("keyword")))
    return summary, items_of(out)


def test_keyword_rankings_are_those_worked_out_by_hand(keyword_run):
    _, lines = keyword_run
    found = {name: [hit["note"] for hit in line["ranking"]] for name, line in lines.items()}
    assert found == {
        "first": ["deploy.md"],
        # "approval" stands in its note twice (title and text), "roses" once, and both are equally rare.
        "second": ["policies/approval.md", "garden.md"],
        "korean": ["휴가.md"],
        # The bigram 요일 is part of 월요일; 배포 stands nowhere.
        "across": ["회의.md"],
        "nothing": [],
        "trap": ["garden.md"],
    }
    assert lines["first"]["ranking"][0]["base_score"] == 1.0


def test_ranking_means_are_over_the_answerable_queries_only(keyword_run):
    summary, _ = keyword_run
    # Ranks of the expected note: 1, 2, 1, none.
    expected = {
        "hit_at_1": 2 / 4,
        "hit_at_3": 3 / 4,
        "hit_at_10": 3 / 4,
        "mrr": (1 + 1 / 2 + 1 + 0) / 4,
        "ndcg_at_1": 2 / 4,
        "ndcg_at_3": (1 + 1 / math.log2(3) + 1 + 0) / 4,
        "recall_at_1": 2 / 4,
        "recall_at_10": 3 / 4,
    }
    found = summary.overall.search
    assert {name: found[name] for name in expected} == pytest.approx(expected)
    assert summary.overall.intervals["search.mrr"].n == 4
    counts = {"queries_total": 6, "queries_answerable": 4, "queries_unanswerable": 2, "notes": 5}
    assert {name: n for name, n in summary.counts.model_dump().items() if n} == counts


def test_the_unanswerable_queries_are_judged_by_the_threshold(keyword_run):
    summary, lines = keyword_run
    # "nothing" finds nothing (true positive), "trap" finds a note (false negative), no answerable one is refused.
    assert summary.overall.unanswerable == pytest.approx(
        {"precision": 1.0, "recall": 0.5, "f1": 2 / 3, "far": 0.5, "false_refusals": 0.0}
    )
    assert lines["nothing"]["top_base_score"] is None
    assert lines["nothing"]["metrics"] == lines["trap"]["metrics"] == {}


def test_slices_hold_their_own_queries(keyword_run):
    summary, _ = keyword_run
    found = {key: part.search["mrr"] for key, part in summary.by_language.items()}
    assert found == {"en": 0.75, "ko": 1.0, "ko-KR": 0.0}
    told = summary.by_language["en"].counts.model_dump()
    assert told == {"queries": 4, "answerable": 2, "unanswerable": 2}
    assert set(summary.by_tag) == {"ops"}
    shown = {key: part.search["mrr"] for key, part in summary.by_difficulty.items()}
    assert shown == {"easy": 1.0, "mid": 0.5}


def test_a_query_in_a_language_that_its_notes_are_not_in_is_cross_lingual(keyword_run):
    summary, lines = keyword_run
    assert [name for name, line in lines.items() if line["cross_lingual"]] == ["across"]
    assert summary.cross_lingual is not None
    assert summary.cross_lingual.counts.queries == 1
    assert summary.cross_lingual.search["mrr"] == 0.0


CROSS_LINGUAL = [
    ({"language": "ko"}, True),
    ({"language": "en"}, False),
    ({"language": "en-GB"}, False),
    ({"language": "EN"}, False),
    ({}, False),
    ({"tags": ["cross-lingual"]}, True),
    ({"language": "en", "expected_notes": ["deploy.md", "회의.md"]}, False),
    # Where nothing is declared, the text tells Korean from other languages.
    ({"language": "ko", "expected_notes": ["plain.md"]}, True),
    ({"query": "언제 배포하나요?", "expected_notes": ["plain.md"]}, True),
    ({"query": "언제 배포하나요?", "expected_notes": ["회의.md"]}, False),
    ({"language": "de", "expected_notes": ["plain.md"]}, False),
]


def test_what_counts_as_cross_lingual(make_options, notes):
    (notes / "plain.md").write_text("No language is told.\n", encoding="utf-8")
    row = {"query": "deploy", "answerable": True, "expected_notes": ["deploy.md"]}
    rows = [row | {"id": str(at)} | changes for at, (changes, _) in enumerate(CROSS_LINGUAL)]
    found = items_of(evaluate(make_options(rows)).out)
    told = [
        (changes, found[str(at)]["cross_lingual"]) for at, (changes, _) in enumerate(CROSS_LINGUAL)
    ]
    assert told == CROSS_LINGUAL


def test_spans_are_counted_in_utf16_units_and_only_where_expected(keyword_run):
    summary, lines = keyword_run
    (span,) = lines["korean"]["expected_spans"]
    assert (span["utf16_start"], span["utf16_end"]) == (17, 34)
    assert span["text"] == "🌴 휴가는 팀장에게 신청한다."
    assert lines["korean"]["ranking"][0]["evidence"] == span
    assert lines["korean"]["metrics"]["span_precision"] == 1.0
    assert lines["first"]["metrics"]["span_precision"] is None
    assert summary.overall.search["span_recall"] == 1.0
    assert summary.overall.intervals["search.span_recall"].n == 1


def test_a_hit_has_its_title_its_centrality_and_the_query_s_words_in_the_evidence(keyword_run):
    _, lines = keyword_run
    (hit,) = lines["korean"]["ranking"]
    # "🌴 휴가는 팀장에게 신청한다." stands at 17: 휴가 three units behind, 신청 twelve; no note has a link.
    assert (hit["title"], hit["centrality"]) == ("휴가", 1.0)
    assert hit["highlights"] == [[20, 22], [29, 31]]


# "The garden has roses." stands at 17 of the second note that "approval roses" finds.
def _garden(start, end):
    span = {"note_path": "garden.md", "start": start, "end": end}
    return query_row("second", "approval roses", "garden.md", expected_spans=[span])


@pytest.mark.parametrize(
    ("notes_shown", "precision", "recall", "held", "held_of_note"),
    [(1, 0.0, 0.0, 0.0, None), (2, 0.5, 1.0, 1.0, 1.0)],
)
def test_evidence_of_the_asked_number_of_notes_counts(
    make_options, tmp_path, notes_shown, precision, recall, held, held_of_note
):
    out = tmp_path / f"out{notes_shown}"
    summary, *_ = evaluate(make_options([_garden(17, 38)], evidence_notes=notes_shown, out=out))
    found = summary.overall.search
    assert (found["span_precision"], found["span_recall"]) == (precision, recall)
    assert found["answer_in_evidence"] == held
    assert found["answer_in_evidence_of_note"] == held_of_note
    assert summary.out_of_reach is None


def test_a_label_of_a_word_is_warned_of_for_it_can_match_no_sentence(make_options):
    summary, out, *_ = evaluate(make_options([_garden(32, 37)]))
    found = summary.overall.search
    assert (found["span_recall"], found["answer_in_evidence"]) == (0.0, 1.0)
    assert summary.out_of_reach.model_dump() == {
        "labels": 1, "count": 1, "label_chars": 5, "piece_chars": 21,
    }  # fmt: skip
    *_, warning = json.loads((out / "run.json").read_text("utf-8"))["warning_messages"]
    assert warning["values"] == {"count": 1, "labels": 1, "label": 5, "piece": 21}


@pytest.mark.parametrize("mode", ["semantic", "hybrid"])
def test_the_other_modes_run_end_to_end(make_options, mode):
    summary, out, *_ = evaluate(make_options(mode=mode))
    rows = {line["id"]: line for line in rows_of(out, "per_item.jsonl")}
    best = rows["first"]["ranking"][0]
    assert best["note"] == "deploy.md"
    assert 0 < best["semantic_score"] <= 1
    keyword = {"semantic": None, "hybrid": 1.0}[mode]
    assert best["keyword_score"] == keyword
    share = 0.7 * best["semantic_score"] + 0.3 * 1.0 if keyword else best["semantic_score"]
    assert best["base_score"] == pytest.approx(share)
    assert summary.overall.search["hit_at_10"] == 1.0  # ten places, five notes
    run = json.loads((out / "run.json").read_text("utf-8"))
    assert run["environment"]["embedding_model"].startswith("use-multilingual")


def test_topk_decides_the_length_of_rankings_and_the_cut_offs(make_options):
    summary, out, *_ = evaluate(make_options(topk=2, mode="keyword"))
    assert max(len(line["ranking"]) for line in rows_of(out, "per_item.jsonl")) == 2
    found = {name for name in summary.overall.search if name.startswith("ndcg")}
    assert found == {"ndcg_at_1", "ndcg_at_2"}


def test_the_graph_rerank_changes_order_and_never_the_base_score(make_options, notes, tmp_path):
    for n in range(3):
        (notes / f"link{n}.md").write_text("See [[garden]].\n", encoding="utf-8")
    rows = {}
    for rerank in (False, True):
        out = tmp_path / str(rerank)
        evaluate(make_options(graph_rerank=rerank, out=out))
        rows[rerank] = {line["id"]: line["ranking"] for line in rows_of(out, "per_item.jsonl")}
    off = {hit["note"]: hit for hit in rows[False]["second"]}
    on = {hit["note"]: hit for hit in rows[True]["second"]}
    assert all(hit["final_score"] == hit["base_score"] for hit in off.values())
    assert {n: h["base_score"] for n, h in on.items()} == {
        n: h["base_score"] for n, h in off.items()
    }
    garden = on["garden.md"]  # the most linked note has centrality 1
    assert garden["final_score"] == pytest.approx(1.2 * garden["base_score"])
