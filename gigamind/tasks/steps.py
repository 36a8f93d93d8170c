"""Evaluation steps for flows, which can run them in any process; see `evaluation.run`."""

from typing import Any

from gigamind.assurance.options import CertifyOptions
from gigamind.evaluation.run import Steps
from gigamind.i18n import language_of, translator
from gigamind.tasks import KINDS, TASKS, judged_kinds
from gigamind.tasks.options import AnswerEvalOptions, LinkEvalOptions, SearchEvalOptions

AnyOptions = SearchEvalOptions | LinkEvalOptions | AnswerEvalOptions

STEPS = Steps(TASKS, KINDS)
"""The steps of all tasks."""


def write_card(options: CertifyOptions) -> dict[str, Any]:
    """Certify the judge of finished runs and write its report as JSON values; see `assurance.certify.write_card`."""
    from gigamind.assurance import certify  # evaluations need none of these
    from gigamind.reports.card import card_document
    from gigamind.reports.markdown import render_markdown

    card, out = certify.write_card(options, judged_kinds())
    say = translator(language_of(options.lang))
    document = card_document(card, out)
    return {
        "out": str(out),
        "subject": say(document.subject),  # judge and run in one line
        "card": card.model_dump(mode="json"),
        "markdown": render_markdown(document, say, plots=True),  # judge_card.md with its charts
    }
