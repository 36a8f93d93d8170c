"""ONNX embedding models and cross-encoders through fastembed: a model of its list, or a local folder.

A local folder has the layout of sentence-transformers: `model.onnx` or `onnx/model.onnx`, `tokenizer.json`,
`tokenizer_config.json` and `config.json` (`hidden_size`).  Optional are `1_Pooling/config.json` (mean pooling unless it
names CLS or last token) and `config_sentence_transformers.json` (`prompts`: the prefixes of queries and passages).
"""

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from pydantic import BaseModel, StrictInt

from gigamind.errors import EmbeddingError, InputError
from gigamind.loading import parsed
from gigamind.retrieval.embed import Vectors, embed_each, unit_rows

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from fastembed.rerank.cross_encoder import TextCrossEncoder

_INSTRUCTION = "Represent this sentence for searching relevant passages: "

# Prefixes of queries and passages by model card.  fastembed itself adds none for these models.
_PREFIXES: dict[str, tuple[str, str]] = {
    "intfloat/": ("query: ", "passage: "),
    "nomic-ai/": ("search_query: ", "search_document: "),
    "baai/bge-small-en": (_INSTRUCTION, ""),
    "baai/bge-base-en": (_INSTRUCTION, ""),
    "baai/bge-large-en": (_INSTRUCTION, ""),
    "mixedbread-ai/": (_INSTRUCTION, ""),
    "snowflake/snowflake-arctic-embed-": (_INSTRUCTION, ""),
}
_SETTINGS = (
    "config.json",
    "tokenizer.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "1_Pooling/config.json",
    "config_sentence_transformers.json",
)


class _Model(BaseModel):
    hidden_size: StrictInt  # length of a vector


class _Pooling(BaseModel):
    pooling_mode_cls_token: bool = False
    pooling_mode_lasttoken: bool = False


class _Prompts(BaseModel):
    prompts: dict[str, str] = {}


_Config = TypeVar("_Config", bound=BaseModel)
_Loaded = TypeVar("_Loaded", "TextEmbedding", "TextCrossEncoder")


@dataclass(frozen=True)
class _FastembedEmbedder:
    """A fastembed model, a text per core, so that no vector depends on its batch."""

    name: str
    query_prefix: str
    passage_prefix: str
    model: "TextEmbedding"

    def embed_passages(self, texts: Sequence[str]) -> Vectors:
        return embed_each(self._embed, [self.passage_prefix + text for text in texts])

    def embed_query(self, text: str) -> Vectors:
        return self._embed(self.query_prefix + text)

    def _embed(self, text: str) -> Vectors:
        try:
            vector = next(iter(self.model.embed([text])))
        except Exception as error:
            raise EmbeddingError(
                "{model} could not embed a text: {reason}", model=self.name, reason=str(error)
            ) from error
        if not np.isfinite(vector).all():
            raise EmbeddingError(
                "{model} returned a vector with infinite or missing values", model=self.name
            )
        return unit_rows(vector.astype(np.float32))


def load_fastembed(model: str) -> _FastembedEmbedder:
    """Load a model from fastembed's list or from a folder.

    Raises:
        InputError: Neither a known model nor a folder with one.
        EmbeddingError: The model cannot be downloaded or loaded.
    """
    from fastembed import TextEmbedding

    if (folder := Path(model)).is_dir():
        dim, pooling = _read(folder, "config.json", _Model).hidden_size, _pooling(folder)
        name = _register(TextEmbedding, folder, pooling=pooling, normalization=True, dim=dim)
        prompts = _read(folder, "config_sentence_transformers.json", _Prompts).prompts
        passage = prompts.get("passage") or prompts.get("document") or ""
        loaded = _load(TextEmbedding, name, folder)
        return _FastembedEmbedder(name, prompts.get("query", ""), passage, loaded)
    _check_known(TextEmbedding, model)
    loaded = _load(TextEmbedding, model, None)
    prefixes = (p for start, p in _PREFIXES.items() if model.lower().startswith(start))
    query, passage = next(prefixes, ("", ""))
    return _FastembedEmbedder(f"fastembed:{model}@{version('fastembed')}", query, passage, loaded)


def load_cross_encoder(model: str) -> Callable[[str, str], float]:
    """Return the score in [0, 1] of a query and a text, one pair at a time; raises as `load_fastembed`."""
    from fastembed.rerank.cross_encoder import TextCrossEncoder

    folder = Path(model) if Path(model).is_dir() else None
    if folder:
        model = _register(TextCrossEncoder, folder)
    else:
        _check_known(TextCrossEncoder, model)
    loaded = _load(TextCrossEncoder, model, folder)

    def score(query: str, text: str) -> float:
        try:
            logit = next(iter(loaded.rerank(query, [text])))
        except Exception as error:
            raise EmbeddingError(
                "{model} could not rerank a text: {reason}", model=model, reason=str(error)
            ) from error
        if not math.isfinite(logit):
            raise EmbeddingError("{model} returned an infinite or missing score", model=model)
        return (1 + math.tanh(logit / 2)) / 2  # the logistic function, without overflow

    return score


def _check_known(kind: "type[TextEmbedding | TextCrossEncoder]", model: str) -> None:
    if model.lower() not in {str(m["model"]).lower() for m in kind.list_supported_models()}:
        raise InputError(
            '"{model}" is neither a folder nor a fastembed model. For the list of fastembed models, see {url}',
            model=model,
            url="https://qdrant.github.io/fastembed/examples/Supported_Models/",
        )


def _register(
    kind: "type[TextEmbedding | TextCrossEncoder]",
    folder: Path,
    **description: Any,  # noqa: ANN401
) -> str:
    """Add the model in a folder to fastembed's list and return its name there."""
    from fastembed.common.model_description import ModelSource

    file = next((f for f in ("model.onnx", "onnx/model.onnx") if (folder / f).is_file()), None)
    if file is None:
        raise InputError(
            "{folder}: this folder has neither model.onnx nor onnx/model.onnx", folder=folder
        )
    name = f"fastembed:{folder.resolve().name}#{_digest(folder, file)}"
    if name not in {str(m["model"]) for m in kind.list_supported_models()}:
        # The source is required but unused: the model is read from the folder.
        kind.add_custom_model(name, model_file=file, sources=ModelSource(hf=name), **description)
    return name


def _digest(folder: Path, model_file: str) -> str:
    digest = hashlib.sha256(version("fastembed").encode())
    for name in (model_file, f"{model_file}_data", *_SETTINGS):
        if (folder / name).is_file():
            with (folder / name).open("rb") as file:
                digest.update(f"{name} {hashlib.file_digest(file, 'sha256').hexdigest()}".encode())
    return digest.hexdigest()[:12]


def _load(kind: type[_Loaded], name: str, folder: Path | None) -> _Loaded:
    place: dict[str, Any] = {"specific_model_path": str(folder)} if folder else {}
    try:
        return kind(name, threads=1, **place)
    except Exception as error:
        raise EmbeddingError(
            "{model} cannot be loaded: {reason}. Without access to the model hub, pass a local folder:"
            " fastembed:/path/to/folder",
            model=name,
            reason=str(error),
        ) from error


def _pooling(folder: Path):  # noqa: ANN202  the enum's import is lazy
    from fastembed.common.model_description import PoolingType

    config = _read(folder, "1_Pooling/config.json", _Pooling)
    if config.pooling_mode_cls_token:
        return PoolingType.CLS
    return PoolingType.LAST_TOKEN if config.pooling_mode_lasttoken else PoolingType.MEAN


def _read(folder: Path, file: str, model: type[_Config]) -> _Config:
    path = folder / file
    return parsed(model, path.read_bytes() if path.is_file() else b"{}", str(path))
