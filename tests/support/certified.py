"""Lines of judged runs, and the cards that they give."""

from gigamind.assurance.certify import certify
from gigamind.tasks import judged_kinds

JUDGE = {
    "kind": "llm", "file": "judges/unanswerable_llm.toml", "fingerprint": "f" * 64,
    "model": "openai/gpt-x", "languages": ["ko", "en"],
}  # fmt: skip
NOW = "2026-11-22T01:00:00+00:00"


def item(name, *, answerable, judged, language="ko", confidence=0.9, reported=None):
    judgement = {
        "outcome": "unscored" if judged is None else "scored",
        "told_unanswerable": judged if reported is None else reported,
        "confidence": confidence,
        "quotes": [{"text": f"quote of {name}", "note": "a.md", "found": "exact", "trusted": True}],
    }
    return {
        "id": name, "query": f"query {name}", "language": language, "answerable": answerable,
        "judged_unanswerable": judged, "judgement": judgement,
    }  # fmt: skip


# Of five unanswerable items four are judged so, of five answerable ones one is.
ITEMS = [
    *(item(f"u{n}", answerable=False, judged=n != 0, language="en") for n in range(5)),
    *(item(f"a{n}", answerable=True, judged=n == 0) for n in range(5)),
]


def answer(name, correctness, utility=0.5, *, judged=True, labels=None, claims=()):
    evaluation = {"correctness": correctness, "utility": utility, "claims": claims}
    about = {"id": name, "question": f"q {name}", "language": "ko", "labels": labels}
    return about | {"evaluation": evaluation if judged else None}


def claim(number, verdict, quote=""):
    return {"id": number, "text": f"claim {number}", "verdict": verdict} | {
        "evidence": {"quote": quote} if quote else None
    }


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


def card_of(*folders, labels=None, **options):
    return certify(folders, judged_kinds(), labels, created_at=NOW, **options)


def values(group):
    """The value of each figure of a group."""
    return {name: figure.value for name, figure in group.figures.items()}
