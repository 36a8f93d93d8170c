"""Takes verdicts, and the labels that a dataset has itself, out of a line of per_item.jsonl: what differs by task."""

from gigamind.assurance.judged_runs import JsonPart, RunItem

_SUPPORTED = "supported"


class _Quoted(JsonPart):
    quote: str


class _Claim(JsonPart):
    id: int
    text: str
    verdict: str
    evidence: _Quoted | None


class _Evaluation(JsonPart):
    correctness: float | None
    completeness: float | None = None
    utility: float | None
    claims: tuple[_Claim, ...]


class _LabelledClaim(JsonPart):
    text: str
    verdict: str
    claim: int | None


class _AnswerLabels(JsonPart):
    correctness: float | None = None
    utility: float | None = None
    claims: tuple[_LabelledClaim, ...] = ()


class _Verdict(JsonPart):
    scores: dict[str, float | None]


class _AnswerItem(JsonPart):
    id: str
    question: str
    language: str
    evaluation: _Evaluation | None
    labels: _AnswerLabels | None
    verdict: _Verdict | None = None


def answer_items(line: object) -> list[RunItem]:
    """The answer itself, then each of its claims, as `<answer>#<claim>`; without an evaluation, those with a label."""
    item = _AnswerItem.model_validate(line)
    judged, labels = item.evaluation, item.labels or _AnswerLabels()
    own = {"correctness": labels.correctness, "utility": labels.utility}
    answer = RunItem(
        id=item.id,
        cluster=item.id,
        question=item.question,
        language=item.language,
        verdicts={
            "correctness": judged.correctness if judged else None,
            "completeness": judged.completeness if judged else None,
            "utility": judged.utility if judged else None,
            **(item.verdict.scores if item.verdict else {}),
        },
        own_labels={name: label for name, label in own.items() if label is not None},
    )
    if judged is None:
        unjudged = (
            _of_claim(item, number, one.text, None, one.verdict)
            for number, one in enumerate(labels.claims, start=1)
        )
        return [answer, *unjudged]
    labelled = {one.claim: one.verdict for one in labels.claims if one.claim is not None}
    claims = (
        _of_claim(item, claim.id, claim.text, claim, labelled.get(claim.id))
        for claim in judged.claims
    )
    return [answer, *claims]


def _of_claim(
    item: _AnswerItem, number: int, text: str, claim: _Claim | None, label: str | None
) -> RunItem:
    return RunItem(
        id=f"{item.id}#{number}",
        cluster=item.id,
        question=text,
        language=item.language,
        verdicts={"supported": float(claim.verdict == _SUPPORTED) if claim else None},
        own_labels={} if label is None else {"supported": float(label == _SUPPORTED)},
        quotes=(claim.evidence.quote,) if claim and claim.evidence else (),
    )
