"""Certification as a Prefect flow: what `gigamind judge certify` does, with the card as an artifact."""

from typing import Any

from prefect import flow, task
from prefect.cache_policies import NO_CACHE
from prefect.client.schemas.objects import State

from gigamind.errors import GigamindError
from gigamind.evals.certify_options import CertifyOptions
from gigamind.evals.write_card import write_card_flow
from gigamind.publish import failed, publish_card

certify = task(name="certify", cache_policy=NO_CACHE)(write_card_flow)


@flow(name="certify-judge", persist_result=False)
def certify_judge(options: CertifyOptions) -> dict[str, Any] | State[Any]:
    """Hold the verdicts of finished runs against labels, write the judge's card and publish it.

    Ends Failed, named by the meaning of the exit code, where `gigamind judge certify` would end with that code.
    """
    try:
        made = certify(options)
    except GigamindError as error:
        return failed(error)
    publish_card(made)
    return {"out": made["out"], "card": made["card"]}
