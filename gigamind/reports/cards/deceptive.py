"""Results of deceptive judges: scripts that replace the model and give false verdicts."""

from collections.abc import Mapping

from gigamind.formats import share
from gigamind.i18n import Message, _
from gigamind.records.card import CardLiars
from gigamind.reports.document import Count, Proportion, Prose, Table, table

_BEHAVIOURS: Mapping[str, Message] = {
    "honest": _("repeats the human verdicts"),
    "credulous": _(
        "calls even claims that people doubt supported, and quotes the most similar line"
    ),
    "pastes_one_line": _("quotes the same line for every claim"),
    "always_supported": _("calls every claim supported, without a quote or with an invented quote"),
    "no_claims": _("says that no sentence is a claim"),
    "abstains": _(
        "says that every sentence is an abstention (states that the notes lack the answer)"
    ),
    "swaps_ids": _("gives each claim the verdict of the next claim"),
    "quotes_the_question": _("quotes the question or the answer instead of a note"),
}


def deceptive_blocks(liars: CardLiars) -> tuple[Prose, Table]:
    """Return the results of the deceptive judges; unknown ones keep their names."""
    lead = _(
        "Scripts with known behaviour replaced the model as judge of {answers} answers of {dataset}; {unlabelled} more"
        " were left out for lack of labels or notes. According to human labels, {unsupported} of the {claims} claims"
        " are unsupported, correctness is {correctness}, and utility is {utility}.",
        answers=liars.answers,
        dataset=liars.dataset,
        unlabelled=liars.unlabelled,
        unsupported=liars.unsupported,
        claims=liars.claims,
        correctness=share(liars.correctness),
        utility=share(liars.utility),
    )
    heads = (
        *(_("judge"), _("correctness"), _("unsupported claims that the judge accepted")),
        *(_("claims that the judge did not count as claims"), _("utility"), _("no verdict")),
    )
    rows = (
        (
            _BEHAVIOURS.get(judge.name, judge.name),
            Proportion(judge.correctness),
            Count(judge.passed_off, liars.unsupported),
            Count(judge.hidden, liars.claims),
            Proportion(judge.utility),
            Count(judge.unscored),
        )
        for judge in liars.liars
    )
    return Prose(lead), table(heads, rows)
