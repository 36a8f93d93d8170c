"""A local model of textual entailment: the probability in [0, 1] that a premise entails a hypothesis.

Its folder has the layout of the Hugging Face hub. The packages of the extra `nli` are imported when a model is loaded.
"""

import asyncio
import mmap
import re
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import file_digest, sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from pydantic import BaseModel

from gigamind.errors import InputError, LlmError, reason_of
from gigamind.loading import parsed

if TYPE_CHECKING:
    from tokenizers import Tokenizer

FILES = ("model.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")
"""ONNX files of a model; the first that exists is used."""
Pair = tuple[str, str]
"""A premise and a hypothesis."""
Probabilities = dict[str, float]
"""The probability of each label: entailment, and either not_entailment or neutral and contradiction."""

_LABELS = ({"entailment", "neutral", "contradiction"}, {"entailment", "not_entailment"})
_BATCH = 8  # pairs of one call
_ID = re.compile(r"[\w.-]+/[\w.-]+")
_LOCATION = re.compile(
    rb"\n\x08location\x12([\x01-\x7f])"
)  # protobuf: key, then length of a file's name


class _Config(BaseModel):
    id2label: dict[int, str]
    pad_token_id: int | None = None
    max_position_embeddings: int | None = None


@dataclass(frozen=True, slots=True)
class EntailmentModel:
    """A model that is ready to use; `labels` are in the order of its outputs.

    The fingerprint is the SHA-256 of its files. `max_tokens` of a pair include those that the tokenizer adds.
    """

    labels: tuple[str, ...]
    fingerprint: str
    max_tokens: int
    _session: Any  # onnxruntime has no types
    _tokenizer: "Tokenizer"
    _pad: int

    def fits(self, premise: str, hypothesis: str, *, share: float = 1.0) -> bool:
        """Return whether a pair has at most `share` of the tokens that the model reads."""
        return len(self._tokenizer.encode(premise, hypothesis)) <= share * self.max_tokens

    async def probabilities(self, pairs: Sequence[Pair]) -> list[Probabilities]:
        """Return the probabilities of pairs that fit, in their order; raise LlmError if the model fails.

        Pairs of similar length are run together; with a quantised model, this changes their probabilities slightly.
        """
        encoded = self._tokenizer.encode_batch(list(pairs))
        order = sorted(range(len(pairs)), key=lambda at: len(encoded[at]))
        found: dict[int, Probabilities] = {}
        for start in range(0, len(order), _BATCH):
            places = order[start : start + _BATCH]
            rows = await asyncio.to_thread(self._run, [encoded[at] for at in places])
            for at, row in zip(places, rows, strict=True):
                found[at] = dict(zip(self.labels, row, strict=True))
        return [found[at] for at in range(len(pairs))]

    def _run(self, batch: Sequence[Any]) -> list[list[float]]:  # encodings; `pad` has no types
        for row in batch:
            row.pad(max(map(len, batch)), pad_id=self._pad)
        known = {
            "input_ids": [row.ids for row in batch],
            "attention_mask": [row.attention_mask for row in batch],
            "token_type_ids": [row.type_ids for row in batch],
        }
        inputs = {
            wanted.name: np.array(known[wanted.name], np.int32 if "32" in wanted.type else np.int64)
            for wanted in self._session.get_inputs()
        }
        try:
            outputs = self._session.run(None, inputs)  # the first one is the logits
        except Exception as error:
            raise LlmError(
                "the entailment model failed: {reason}", "malformed_response", reason=_reason(error)
            ) from error
        logits = np.asarray(outputs[0], np.float64)
        if logits.shape != (len(batch), len(self.labels)) or not np.isfinite(logits).all():
            raise LlmError(
                "the entailment model did not return one finite value for each of the {count} labels of config.json",
                "malformed_response",
                count=len(self.labels),
            )
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        return (powers / powers.sum(axis=1, keepdims=True)).tolist()


def load_entailment_model(name: str, file: str = "", max_tokens: int = 512) -> EntailmentModel:
    """Return the model of a folder, or of an id on the Hugging Face hub, which is downloaded once.

    `file` is the ONNX file in the folder; "" for one of `FILES`.

    Raises:
        InputError: there is no such model, or a file of it is missing or cannot be used.
        ModuleNotFoundError: gigamind was installed without its extra `nli`.
    """
    from tokenizers import Tokenizer

    folder, onnx = _found(name, (file,) if file else FILES)
    config_file, tokenizer_file = folder / "config.json", folder / "tokenizer.json"
    with _loading(config_file):
        config = parsed(_Config, config_file.read_bytes(), str(config_file))
    labels = _labels(config.id2label, config_file)
    if max_tokens > (limit := config.max_position_embeddings or max_tokens):
        raise InputError(
            "{file}: the model reads {limit:,} tokens. Set max_tokens of the judge file to at most that.",
            file=config_file,
            limit=limit,
        )
    with _loading(tokenizer_file):
        tokenizer = Tokenizer.from_buffer(tokenizer_file.read_bytes())
    tokenizer.no_truncation()
    tokenizer.no_padding()
    session, digest = _session(onnx), sha256()
    for path in (onnx, *_external(onnx), tokenizer_file, config_file):
        with _loading(path), path.open("rb") as opened:
            digest.update(file_digest(opened, "sha256").digest())
    return EntailmentModel(
        labels, digest.hexdigest(), max_tokens, session, tokenizer, config.pad_token_id or 0
    )


def _found(name: str, files: Sequence[str]) -> tuple[Path, Path]:
    """Return the folder of a model and its ONNX file."""
    if (folder := Path(name)).is_dir():
        candidates = [(folder, folder / own) for own in files]
    elif _ID.fullmatch(name):
        candidates = _downloaded(name, files)
    else:
        raise InputError(
            "{name}: neither a folder nor an id on the Hugging Face hub (owner/name)", name=name
        )
    for found in candidates:
        if found[1].is_file():
            return found
    raise InputError(
        "{model}: there is no ONNX file. Expected one of: {files}.", model=name, files=files
    )


def _downloaded(name: str, files: Sequence[str]) -> Iterator[tuple[Path, Path]]:
    hub: Any = import_module("huggingface_hub")
    for file in files:
        wanted = ["config.json", "tokenizer.json", f"{file}*"]
        try:
            folder = Path(hub.snapshot_download(name, allow_patterns=wanted))
        except Exception as error:
            raise InputError(
                "{name}: there is no such folder, and the model cannot be downloaded: {reason}. Without access to"
                " the hub, copy the model and pass its folder.",
                name=name,
                reason=_reason(error),
            ) from error
        yield folder, folder / file


def _labels(names: dict[int, str], file: Path) -> tuple[str, ...]:
    labels = tuple(
        re.sub(r"[\W_]+", "_", names[number].strip().lower()).replace("non_", "not_")
        for number in sorted(names)
    )
    if sorted(names) == list(range(len(set(labels)))) and set(labels) in _LABELS:
        return labels
    raise InputError(
        "{file}: id2label must number these labels from 0: entailment, neutral and contradiction; or entailment"
        " and not_entailment. Its labels are: {labels}.",
        file=file,
        labels=[f"{number} {label}" for number, label in names.items()],
    )


def _session(path: Path) -> Any:  # noqa: ANN401  onnxruntime has no types
    onnxruntime: Any = import_module("onnxruntime")
    options = onnxruntime.SessionOptions()
    options.log_severity_level = 3  # errors
    with _loading(path):
        session = onnxruntime.InferenceSession(
            str(path), options, providers=["CPUExecutionProvider"]
        )
    inputs = {given.name for given in session.get_inputs()}
    if "input_ids" not in inputs or not inputs <= {"input_ids", "attention_mask", "token_type_ids"}:
        raise InputError(
            "{file}: the inputs of the model must be input_ids, attention_mask and optionally token_type_ids, but"
            " they are: {inputs}.",
            file=path,
            inputs=sorted(inputs),
        )
    return session


def _external(path: Path) -> list[Path]:
    """Return the files with weights that an ONNX file names."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        ends = [(found.end(), found[1][0]) for found in _LOCATION.finditer(cast("Any", data))]
        names = {data[end : end + length] for end, length in ends}
    files = (path.parent / name.decode("utf-8", "replace") for name in sorted(names))
    return [own for own in files if own.is_file()]


@contextmanager
def _loading(file: Path) -> Generator[None]:
    try:
        yield
    except InputError:
        raise
    except Exception as error:
        raise InputError(
            "{file}: cannot be loaded: {reason}", file=file, reason=_reason(error)
        ) from error


def _reason(error: Exception) -> str:
    return reason_of(error) if isinstance(error, OSError) else str(error).partition("\n")[0]
