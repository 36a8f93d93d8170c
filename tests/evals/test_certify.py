import json
import shutil

import pytest

from gigamind.errors import InputError
from gigamind.evals.certify import certify

JUDGE = {
    "kind": "llm",
    "file": "judges/unanswerable_llm.toml",
    "fingerprint": "f" * 64,
    "model": "openai/gpt-x",
    "languages": ["ko", "en"],
}
NOW = "2026-11-22T01:00:00+00:00"


def item(name, *, answerable, judged, language="ko", confidence=0.9, told=None):
    judgement = {
        "outcome": "unscored" if judged is None else "scored",
        "told_unanswerable": judged if told is None else told,
        "confidence": confidence,
        "quotes": [{"text": f"quote of {name}", "note": "a.md", "found": "exact", "trusted": True}],
    }
    return {
        "id": name,
        "query": f"query {name}",
        "language": language,
        "answerable": answerable,
        "judged_unanswerable": judged,
        "judgement": judgement,
        "metrics": {},
    }


# Of five unanswerable items four are judged so, of five answerable ones one is.
ITEMS = [
    *(item(f"u{n}", answerable=False, judged=n != 0, language="en") for n in range(5)),
    *(item(f"a{n}", answerable=True, judged=n == 0) for n in range(5)),
]


@pytest.fixture
def run_folder(tmp_path):
    def write(name="run", items=ITEMS, task="search", judge=JUDGE, errors=(), **changes):
        folder = tmp_path / name
        folder.mkdir()
        about = {"run_id": name, "task": task, "dataset": "q.jsonl", "dataset_hash": "d" * 64}
        about |= {"judge": judge, "options": {}} | changes
        (folder / "run.json").write_text(json.dumps(about), encoding="utf-8")
        write_lines(folder / "per_item.jsonl", items)
        write_lines(folder / "errors.jsonl", errors)
        return folder

    return write


@pytest.fixture
def labels_file(tmp_path):
    def write(rows):
        path = tmp_path / "labels.jsonl"
        write_lines(path, rows)
        return path

    return write


def write_lines(path, rows):
    text = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text(text, encoding="utf-8")


def card_of(*folders, labels=None, **options):
    return certify(folders, labels, created_at=NOW, **options)


def values(group):
    return {name: figure.value for name, figure in group.figures.items()}


def test_a_search_run_is_held_against_the_answerability_of_its_dataset(run_folder):
    card = card_of(run_folder())
    (scale,) = card.scales
    assert (scale.name, scale.kind) == ("unanswerable", "binary")
    assert (scale.overall.items, scale.overall.positive) == (10, 5)
    found = values(scale.overall)
    assert found["accuracy"] == found["sensitivity"] == found["specificity"] == pytest.approx(0.8)
    assert found["cohen_kappa"] == pytest.approx(0.6)
    # every verdict told 0.9, and 8 of 10 were right
    assert found["brier"] == pytest.approx((8 * 0.01 + 2 * 0.81) / 10)
    assert found["calibration_error"] == pytest.approx(0.1)
    assert (card.labels.source, card.labels.count, card.labels.unscored) == ("dataset", 10, 0)
    assert (card.runs, card.judge.model, card.created_at) == (("run",), "openai/gpt-x", NOW)


def test_figures_are_told_apart_by_language(run_folder):
    (scale,) = card_of(run_folder()).scales
    assert {name: group.items for name, group in scale.by_language.items()} == {"en": 5, "ko": 5}
    assert values(scale.by_language["en"])["sensitivity"] == pytest.approx(0.8)
    assert values(scale.by_language["en"])["specificity"] is None


def test_labels_of_people_take_the_place_of_the_datasets(run_folder, labels_file):
    rows = [{"id": "u0", "unanswerable": False, "who": "kim"}, {"id": "a1", "unanswerable": False}]
    card = card_of(run_folder(), labels=labels_file(rows))
    (scale,) = card.scales
    assert (scale.overall.items, values(scale.overall)["accuracy"]) == (2, 1.0)
    assert (card.labels.source, card.labels.name) == ("file", "labels.jsonl")
    assert values(scale.overall)["cohen_kappa"] is None


def test_labels_of_some_items_correct_the_mean_over_all(run_folder, labels_file):
    rows = [{"id": name, "unanswerable": name[0] == "u"} for name in ("u0", "u1", "u2", "a0", "a1", "a2")]  # fmt: skip
    (scale,) = card_of(run_folder(), labels=labels_file(rows)).scales
    headline = scale.headline
    assert (headline.judged, headline.items, headline.labelled.n) == (0.5, 10, 6)
    assert headline.labelled.value == 0.5
    assert 0 < headline.weight < 1
    assert headline.corrected.low < headline.corrected.value < headline.corrected.high


def test_with_labels_of_every_item_there_is_nothing_to_correct(run_folder):
    assert card_of(run_folder()).scales[0].headline is None


def test_misses_come_with_their_question_and_quotes(run_folder):
    (scale,) = card_of(run_folder()).scales
    assert scale.missed == 2
    assert [(m.id, m.label, m.verdict) for m in scale.misses] == [("a0", 0, 1), ("u0", 1, 0)]
    assert (scale.misses[0].question, scale.misses[0].quotes) == ("query a0", ("quote of a0",))


def test_repetitions_tell_how_often_verdicts_flip(run_folder):
    turned = [{**one, "judged_unanswerable": True} if one["id"] == "u0" else one for one in ITEMS]
    card = card_of(run_folder("one"), run_folder("two", turned), run_folder("three"))
    # of u0's three pairs of runs two differ
    assert card.scales[0].flips.value == pytest.approx(2 / 3 / 10)
    assert card.scales[0].flips.n == 10
    assert card.runs == ("one", "two", "three")
    assert card_of(run_folder("alone")).scales[0].flips is None


def test_labelled_items_without_a_verdict_are_counted_and_in_no_figure(run_folder, labels_file):
    items = [*ITEMS[1:], item("u0", answerable=False, judged=None)]
    errors = [{"kind": "item", "id": "lost", "error": "X", "message": "m"}]
    folder = run_folder(items=items, errors=errors)
    rows = [{"id": name, "unanswerable": True} for name in ("u0", "u1", "lost")]
    card = card_of(folder, labels=labels_file(rows))
    assert (card.labels.count, card.labels.unscored, card.scales[0].overall.items) == (3, 2, 1)


def test_a_run_without_a_single_verdict_is_refused(run_folder):
    folder = run_folder(items=[item("u0", answerable=False, judged=None)])
    with pytest.raises(InputError, match="none of the 1 labelled items has a verdict"):
        card_of(folder)


def test_the_confidence_of_a_verdict_that_the_model_did_not_give_is_left_out(run_folder):
    overruled = item("x", answerable=True, judged=True, told=False)
    (scale,) = card_of(run_folder(items=[*ITEMS, overruled])).scales
    assert (scale.overall.items, scale.overall.figures["brier"].n) == (11, 10)


def test_a_threshold_judge_states_no_confidence(run_folder):
    items = [{**one, "judgement": None} for one in ITEMS]
    judge = {"kind": "threshold", "file": "judges/t.toml", "fingerprint": "t", "setting": 0.3}
    card = card_of(run_folder(items=items, judge=judge))
    assert "brier" not in card.scales[0].overall.figures
    assert card.scales[0].overall.bins == ()
    assert card.is_valid_for("t", None)


def answer(name, correctness, utility=0.5, *, judged=True, labels=None, claims=()):
    evaluation = {"correctness": correctness, "utility": utility, "claims": claims}
    about = {"id": name, "question": f"q {name}", "language": "ko", "labels": labels}
    return about | {"evaluation": evaluation if judged else None}


def claim(number, verdict, quote=""):
    return {"id": number, "text": f"claim {number}", "verdict": verdict} | {
        "evidence": {"quote": quote} if quote else None
    }


def test_answers_are_certified_on_both_scales(run_folder, labels_file):
    answers = [
        answer("x", 1.0),
        answer("y", 0.5),
        answer("z", 0.0),
        answer("w", None),
        answer("v", 1.0, judged=False),
    ]
    rows = [
        {"id": "x", "correctness": 1.0, "utility": 1.0},
        {"id": "y", "correctness": 0.0},
        {"id": "z", "correctness": 0.0},
        {"id": "w", "utility": 0.5},
        {"id": "v", "utility": 0.5},
    ]
    card = card_of(run_folder(items=answers, task="answers"), labels=labels_file(rows))
    correctness, utility = card.scales
    assert (correctness.kind, correctness.overall.positive) == ("graded", None)
    assert correctness.overall.items == 3
    assert values(correctness.overall)["mean_absolute_error"] == pytest.approx(0.5 / 3)
    assert values(correctness.overall)["mean_error"] == pytest.approx(0.5 / 3)
    assert [m.id for m in correctness.misses] == ["y"]
    assert (utility.overall.items, [m.id for m in utility.misses]) == (2, ["x"])
    assert (card.labels.count, card.labels.unscored) == (5, 1)


def test_answers_may_be_labelled_in_their_dataset_down_to_their_claims(run_folder):
    claims = [claim(1, "supported", "a quote"), claim(2, "unverified"), claim(3, "supported")]
    labels = {
        "correctness": 1.0,
        "utility": None,
        "claims": [
            {"text": "claim 1", "verdict": "not_found", "claim": 1},
            {"text": "claim 2", "verdict": "contradicted", "claim": 2},
            {"text": "cut in another way", "verdict": "supported", "claim": None},
        ],
    }
    items = [answer("x", 0.5, labels=labels, claims=claims), answer("y", 1.0)]
    correctness, supported = card_of(run_folder(items=items, task="answers")).scales
    assert (correctness.name, correctness.overall.items) == ("correctness", 1)
    assert (supported.name, supported.kind, supported.overall.items) == ("supported", "binary", 2)
    (miss,) = supported.misses
    assert (miss.id, miss.question, miss.quotes) == ("x#1", "claim 1", ("a quote",))
    assert supported.headline is None  # labels of a single answer say nothing of another
    assert (supported.overall.clusters, supported.overall.figures["accuracy"].low) == (1, None)


def test_labelled_claims_of_an_answer_without_an_evaluation_count_as_unscored(run_folder):
    told = [{"text": "a", "verdict": "supported", "claim": None}] * 2
    labels = {"correctness": 1.0, "utility": None, "claims": told}
    items = [
        answer("x", 1.0, labels=labels | {"claims": []}),
        answer("y", None, judged=False, labels=labels),
    ]
    card = card_of(run_folder(items=items, task="answers"))
    assert (card.labels.count, card.labels.unscored) == (4, 3)  # y, and its two claims


def test_an_answer_that_is_called_like_a_claim_of_another_is_refused(run_folder):
    items = [answer("x", 1.0, claims=[claim(1, "supported")]), answer("x#1", 1.0)]
    with pytest.raises(InputError, match='two items are called "x#1"'):
        card_of(run_folder(items=items, task="answers"))


def test_a_claim_that_was_cut_otherwise_in_a_repetition_is_no_flip(run_folder):
    def run(name, *claims):
        labels = {"correctness": None, "utility": None, "claims": []}
        labels["claims"] = [{"text": "claim 1", "verdict": "supported", "claim": 1}]
        items = [answer(one, 1.0, labels=labels, claims=claims) for one in ("x", "y")]
        return run_folder(name, items=items, task="answers")

    one = run("one", claim(1, "supported"), claim(2, "supported"))
    two = run(
        "two", claim(1, "supported"), claim(2, "not_found") | {"text": "claim 2, but shorter"}
    )
    (supported,) = card_of(one, two).scales
    assert (supported.flips.value, supported.flips.n) == (0.0, 2)


SUPPORT = {"supported": "supported", "unverified": "not_found"}


def claims_of(name, verdicts, labels):
    """An answer whose claims have the verdicts; a label of None is none."""
    given = [
        {"text": f"claim {n}", "verdict": SUPPORT[label], "claim": n}
        for n, label in enumerate(labels, start=1)
        if label
    ]
    claims = [claim(n, verdict) for n, verdict in enumerate(verdicts, start=1)]
    return answer(name, 0.5, labels={"claims": given}, claims=claims)


def answers_with_claims(copies):
    """Four answers, labelled, and two without labels, whose claims are all alike."""
    yes, no = ["supported"] * copies, ["unverified"] * copies
    labelled = [("v", yes, yes), ("w", yes, no), ("x", no, no), ("y", yes, yes)]
    return [claims_of(*one) for one in labelled] + [claims_of(n, yes, []) for n in ("p", "q")]


def test_intervals_of_claims_are_those_of_their_answers(run_folder):
    """Three alike claims an answer: every interval is as if each answer were one claim."""
    scales = []
    for copies in (1, 3):
        runs = [run_folder(f"{n} {copies}", task="answers", items=items) for n, items in (
            ("one", answers_with_claims(copies)),
            ("two", [*answers_with_claims(copies)[:5], claims_of("q", ["unverified"] * copies, [])]),
        )]  # fmt: skip
        (scale,) = card_of(*runs).scales
        scales.append(scale)
    alone, alike = scales
    assert (alone.overall.items, alone.overall.clusters) == (4, None)
    assert (alike.overall.items, alike.overall.clusters) == (12, 4)
    for name, figure in alone.overall.figures.items():
        found = alike.overall.figures[name]
        assert (found.low, found.high) == (figure.low, figure.high)
        assert (figure.clusters, found.clusters) == (None, figure.n)
    ends = pytest.approx((alone.flips.low, alone.flips.high))
    assert (alike.flips.low, alike.flips.high) == ends
    assert (alike.flips.n, alike.flips.clusters, alone.flips.clusters) == (18, 6, None)
    ends = pytest.approx((alone.headline.labelled.low, alone.headline.labelled.high))
    assert (alike.headline.labelled.low, alike.headline.labelled.high) == ends
    assert (alike.headline.items, alike.headline.clusters) == (18, 6)
    assert (alike.headline.corrected.n, alike.headline.corrected.clusters) == (12, 4)


def test_an_answer_with_a_claim_that_nobody_labelled_is_one_cluster(run_folder):
    two = ["supported", "unverified"]
    items = [
        claims_of("x", two, [two[0], None]),
        claims_of("y", two, [None, two[0]]),
        claims_of("z", two, two),
        claims_of("w", two, []),
    ]
    (scale,) = card_of(run_folder(items=items, task="answers")).scales
    assert (scale.overall.items, scale.overall.clusters) == (4, 3)
    assert (scale.headline.labelled.n, scale.headline.labelled.clusters) == (4, 3)
    assert (scale.headline.items, scale.headline.clusters) == (8, 4)


def test_items_that_stand_alone_have_no_clusters(run_folder, labels_file):
    rows = [{"id": name, "unanswerable": name[0] == "u"} for name in ("u0", "u1", "a0", "a1")]
    folders = run_folder("one"), run_folder("two")
    (scale,) = card_of(*folders, labels=labels_file(rows)).scales
    shown = [scale.overall, *scale.overall.figures.values(), scale.flips, scale.headline]
    shown += [b.right for b in scale.overall.bins]
    shown += [scale.headline.labelled, scale.headline.corrected]
    assert {one.clusters for one in shown} == {None}


@pytest.mark.parametrize(("verdict", "missed"), [(0.75, 1), (0.76, 0)])
def test_a_graded_verdict_is_a_miss_a_quarter_away(run_folder, labels_file, verdict, missed):
    folder = run_folder(items=[answer("x", verdict), answer("y", 1.0)], task="answers")
    card = card_of(folder, labels=labels_file([{"id": "x", "correctness": 1.0}]))
    assert card.scales[0].missed == missed


def test_answers_have_no_labels_of_their_own(run_folder):
    with pytest.raises(InputError, match="give some with --labels"):
        card_of(run_folder(items=[answer("x", 1.0)], task="answers"))


def test_labels_that_match_no_item_are_counted_and_named_with_their_lines(run_folder, labels_file):
    rows = [{"id": name, "unanswerable": True} for name in ("u1", *"pqrstuv")]
    with pytest.raises(InputError) as caught:
        card_of(run_folder(), labels=labels_file(rows))
    assert "7 of 8 labels match no item" in str(caught.value)
    assert '"p" (line 2), "q" (line 3)' in str(caught.value)
    assert "and 2 more" in str(caught.value)


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"judge": {**JUDGE, "fingerprint": "0" * 64}}, "judge"),
        ({"judge": {**JUDGE, "model": "openai/other"}}, "model"),
        ({"dataset_hash": "e" * 64}, "dataset"),
    ],
)
def test_a_run_that_differs_is_no_repetition(run_folder, changes, what):
    with pytest.raises(InputError, match=f"has another {what}"):
        card_of(run_folder("one"), run_folder("two", **changes))


def test_a_run_over_stored_replies_is_no_repetition_but_may_be_repeated(run_folder):
    stored, asked = run_folder("stored"), run_folder("asked")
    for folder, hits in ((stored, 3), (asked, 0)):
        summary = {"status": "complete", "llm": {"calls": 7, "cache_hits": hits}}
        (folder / "summary.json").write_text(json.dumps(summary), encoding="utf-8")
    assert card_of(stored, asked).scales[0].flips.value == 0.0
    with pytest.raises(InputError, match="3 of its replies are old ones from the store"):
        card_of(asked, stored)


def test_a_run_is_no_repetition_of_itself(run_folder, tmp_path):
    first = run_folder("one")
    with pytest.raises(InputError, match=r"is the same run as .*one, and no repetition"):
        card_of(first, first)
    shutil.copytree(first, tmp_path / "copy")
    with pytest.raises(InputError, match=r"copy: is the same run as"):
        card_of(first, tmp_path / "copy")


def test_runs_without_a_judge_or_of_other_tasks_cannot_be_certified(run_folder, tmp_path):
    with pytest.raises(InputError, match="names no judge"):
        card_of(run_folder("plain", judge=None))
    with pytest.raises(InputError, match='a run of the task "links"'):
        card_of(run_folder("links", task="links"))
    with pytest.raises(InputError, match=r"run\.json: missing"):
        card_of(tmp_path / "nowhere")


def test_a_broken_line_is_named(run_folder):
    folder = run_folder()
    with (folder / "per_item.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "x", "query"')
    with pytest.raises(InputError, match=r"per_item.jsonl:11: no JSON, or cut short"):
        card_of(folder)
    foreign = run_folder("foreign", items=[{"id": "x"}])
    with pytest.raises(
        InputError, match=r"jsonl:1: not as gigamind writes it \(query: Field required"
    ):
        card_of(foreign)


def attacks(tmp_path, hits, of, fingerprint="f" * 64):
    path = tmp_path / "attacks.json"
    fooled = {"hits": hits, "of": of, "rate": None}
    report = {"kind": "unanswerable", "fingerprint": fingerprint, "overall": {"fooled": fooled}}
    path.write_text(json.dumps(report), encoding="utf-8")
    return path


def test_attacks_are_counted_with_an_interval_that_is_honest_about_none(run_folder, tmp_path):
    card = card_of(run_folder(), attacks=attacks(tmp_path, 0, 40))
    rate = card.attacks.rate
    # by Wilson's formula, 1.96 squared over 40 and the same square
    assert (rate.value, rate.low, rate.high) == (0.0, 0.0, pytest.approx(0.0876, abs=0.0001))
    none = card_of(run_folder("again"), attacks=attacks(tmp_path, 0, 0)).attacks
    assert (none.rate.value, none.attempted) == (None, 0)


def test_attacks_on_another_judge_are_refused(run_folder, tmp_path):
    with pytest.raises(InputError, match="attacks on another judge"):
        card_of(run_folder(), attacks=attacks(tmp_path, 1, 2, fingerprint="0" * 64))
    (tmp_path / "attacks.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match="no report of attacks"):
        card_of(run_folder("again"), attacks=tmp_path / "attacks.json")
    with pytest.raises(InputError, match="cannot be read"):
        card_of(run_folder("more"), attacks=tmp_path / "none.json")
    with pytest.raises(InputError, match="5 of 3 attacks cannot have succeeded"):
        card_of(run_folder("odd"), attacks=attacks(tmp_path, 5, 3))


def test_equal_runs_give_equal_cards(run_folder):
    folder = run_folder()
    assert card_of(folder) == card_of(folder)
    assert card_of(folder, seed=1) != card_of(folder)


def test_a_card_is_valid_for_its_judge_and_model_alone(run_folder):
    card = card_of(run_folder())
    assert card.is_valid_for("f" * 64, "openai/gpt-x")
    assert not card.is_valid_for("f" * 64, "openai/gpt-y")
    assert not card.is_valid_for("0" * 64, "openai/gpt-x")
    assert not card.is_valid_for("f" * 64, None)
