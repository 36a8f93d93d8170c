"""The judge report: judge_card.md for a terminal, a pull request or a vault, and its page."""

import base64
import functools
import hashlib
from importlib import resources
from typing import Any

from markupsafe import Markup

from gigamind.formats import moment
from gigamind.i18n import Language, n_, translator
from gigamind.records.card import FILE, JudgeCard
from gigamind.records.folder import as_json
from gigamind.reports.cards.cautions import card_verdict, cautions
from gigamind.reports.cards.line import NO_MODEL
from gigamind.reports.cards.view import (
    attacks_text,
    deceptive_view,
    provenance,
    scale_view,
    second_check_text,
)
from gigamind.reports.page.layout import page_templates
from gigamind.reports.text import render


def _content(card: JudgeCard, lang: Language) -> dict[str, Any]:
    say = translator(lang)
    return {
        "say": say,
        "verdict": card_verdict(card, say),
        "subject": subject(card, lang),
        "cautions": cautions(card, say),
        "scales": [scale_view(card, scale, say) for scale in card.scales],
        "attacks": attacks_text(card, say),
        "second_look": second_check_text(card, say),
        "liars": deceptive_view(card.liars, say) if card.liars else None,
        "provenance": list(provenance(card, say)),
    }


def render_card(card: JudgeCard, lang: Language = "en") -> str:
    """Return the judge report as Markdown; texts of questions and quotes are escaped."""
    return render("judge_card.md.jinja", **_content(card, lang))


def subject(card: JudgeCard, lang: Language) -> str:
    """Return the judge and the number of its labels, in a line."""
    return translator(lang)(
        n_(
            "{kind} judge {file} · {model} · compared with {n} label",
            "{kind} judge {file} · {model} · compared with {n:,} labels",
            kind=card.judge.kind,
            file=card.judge.file,
            model=card.judge.model or NO_MODEL,
            n=card.labels.count,
        )
    )


def render_card_page(card: JudgeCard, lang: Language = "en") -> str:
    """Return the judge report as a page; third-party texts are escaped, and its policy allows no script."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; img-src data:; base-uri 'none'; form-action 'none'"
    return (
        page_templates(lang, "gigamind.reports.cards")
        .get_template("judge_card.html.jinja")
        .render(
            **_content(card, lang),
            card=card,
            created=moment(card.created_at),
            style=Markup(style),  # noqa: S704  ours
            policy=policy,
        )
    )


def card_files(card: JudgeCard, lang: Language = "en") -> dict[str, str]:
    """Return all files of a certification, by name."""
    return {
        FILE: as_json(card, indent=2) + "\n",
        "judge_card.md": render_card(card, lang),
        "judge_card.html": render_card_page(card, lang),
    }


@functools.cache
def _style() -> str:
    report = resources.files("gigamind.reports.page") / "templates" / "report.css"
    own = resources.files("gigamind.reports.cards") / "templates" / "judge_card.css"
    return report.read_text(encoding="utf-8") + own.read_text(encoding="utf-8")
