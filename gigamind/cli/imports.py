"""`gigamind import`: files of other tools become datasets, and their documents a vault."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from gigamind.interop.answer_sets import Answered
    from gigamind.interop.collection import Imported

_path = click.Path(path_type=Path)
_out = click.option("--out", type=_path, required=True, help="folder to make")
_answer = click.option(
    "--answer",
    type=click.Choice(["response", "reference"]),
    default="response",
    show_default=True,
    help="which answer is to be judged: the system's, or the one it should give",
)


@click.group("import")
def collection() -> None:
    """Make a dataset, and a vault where there are documents, of files of another tool."""


@collection.command()
@click.argument("qrels", type=_path)
@click.option(
    "--topics", type=_path, help="texts of the queries: TREC topics, tab-separated or JSON lines"
)
@_out
def trec(qrels: Path, topics: Path | None, out: Path) -> None:
    """Judgements QRELS ("query 0 document grade") and topics: queries.jsonl with graded gains."""
    from gigamind.interop.trec import read_trec

    _write(read_trec(qrels, topics), out)


@collection.command()
@click.argument("folder", type=_path)
@click.option("--split", help="file of qrels/; the only one, or test, without it")
@_out
def beir(folder: Path, split: str | None, out: Path) -> None:
    """A BEIR folder (corpus.jsonl, queries.jsonl, qrels/): queries.jsonl with graded gains, and notes."""
    from gigamind.interop.beir import read_beir

    _write(read_beir(folder, split), out)


@collection.command()
@click.argument("file", type=_path)
@_out
def squad(file: Path, out: Path) -> None:
    """A file of SQuAD or KorQuAD: queries.jsonl with the places of the answers, and a note for each paragraph."""
    from gigamind.interop.squad import read_squad

    _write(read_squad(file), out)


@collection.command()
@click.argument("file", type=_path)
@_answer
@_out
def ragas(file: Path, answer: "Answered", out: Path) -> None:
    """A test set of ragas in CSV, JSON or JSON lines: answers.jsonl with contexts."""
    from gigamind.interop.answer_sets import RAGAS, read_answers

    _write(read_answers(file, RAGAS, answer), out)


@collection.command()
@click.argument("file", type=_path)
@_answer
@_out
def deepeval(file: Path, answer: "Answered", out: Path) -> None:
    """Goldens or test cases of deepeval in CSV, JSON or JSON lines: answers.jsonl with contexts."""
    from gigamind.interop.answer_sets import DEEPEVAL, read_answers

    _write(read_answers(file, DEEPEVAL, answer), out)


def _write(imported: "Imported", out: Path) -> None:
    """The folder, whole or not at all, and how to go on."""
    from gigamind.cli.show import plain_console, show_lines
    from gigamind.records.folder import check_out_folder, write_texts

    check_out_folder(out)
    write_texts(out, imported.files())
    show_lines(plain_console(stderr=True), "warning", imported.warnings)
    notes = f", {len(imported.notes):,} notes" if imported.notes else ""
    click.echo(f"{len(imported.rows):,} rows{notes}: {out}")
    dataset = out / imported.name
    if imported.notes:
        system = f"--notes {out / 'notes'}"
    elif imported.name == "queries.jsonl":
        system = "--system run:FILE"
    else:
        click.echo(f"Next: gigamind eval answers --dataset {dataset} --model MODEL")
        return
    click.echo(f"Next: gigamind eval search --dataset {dataset} {system}")
