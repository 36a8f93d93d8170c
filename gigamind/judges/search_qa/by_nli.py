"""Judges answers by a local model of textual entailment, without an LLM: free, and deterministic on one machine.

Each claim is a hypothesis, and the best passages of the notes are its premises. A passage that the guard of the judge
of kind `words` refuses proves nothing, whatever the model says. See docs/judges.md. The packages of the extra `nli` are
imported when a model is loaded.
"""

import asyncio
import mmap
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import file_digest, sha256
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Literal, cast

import numpy as np
from pydantic import BaseModel, Field

from gigamind.errors import InputError, LlmError, reason_of
from gigamind.evidence.result import Aligned
from gigamind.evidence.schema import DEFAULT
from gigamind.evidence.stated import stated
from gigamind.judges.protocol import AnswerCase, Asking, Judge, Verdict
from gigamind.judges.search_qa.by_words import RULES_OF_WORDS, Comparison, by_rule
from gigamind.judges.search_qa.judge import refuse_too_many
from gigamind.judges.search_qa.judgement import verdict_of
from gigamind.judges.search_qa.passage import completed
from gigamind.judges.search_qa.reply import MOST_CLAIMS, RULES, ClaimFinding
from gigamind.judges.search_qa.segments import Piece, pieces_of, without_note_names
from gigamind.judges.search_qa.verify import JudgedClaim
from gigamind.judges.search_qa.words import Reading
from gigamind.judges.spec import JudgeFile, read_judge_file
from gigamind.loading import parsed
from gigamind.records.judged import SearchQAEvaluation
from gigamind.spans import Span
from gigamind.text import sentences, tokens, unwrapped

if TYPE_CHECKING:
    from tokenizers import Tokenizer

_FILES = ("model.onnx", "onnx/model_quantized.onnx", "onnx/model.onnx")
"""ONNX files of a model; the first that exists is used."""
_Pair = tuple[str, str]
"""A premise and a hypothesis."""
_Probabilities = dict[str, float]
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
class _EntailmentModel:
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

    async def probabilities(self, pairs: Sequence[_Pair]) -> list[_Probabilities]:
        """Return the probabilities of pairs that fit, in their order; raise LlmError if the model fails.

        Pairs of similar length are run together; with a quantised model, this changes their probabilities slightly.
        """
        encoded = self._tokenizer.encode_batch(list(pairs))
        order = sorted(range(len(pairs)), key=lambda at: len(encoded[at]))
        found: dict[int, _Probabilities] = {}
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


def _load_entailment_model(name: str, file: str = "", max_tokens: int = 512) -> _EntailmentModel:
    """Return the model of a folder, or of an id on the Hugging Face hub, which is downloaded once.

    `file` is the ONNX file in the folder; "" for one of `_FILES`.

    Raises:
        InputError: there is no such model, or a file of it is missing or cannot be used.
        ModuleNotFoundError: gigamind was installed without its extra `nli`.
    """
    from tokenizers import Tokenizer

    folder, onnx = _found(name, (file,) if file else _FILES)
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
    return _EntailmentModel(
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


_RULES_OF_NLI = 1  # part of the fingerprint, like RULES of the judge with a model
_BEST = 3  # passages of a kind that are compared with a claim
_MOST_OF_PAIR = 0.5  # share of the tokens of a pair that a claim may have
_ENTAILMENT = "entailment"
_Threshold = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]


class Thresholds(JudgeFile):
    """From which score on a claim is supported, by its language; `en` for all languages but Korean."""

    ko: _Threshold = 0.5
    en: _Threshold = 0.5


class NliJudgeFile(JudgeFile):
    """A judge file of kind `nli`; its fields are described in judges/README.md."""

    kind: Literal["nli"]
    model: str = ""
    file: str = ""
    max_tokens: Annotated[int, Field(ge=32, le=64_000)] = 512
    thresholds: Thresholds = Thresholds()
    min_quote_chars: Annotated[int, Field(ge=1, le=100)] = 8
    max_claims: Annotated[int, Field(ge=1, le=100_000)] = MOST_CLAIMS


@dataclass(frozen=True)
class _NliJudge(Judge[AnswerCase, SearchQAEvaluation | None]):
    """The judge of kind `nli`: whether passages of the notes entail every claim of an answer."""

    file: NliJudgeFile
    model: _EntailmentModel

    kind = "nli"
    scales: ClassVar = {"correctness": "graded", "supported": "binary"}

    def fingerprint(self, model: str) -> str:
        file = self.file.model_copy(update={"model": self.model.fingerprint, "file": ""})
        rules = f"rules {RULES}, of words {RULES_OF_WORDS}, of nli {_RULES_OF_NLI}"
        return file.fingerprint_with(rules, model)

    async def judge(self, case: AnswerCase, asking: Asking) -> Verdict[SearchQAEvaluation | None]:
        """Judge an answer; raise LlmError if it has too many claims, or the model fails."""
        if not case.has_context:
            return Verdict({}, None)
        pieces = pieces_of(case.answer)
        refuse_too_many(pieces, self.file.max_claims)
        comparison = await asyncio.to_thread(_Comparison, self, case, pieces)
        pairs = comparison.pairs

        async def run() -> Mapping[str, Any]:
            return {"probabilities": await self.model.probabilities(pairs)}

        request = {"model": self.model.fingerprint, "pairs": pairs}
        record = await (asking.stored(request, run) if pairs else run())
        found = await asyncio.to_thread(comparison.evaluation, record["probabilities"])
        return verdict_of(found)


def load_nli(path: Path, model: str = "") -> _NliJudge:
    """Return the judge of a file of kind `nli`; `model` replaces its own one. Raises as `_load_entailment_model`."""
    file = read_judge_file(path, NliJudgeFile)
    name, beside = model or file.model, path.parent / file.model
    if not name:
        raise InputError(
            "{file}: no model is named. Use --judge nli:FOLDER, or set model in a copy of the file.",
            file=path,
        )
    if not model and beside.is_dir():
        name = str(beside)
    return _NliJudge(file, _load_entailment_model(name, file.file, file.max_tokens))


@dataclass(frozen=True, slots=True)
class _Candidate:
    """A passage that may prove a claim: its quote, the verdict of the guard, and the premise, "" if it refuses."""

    finding: ClaimFinding
    judged: JudgedClaim
    premise: str


class _Comparison(Comparison):
    """The passages that each claim of an answer is compared with; `pairs` are those for the model, in their order."""

    def __init__(self, judge: _NliJudge, case: AnswerCase, pieces: Sequence[Piece]) -> None:
        super().__init__(case, pieces, judge.file.min_quote_chars)
        self._model, self._thresholds = judge.model, judge.file.thresholds
        self._texts = [unwrapped(note.text) for note in case.notes]
        judged = self.verifier.judge(self.claims, list(self.findings.values()))
        self._judged = {claim.claim.id: claim for claim in judged}
        self._candidates: dict[int, list[_Candidate]] = {}
        self.pairs: list[_Pair] = []
        for claim in self.claims:
            # The model reads a short answer with its question.
            question = case.question if len(self.claims) == 1 else ""
            hypothesis = completed(without_note_names(claim.text), question)
            if self.findings[claim.id].role != "claim":
                continue
            if not self._model.fits("", hypothesis, share=_MOST_OF_PAIR):
                self._judged[claim.id] = replace(self._judged[claim.id], doubt="too_long")
                continue
            if candidates := self._candidates_for(claim, hypothesis):
                self._candidates[claim.id] = candidates
                self.pairs += [(own.premise, hypothesis) for own in candidates if own.premise]

    def evaluation(self, probabilities: Sequence[_Probabilities]) -> SearchQAEvaluation:
        """Return the evaluation for the probabilities of the pairs."""
        left = iter(probabilities)
        for number, candidates in self._candidates.items():
            scored = [(own, next(left) if own.premise else {}) for own in candidates]
            finding, self._judged[number] = self._decided(scored)
            self.findings[number] = finding
        return self.evaluation_of(list(self._judged.values()))

    def _decided(
        self, scored: Sequence[tuple[_Candidate, _Probabilities]]
    ) -> tuple[ClaimFinding, JudgedClaim]:
        """Return the verdict on a claim by its passages; the first is the one with most of its words."""
        first, of_first = scored[0]
        is_korean = Reading(first.judged.claim.text).is_korean
        threshold = self._thresholds.ko if is_korean else self._thresholds.en
        best, of_best = max(scored, key=lambda pair: pair[1].get(_ENTAILMENT, -1.0))
        score = of_best.get(_ENTAILMENT)
        if score is not None and score >= threshold:
            return best.finding, replace(best.judged, score=score)
        if score is None or first.judged.verdict == "contradicted":
            return first.finding, replace(first.judged, score=score)
        if of_first.get("contradiction", 0.0) >= threshold:
            against = replace(first.judged, verdict="contradicted", score=score)
            return first.finding, replace(against, doubt="not_entailed")
        unproven = replace(best.judged, verdict="not_found", note=None, score=score)
        return best.finding, replace(unproven, doubt="not_entailed")

    def _candidates_for(self, claim: Piece, hypothesis: str) -> list[_Candidate]:
        """Return the sentences with most words of a claim; parts of whole notes if these have few of its words."""

        def fits(quote: str) -> bool:
            return len(quote) <= DEFAULT.max_quote_chars and self._model.fits(quote, hypothesis)

        candidates = [
            self._candidate(claim, hypothesis, note, quote)
            for note, whole in self.lines.best(claim, _BEST)
            for quote in _passages(whole, [Span(0, len(whole))], fits)
        ]
        supports = (own.judged.support for own in candidates)
        if all(support is None or support.sparse for support in supports):
            words = set(tokens(hypothesis))
            windows = [
                (number, quote)
                for number, text in enumerate(self._texts, start=1)
                for quote in _passages(text, sentences(text), fits)
            ]
            windows.sort(key=lambda window: -len(words.intersection(tokens(window[1]))))
            most = _BEST if candidates else len(windows)
            candidates += [self._candidate(claim, hypothesis, *window) for window in windows[:most]]
        return candidates

    def _candidate(self, claim: Piece, hypothesis: str, note: int, quote: str) -> _Candidate:
        finding = self.findings[claim.id].quoting(note, quote)
        (judged,) = self.verifier.judge([claim], [finding])
        is_foreign = judged.support is not None and judged.support.foreign
        if not (is_foreign and judged.verdict == "supported"):
            judged = by_rule(judged)
        if judged.verdict != "supported" or judged.passage is None:
            return _Candidate(finding, judged, "")
        notes, place = self.case.notes, judged.evidence
        if isinstance(place, Aligned):  # without the parts that are not stated
            quote = unwrapped(place.span.slice(stated(notes[place.quote.source_index].text)))
        parts = (notes[note - 1].title, judged.passage.heading, judged.passage.lead, quote)
        whole = "\n".join(filter(None, parts))
        return _Candidate(finding, judged, whole if self._model.fits(whole, hypothesis) else quote)


def _passages(text: str, spans: Sequence[Span], fits: Callable[[str], bool]) -> Iterator[str]:
    """Yield a text in parts that fit: as many whole sentences as possible; a longer sentence is cut between words."""
    passage: Span | None = None
    for span in spans:
        longer = Span(passage.start, span.end) if passage else span
        if fits(longer.slice(text)):
            passage = longer
            continue
        if passage:
            yield passage.slice(text)
        *whole, passage = _cut(text, span, fits)
        yield from (part.slice(text).strip() for part in whole)
    if passage:
        yield passage.slice(text).strip()


def _cut(text: str, span: Span, fits: Callable[[str], bool]) -> list[Span]:
    if len(span) < 2 or fits(span.slice(text)):  # noqa: PLR2004  a single character cannot be cut
        return [span]
    middle = (span.start + span.end) // 2
    blank = text.rfind(" ", span.start + 1, middle + 1)
    at = middle if blank < 0 else blank
    return [*_cut(text, Span(span.start, at), fits), *_cut(text, Span(at, span.end), fits)]
