"""Judge cards made by hand, and their parts."""

from judge_cards import judge_card

from gigamind.records import card as cards
from gigamind.records.judged import JudgeReport

BINARY = ("accuracy", "balanced_accuracy", "sensitivity", "specificity", "cohen_kappa")


def figure(value=0.8, low=0.7, high=0.9, n=100):
    return cards.CardFigure(value=value, low=low, high=high, n=n)


def group(items=100, positive=40, **figures):
    found = {name: figure() for name in BINARY} | {"cohen_kappa": figure(0.6)}
    bins = (
        cards.CardBin(low=0.8, high=0.9, confidence=None, right=figure(None, None, None, 0)),
        cards.CardBin(low=0.9, high=1.0, confidence=0.95, right=figure(0.75, 0.5, 0.9, 20)),
    )
    return cards.CardGroup(items=items, positive=positive, figures=found | figures, bins=bins)


def scale(**changes):
    values = {
        "name": "unanswerable", "kind": "binary", "overall": group(),
        "by_language": {"en": group(50, 20), "ko": group(50, 20)},
        "flips": figure(0.05, 0.02, 0.08, 200), "missed": 30,
        "headline": cards.CardHeadline(
            judged=0.4, labelled=figure(0.3, 0.2, 0.4, 100),
            corrected=figure(0.32, 0.25, 0.39, 100), weight=0.5, items=300,
        ),
        "misses": (
            cards.CardMiss(
                id="q1", question="배포는 언제?", language="ko", label=1, verdict=0, confidence=0.97,
                quotes=("매주 금요일",),
            ),
        ),
    }  # fmt: skip
    return cards.CardScale(**values | changes)


def card(*scales, **changes):
    values = {
        "judge": JudgeReport(
            kind="llm", file="judges/unanswerable_llm.toml", fingerprint="f" * 64,
            model="openai/gpt-x", languages=("ko", "en"),
        ),
        "runs": ("run-1", "run-2"),
        "scales": scales or (scale(),),
        "attacks": cards.CardAttacks(
            succeeded=3, attempted=40, rate=figure(0.075, 0.026, 0.199, 40)
        ),
    }  # fmt: skip
    return judge_card().model_copy(update=values | changes)
