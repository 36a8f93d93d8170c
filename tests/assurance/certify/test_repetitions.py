"""Runs are repetitions of each other, or are refused."""

import shutil

import pytest
from certified import ITEMS, JUDGE, answer, card_of, claim
from judged_folders import write_summary
from summaries import answer_summary, llm_report, search_summary

from gigamind.errors import InputError
from gigamind.i18n import translator

ENGLISH = translator("en")


def test_repetitions_tell_how_often_verdicts_flip(run_folder):
    turned = [{**one, "judged_unanswerable": True} if one["id"] == "u0" else one for one in ITEMS]
    card = card_of(run_folder("one"), run_folder("two", turned), run_folder("three"))
    # of u0's three pairs of runs two differ
    assert card.scales[0].flips.value == pytest.approx(2 / 3 / 10)
    assert card.scales[0].flips.n == 10
    assert card.runs == ("one", "two", "three")
    assert card_of(run_folder("alone")).scales[0].flips is None


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


@pytest.mark.parametrize(
    ("changes", "what"),
    [
        ({"judge": {"fingerprint": "0" * 64}}, "judge"),
        ({"judge": {"model": "openai/other"}}, "model"),
        ({"dataset_hash": "e" * 64}, "dataset"),
    ],
)
def test_a_run_that_differs_is_no_repetition(run_folder, changes, what):
    another = JUDGE | changes.get("judge", {})
    with pytest.raises(InputError) as caught:
        card_of(run_folder("one"), run_folder("two", **(changes | {"judge": another})))
    assert caught.value.message.values["what"] == what


def test_every_model_that_looked_a_second_time_stands_on_the_card_once(run_folder):
    look = {"model": "m", "language": "ko", "canaries": [12, 1], "believed": True}
    labelled = [answer("x", 1.0, labels={"correctness": 1.0, "claims": []})]
    folders = [run_folder(name, labelled, "answers") for name in ("one", "two")]
    for folder, more in zip(folders, ([], [look | {"language": "en"}]), strict=True):
        write_summary(folder, answer_summary(second_looks=[look, *more]))
    found = card_of(*folders).second_looks
    assert [(one.model, one.language, one.canaries) for one in found] == [
        ("m", "ko", (12, 1)),
        ("m", "en", (12, 1)),
    ]
    assert card_of(run_folder("three")).second_looks == ()


def test_a_run_over_stored_replies_is_no_repetition_but_may_be_repeated(run_folder):
    stored, asked = run_folder("stored"), run_folder("asked")
    for folder, hits in ((stored, 3), (asked, 0)):
        report = llm_report(cache_hits=hits)
        write_summary(folder, search_summary().model_copy(update={"llm": report}))
    assert card_of(stored, asked).scales[0].flips.value == 0.0
    with pytest.raises(InputError, match="--store-mode off") as caught:
        card_of(asked, stored)
    assert caught.value.message.values["n"] == 3


def test_a_run_is_no_repetition_of_itself(run_folder, tmp_path):
    first = run_folder("one")
    with pytest.raises(InputError, match=r"one: .*--store-mode off"):
        card_of(first, first)
    shutil.copytree(first, tmp_path / "copy")
    with pytest.raises(InputError, match=r"copy: .*--store-mode off"):
        card_of(first, tmp_path / "copy")
