"""Which judge to use on these queries, from the errors of the free judges in a run."""

from collections.abc import Sequence

from gigamind.i18n import Text, _
from gigamind.metrics.answerability import Confusion
from gigamind.tasks.search.schema import JudgeRates

_MOST_REFUSED = 0.2  # of the answerable queries; a judge that refuses more is not usable
_MOST_MISSED = 0.5  # of the unanswerable queries


def is_usable(rates: JudgeRates | Confusion) -> bool:
    """Return whether a judge with these verdicts refuses and misses few enough queries to be recommended."""
    refused, missed = rates.false_refusals, rates.far
    return (
        refused is not None
        and missed is not None
        and refused <= _MOST_REFUSED
        and missed <= _MOST_MISSED
    )


def advice(judges: Sequence[JudgeRates]) -> Text:
    """Return which judge to use if the run's free judge detects no unanswerable query; "" if it detects any."""
    chosen = next((rates for rates in judges if rates.chosen), None)
    if chosen is None or not chosen.unanswerable or chosen.missed < chosen.unanswerable:
        return ""
    usable = [rates for rates in judges if is_usable(rates)]
    values = {"judge": chosen.kind, "unanswerable": chosen.unanswerable}
    if not usable:
        return _(
            "The judge {judge} detects none of the {unanswerable:,} unanswerable queries, and no other judge without an"
            " LLM is usable on these queries. Use `--unanswerable-mode llm --model MODEL`.",
            **values,
        )
    best = min(usable, key=lambda rates: rates.both_rates or 0.0)
    return _(
        "The judge {judge} detects none of the {unanswerable:,} unanswerable queries. Use"
        " `--unanswerable-mode {best}`: on these queries, it misses {missed:,} of {unanswerable:,} and wrongly refuses"
        " {refused:,} of {answerable:,} answerable ones.",
        best=best.kind,
        missed=best.missed,
        refused=best.refused,
        answerable=best.answerable,
        **values,
    )
