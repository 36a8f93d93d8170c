"""`gigamind import` and `export`: files of other tools as datasets and vaults, and finished runs as their files."""

import functools
import json
import shlex
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from gigamind.cli.command import Command, Group
from gigamind.cli.output import (
    is_json,
    print_line,
    print_warning,
    prints_json,
    show_warning_lines,
    show_written,
)
from gigamind.errors import InputError
from gigamind.i18n import Message, _, joined, n_

if TYPE_CHECKING:
    from gigamind.interop.collection import Imported
    from gigamind.interop.traces import Scores
    from gigamind.records.schema import Record
    from gigamind.tasks.answers.schema import AnswerItemReport
    from gigamind.tasks.search.schema import ItemReport

_path = click.Path(path_type=Path)
_run = click.argument("run", type=_path)


def _import_command(read: Callable[..., "Imported"]) -> Callable[..., None]:
    @click.argument("evaluation", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTIONS OF EVAL]")
    @click.option("--out", type=_path, required=True, help="folder to create")
    @prints_json
    @functools.wraps(read)
    def run(*, out: Path, evaluation: tuple[str, ...], **given: Any) -> None:  # noqa: ANN401  those of `read`
        _write_imported(read(**given), out, evaluation)

    return run


@click.group("import", cls=Group)
def collection() -> None:
    """Convert another tool's files into a dataset, and its documents into a vault.

    With options of `gigamind eval` after --, the dataset is evaluated immediately.
    """


@collection.command(
    "trec", examples=("gigamind import trec qrels.txt --topics topics.tsv --out cranfield",)
)
@click.argument("qrels", type=_path)
@click.option("--topics", type=_path, help="query texts: TREC topics, TSV or JSON Lines")
@_import_command
def _import_trec(qrels: Path, topics: Path | None) -> "Imported":
    """Convert QRELS ("query 0 document grade") and query texts (--topics) into a queries.jsonl with grades."""
    from gigamind.interop.trec import read_trec

    return read_trec(qrels, topics)


@collection.command(
    "squad", examples=("gigamind import squad KorQuAD_v1.0_dev.json --out korquad",)
)
@click.argument("file", type=_path)
@_import_command
def _import_squad(file: Path) -> "Imported":
    """Convert a SQuAD or KorQuAD file into queries.jsonl with answer positions, and one note per paragraph."""
    from gigamind.interop.squad import read_squad

    return read_squad(file)


@collection.command(
    "beir", examples=("gigamind import beir scifact --split test --out scifact-rows",)
)
@click.argument("folder", type=_path)
@click.option(
    "--split",
    help='name of the file in qrels/ to use (default: the only file, or "test" if there are several)',
)
@_import_command
def _import_beir(folder: Path, split: str | None) -> "Imported":
    """Convert a BEIR folder (corpus.jsonl, queries.jsonl, qrels/) into a graded queries.jsonl and notes."""
    from gigamind.interop.column_map import read_beir

    return read_beir(folder, split)


@collection.command(
    "table",
    examples=(
        "gigamind import table qa.parquet --corpus corpus.parquet --out autorag",
        "gigamind import table log.csv --question prompt --answer completion --contexts found --out log",
    ),
)
@click.argument("file", type=_path)
@click.option("--question", metavar="NAME", help="column of the questions")
@click.option(
    "--answer",
    metavar="NAME",
    help="column of the answers to judge; or reference, to judge the expected answers",
)
@click.option(
    "--contexts", metavar="NAME", help="column of the texts that the system answered from"
)
@click.option("--reference", metavar="NAME", help="column of the expected answers")
@click.option("--expected", metavar="NAME", help="column of the relevant documents; gives queries")
@click.option("--id", metavar="NAME", help="column of the ids of the questions")
@click.option("--corpus", type=_path, help="table of the documents: _id or doc_id, title, text")
@_import_command
def _import_table(*, file: Path, corpus: Path | None, **columns: str | None) -> "Imported":
    """Convert a table of questions (CSV, TSV, JSON, JSON Lines, Parquet) into answers.jsonl or queries.jsonl.

    The columns of ragas, deepeval, AutoRAG and triples (query, positive, negative) are known; options name others.
    """
    from gigamind.interop.column_map import read_columns

    chosen = {value: column for value, column in columns.items() if column}
    return read_columns(file, chosen, corpus=corpus)


@collection.command(
    "otel", examples=("gigamind import otel traces.json --sample 200 --mask --out answers",)
)
@click.argument("file", type=_path)
@click.option("--sample", type=click.IntRange(1), help="number of answers to draw; default: all")
@click.option("--seed", type=int, default=42, show_default=True, help="seed of the sample")
@click.option("--mask", is_flag=True, help="replace email addresses and numbers of 9 to 16 digits")
@_import_command
def _import_otel(file: Path, sample: int | None, seed: int, *, mask: bool) -> "Imported":
    """Convert traces of OpenTelemetry (OTLP JSON) into answers.jsonl: one answer for each trace, equal ones once.

    Attributes of OpenInference (Phoenix, Langfuse, LangChain, LlamaIndex) and of gen_ai are known.
    """
    from gigamind.interop.traces import read_traces

    return read_traces(file, size=sample, seed=seed, mask=mask)


for _example in ("ragas testset.csv --answer reference", "deepeval goldens.json"):
    _alias = cast("Command", copy(_import_table))
    _alias.examples = (f"gigamind import {_example} --out rows",)
    collection.add_command(_alias, _example.split()[0])


def _write_imported(imported: "Imported", out: Path, evaluation: tuple[str, ...]) -> None:
    from gigamind.interop.collection import RUN
    from gigamind.records.folder import check_out_folder, write_texts

    if evaluation and is_json():
        raise InputError(_("put --json after --, so that the evaluation prints JSON"))
    check_out_folder(out)
    write_texts(out, imported.files())
    show_warning_lines(imported.warnings)
    dataset = out / imported.name
    counts = {"rows": len(imported.rows), "notes": len(imported.notes)}
    line = n_("{n} row: {folder}", "{n:,} rows: {folder}", n=counts["rows"], folder=out)
    if imported.notes:
        line = _("{rows:,} rows, {notes:,} notes: {folder}", **counts, folder=out)
    if imported.name == "queries.jsonl":
        notes = ["--notes", str(out / "notes")] if imported.notes else []
        run = ["--system", f"run:{out / RUN}"] if imported.run else []
        following = ["search", "--dataset", str(dataset), *notes, *run]
        more = [] if imported.notes or run else ["--system", "run:FILE"]
    else:
        following, more = ["answers", "--dataset", str(dataset)], ["--judge", "words"]
    if not evaluation:
        command = shlex.join(("gigamind", "eval", *following, *more))
        following = _("Next command: {command}", command=command)
        show_written(dataset, counts, joined((line, following), "\n"))
        return
    from gigamind.cli.main import evaluate

    print_line(line, err=True)
    context, words = click.get_current_context(), [*following, *evaluation]
    code = evaluate.main(words, "gigamind eval", standalone_mode=False, obj=context.obj)
    context.exit(int(code or 0))


@click.group(cls=Group)
def export() -> None:
    """Export RUN to files for other tools. RUN is the output folder of an evaluation."""


@export.command("trec", examples=("gigamind export trec eval/out/20261123-101500 --out trec",))
@_run
@click.option(
    "--out", type=_path, required=True, help="new folder for run.trec, qrels.trec and topics.jsonl"
)
@prints_json
def _export_trec(run: Path, out: Path) -> None:
    """Write rankings and relevance judgments for trec_eval and ir_measures, which compute the same metrics.

    topics.jsonl holds all queries, the unanswerable ones included; `import trec --topics` reads them back.
    """
    from gigamind.interop.tables import json_lines_text
    from gigamind.interop.trec import column, encoded_names, trec_qrels, trec_run
    from gigamind.records.folder import check_out_folder, write_texts

    check_out_folder(out)
    items: list[ItemReport] = list(_read(run, "search").items)
    rankings = {item.id: [hit.note for hit in item.ranking] for item in items}
    judged = [item for item in items if item.answerable]
    grades = {item.id: item.gains or dict.fromkeys(item.expected_notes, 1) for item in judged}
    topics = [{"_id": column(item.id), "text": item.query, **_row(item)} for item in items]
    files = {
        "run.trec": trec_run(rankings, "gigamind"),
        "qrels.trec": trec_qrels(grades),
        "topics.jsonl": json_lines_text(topics),
    }
    write_texts(out, files)
    named = (note for notes in (*rankings.values(), *grades.values()) for note in notes)
    if count := encoded_names([*rankings, *named]):
        print_warning(_("names with spaces or %, percent-encoded in both files: {n:,}", n=count))
    counts = {"rankings": len(rankings), "judged": len(grades)}
    line = _(
        "rankings of {rankings:,} queries and judgments for {judged:,} queries: {folder}",
        **counts,
        folder=out,
    )
    show_written(out, counts, line)


@export.command("csv", examples=("gigamind export csv eval/out/20261123-101500 --out items.csv",))
@_run
@click.option("--out", type=_path, required=True, help="file to create")
@prints_json
def _export_csv(run: Path, out: Path) -> None:
    """Write one CSV row per item with its metrics, for a run of any task."""
    from gigamind.interop.tables import csv_text, flat_row

    rows = [flat_row(item.model_dump(mode="json")) for item in _read(run).items]
    _write_export(out, csv_text(rows), len(rows))


@export.command(
    "ragas", examples=("gigamind export ragas eval/out/20261123-101500 --out samples.jsonl",)
)
@_run
@click.option("--out", type=_path, required=True, help=".jsonl file to create")
@prints_json
def _export_ragas(run: Path, out: Path) -> None:
    """Write samples for ragas (EvaluationDataset.from_jsonl), for runs of search or answers."""
    from gigamind.interop.tables import json_lines_text

    record = _read(run, "search", "answers")
    sample = _searched if record.run.task == "search" else _answered
    rows = [{**sample(item), **_row(item)} for item in record.items]
    _write_export(out, json_lines_text(rows), len(rows))


@export.command("mlflow", examples=("gigamind export mlflow runs/1.5 --experiment search",))
@_run
@click.option("--experiment", default="gigamind", show_default=True, help="name of the experiment")
@click.option("--tracking-uri", help="server or folder; default: MLFLOW_TRACKING_URI, as in MLflow")
@prints_json
def _export_mlflow(run: Path, experiment: str, tracking_uri: str | None) -> None:
    """Write a run of MLflow with metrics, intervals, verdict, judge and files (needs pip install mlflow)."""
    scores = _scores(run)
    name = scores.log_to_mlflow(experiment, tracking_uri)
    line = _("run {run} of MLflow, experiment {experiment}", run=name, experiment=experiment)
    show_written(Path(name), {"scores": len(scores.scores)}, line)


@export.command(
    "otel",
    examples=(
        "gigamind export otel runs/1.5 --out scores.json",
        "gigamind export otel runs/1.5 --out scores.json --endpoint http://127.0.0.1:4318",
    ),
)
@_run
@click.option("--out", type=_path, required=True, help="file to create (OTLP JSON)")
@click.option("--endpoint", help="also send the scores to this collector, by OTLP over HTTP")
@prints_json
def _export_otel(run: Path, out: Path, endpoint: str | None) -> None:
    """Write each score as an event gen_ai.evaluation.result of OpenTelemetry, with its interval, verdict and judge."""
    from gigamind.datasets.write import refuse_existing_file
    from gigamind.interop.traces import send_otel

    scores = _scores(run)
    logs = scores.otel_logs()
    refuse_existing_file("--out", out)
    if endpoint:
        send_otel(logs, endpoint)
    _write_export(out, json.dumps(logs, ensure_ascii=False) + "\n", len(scores.scores))


def _span_export(tool: str, text: Message) -> None:
    @export.command(
        tool, examples=(f"gigamind export {tool} runs/1.5 --out scores.json",), help=text
    )
    @_run
    @click.option("--out", type=_path, required=True, help="file to create")
    @prints_json
    def write(run: Path, out: Path) -> None:  # pyright: ignore[reportUnusedFunction]  a command
        from gigamind.interop.traces import SPAN_FORMATS

        body = SPAN_FORMATS[tool](_scores(run))
        [rows] = body.values()
        _write_export(out, json.dumps(body, ensure_ascii=False) + "\n", len(rows))


_span_export(
    "langfuse",
    _(
        "Write the scores of answers from traces for Langfuse: the body of POST /api/public/ingestion."
    ),
)
_span_export(
    "phoenix",
    _(
        "Write the scores of answers from traces for Phoenix: the body of POST /v1/span_annotations."
    ),
)


def _scores(run: Path) -> "Scores":
    from gigamind.evaluation.release import read_verdict
    from gigamind.interop.traces import Scores

    verdict = read_verdict(run)
    return Scores.of(_read(run), verdict.gate.verdict if verdict else "", run)


def _row(item: "ItemReport | AnswerItemReport") -> dict[str, object]:
    """Return the fields of the dataset's row that other tools have no column for."""
    kept = {"id", "language", "difficulty", "tags", "answerable", "gains", "labels"}
    return item.model_dump(mode="json", include=kept, exclude_none=True)


def _read(run: Path, *tasks: str) -> "Record[Any, Any]":
    from gigamind.release.model import read_run
    from gigamind.tasks import KINDS

    record = read_run(run, KINDS)
    if tasks and (task := record.run.task) not in tasks:
        raise InputError(
            "{run} is a run of {task}; this command exports only runs of {tasks}",
            run=run,
            task=task,
            tasks=tasks,
        )
    return record


def _write_export(out: Path, text: str, rows: int) -> None:
    from gigamind.datasets.write import refuse_existing_file, write_text

    refuse_existing_file("--out", out)
    write_text(out, text)
    show_written(out, {"rows": rows}, str(out))


def _searched(item: "ItemReport") -> dict[str, object]:
    texts = [hit.chunk.text if hit.chunk else hit.text for hit in item.ranking]
    spans = [
        {"note_path": s.note, "start": s.utf16_start, "end": s.utf16_end, "text": s.text}
        for s in item.expected_spans
    ]
    return {
        "user_input": item.query,
        "retrieved_contexts": texts if any(texts) else None,
        "retrieved_context_ids": [hit.note for hit in item.ranking],
        "reference_contexts": [span.text for span in item.expected_spans] or None,
        "reference_context_ids": list(item.expected_notes),
        "expected_spans": spans or None,
    }


def _answered(item: "AnswerItemReport") -> dict[str, object]:
    facts = item.labels.facts if item.labels else ()
    return {
        "user_input": item.question,
        "response": item.answer,
        "retrieved_contexts": [note.text for note in item.notes],
        "retrieved_context_ids": [note.title for note in item.notes],
        "reference": "\n".join(fact.text for fact in facts) or None,
    }
