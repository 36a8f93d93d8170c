import json
import re
from dataclasses import replace

import pytest
from row_files import write_rows
from time_limit import check_linear
from vault_files import write_files

from gigamind import tasks
from gigamind.release.model import read_run
from gigamind.tasks.links.task import LinkTask
from gigamind.tasks.options import LinkEvalOptions

NOTES = {
    "a.md": "Alpha Centauri, then Beta Pictoris, and Gamma Draconis. See [[gamma]] and some words.",
    "alpha.md": "---\ntitle: Alpha Centauri\n---\n",
    "x/beta.md": "---\ntitle: Beta Pictoris\n---\n",
    "y/beta.md": "---\ntitle: Beta Pictoris\n---\n",
    "gamma.md": "---\ntitle: Gamma Draconis\n---\n",
    "delta.md": "---\ntitle: Delta Cephei\n---\n",
}


@pytest.fixture
def evaluate(tmp_path):
    """What became of links from a.md: anchor -> target, in the vault of NOTES; the item and the summary."""
    write_files(tmp_path / "notes", NOTES)

    def run(expected, label=None, **options):
        rows = []
        for anchor, target in expected.items():
            start = NOTES["a.md"].index(anchor)
            place = {"start": start, "end": start + len(anchor)}
            rows.append({"id": anchor, "source_note": "a.md", "anchor": anchor})
            rows[-1] |= {"anchor_range": place, "expected_links": [target], "label": label}
        dataset = write_rows(tmp_path / "links.jsonl", rows)
        out = tmp_path / f"out-{len(list(tmp_path.iterdir()))}"
        given = {"dataset": dataset, "notes": tmp_path / "notes", "out": out}
        summary = tasks.evaluate(LinkEvalOptions(**given, semantic=False, **options)).summary
        return json.loads((out / "per_item.jsonl").read_text("utf-8")), summary

    return run


def test_a_link_that_nothing_leads_to_has_no_candidate(evaluate):
    item, summary = evaluate({"some words": "delta.md"})
    cause = {"cause": "no_candidate", "own": None, "instead": None}
    assert item["misses"] == [{"id": "some words"} | cause]
    assert summary.overall.misses["no_candidate"] == 1
    assert summary.by_language["en"].misses == summary.overall.misses


def test_a_link_below_the_cut_is_told_with_its_place_and_the_last_one_shown(evaluate):
    item, _ = evaluate({"Alpha Centauri": "alpha.md"}, topk=10)
    assert item["misses"] == []
    every = item["suggestions"]
    assert len(every) == 3
    last = every[-1]
    item, summary = evaluate({last["anchor"]["text"]: last["target"]}, topk=2)
    [miss] = item["misses"]
    assert miss["cause"] == "ranked_too_low"
    assert (miss["own"]["place"], miss["own"]["target"]) == (3, last["target"])
    assert miss["own"]["features"] == last["features"]
    assert (miss["instead"]["place"], miss["instead"]["target"]) == (2, every[1]["target"])
    assert sum(summary.overall.misses.values()) == summary.overall.misses["ranked_too_low"] == 1


def test_a_link_above_the_cut_but_less_sure_than_asked_is_below_the_confidence(evaluate):
    item, _ = evaluate({"Alpha Centauri": "alpha.md"})
    last = item["suggestions"][-1]
    expected, floor = {last["anchor"]["text"]: last["target"]}, last["confidence"]
    assert evaluate(expected, min_confidence=floor)[0]["misses"] == []
    item, _ = evaluate(expected, min_confidence=floor + 1e-6)
    [miss] = item["misses"]
    assert miss["cause"] == "below_confidence"
    assert (miss["own"]["place"], miss["own"]["confidence"]) == (3, floor)


def test_words_taken_for_another_note_of_that_name_are_a_namesake(evaluate):
    item, _ = evaluate({"Alpha Centauri": "alpha.md"})
    [chosen] = {one["target"] for one in item["suggestions"]} & {"x/beta.md", "y/beta.md"}
    other = {"x/beta.md": "y/beta.md", "y/beta.md": "x/beta.md"}[chosen]
    item, summary = evaluate({"Beta Pictoris": other})
    [miss] = item["misses"]
    assert (miss["cause"], miss["own"], miss["instead"]["target"]) == ("namesake", None, chosen)
    assert summary.overall.misses["namesake"] == 1


def test_a_target_left_out_because_it_is_linked_is_told_so(evaluate):
    expected = {"Gamma Draconis": "gamma.md"}
    assert evaluate(expected)[0]["misses"] == []
    [miss] = evaluate(expected, exclude_linked=True)[0]["misses"]
    assert miss["cause"] == "already_linked"


def test_a_link_that_a_person_rejected_is_no_miss(evaluate):
    item, summary = evaluate({"some words": "delta.md"}, label="reject")
    assert (item["misses"], sum(summary.overall.misses.values())) == ([], 0)


@pytest.mark.parametrize("kind", ["a", "가", "[["])
def test_a_note_without_a_space_is_evaluated_in_linear_time(evaluate, tmp_path, kind):
    def misses(size):
        long = f"Alpha Centauri {kind * (size // len(kind))} Beta Pictoris\n"
        (tmp_path / "notes" / "long.md").write_text(long, encoding="utf-8")
        item, _ = evaluate({"Alpha Centauri": "alpha.md"})
        return item["misses"]

    assert check_linear(misses, 100_000) == []


def test_links_of_a_note_to_one_target_are_told_as_rows_and_counted_once(evaluate, tmp_path):
    evaluate({"Alpha Centauri": "alpha.md", "Alpha": "alpha.md", "some words": "delta.md"})
    (out,) = tmp_path.glob("out-*")
    record = read_run(out, tasks.KINDS)
    assert "1 of 2" in LinkTask.view.result(record)
    assert len(record.items[0].expected) == 3


@pytest.mark.parametrize(("asked", "told"), [(0.0, "0.03"), (0.12, "0.12"), (0.4, "0.4")])
def test_the_result_names_the_threshold_that_was_used(evaluate, tmp_path, asked, told):
    evaluate({"Alpha Centauri": "alpha.md"}, min_confidence=asked)
    (out,) = tmp_path.glob("out-*")
    result = LinkTask.view.result(read_run(out, tasks.KINDS))
    assert told in re.findall(r"\d\.\d+", result)


def test_what_suggest_links_would_show_is_told_where_that_is_less(evaluate, tmp_path):
    item, summary = evaluate({"Alpha Centauri": "alpha.md"})
    (out,) = tmp_path.glob("out-*")
    record = read_run(out, tasks.KINDS)
    assert all(one["confidence"] >= 0.3 for one in item["suggestions"])
    assert list(LinkTask.view.steps(record)) == []
    point = summary.sweep[6]
    assert point.min_confidence == 0.3
    shown = {"suggested": 1, "precision": 1.0, "low": 0.25, "high": 1.0, "recall": 0.5}
    fewer = point.model_copy(update=shown)
    sweep = (*summary.sweep[:6], fewer, *summary.sweep[7:])
    less = replace(record, summary=summary.model_copy(update={"sweep": sweep}))
    [step] = LinkTask.view.steps(less)
    for part in ("0.3", "1.000", "0.250 – 1.000", "0.500"):
        assert part in step.label
    assert "--min-confidence 0.3" in step.command
    assert str(record.run.options["dataset"]) in step.command
