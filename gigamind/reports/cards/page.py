"""judge_card.html: one file that needs nothing else and runs no script, in the look of report.html."""

import base64
import functools
import hashlib
from importlib import resources

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from gigamind.reports.cards.cautions import cautions
from gigamind.reports.cards.markdown import render_card, subject
from gigamind.reports.cards.schema import FILE, JudgeCard
from gigamind.reports.cards.verdict import card_verdict
from gigamind.reports.cards.view import attacks_told, card_words, provenance, scale_view
from gigamind.reports.escape import upright
from gigamind.reports.page.headline import moment
from gigamind.reports.page.wording import Language
from gigamind.reports.write import as_json


def render_card_page(card: JudgeCard, lang: Language = "en") -> str:
    """The card as a page; text of questions and quotes is escaped, and its policy allows no script at all."""
    told = card_words(lang)
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        _templates()
        .get_template("judge_card.html.jinja")
        .render(
            told=told,
            card=card,
            verdict=card_verdict(card, told),
            subject=subject(card, lang),
            created=moment(card.created_at),
            cautions=cautions(card, told),
            scales=[scale_view(card, scale, told) for scale in card.scales],
            attacks=attacks_told(card, told),
            provenance=list(provenance(card, told)),
            style=Markup(style),  # noqa: S704  ours
            policy=f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none';"
            " form-action 'none'",
        )
    )


def card_files(card: JudgeCard, lang: Language = "en") -> dict[str, str]:
    """Everything that a certification writes, by file name."""
    return {
        FILE: as_json(card, indent=2) + "\n",
        "judge_card.md": render_card(card, lang),
        "judge_card.html": render_card_page(card, lang),
    }


@functools.cache
def _style() -> str:
    """That of report.html, and what the diagram of reliability needs besides."""
    report = resources.files("gigamind.reports.page") / "templates" / "report.css"
    own = resources.files("gigamind.reports.cards") / "templates" / "judge_card.css"
    return report.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")


@functools.cache
def _templates() -> Environment:
    return Environment(
        loader=PackageLoader("gigamind.reports.cards"),
        undefined=StrictUndefined,
        autoescape=True,
        finalize=upright,
        trim_blocks=True,
        lstrip_blocks=True,
    )
