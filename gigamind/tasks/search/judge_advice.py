"""Which judge to use on these queries, from the errors of the free judges in a run or forecast for its vault."""

from collections.abc import Sequence

from gigamind.i18n import Text, _
from gigamind.metrics.answerability import Confusion
from gigamind.records.judged import WeakJudge
from gigamind.tasks.search.schema import ForecastReport, JudgeRates

_MOST_REFUSED = 0.2  # of the answerable queries; a judge that refuses more is not usable
_MOST_MISSED = 0.5  # of the unanswerable queries
ENOUGH_LABELS = 20  # queries of a kind; with fewer, the forecast decides
NO_FREE_JUDGE = _(
    "On this vault no free judge can tell answerable from unanswerable questions; use --unanswerable-mode llm."
)


def is_usable(rates: JudgeRates | Confusion) -> bool:
    """Return whether a judge with these verdicts refuses and misses few enough queries to be recommended."""
    refused, missed = rates.false_refusals, rates.far
    return (
        refused is not None
        and missed is not None
        and refused <= _MOST_REFUSED
        and missed <= _MOST_MISSED
    )


def weakness(rates: JudgeRates, forecast: ForecastReport | None) -> WeakJudge | None:
    """Return the errors of a judge if one is beyond its bound; the labels of a run decide, if they are enough."""
    own = forecast.judges if forecast else ()
    expected = next((judge for judge in own if judge.kind == rates.kind), None)
    accepts, refuses = rates.far, rates.false_refusals
    if rates.unanswerable < ENOUGH_LABELS:
        accepts = expected and expected.accepts
    if rates.answerable < ENOUGH_LABELS:
        known = expected and expected.refused
        refuses = known and known.count / known.n
    if (accepts or 0.0) <= _MOST_MISSED and (refuses or 0.0) <= _MOST_REFUSED:
        return None
    return WeakJudge(accepts=accepts, refuses=refuses)


def none_tells(judges: Sequence[JudgeRates], forecast: ForecastReport | None) -> bool:
    """Return whether every free judge of a run is known to be beyond a bound."""
    return bool(judges) and all(weakness(rates, forecast) for rates in judges)


def usable(judges: Sequence[JudgeRates], forecast: ForecastReport | None) -> list[JudgeRates]:
    """Return the judges that may be recommended."""
    return [rates for rates in judges if is_usable(rates) and not weakness(rates, forecast)]


def advice(judges: Sequence[JudgeRates], forecast: ForecastReport | None = None) -> Text:
    """Return what to use if no free judge fits the vault, or the run's own detects no unanswerable query; else ""."""
    chosen = next((rates for rates in judges if rates.chosen), None)
    if chosen is None:
        return ""
    if none_tells(judges, forecast):
        return NO_FREE_JUDGE
    if not chosen.unanswerable or chosen.missed < chosen.unanswerable:
        return ""
    better = usable(judges, forecast)
    values = {"judge": chosen.kind, "unanswerable": chosen.unanswerable}
    if not better:
        return _(
            "The judge `{judge}` detects none of the {unanswerable:,} unanswerable queries, and no other judge without"
            " an LLM is usable on these queries. Use `--unanswerable-mode llm --model MODEL`.",
            **values,
        )
    best = min(better, key=lambda rates: rates.both_rates or 0.0)
    return _(
        "The judge `{judge}` detects none of the {unanswerable:,} unanswerable queries. Use"
        " `--unanswerable-mode {best}`: on these queries, it misses {missed:,} of {unanswerable:,} and wrongly refuses"
        " {refused:,} of {answerable:,} answerable ones.",
        best=best.kind,
        missed=best.missed,
        refused=best.refused,
        answerable=best.answerable,
        **values,
    )
