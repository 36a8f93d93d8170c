import json
from datetime import UTC, datetime
from pathlib import Path

import pytest
from linked_notes import NOTES, ROWS
from out_files import rows_of
from stopping import Stopping

from gigamind.datasets.generate_links import generate_links
from gigamind.errors import DatasetError, InputError
from gigamind.evaluation.options import validated
from gigamind.publish.flows import STEPS
from gigamind.reports.document import Banner
from gigamind.tasks.options import LinkEvalOptions

EXAMPLES = Path(__file__).parents[3] / "examples" / "vault"


def test_five_notes_counted_by_hand(evaluate):
    links = evaluate().summary.overall.links
    # a: Beta (right) and 감마, which it links to already; c: 감마 (right) and Beta; "Some words" is no name.
    expected = {
        "precision_at_5": 2 / 4,
        "precision_over_5": 2 / 10,
        "precision_over_5_ceiling": 3 / 10,
        "recall_at_5": 2 / 3,
        "recall_at_5_ceiling": 1.0,
        "recall_at_5_excluding_linked": 2 / 3,
        "novelty_at_5": 3 / 4,
        "span_accuracy_at_5": 1.0,
        "acceptance_proxy": 1.0,
    }
    assert {name: links[name] for name in expected} == pytest.approx(expected)


def test_targets_linked_already_can_be_left_out(evaluate):
    links = evaluate(exclude_linked=True).summary.overall.links
    assert links["precision_at_5"] == pytest.approx(2 / 3)
    assert links["novelty_at_5"] == 1.0


def test_ranges_are_in_utf16_and_terms_are_counted(evaluate):
    out = evaluate().out
    first, *_others = rows_of(out)
    hit = next(one for one in first["suggestions"] if one["target"] == "b.md")
    assert (hit["anchor"]["utf16_start"], hit["anchor"]["utf16_end"]) == (7, 11)
    assert (hit["hit"], hit["span_exact"], hit["novel"]) == (True, True, True)
    assert "“Some words” → d.md" in (out / "summary.md").read_text("utf-8")
    assert first["text"] == NOTES["a.md"]
    assert first["terms"]["precision_at_5"] == [1, 2]


def test_a_rejected_link_is_not_expected_and_lowers_acceptance(evaluate):
    links = evaluate([ROWS[0], ROWS[1] | {"label": "reject"}]).summary.overall.links
    assert links["recall_at_5"] == 1.0
    assert links["acceptance_proxy"] == 0.5


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """The dataset of the examples, and their vault without its links."""
    folder = tmp_path_factory.mktemp("examples")
    generate_links(EXAMPLES, folder / "copy", folder / "l.jsonl")
    return {"dataset": folder / "l.jsonl", "notes": folder / "copy"}


def test_the_original_vault_is_recognised_by_its_ranges(evaluate, examples):
    finished = evaluate(**examples | {"notes": EXAMPLES})
    assert finished.summary.counts.ranges_misfit == 34
    run = json.loads((finished.out / "run.json").read_text("utf-8"))
    assert any("not the original vault" in warning for warning in run["warnings"])


def test_the_examples_give_exactly_these_figures(evaluate, examples):
    summary = evaluate(**examples).summary
    # Of names alone: 31 suggestions, 28 of them right; 34 removed links.
    assert summary.overall.links["precision_at_5"] == pytest.approx(28 / 31)
    assert summary.overall.links["recall_at_5"] == pytest.approx(28 / 34)
    assert summary.by_language["en"].links["recall_at_5"] == pytest.approx(18 / 22)
    assert summary.by_language["ko"].links["recall_at_5"] == pytest.approx(10 / 12)


@pytest.mark.parametrize(
    ("rows", "options", "message"),
    [
        ([ROWS[0] | {"source_note": "zzz"}], {}, "zzz"),
        ([ROWS[0], ROWS[1] | {"expected_links": ["zzz"]}], {"strict": True}, "--strict"),
        (ROWS, {"sample": "0"}, "--sample 0"),
        (ROWS, {"topk": 0}, "--topk 0: "),
    ],
)
def test_input_that_cannot_be_used_is_refused(evaluate, tmp_path, rows, options, message):
    with pytest.raises((DatasetError, InputError), match=message):
        evaluate(rows, **options)
    assert not (tmp_path / "out").exists()


def test_bad_rows_are_counted_and_listed(evaluate, tmp_path):
    summary = evaluate([*ROWS, ROWS[0] | {"id": "4", "expected_links": ["zzz"]}]).summary
    assert summary.counts.rows_rejected == 1
    assert '"line":4' in (tmp_path / "out" / "errors.jsonl").read_text("utf-8")


def test_ctrl_c_keeps_the_notes_that_had_ended(evaluate, tmp_path):
    finished = evaluate(progress=Stopping("Notes", 1))
    summary = finished.summary
    assert summary.status == "interrupted"
    assert (summary.counts.source_notes, summary.counts.notes_not_run) == (1, 1)
    assert summary.counts.links_total == 1
    out = tmp_path / "out"
    assert len((out / "per_item.jsonl").read_text("utf-8").splitlines()) == 1
    assert json.loads((out / "run.json").read_text("utf-8"))["status"] == "interrupted"
    assert isinstance(finished.page.verdict, Banner)


def test_an_interrupted_run_is_held_against_no_baseline(evaluate, tmp_path):
    evaluate(out=tmp_path / "base")
    finished = evaluate(compare=tmp_path / "base", progress=Stopping("Notes", 1))
    assert finished.verdict is None
    assert not (tmp_path / "out" / "compare.md").exists()


def options_in(folder):
    given = {"dataset": folder / "links.jsonl", "notes": folder / "notes", "out": folder / "out"}
    return validated(LinkEvalOptions, {**given, "semantic": False})


def test_batches_give_the_same_run_as_all_at_once(evaluate, tmp_path):
    direct = evaluate(out=tmp_path / "direct").summary
    options = options_in(tmp_path)
    found = [STEPS.run_batch(options, at, at + 1) for at in range(2)]
    told = json.loads(json.dumps(found))  # what a task gives goes through JSON
    finished = STEPS.finish_run(options, told, tmp_path / "out", datetime.now(UTC))
    STEPS.close_run(options)
    assert finished["summary"]["overall"] == direct.model_dump(mode="json")["overall"]
    lines = [(tmp_path / out / "per_item.jsonl").read_bytes() for out in ("direct", "out")]
    assert lines[0] == lines[1]


def test_few_notes_are_one_batch(evaluate, tmp_path):
    evaluate(out=tmp_path / "direct")
    options = options_in(tmp_path)
    assert STEPS.prepare_batches(options, tmp_path / "out")["batches"] == [(0, 2)]
    assert STEPS.check_input(options).startswith("3 expected links ready")
    STEPS.close_run(options)
