"""The checks that a supported claim passes: the model's verdict, the proven quote, and the source sentence."""

from gigamind.i18n import Text, Translator, _, n_
from gigamind.reports.cards.line import tried
from gigamind.reports.labels import LABELS
from gigamind.reports.release import WORDS_BLIND
from gigamind.tasks.answers.schema import AnswerSummaryReport, EvaluatedClaim

_SOURCE_DOUBTS = (
    "contradiction", "new_name", "new_number", "added", "only_possible", "other_limits", "other_word",
    "not_confirmed", "not_looked_at", "little_in_common",
)  # fmt: skip


def support_checks(claim: EvaluatedClaim) -> list[tuple[str, bool | None]]:
    """Return the checks of a claim (model's verdict, proof, meaning) in order with their results; None if unknown."""
    checks: list[tuple[str, bool | None]] = []
    if claim.reported_verdict:
        checks.append((f"told_{claim.reported_verdict}", claim.reported_verdict == "supported"))
    elif claim.evidence is None:
        return checks
    if claim.reported_verdict == "not_found":
        return checks
    proven = claim.doubt is None or claim.doubt in _SOURCE_DOUBTS
    checks.append(("proven" if proven else "unproven", proven))
    if not proven or claim.source is None:
        return checks
    if claim.doubt:
        return [*checks, (claim.doubt, None if claim.doubt in _SOURCE_DOUBTS[-2:] else False)]
    if claim.confirmed:
        return [*checks, ("confirmed", True)]
    return [*checks, ("flagged", None) if claim.contradictions else ("says", True)]


def contradictions(claim: EvaluatedClaim) -> list[tuple[str, str]]:
    """Return the contradictions between the source and a claim: their kinds, and the numbers concerned."""
    numbers = ", ".join(claim.new_numbers)
    return [(name, numbers if name == "number" else "") for name in claim.contradictions]


def rejected_support(summary: AnswerSummaryReport) -> Text:
    """Return how many claims only the model calls supported, and why; without a model, the limits of its verdicts."""
    model_supported, rejected = summary.reported_verdicts.get("supported", 0), summary.not_believed
    if not summary.reported_verdicts and summary.counts.claims:
        supported = summary.verdicts.get("supported", 0)
        return _(
            "{caution} {loose:,} of {supported:,} supported claims contain a word that is missing from their"
            " source sentence, its heading, the note's title and the question. Rely on changes between runs, not on"
            " the verdict of a single answer.",
            caution=WORDS_BLIND,
            loose=summary.loose,
            supported=supported,
        )
    if not model_supported:
        return ""
    if not rejected:
        return n_(
            "The claim that the model judged as supported passed all of gigamind's own checks.",
            "All {n:,} claims that the model judged as supported passed gigamind's own checks.",
            n=model_supported,
        )
    most_first = sorted(rejected.items(), key=lambda pair: -pair[1])
    return _(
        "{rejected:,} of {claims:,} claims that the model judged as supported failed one of gigamind's own checks:"
        " {reasons}.",
        rejected=sum(rejected.values()),
        claims=model_supported,
        reasons=[
            _("{reason} ({count:,})", reason=LABELS[name], count=count)
            for name, count in most_first
        ],
    )


def second_look(summary: AnswerSummaryReport, say: Translator) -> str:
    """Return which models made the second check, and whether it counts; "" without a second check."""
    if not summary.second_looks:
        return ""
    models = "; ".join(tried(look, say.language) for look in summary.second_looks)
    return say(
        n_(
            "Second check: {n} doubtful claim was compared with its source sentence alone. {models}.",
            "Second check: {n:,} doubtful claims were compared with their source sentences alone. {models}.",
            n=summary.looked_at,
            models=models,
        )
    )
