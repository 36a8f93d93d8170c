"""judge_card.md: a judge card to read in a terminal, a pull request or a vault."""

from gigamind.reports.cards.cautions import cautions
from gigamind.reports.cards.schema import JudgeCard
from gigamind.reports.cards.verdict import card_verdict
from gigamind.reports.cards.view import attacks_told, card_words, provenance, scale_view
from gigamind.reports.page.wording import Language
from gigamind.reports.templating import render


def render_card(card: JudgeCard, lang: Language = "en") -> str:
    """The card as Markdown; text of questions and quotes is escaped."""
    told = card_words(lang)
    return render(
        "judge_card.md.jinja",
        told=told,
        verdict=card_verdict(card, told),
        subject=subject(card, lang),
        cautions=cautions(card, told),
        scales=[scale_view(card, scale, told) for scale in card.scales],
        attacks=attacks_told(card, told),
        provenance=list(provenance(card, told)),
    )


def subject(card: JudgeCard, lang: Language) -> str:
    """The judge and its labels in one line."""
    told, judge = card_words(lang), card.judge
    model = judge.model or told("page.no_model")
    return told(
        "page.subject", kind=judge.kind, file=judge.file, model=model, count=card.labels.count
    )
