"""`gigamind import`: convert files of other tools into datasets and vaults, and optionally evaluate them."""

import functools
from collections.abc import Callable
from copy import copy
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import click

from gigamind.cli.command import Command, Group
from gigamind.cli.output import is_json, print_line, prints_json, show_written
from gigamind.errors import InputError
from gigamind.i18n import _, joined, n_

if TYPE_CHECKING:
    from gigamind.interop.collection import Imported

_path = click.Path(path_type=Path)


def _import_command(read: Callable[..., "Imported"]) -> Callable[..., None]:
    @click.argument("evaluation", nargs=-1, type=click.UNPROCESSED, metavar="[-- OPTIONS OF EVAL]")
    @click.option("--out", type=_path, required=True, help="folder to create")
    @prints_json
    @functools.wraps(read)
    def run(*, out: Path, evaluation: tuple[str, ...], **given: Any) -> None:  # noqa: ANN401  those of `read`
        _write(read(**given), out, evaluation)

    return run


@click.group("import", cls=Group)
def collection() -> None:
    """Convert another tool's files into a dataset, and its documents into a vault.

    With options of `gigamind eval` after --, the dataset is evaluated immediately.
    """


@collection.command(
    examples=("gigamind import trec qrels.txt --topics topics.tsv --out cranfield",)
)
@click.argument("qrels", type=_path)
@click.option("--topics", type=_path, help="query texts: TREC topics, TSV or JSON Lines")
@_import_command
def trec(qrels: Path, topics: Path | None) -> "Imported":
    """Convert QRELS ("query 0 document grade") and query texts (--topics) into a queries.jsonl with grades."""
    from gigamind.interop.trec import read_trec

    return read_trec(qrels, topics)


@collection.command(examples=("gigamind import squad KorQuAD_v1.0_dev.json --out korquad",))
@click.argument("file", type=_path)
@_import_command
def squad(file: Path) -> "Imported":
    """Convert a SQuAD or KorQuAD file into queries.jsonl with answer positions, and one note per paragraph."""
    from gigamind.interop.squad import read_squad

    return read_squad(file)


@collection.command(examples=("gigamind import beir scifact --split test --out scifact-rows",))
@click.argument("folder", type=_path)
@click.option(
    "--split",
    help='name of the file in qrels/ to use (default: the only file, or "test" if there are several)',
)
@_import_command
def beir(folder: Path, split: str | None) -> "Imported":
    """Convert a BEIR folder (corpus.jsonl, queries.jsonl, qrels/) into a graded queries.jsonl and notes."""
    from gigamind.interop.beir import read_beir

    return read_beir(folder, split)


@collection.command(
    examples=(
        "gigamind import table qa.parquet --corpus corpus.parquet --out autorag",
        "gigamind import table log.csv --question prompt --answer completion --contexts found --out log",
    )
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
def table(*, file: Path, corpus: Path | None, **columns: str | None) -> "Imported":
    """Convert a table of questions (CSV, TSV, JSON, JSON Lines, Parquet) into answers.jsonl or queries.jsonl.

    The columns of ragas, deepeval, AutoRAG and triples (query, positive, negative) are known; options name others.
    """
    from gigamind.interop.column_map import read_columns

    chosen = {value: column for value, column in columns.items() if column}
    return read_columns(file, chosen, corpus=corpus)


@collection.command(
    examples=("gigamind import otel traces.json --sample 200 --mask --out answers",)
)
@click.argument("file", type=_path)
@click.option("--sample", type=click.IntRange(1), help="number of answers to draw; default: all")
@click.option("--seed", type=int, default=42, show_default=True, help="seed of the sample")
@click.option("--mask", is_flag=True, help="replace email addresses and numbers of 9 to 16 digits")
@_import_command
def otel(file: Path, sample: int | None, seed: int, *, mask: bool) -> "Imported":
    """Convert traces of OpenTelemetry (OTLP JSON) into answers.jsonl: one answer for each trace, equal ones once.

    Attributes of OpenInference (Phoenix, Langfuse, LangChain, LlamaIndex) and of gen_ai are known.
    """
    from gigamind.interop.traces import read_traces

    return read_traces(file, size=sample, seed=seed, mask=mask)


for _example in ("ragas testset.csv --answer reference", "deepeval goldens.json"):
    _alias = cast("Command", copy(table))
    _alias.examples = (f"gigamind import {_example} --out rows",)
    collection.add_command(_alias, _example.split()[0])


def _write(imported: "Imported", out: Path, evaluation: tuple[str, ...]) -> None:
    from gigamind.cli.show import show_warning_lines
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
        following = _(
            "Next command: {command}", command=" ".join(["gigamind eval", *following, *more])
        )
        show_written(dataset, counts, joined((line, following), "\n"))
        return
    from gigamind.cli.main import evaluate

    print_line(line, err=True)
    context, words = click.get_current_context(), [*following, *evaluation]
    code = evaluate.main(words, "gigamind eval", standalone_mode=False, obj=context.obj)
    context.exit(int(code or 0))
