"""How far the batches of a run are, asked by hand; and how they are stopped."""

from collections.abc import Iterable

from gigamind.llm.batches.batcher import provider_of
from gigamind.llm.batches.journal import Batch
from gigamind.llm.settings import ModelSettings


async def look_at_all(batches: Iterable[Batch], *, cancel: bool) -> list[str]:
    """A line each; those that go on are stopped if told so.

    Raises:
        LlmError: a provider could not be asked.
    """
    return [await _look_at(batch, cancel=cancel) for batch in batches]


async def _look_at(batch: Batch, *, cancel: bool) -> str:
    requests = f"{len(batch.requests):,} requests to {batch.model}"
    if not batch.is_open or not batch.batch_id:
        return f"{batch.batch_id or batch.tag}: {requests}: {batch.stage}"
    settings = ModelSettings(batch.model, api_base=batch.api_base, key_variable=batch.key_variable)
    provider = provider_of(settings)
    try:
        state = await provider.look(batch.batch_id)
        if cancel and not state.ended:
            state = await provider.cancel(batch.batch_id)
    finally:
        await provider.close()
    return f"{batch.batch_id}: {requests}: {state.status}, {state.done:,} of {state.total:,} done"
