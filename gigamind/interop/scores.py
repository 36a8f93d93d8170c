"""The scores of a run in the formats of tools for traces and experiments: OpenTelemetry, Langfuse, Phoenix, MLflow.

Scores of an item belong to the span in its id, TRACE-SPAN, which `gigamind import otel` writes.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from importlib import import_module
from typing import Any, NamedTuple

from gigamind.errors import EvaluationError, InputError, reason_of
from gigamind.i18n import _
from gigamind.interop.traces import SPAN_ID

_EVENT = "gen_ai.evaluation.result"
_SEND_S = 30.0
_MLFLOW_BATCH = 1000  # metrics in one request


class Score(NamedTuple):
    """A metric of the run, or of the item with this id; an item has no interval."""

    name: str
    value: float
    item: str = ""
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Scores:
    """What is exported of a run.

    Attributes:
        about: run, dataset, verdict ("" without a baseline), fingerprint of the judge, and folder of the evidence.
        created: when the run began.
    """

    about: Mapping[str, str]
    created: datetime
    scores: list[Score]
    by_model: bool

    def placed(self) -> Iterator[tuple[Score, str, str]]:
        """Yield the scores of items with the ids of their trace and span; InputError if there is none."""
        found = False
        for score in self.scores:
            if match := SPAN_ID.fullmatch(score.item):
                found = True
                yield score, match["trace"], match["span"]
        if not found:
            raise InputError(
                _(
                    "no item of this run belongs to a trace. Make the dataset from traces: gigamind import otel FILE"
                    " --out FOLDER"
                )
            )


def scores_of(
    about: Mapping[str, str],
    summary: Mapping[str, Any],
    items: Iterable[Mapping[str, Any]],
    judge: Mapping[str, Any] | None,
) -> Scores:
    """Return the scores of summary.json and per_item.jsonl, which are given as JSON values."""
    overall, scores = summary["overall"], list[Score]()
    for name, interval in overall["intervals"].items():
        block, _dot, metric = name.partition(".")
        if (value := overall.get(block, {}).get(metric)) is not None:
            scores.append(Score(name, float(value), "", interval["low"], interval["high"]))
    for item in items:
        values: Mapping[str, float | None] = item.get("metrics") or {}
        known = [(name, value) for name, value in values.items() if value is not None]
        scores += [Score(name, float(value), item["id"]) for name, value in known]
    fingerprint, by_model = (
        (judge["fingerprint"], bool(judge.get("model"))) if judge else ("", False)
    )
    created = datetime.fromisoformat(about["created"])
    return Scores({**about, "judge": fingerprint}, created, scores, by_model)


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
        if match := SPAN_ID.fullmatch(score.item):
            record |= {"traceId": match["trace"], "spanId": match["span"]}
        records.append(record)
    service = {"key": "service.name", "value": {"stringValue": "gigamind"}}
    logs = {"scope": {"name": "gigamind"}, "logRecords": records}
    return {"resourceLogs": [{"resource": {"attributes": [service]}, "scopeLogs": [logs]}]}


def langfuse_batch(scores: Scores) -> dict[str, Any]:
    """Return the body of `POST /api/public/ingestion`; a second import replaces the scores of the first."""
    time = scores.created.isoformat()
    batch = [
        {
            "id": f"gigamind-{scores.about['run']}-{score.item}-{score.name}",
            "type": "score-create",
            "timestamp": time,
            "body": {
                "id": f"gigamind-{scores.about['judge'][:12]}-{trace}-{span}-{score.name}",
                "traceId": trace,
                "observationId": span,
                "name": score.name,
                "value": score.value,
                "dataType": "NUMERIC",
                "comment": f"gigamind {scores.about['run']}",
                "metadata": dict(scores.about),
            },
        }
        for score, trace, span in scores.placed()
    ]
    return {"batch": batch}


def phoenix_annotations(scores: Scores) -> dict[str, Any]:
    """Return the body of `POST /v1/span_annotations`; a second import replaces the scores of the first."""
    annotations = [
        {
            "span_id": span,
            "name": score.name,
            "annotator_kind": "LLM" if scores.by_model else "CODE",
            "result": {"score": score.value},
            "metadata": dict(scores.about),
            "identifier": "gigamind",
        }
        for score, _trace, span in scores.placed()
    ]
    return {"data": annotations}


def send_otel(logs: Mapping[str, Any], endpoint: str) -> None:
    """Send log records to a collector, such as http://127.0.0.1:4318.

    Raises:
        EvaluationError: it does not answer, or refuses them.
    """
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
    try:
        mlflow: Any = import_module("mlflow")
    except ImportError as error:
        raise InputError(
            "{library} is missing. Install it: pip install {library}", library="mlflow"
        ) from error
    try:
        client = mlflow.MlflowClient(tracking_uri=tracking_uri)
        known = client.get_experiment_by_name(experiment)
        where = known.experiment_id if known else client.create_experiment(experiment)
        milliseconds = int(scores.created.timestamp() * 1000)
        tags = {f"gigamind.{name}": value for name, value in scores.about.items()}
        run = client.create_run(where, milliseconds, tags, scores.about["run"]).info.run_id
        values: dict[str, float | None] = {}
        for score in (score for score in scores.scores if not score.item):
            values |= {score.name: score.value, f"{score.name}.low": score.low}
            values[f"{score.name}.high"] = score.high
        metrics = [
            mlflow.entities.Metric(name, value, milliseconds, 0)
            for name, value in values.items()
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
