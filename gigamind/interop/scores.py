"""The scores of a run in the formats of tools for traces and experiments: OpenTelemetry, Langfuse, Phoenix, MLflow.

Scores of an item belong to the span in its id, TRACE-SPAN, which `gigamind import otel` writes.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from gigamind.errors import EvaluationError, InputError, reason_of
from gigamind.i18n import _
from gigamind.interop.tables import optional
from gigamind.interop.traces import SPAN_ID
from gigamind.records.schema import Record

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
        found = SPAN_ID.fullmatch(self.item)
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
            raise InputError(
                _(
                    "no item of this run belongs to a trace. Make the dataset from traces: gigamind import otel FILE"
                    " --out FOLDER"
                )
            )
        return placed


def scores_of(record: Record[Any, Any], verdict: str, folder: Path) -> Scores:
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
    return Scores(about, scores, bool(run.judge and run.judge.asks_a_model))


def otel_logs(scores: Scores) -> dict[str, Any]:
    """Return an OTLP request of log records, one event `gen_ai.evaluation.result` for each score."""
    nanoseconds = str(int(scores.created.timestamp()) * 10**9)
    records: list[dict[str, Any]] = []
    for score in scores.scores:
        values: dict[str, str | float | None] = {
            "gen_ai.evaluation.name": score.name,
            "gen_ai.evaluation.score.value": score.value,
            "gen_ai.evaluation.score.label": (not score.item and scores.about["verdict"]) or None,
            "gigamind.item": score.item or None,
            "gigamind.interval.low": score.low,
            "gigamind.interval.high": score.high,
            **{f"gigamind.{name}": value for name, value in scores.about.items()},
        }
        record: dict[str, Any] = {
            "timeUnixNano": nanoseconds,
            "eventName": _EVENT,
            "attributes": [
                {"key": name, "value": {f"{'string' if isinstance(v, str) else 'double'}Value": v}}
                for name, v in values.items()
                if v is not None
            ],
        }
        records.append(record | score.place)
    service = {"key": "service.name", "value": {"stringValue": "gigamind"}}
    logs = {"scope": {"name": "gigamind"}, "logRecords": records}
    return {"resourceLogs": [{"resource": {"attributes": [service]}, "scopeLogs": [logs]}]}


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


def log_to_mlflow(scores: Scores, experiment: str, tracking_uri: str | None) -> str:
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
        milliseconds = int(scores.created.timestamp() * 1000)
        tags = {f"gigamind.{name}": value for name, value in scores.about.items()}
        run = client.create_run(where, milliseconds, tags, scores.about["run"]).info.run_id
        metrics = [
            mlflow.entities.Metric(f"{score.name}{part}", value, milliseconds, 0)
            for score in scores.scores
            if not score.item
            for part, value in (("", score.value), (".low", score.low), (".high", score.high))
            if value is not None
        ]
        for start in range(0, len(metrics), _MLFLOW_BATCH):
            client.log_batch(run, metrics[start : start + _MLFLOW_BATCH])
        client.log_artifacts(run, scores.about["evidence"])
        client.set_terminated(run)
    except (mlflow.exceptions.MlflowException, OSError) as error:
        raise EvaluationError(
            "MLflow did not accept the run: {reason}",
            reason=reason_of(error) if isinstance(error, OSError) else str(error),
        ) from error
    return str(run)
