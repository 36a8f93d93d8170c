"""The forecast of the free judges' errors, on vaults whose counts are known by construction."""

import json
from dataclasses import replace
from itertools import permutations
from pathlib import Path

import pytest
from vault_files import write_files

from gigamind.evaluation.progress import Quiet
from gigamind.metrics.answerability import Confusion
from gigamind.tasks import evaluate
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search.free_judges import NO_FREE_JUDGE, KnownErrors, forecast
from gigamind.tasks.search.prepare import choose_judge
from gigamind.tasks.search.schema import ForecastReport, JudgeForecast, JudgeRates, RateReport
from gigamind.vault.notes import Vault

FOLDERS = ("one", "two", "three", "four", "harbour")


def words(place: int) -> str:
    """Three words that only one heading and the text below it have."""
    return " ".join(
        f"{stem}{'abcdefghij'[place // 10]}{'abcdefghij'[place % 10]}q"
        for stem in ("mu", "nu", "xi")
    )


def write(root: Path, *, headings: int = 2) -> Path:
    """Write four notes in each of five folders; those of the last share the words of their headings."""
    place, orders = 0, list(permutations(("crane", "berth", "ship", "crew")))
    notes: dict[str, str] = {}
    for folder in FOLDERS:
        for note in "abcd":
            parts: list[str] = []
            for _heading in range(headings):
                own = " ".join(orders[place % 8]) if folder == "harbour" else words(place)
                parts.append(f"## {own}\n\n## {own.split()[0]}\n\nText on {own}.\n")
                place += 1
            notes[f"{folder}/{note}.md"] = "\n".join(parts)
    return write_files(root, notes)


def options(root: Path, **changes: object) -> SearchEvalOptions:
    values = {"dataset": "q.jsonl", "notes": root, "mode": "keyword", "min_score": 0.3}
    return SearchEvalOptions.model_validate(values | changes)


def made(chosen: SearchEvalOptions, cache: Path | None = None, *, only_cached: bool = False):
    judge = choose_judge(chosen)
    assert judge
    settings = replace(chosen.retrieval, cache=cache)
    vault = Vault.read(chosen.notes or Path())
    return forecast(vault, settings, judge, Quiet(), only_cached=only_cached)


def test_near_misses_strangers_and_refusals_are_counted_apart(tmp_path):
    found = made(options(write(tmp_path / "vault")))
    assert found
    assert found.probes == "headings"  # headings of one word are not asked
    threshold = next(judge for judge in found.judges if judge.kind == "threshold")
    # Of 40 headings, only the 8 of the harbour have words in another note, and only in their own folder.
    assert threshold == JudgeForecast(
        kind="threshold",
        near_misses=RateReport.of(8, 40),
        strangers=RateReport.of(0, 40),
        refused=RateReport.of(0, 40),
    )
    assert threshold.accepts == pytest.approx(0.1)
    assert [judge.kind for judge in found.judges] == ["threshold", "calibrated"]


def test_a_heading_itself_is_in_no_index(tmp_path):
    notes = {f"f{n % 4}/{n}.md": f"## {words(n)}\n\nNothing else.\n" for n in range(40)}
    found = made(options(write_files(tmp_path / "vault", notes)))
    assert found
    assert [judge.refused for judge in found.judges if judge.kind == "threshold"] == [
        RateReport.of(40, 40)
    ]


def test_sentences_say_nothing_of_refusals_and_one_folder_nothing_of_strangers(tmp_path):
    notes = {
        f"{n}.md": f"The first sentence has {words(n)}. The second {words(n)}.\n" for n in range(40)
    }
    found = made(options(write_files(tmp_path / "vault", notes)))
    assert found
    assert found.probes == "sentences"
    assert all(judge.strangers is None and judge.refused is None for judge in found.judges)


def test_a_vault_with_too_few_questions_has_no_forecast(tmp_path):
    assert made(options(write(tmp_path / "vault", headings=1))) is None


def test_a_forecast_is_cached_until_notes_search_or_judge_change(tmp_path):
    root, cache = write(tmp_path / "vault"), tmp_path / "cache"
    chosen = options(root)
    assert made(chosen, cache, only_cached=True) is None
    first = made(chosen, cache)
    assert first
    assert made(chosen, cache, only_cached=True) == first
    assert not list((cache / "keywords").glob("*"))  # indexes of folds replace none of a run
    for changes in ({"min_score": 0.4}, {"unanswerable_mode": "calibrated", "min_score": None}):
        assert made(options(root, **changes), cache, only_cached=True) is None
    (root / "one" / "a.md").write_text("## Some other text here\n", encoding="utf-8")
    assert made(chosen, cache, only_cached=True) is None


def rates(far: tuple[int, int], refusals: tuple[int, int], *, kind: str = "threshold"):
    counts = Confusion(tp=far[1] - far[0], fn=far[0], fp=refusals[0], tn=refusals[1] - refusals[0])
    return JudgeRates.like(
        counts, kind=kind, chosen=kind == "threshold", setting=0.3, missed=far[0],
        unanswerable=far[1], refused=refusals[0], answerable=refusals[1],
    )  # fmt: skip


def expecting(near: int, strange: int | None, refused: int | None, kind: str = "threshold"):
    parts = [None if count is None else RateReport.of(count, 100) for count in (strange, refused)]
    judge = JudgeForecast(
        kind=kind, near_misses=RateReport.of(near, 100), strangers=parts[0], refused=parts[1]
    )
    return ForecastReport(probes="headings", runtime_ms=1.0, judges=(judge,))


@pytest.mark.parametrize(
    ("far", "refusals", "expected", "weak"),
    [
        ((10, 20), (20, 100), None, None),  # at both bounds
        ((11, 20), (20, 100), None, (0.55, 0.2)),
        ((10, 20), (21, 100), None, (0.5, 0.21)),
        ((19, 19), (0, 100), None, None),  # too few labels, and no forecast
        ((0, 19), (0, 100), expecting(51, None, 0), (0.51, 0.0)),
        ((0, 19), (0, 100), expecting(90, 10, 0), None),  # half of them strangers: 0.5
        ((0, 19), (0, 100), expecting(90, 11, 0), (0.505, 0.0)),
        ((0, 20), (0, 100), expecting(90, 90, 90), None),  # labels come first
        ((0, 20), (0, 19), expecting(0, 0, 21), (0.0, 0.21)),
        ((0, 20), (0, 19), expecting(0, 0, None), None),
    ],
)
def test_a_judge_is_weak_by_its_labels_or_the_forecast(far, refusals, expected, weak):
    found = KnownErrors((), expected).weakness(rates(far, refusals))
    assert (found and (found.accepts, found.refuses)) == (weak and pytest.approx(weak))


@pytest.mark.parametrize(
    ("far", "expected", "unchecked"),
    [
        ((2, 2), None, True),
        ((2, 2), expecting(90, 90, 0), False),
        ((20, 20), None, False),
        ((0, 2), None, False),
        ((0, 0), None, False),
    ],
)
def test_a_bad_judge_is_unchecked_with_few_labels_and_no_forecast(far, expected, unchecked):
    assert KnownErrors((rates(far, (0, 100)),), expected).is_unchecked is unchecked


def test_a_judge_whose_forecast_is_beyond_a_bound_is_not_recommended():
    own, other = rates((5, 5), (0, 100)), rates((0, 5), (0, 100), kind="calibrated")
    assert KnownErrors((own, other)).usable == [other]
    assert "calibrated" in str(KnownErrors((own, other)).advice)
    beyond = expecting(95, 90, 0, kind="calibrated")
    assert KnownErrors((own, other), beyond).usable == []
    both = beyond.model_copy(update={"judges": (*beyond.judges, *expecting(100, 100, 0).judges)})
    assert KnownErrors((own, other), both).none_tells
    assert KnownErrors((own, other), both).advice == NO_FREE_JUDGE


def run_of(make_options, tmp_path, **changes: object):
    """Evaluate two queries, one of them unanswerable, on a vault of equal notes and headings of the same words."""
    notes, orders = {}, list(permutations(("crane", "berth", "ship", "crew", "the")))
    for place in range(20):
        heads = "\n\n".join(f"## {' '.join(orders.pop())}" for _heading in range(2))
        text = f"{heads}\n\nThe crane has a berth, a crew and a ship.\n"
        notes[f"f{place % 5}/{place}.md"] = text
    root = write_files(tmp_path / "alike", notes)
    rows = [
        {"id": "a", "query": "crane berth", "answerable": True, "expected_notes": ["f0/0.md"]},
        {"id": "b", "query": "berth price", "answerable": False, "expected_notes": []},
    ]
    return evaluate(make_options(rows, notes=root, **changes))


def test_a_run_with_few_labels_says_once_that_no_judge_tells(make_options, tmp_path):
    done = run_of(make_options, tmp_path)
    run = json.loads((done.out / "run.json").read_text("utf-8"))
    threshold = done.summary.forecast.judges[0]
    assert (threshold.near_misses.count, threshold.strangers.count) == (40, 40)
    assert run["judge"]["weak"]["accepts"] == 1.0
    assert all(judge.accepts > 0.5 for judge in done.summary.forecast.judges)
    assert [text for text in run["warnings"] if "--unanswerable-mode" in text] == [
        str(NO_FREE_JUDGE)
    ]


def test_a_run_without_unanswerable_queries_computes_none_unless_requested(make_options, tmp_path):
    rows = [{"id": "a", "query": "crane", "answerable": True, "expected_notes": ["one/a.md"]}]
    root = write(tmp_path / "asked")
    make = {"notes": root, "cache_dir": tmp_path / "own"}
    assert evaluate(make_options(rows, **make)).summary.forecast is None
    requested = evaluate(make_options(rows, judge_forecast=True, out=tmp_path / "2", **make))
    later = evaluate(make_options(rows, out=tmp_path / "3", **make))
    assert requested.summary.forecast == later.summary.forecast is not None
