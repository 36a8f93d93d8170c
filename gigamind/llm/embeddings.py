"""Embeddings from an API, through litellm; the key comes from the provider's environment variable.

litellm's retries are off.  tenacity retries transport errors (429, 5xx, time-outs); errors that waiting cannot fix
(key, model, request) fail at once.  No message contains a key.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gigamind.errors import EmbeddingError
from gigamind.i18n import Message, _, n_
from gigamind.llm.loading import load_litellm

Vectors = npt.NDArray[np.float32]
_BATCH = 64
_ATTEMPTS = 4
_TIMEOUT_S = 60.0
_BACKOFF_S = 0.5
_TOO_LARGE = 1e30  # not an embedding; NaN is not below it either
_TOO_SMALL = 1e-12  # a zero vector stays zero


class LitellmEmbedder:
    """An embedding model by its litellm name; `backoff_s` is the longest wait after the first error, later doubled."""

    def __init__(
        self, model: str, *, api_base: str | None = None, backoff_s: float = _BACKOFF_S
    ) -> None:
        self._model = model
        self._api_base = api_base
        self._backoff_s = backoff_s
        # Two servers can offer different models under one name; their vectors must not share a cache.
        self.name = f"litellm:{model}{self._where()}"
        self._litellm = load_litellm()

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        """Return unit vectors, float32, shape (len(texts), dimensions).

        Raises:
            EmbeddingError: The provider refused, kept failing, or returned something else.
        """
        batches = [texts[i : i + _BATCH] for i in range(0, len(texts), _BATCH)]
        return np.concatenate([self._embed(batch) for batch in batches])

    def embed_query(self, text: str) -> Vectors:
        """Return a unit vector, float32, shape (dimensions,); raises as `embed_passages`."""
        return self._embed([text])[0]

    def _embed(self, texts: Sequence[str]) -> Vectors:
        # APIs reject an empty input; a space has an embedding.
        inputs = [text if text.strip() else " " for text in texts]
        try:
            reply = self._retrying()(self._request, inputs)
        except Exception as error:  # noqa: BLE001  litellm's exceptions have no common base class
            # The exception chain can contain the key.
            raise EmbeddingError(self._explain(error)) from None
        return self._read(reply.data, len(texts))

    def _read(self, data: Any, count: int) -> Vectors:  # noqa: ANN401
        """Return unit vectors from the rows of a response, which can be in any order."""
        try:
            rows = sorted(data, key=lambda row: row["index"])
            whose = [row["index"] for row in rows]
            vectors = np.array([row["embedding"] for row in rows], dtype=np.float64)
        except (KeyError, TypeError, ValueError):
            raise EmbeddingError(
                _("{model}: the server's response is not an embedding", model=self.name)
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

    def _explain(self, error: Exception) -> Message:
        status = getattr(error, "status_code", None)
        reason = _REASONS.get(status or 0, f"{type(error).__name__} (status {status})")
        # Without a key, the OpenAI client fails with status 500, as if the server had failed.
        missing = self._litellm.validate_environment(self._model)["missing_keys"]
        if not missing:
            return _("{model}: {reason}", model=self.name, reason=reason)
        return _(
            "{model}: {reason}. These environment variables are not set: {variables}",
            model=self.name,
            reason=reason,
            variables=missing,
        )

    def _where(self) -> str:
        if not self._api_base:
            return ""
        return f" at {self._api_base.partition('?')[0].rpartition('@')[2]}"


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


def _is_transient(error: BaseException) -> bool:
    status = getattr(error, "status_code", None)
    return isinstance(status, int) and (status in {408, 409, 429} or status >= 500)  # noqa: PLR2004
