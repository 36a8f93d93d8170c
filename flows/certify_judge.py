"""Certification as a Prefect flow: what `gigamind judge certify` does, with the card as an artifact."""

from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from gigamind.assurance.options import CertifyOptions
from gigamind.errors import GigamindError
from gigamind.publish.artifacts import publish_card
from gigamind.publish.ends import failed, speak
from gigamind.tasks import steps
from gigamind.wording import language_of

certify = task(name="certify", cache_policy=NO_CACHE)(steps.write_card)


@flow(name="certify-judge", persist_result=False)
def certify_judge(options: CertifyOptions) -> dict[str, Any] | State[Any]:
    """Hold the verdicts of finished runs against labels, write the judge's card and publish it.

    Ends Failed, named by the meaning of the exit code, where `gigamind judge certify` would end with that code.
    """
    speak(language_of(options.lang))
    try:
        made = certify(options)
    except GigamindError as error:
        return failed(error)
    publish_card(made)
    return {"out": made["out"], "card": made["card"]}
