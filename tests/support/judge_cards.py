"""Cards of a judge of unanswerable queries, as they are certified."""

from gigamind.records.card import CardFigure, CardGroup, CardLabels, CardScale, JudgeCard
from gigamind.records.judged import JudgeReport

JUDGE = JudgeReport(kind="llm", file="judges/j.toml", fingerprint="f1", model="openai/x")


def judge_card(
    kappa: tuple[float | None, float | None, float | None] = (0.6, 0.5, 0.7),
    labels: int = 100,
    **figures: CardFigure,
) -> JudgeCard:
    """A card with this kappa, and its interval, over English labels, half of them yes."""
    value, low, high = kappa
    figures |= {"cohen_kappa": CardFigure(value=value, low=low, high=high, n=labels)}
    group = CardGroup(items=labels, positive=labels // 2, figures=figures, bins=())
    scale = CardScale(
        name="unanswerable", kind="binary", overall=group, by_language={"en": group}, flips=None,
        headline=None, missed=0, misses=(),
    )  # fmt: skip
    return JudgeCard(
        created_at="2026-11-22T01:00:00+00:00", app_version="0.1.0", seed=42, task="search",
        dataset="q.jsonl", dataset_hash="d", judge=JUDGE,
        labels=CardLabels(source="file", name="l.jsonl", sha256="a", count=labels, unscored=0),
        runs=("r",), scales=(scale,),
    )  # fmt: skip
