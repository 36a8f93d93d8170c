"""Evaluation steps for flows, which can run them in any process; see `evaluation.run`."""

from typing import Any, TypedDict

from gigamind.assurance import certify
from gigamind.assurance.options import CertifyOptions
from gigamind.evaluation.run import Steps
from gigamind.i18n import language_of
from gigamind.reports.cards.page import render_card, subject
from gigamind.tasks import KINDS, TASKS, judged_kinds
from gigamind.tasks.answers.options import AnswerEvalOptions
from gigamind.tasks.links.options import LinkEvalOptions
from gigamind.tasks.search.options import SearchEvalOptions

AnyOptions = SearchEvalOptions | LinkEvalOptions | AnswerEvalOptions

STEPS = Steps(TASKS, KINDS)
"""The steps of all tasks."""


class CardResult(TypedDict):
    """A judge report as JSON values."""

    out: str
    subject: str  # judge and labels in one line
    card: dict[str, Any]
    markdown: str  # content of judge_card.md


def write_card(options: CertifyOptions) -> CardResult:
    """Certify the judge of finished runs and write its report; see `assurance.certify.write_card`."""
    card, out = certify.write_card(options, judged_kinds())
    return {
        "out": str(out),
        "subject": subject(card, language_of(options.lang)),
        "card": card.model_dump(mode="json"),
        "markdown": render_card(card, language_of(options.lang)),
    }
