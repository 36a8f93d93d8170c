"""Certification as a Prefect flow: `gigamind judge certify` with the judge report as an artifact."""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State

from gigamind.assurance.certify import write_card
from gigamind.assurance.options import CertifyOptions
from gigamind.errors import GigamindError
from gigamind.i18n import language_of, translator
from gigamind.publish.ends import failed, publish_card, set_run_language
from gigamind.publish.pool import step
from gigamind.publish.server import flow_timeout_s
from gigamind.reports.card import card_document
from gigamind.reports.markdown import render_markdown
from gigamind.tasks import judged_kinds


def written_card(options: CertifyOptions) -> dict[str, Any]:
    """Certify the judge of finished runs; return what it wrote as JSON values."""
    card, out = write_card(options, judged_kinds())
    say = translator(language_of(options.lang))
    document = card_document(card, out)
    return {
        "out": str(out),
        "subject": say(document.subject),  # judge and run in one line
        "card": card.model_dump(mode="json"),
        "markdown": render_markdown(document, say, plots=True),  # judge_card.md with its charts
    }


certify = step("certify", written_card)


@flow(name="certify-judge", persist_result=False, timeout_seconds=flow_timeout_s())
def certify_judge(options: CertifyOptions) -> dict[str, Any] | State[Any]:
    """Compare the verdicts of finished runs with labels, then write and publish the judge report.

    Ends Failed, named after the exit code, where `gigamind judge certify` would end with that code.
    """
    set_run_language(language_of(options.lang))
    try:
        written = certify(options)
    except GigamindError as error:
        return failed(error)
    publish_card(written)
    return {"out": written["out"], "card": written["card"]}
