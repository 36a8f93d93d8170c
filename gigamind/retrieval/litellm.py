"""Embeddings from an API, through litellm; the key comes from the provider's environment variable.

Requests go through our transport, except those to `gemini/` and `ollama/`, where litellm accepts no client.  litellm's
retries are off.  tenacity retries transport errors (429, 5xx, time-outs).  Errors that waiting cannot fix (key, model,
request) fail at once.  No message contains a key.
"""

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np

from gigamind.errors import EmbeddingError, LlmError
from gigamind.event_loop import run_async
from gigamind.i18n import Message, _, n_
from gigamind.llm.completion import Completions
from gigamind.llm.faults import with_retries
from gigamind.llm.settings import ModelSettings
from gigamind.retrieval.embed import Vectors

_BATCH = 64
_AT_ONCE = 4
_ATTEMPTS = 4
_TIMEOUT_S = 60.0
_BACKOFF_S = 0.5
_TOO_LARGE = 1e30  # not an embedding; NaN is not below it either
_TOO_SMALL = 1e-12  # a zero vector stays zero


class LitellmEmbedder:
    """An embedding model by its litellm name; `backoff_s` is the longest wait after the first error, later doubled.

    Raises:
        EmbeddingError: There is no key, or no such provider.
    """

    def __init__(
        self, model: str, *, api_base: str | None = None, backoff_s: float = _BACKOFF_S
    ) -> None:
        self._settings = ModelSettings(
            model, api_base=api_base, attempts=_ATTEMPTS, timeout_s=_TIMEOUT_S, backoff_s=backoff_s
        )
        # Two servers can offer different models under one name; their vectors must not share a cache.
        where = f" at {api_base.partition('?')[0].rpartition('@')[2]}" if api_base else ""
        self.name = f"litellm:{model}{where}"
        try:
            Completions(self._settings)  # checks the key; each thread embeds with its own client
        except LlmError as error:
            raise EmbeddingError(self._explain(error)) from None

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32, shape (len(texts), dimensions).

        Raises:
            EmbeddingError: The provider refused, kept failing, or returned something else.
        """
        batches = [texts[i : i + _BATCH] for i in range(0, len(texts), _BATCH)]
        try:
            return np.concatenate(run_async(self._embed(batches)))
        except LlmError as error:
            raise EmbeddingError(self._explain(error)) from None

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector, float32, shape (dimensions,); raises as `embed_passages`."""
        return self.embed_passages([text])[0]

    async def _embed(self, batches: Sequence[Sequence[str]]) -> list[Vectors]:
        slots, client = asyncio.Semaphore(_AT_ONCE), Completions(self._settings)

        async def one(batch: Sequence[str]) -> Vectors:
            # APIs reject an empty input; a space has an embedding.
            inputs = [text if text.strip() else " " for text in batch]

            async def attempt() -> Any:  # noqa: ANN401
                return await client.embed(inputs)

            async with slots:
                data = await with_retries(attempt, self._settings)
            return self._read(data, len(batch))

        try:
            return await asyncio.gather(*map(one, batches))
        finally:
            await client.close()

    def _explain(self, error: LlmError) -> Message:
        """Return the message of an error with the name of this embedder."""
        message = error.message
        if isinstance(message, Message) and error.status not in _REASONS:
            values = {**message.values, "model": self.name}
            return Message(message.id, values, message.plural)
        reason = _REASONS.get(error.status or 0, message)
        return _("{model}: {reason}", model=self.name, reason=reason)

    def _read(self, data: Any, count: int) -> Vectors:  # noqa: ANN401
        """Return unit vectors from the rows of a response, which can be in any order."""
        try:
            rows = sorted(data, key=lambda row: row["index"])
            whose = [row["index"] for row in rows]
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise EmbeddingError(
                "{model}: the server's response is not an embedding", model=self.name
            ) from None
        whole = whose == list(range(count)) and vectors.ndim == 2 and vectors.shape[1] > 0  # noqa: PLR2004
        if not whole or not (np.abs(vectors) < _TOO_LARGE).all():
            message = n_(
                "{model}: the server returned no valid embedding (a list of finite numbers) for {n} text",
                "{model}: the server did not return one valid embedding (a list of finite numbers) for each of {n}"
                " texts",
                n=count,
                model=self.name,
            )
            raise EmbeddingError(message)
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.maximum(lengths, _TOO_SMALL)).astype(np.float32)


_REASONS = {
    401: _(
        "the API key was rejected: set the provider's key in the environment (OPENAI_API_KEY for openai/...)"
    ),
    403: _("the API key has no access to this model"),
    404: _("the provider has no model with this name: check the name"),
    429: _(
        "the provider still rejects the request after several attempts: its rate limit or quota is reached"
    ),
}
