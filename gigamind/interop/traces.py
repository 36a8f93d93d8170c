"""Traces of OpenTelemetry: import their answers, and export scores to tools for traces and experiments.

Traces are OTLP JSON with the attributes of OpenInference or of gen_ai; scores go to OpenTelemetry, Langfuse, Phoenix
and MLflow. The id of an answer is TRACE-SPAN (both hexadecimal), so the scores of an item belong to that span.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Self, cast

from gigamind.datasets.sample import sample as draw
from gigamind.errors import EvaluationError, InputError, reason_of
from gigamind.i18n import _
from gigamind.interop.collection import Imported
from gigamind.interop.column_map import answers_of
from gigamind.interop.source import Fields, json_lines
from gigamind.interop.tables import optional
from gigamind.loading import read_text
from gigamind.records.schema import Record

_SPAN_ID = re.compile(r"(?P<traceId>[0-9a-f]{32})-(?P<spanId>[0-9a-f]{16})")
_DOCUMENT = re.compile(
    r"(?:retrieval\.|reranker\.output_)documents\.(\d{1,6})\.document\.(content|id)"
)
_DIGITS = 20  # of nanoseconds since the epoch, which are an unsigned integer of 64 bits
_PERSONAL = (
    ("email", re.compile(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}", re.ASCII)),
    ("number", re.compile(r"(?<![\w.])\+?\d(?:[ ().-]{0,2}\d){8,15}(?![\w.]\d)")),
)


def read_traces(path: Path, *, size: int | None, seed: int, mask: bool) -> Imported:
    """Read one answer for each trace with a question and an answer; equal ones count once.

    Args:
        path: one OTLP JSON object, or one on each line, as the file exporter of a collector writes them.
        size: number of answers to draw with `seed`; all if None.
        mask: replace email addresses and numbers of 9 to 16 digits (phones, cards, identity numbers).

    Raises:
        InputError: the file cannot be read, or no trace has a question and an answer.
    """
    traces: dict[str, list[Fields]] = defaultdict(list)
    for span in _spans(path):
        traces[str(span.get("traceId", "")).lower()].append(span)
    rows: dict[tuple[str, ...], Fields] = {}
    for trace, spans in traces.items():
        if row := _answer(trace, spans, mask=mask):
            contexts = cast("list[str]", row["contexts"])
            rows.setdefault((str(row["question"]), str(row["answer"]), *contexts), row)
    if not rows:
        raise InputError(
            "{file}: no trace has a question and an answer (input.value and output.value, or gen_ai.input.messages and"
            " gen_ai.output.messages) among {n:,} traces",
            file=path,
            n=len(traces),
        )
    drawn = draw([*rows.values()], size or len(rows), seed)
    return answers_of(path, [(f"{path}: {row['id']}", row) for row in drawn])


def _spans(path: Path) -> Iterator[Fields]:
    what = _("the traces")
    try:
        parts = [cast("object", json.loads(read_text(path, what)))]
    except (ValueError, RecursionError):
        parts = [part for _place, part in json_lines(path, what)]
    for part in parts:
        for resource in _listed(part, "resourceSpans"):
            for scope in _listed(resource, "scopeSpans"):
                yield from _listed(scope, "spans")


def _listed(value: object, name: str = "") -> list[Fields]:
    """Return the objects of a list, or of the list with that name in an object."""
    listed = cast("Fields", value).get(name) if isinstance(value, dict) else value
    entries = cast("list[object]", listed) if isinstance(listed, list) else []
    return [cast("Fields", entry) for entry in entries if isinstance(entry, dict)]


def _answer(trace: str, spans: list[Fields], *, mask: bool) -> Fields | None:
    """Return question, answer and contexts of a trace; the first span that has the two is evaluated."""
    spans = sorted(spans, key=lambda span: str(span.get("startTimeUnixNano") or 0).zfill(_DIGITS))
    attributes = [_attributes(span) for span in spans]
    kinds = [str(own.get("openinference.span.kind", "")) for own in attributes]
    for span, own, kind in zip(spans, attributes, kinds, strict=True):
        question, answer = _asked(own)
        if not (question and answer) or kind in {"RETRIEVER", "RERANKER", "EMBEDDING", "TOOL"}:
            continue
        # A reranker's documents are those of the retriever in a better order.
        found = [_documents(other) for other in attributes]
        by_kind = dict(zip(kinds, found, strict=True))
        documents = by_kind.get("RERANKER") or next(filter(None, found), list[tuple[str, str]]())
        known: dict[str, str] = {}
        hide = partial(_masked, known=known) if mask else str
        return {
            "id": f"{trace}-{str(span.get('spanId', '')).lower()}",
            "question": hide(question),
            "answer": hide(answer),
            "contexts": [hide(text) for _name, text in documents],
            "retrieved_context_ids": [name for name, _text in documents],
        }
    return None


def _attributes(span: Fields) -> Fields:
    return {str(one.get("key")): _value(one.get("value")) for one in _listed(span, "attributes")}


def _value(value: object) -> object:
    """Return a value of OTLP's JSON, such as {"stringValue": "a"}."""
    if not isinstance(value, Mapping):
        return value
    held: object = next(iter(cast("Fields", value).values()), None)
    if not isinstance(held, Mapping):
        return held
    return [_value(one) for one in _listed(cast("Fields", held), "values")]


def _asked(own: Fields) -> tuple[str, str]:
    """Return question and answer of a span; "" for what it lacks."""
    return (
        _text(own.get("input.value") or own.get("gen_ai.input.messages"), "user"),
        _text(own.get("output.value") or own.get("gen_ai.output.messages"), "assistant"),
    )


_TEXTS = ("content", "text", "query", "question", "input", "answer", "output", "response")


def _text(value: object, role: str) -> str:
    """Return a text, or the last message of a role in JSON."""
    if isinstance(value, str):
        text = value.strip()
        try:
            value = json.loads(text) if text[:1] in {"{", "["} else text
        except (ValueError, RecursionError):
            return text
    if isinstance(value, list):
        own = [one for one in _listed(cast("object", value)) if one.get("role", role) == role]
        return _text(own[-1], role) if own else ""
    if isinstance(value, dict):
        fields = cast("Fields", value)
        parts = [str(part["content"]) for part in _listed(fields, "parts") if part.get("content")]
        named = (fields.get(name) for name in ("messages", *_TEXTS))
        return "\n".join(parts) or next((text for one in named if (text := _text(one, role))), "")
    return value if isinstance(value, str) else ""


def _documents(own: Fields) -> list[tuple[str, str]]:
    """Return names and texts of the documents that a span retrieved, best first."""
    found: dict[int, dict[str, str]] = defaultdict(dict)
    for name, value in own.items():
        if match := _DOCUMENT.fullmatch(name):
            found[int(match[1])][match[2]] = str(value)
    documents = [found[number] for number in sorted(found)]
    return [
        (one.get("id") or f"context {at}", one["content"])
        for at, one in enumerate(documents, 1)
        if one.get("content")
    ]


def _masked(text: str, known: dict[str, str]) -> str:
    """Return a text with a placeholder for each value; the same for equal values, so that other ones stay other."""
    for name, pattern in _PERSONAL:

        def placeholder(found: re.Match[str], name: str = name) -> str:
            value = (
                re.sub(r"[ ().-]", "", found[0]).lower() if name == "number" else found[0].lower()
            )
            return known.setdefault(value, f"[{name} {len(known) + 1}]")

        text = pattern.sub(placeholder, text)
    return text


_EVENT = "gen_ai.evaluation.result"
_SEND_S = 30.0
_MLFLOW_BATCH = 1000  # metrics in one request


class _Score(NamedTuple):
    """A metric of the run, or of the item with this id; an item has no interval."""

    name: str
    value: float
    item: str = ""
    low: float | None = None
    high: float | None = None

    @property
    def place(self) -> dict[str, str]:
        """Return `traceId` and `spanId` of the item; empty without a span."""
        found = _SPAN_ID.fullmatch(self.item)
        return found.groupdict() if found else {}


@dataclass(frozen=True)
class Scores:
    """What is exported of a run."""

    # run, dataset, verdict ("" without a baseline), fingerprint of the judge, and folder of the evidence
    about: Mapping[str, str]
    scores: list[_Score]
    by_model: bool  # whether a model gave the verdicts

    @property
    def created(self) -> datetime:
        return datetime.fromisoformat(self.about["created"])

    def placed(self) -> list[tuple[_Score, dict[str, str]]]:
        """Return the scores of items with the place of their span; InputError if there is none."""
        placed = [(score, place) for score in self.scores if (place := score.place)]
        if not placed:
            problem = _(
                "no item of this run belongs to a trace. Make the dataset from traces: gigamind import otel FILE"
                " --out FOLDER"
            )
            raise InputError(problem)
        return placed

    @classmethod
    def of(cls, record: Record[Any, Any], verdict: str, folder: Path) -> Self:
        """Return the scores of a run that was read from a folder; its verdict is "" without a baseline."""
        run, overall = record.run, record.summary.model_dump(mode="json")["overall"]
        scores: list[_Score] = []
        for name, interval in overall["intervals"].items():
            block, _dot, metric = name.partition(".")
            if (value := overall.get(block, {}).get(metric)) is not None:
                scores.append(_Score(name, float(value), "", interval["low"], interval["high"]))
        for item in record.items:
            known = ((name, value) for name, value in item.metrics.items() if value is not None)
            scores += [_Score(name, float(value), item.id) for name, value in known]
        about = {
            "run": run.run_id,
            "created": run.created_at,
            "task": run.task,
            "dataset": run.dataset_hash,
            "verdict": verdict,
            "judge": run.judge.fingerprint if run.judge else "",
            "evidence": str(folder.absolute()),
        }
        return cls(about, scores, bool(run.judge and run.judge.asks_a_model))

    def otel_logs(self) -> dict[str, Any]:
        """Return an OTLP request of log records, one event `gen_ai.evaluation.result` for each score."""
        nanoseconds = str(int(self.created.timestamp()) * 10**9)
        records: list[dict[str, Any]] = []
        for score in self.scores:
            values: dict[str, str | float | None] = {
                "gen_ai.evaluation.name": score.name,
                "gen_ai.evaluation.score.value": score.value,
                "gen_ai.evaluation.score.label": (not score.item and self.about["verdict"]) or None,
                "gigamind.item": score.item or None,
                "gigamind.interval.low": score.low,
                "gigamind.interval.high": score.high,
                **{f"gigamind.{name}": value for name, value in self.about.items()},
            }
            record: dict[str, Any] = {
                "timeUnixNano": nanoseconds,
                "eventName": _EVENT,
                "attributes": [
                    {
                        "key": name,
                        "value": {f"{'string' if isinstance(v, str) else 'double'}Value": v},
                    }
                    for name, v in values.items()
                    if v is not None
                ],
            }
            records.append(record | score.place)
        service = {"key": "service.name", "value": {"stringValue": "gigamind"}}
        logs = {"scope": {"name": "gigamind"}, "logRecords": records}
        return {"resourceLogs": [{"resource": {"attributes": [service]}, "scopeLogs": [logs]}]}

    def log_to_mlflow(self, experiment: str, tracking_uri: str | None) -> str:
        """Write a run of MLflow with metrics, tags and the files of the run, and return its id.

        Raises:
            InputError: mlflow is not installed.
            EvaluationError: the tracking server or folder cannot be used.
        """
        mlflow = optional("mlflow")
        try:
            client = mlflow.MlflowClient(tracking_uri=tracking_uri)
            known = client.get_experiment_by_name(experiment)
            where = known.experiment_id if known else client.create_experiment(experiment)
            milliseconds = int(self.created.timestamp() * 1000)
            tags = {f"gigamind.{name}": value for name, value in self.about.items()}
            run = client.create_run(where, milliseconds, tags, self.about["run"]).info.run_id
            metrics = [
                mlflow.entities.Metric(f"{score.name}{part}", value, milliseconds, 0)
                for score in self.scores
                if not score.item
                for part, value in (("", score.value), (".low", score.low), (".high", score.high))
                if value is not None
            ]
            for start in range(0, len(metrics), _MLFLOW_BATCH):
                client.log_batch(run, metrics[start : start + _MLFLOW_BATCH])
            client.log_artifacts(run, self.about["evidence"])
            client.set_terminated(run)
        except (mlflow.exceptions.MlflowException, OSError) as error:
            raise EvaluationError(
                "MLflow did not accept the run: {reason}",
                reason=reason_of(error) if isinstance(error, OSError) else str(error),
            ) from error
        return str(run)


def _langfuse_batch(scores: Scores) -> dict[str, list[dict[str, Any]]]:
    """Return the body of `POST /api/public/ingestion`; a second import replaces the scores of the first."""
    about = scores.about
    batch = [
        {
            "id": f"gigamind-{about['run']}-{score.item}-{score.name}",
            "type": "score-create",
            "timestamp": about["created"],
            "body": {
                "id": f"gigamind-{about['judge'][:12]}-{score.item}-{score.name}",
                "traceId": place["traceId"],
                "observationId": place["spanId"],
                "name": score.name,
                "value": score.value,
                "dataType": "NUMERIC",
                "comment": f"gigamind {about['run']}",
                "metadata": dict(about),
            },
        }
        for score, place in scores.placed()
    ]
    return {"batch": batch}


def _phoenix_annotations(scores: Scores) -> dict[str, list[dict[str, Any]]]:
    """Return the body of `POST /v1/span_annotations`; a second import replaces the scores of the first."""
    annotations = [
        {
            "span_id": place["spanId"],
            "name": score.name,
            "annotator_kind": "LLM" if scores.by_model else "CODE",
            "result": {"score": score.value},
            "metadata": dict(scores.about),
            "identifier": "gigamind",
        }
        for score, place in scores.placed()
    ]
    return {"data": annotations}


SPAN_FORMATS = {"langfuse": _langfuse_batch, "phoenix": _phoenix_annotations}


def send_otel(logs: Mapping[str, Any], endpoint: str) -> None:
    """Send log records to a collector, such as http://127.0.0.1:4318; EvaluationError if it does not accept them."""
    import httpx

    address = endpoint.rstrip("/").removesuffix("/v1/logs") + "/v1/logs"
    try:
        httpx.post(address, json=logs, timeout=_SEND_S).raise_for_status()
    except (httpx.HTTPError, httpx.InvalidURL) as error:
        raise EvaluationError(
            "--endpoint {address}: the collector did not accept the scores ({reason})",
            address=address,
            reason=str(error) or type(error).__name__,
        ) from error
