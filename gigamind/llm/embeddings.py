"""Embeddings from an API, through litellm: the key comes from the provider's environment variable.

One owner of retries: litellm's own are off, tenacity waits out faults of the transport (429, 5xx, time-outs), and what
will not mend by waiting (key, model, request) fails at once.  No key ever stands in a message.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gigamind.errors import EmbeddingError
from gigamind.llm.loading import load_litellm

Vectors = npt.NDArray[np.float32]
_BATCH = 64
_ATTEMPTS = 4
_TIMEOUT_S = 60.0
_BACKOFF_S = 0.5
_TOO_LARGE = 1e30  # no embedding; a NaN is not below it either
_TOO_SMALL = 1e-12  # a zero vector stays zero


class LitellmEmbedder:
    """An embedding model named as litellm names it, such as `openai/text-embedding-3-small`.

    Args:
        backoff_s: at most so long it waits after the first fault; twice as long after each further one.
    """

    def __init__(
        self, model: str, *, api_base: str | None = None, backoff_s: float = _BACKOFF_S
    ) -> None:
        self._model = model
        self._api_base = api_base
        self._backoff_s = backoff_s
        # Two servers may offer different models under one name: their vectors must not share a cache.
        self.name = f"litellm:{model}{self._where()}"
        self._litellm = load_litellm()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Unit vectors, float32, shape (len(texts), dimensions).

        Raises:
            EmbeddingError: the provider refused, kept failing, or answered something that is no embedding.
        """
        batches = [texts[i : i + _BATCH] for i in range(0, len(texts), _BATCH)]
        return np.concatenate([self._embed(batch) for batch in batches])

    def embed_query(self, text: str) -> Vectors:
        """Unit vector, float32, shape (dimensions,).

        Raises:
            EmbeddingError: as for passages.
        """
        return self._embed([text])[0]

    def _embed(self, texts: Sequence[str]) -> Vectors:
        # An API refuses an empty input; a blank has an embedding.
        inputs = [text if text.strip() else " " for text in texts]
        try:
            reply = self._retrying()(self._request, inputs)
        except Exception as error:  # noqa: BLE001  litellm's classes have no common root of their own
            raise EmbeddingError(self._explain(error)) from None  # the chain may hold the key
        return self._read(reply.data, len(texts))

    def _read(self, data: Any, count: int) -> Vectors:  # noqa: ANN401
        """Unit vectors from the rows of a reply, which may come in any order."""
        try:
            rows = sorted(data, key=lambda row: row["index"])
            whose = [row["index"] for row in rows]
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise EmbeddingError(f"{self.name} answered something that is no embedding") from None
        whole = whose == list(range(count)) and vectors.ndim == 2 and vectors.shape[1] > 0  # noqa: PLR2004
        if not whole or not (np.abs(vectors) < _TOO_LARGE).all():
            raise EmbeddingError(
                f"{self.name} did not answer one finite embedding for each of {count} texts"
            )
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return (vectors / np.maximum(lengths, _TOO_SMALL)).astype(np.float32)

    def _request(self, texts: list[str]) -> Any:  # noqa: ANN401  litellm's reply is untyped
        return self._litellm.embedding(
            model=self._model,
            input=texts,
            api_base=self._api_base,
            encoding_format="float",
            num_retries=0,
            max_retries=0,
            timeout=_TIMEOUT_S,
        )

    def _retrying(self) -> Callable[..., Any]:
        from tenacity import (
            Retrying,
            retry_if_exception,
            stop_after_attempt,
            wait_random_exponential,
        )

        return Retrying(
            retry=retry_if_exception(_is_transient),
            stop=stop_after_attempt(_ATTEMPTS),
            wait=wait_random_exponential(multiplier=self._backoff_s, max=20),
            reraise=True,
        )

    def _explain(self, error: Exception) -> str:
        status = getattr(error, "status_code", None)
        reason = {
            401: "the key was refused: set the provider's key in the environment (OPENAI_API_KEY for openai/...)",
            403: "the key may not use this model",
            404: "no such model: check its name",
            429: "still rate limited, or out of quota, after several attempts",
        }.get(status or 0, f"{type(error).__name__} (status {status})")
        # Without its key, the OpenAI client fails as if the server had: status 500.
        missing = self._litellm.validate_environment(self._model)["missing_keys"]
        hint = f"; not set in the environment: {', '.join(missing)}" if missing else ""
        return f"{self.name}: {reason}{hint}"

    def _where(self) -> str:
        """The address, without what may be secret in it."""
        if not self._api_base:
            return ""
        return f" at {self._api_base.partition('?')[0].rpartition('@')[2]}"


def _is_transient(error: BaseException) -> bool:
    status = getattr(error, "status_code", None)
    return isinstance(status, int) and (status in {408, 409, 429} or status >= 500)  # noqa: PLR2004
