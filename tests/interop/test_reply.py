"""An answer and its contexts as systems tell them."""

import math

import pytest

from gigamind.interop.ranking import RankedNote, Reply

CONTEXT = RankedNote("a.md", 0.5, "Roses.", (3, 9))


@pytest.mark.each(
    "told, reply",
    [
        ("Yes.", Reply("Yes.")),
        ({"answer": "Yes.", "id": "q-1"}, Reply("Yes.")),
        ({"answer": "Yes.", "contexts": None}, Reply("Yes.")),
        (["Yes.", ["Roses."]], Reply("Yes.", (RankedNote("", text="Roses."),))),
        (("Yes.", (one for one in ["Roses."])), Reply("Yes.", (RankedNote("", text="Roses."),))),
        (
            {"answer": "Yes.", "contexts": [{"note": "a.md"}, {"text": "Roses."}]},
            Reply("Yes.", (RankedNote("a.md"), RankedNote("", text="Roses."))),
        ),
        (
            {
                "answer": "Yes.",
                "contexts": [
                    {"note": "a.md", "text": "Roses.", "score": "0.5", "start": 3, "end": 9}
                ],
            },
            Reply("Yes.", (CONTEXT,)),
        ),
        (Reply("Yes.", (CONTEXT,), {"asked_again": 1}),) * 2,
        ("half \ud83d", Reply("half \ufffd")),
    ],
)
def test_an_answer_is_told_in_several_forms(told, reply):
    assert Reply.parse(told) == reply


def test_a_score_that_is_no_number_is_kept_as_that():
    [context] = Reply.parse(("Yes.", [{"note": "a.md", "score": "much"}])).contexts
    assert math.isnan(context.base_score)


@pytest.mark.each(
    "told, message",
    [
        (None, "answer"), ({}, "answer"), ({"answer": 7}, "answer .* int"),
        (["only one"], "answer .* list"), ("\n", "answer"), (("Yes.", "Roses."), "contexts"),
        (("Yes.", {"text": "Roses."}), "contexts"), (("Yes.", 7), "contexts"),
        (("Yes.", ["Roses.", 7]), "context 2"), (("Yes.", [""]), "context 1"),
        (("Yes.", [{"score": 1}]), "context 1"),
    ],
)  # fmt: skip
def test_what_is_no_answer_is_refused_and_says_why(told, message):
    with pytest.raises(ValueError, match=message):
        Reply.parse(told)
