"""JSON Schemas of all files that gigamind reads or writes and of all `--json` outputs, generated from the models.

`make schemas` writes them into schemas/.  Each line of a .jsonl file is one value of its schema.
"""

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import TypeAdapter

from gigamind.assurance.attacks import AttackReport
from gigamind.assurance.unit_tests import UnitTestReport
from gigamind.cli import documents
from gigamind.cli.doctor import DoctorDocument
from gigamind.cli.evaluation_document import EvaluationDocument
from gigamind.datasets.describe import Description
from gigamind.datasets.labels import Label
from gigamind.datasets.schema import AnswerItem, LinkItem, QueryItem
from gigamind.evidence.schema import QuoteRow
from gigamind.judges.calibrated import CalibratedJudgeFile
from gigamind.llm.ledger import Attempt
from gigamind.memory.entries import Entry
from gigamind.memory.schema import Extraction, Message
from gigamind.memory.sessions import SessionReport
from gigamind.records.card import JudgeCard
from gigamind.records.schema import ErrorReport, RunReport
from gigamind.reports.history import Histories
from gigamind.reports.tuning import Tuning
from gigamind.tasks import KINDS
from gigamind.tasks.search.schema import UnjudgedHit

_ENDING = ".schema.json"
_HEAD = """# JSON Schemas

Schemas of all files that gigamind reads or writes and of all `--json` outputs. Each line of a .jsonl file is one value
of its schema. `make schemas` generates them from the models in the code; a test checks that they are current.

| schema | describes |
|---|---|"""
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class Described(NamedTuple):
    """A model with a schema.

    Attributes:
        what: the file or the command, as text.
        side: validation for files that are only read; serialization for what gigamind writes.
    """

    kind: Any
    what: str
    side: Literal["validation", "serialization"] = "serialization"


def described() -> dict[str, Described]:
    """Return the models with schemas, by file name without its ending."""
    read: dict[str, tuple[Any, str]] = {
        "queries": (QueryItem, "line of a dataset of queries"),
        "links": (LinkItem, "line of a dataset of links"),
        "answers": (AnswerItem, "line of a dataset of answers"),
        "labels": (Label, "line of the labels of `judge certify`"),
        "quotes": (QuoteRow, "line of the quotes of `align`"),
        "session": (Message, "line of a session of `memory`"),
        "extracted": (Extraction, "entries extracted from a session, for `memory graduate`"),
    }
    written: dict[str, tuple[Any, str]] = {
        "run": (RunReport, "run.json"),
        "errors": (ErrorReport, "line of errors.jsonl"),
        "attempts": (Attempt, "line of attempts.jsonl"),
        "unjudged": (UnjudgedHit, "line of unjudged.jsonl, with or without a `gain`"),
        "compare": (documents.CompareFile, "compare.json"),
        "history": (Histories, "history.json"),
        "tune": (Tuning, "tune.json"),
        "judge_card": (JudgeCard, "judge_card.json"),
        "attacks": (AttackReport, "report of `judge attack`"),
        "tests": (UnitTestReport, "report of `judge test`"),
        "suggestions": (documents.NoteDocument, "line of the output of `suggest-links --out`"),
    }
    outputs: dict[str, Any] = {
        "written": documents.WrittenDocument,
        "suggest-links": documents.NoteDocument | list[documents.NoteDocument],
        "dataset-check": documents.DatasetCheckDocument,
        "dataset-stats": Description,
        "align": documents.AlignDocument,
        "memory-graduate": list[Entry],
        "memory-graduate-all": list[SessionReport],
        "judge-fit": CalibratedJudgeFile,
        "llm-check": documents.ModelCheckDocument,
        "doctor": DoctorDocument,
    }
    for task, kind in KINDS.items():
        written |= {
            f"per_item.{task}": (kind.line, f"line of per_item.jsonl of `eval {task}`"),
            f"summary.{task}": (kind.summary, f"summary.json of `eval {task}`"),
            f"snapshot.{task}": (kind.snapshot, f"snapshot.json of `eval {task}`"),
        }
        outputs[f"eval-{task}"] = EvaluationDocument[kind.summary] | documents.DryRunDocument
    return {
        **{name: Described(*of, "validation") for name, of in read.items()},
        **{name: Described(*of) for name, of in written.items()},
        **{
            f"output/{name}": Described(of, _printed_by(f"output/{name}"))
            for name, of in outputs.items()
        },
    }


def _printed_by(schema: str) -> str:
    commands = [f"`{command}`" for command, name in OUTPUTS.items() if name == schema]
    return f"output of {', '.join(commands)} with --json"


OUTPUTS: Mapping[str, str] = {
    **{f"eval {task}": f"output/eval-{task}" for task in KINDS},
    **dict.fromkeys(
        (
            *("eval generate-links", "eval generate-queries", "dataset sample", "dataset label"),
            *("baseline promote", "import trec", "import beir", "import squad", "import ragas"),
            *("import deepeval", "export trec", "export csv", "export ragas", "init"),
        ),
        "output/written",
    ),
    "compare": "compare",
    "history": "history",
    "tune search": "tune",
    "suggest-links": "output/suggest-links",
    "dataset check": "output/dataset-check",
    "dataset stats": "output/dataset-stats",
    "align": "output/align",
    "memory graduate": "output/memory-graduate",
    "memory graduate-all": "output/memory-graduate-all",
    "judge fit unanswerable": "output/judge-fit",
    "judge certify": "judge_card",
    "judge attack": "attacks",
    "judge test": "tests",
    "llm check": "output/llm-check",
    "doctor": "output/doctor",
}
"""The schema of the `--json` output of each command."""


def schema_of(model: Described) -> dict[str, Any]:
    """Return the JSON Schema of a model."""
    schema = TypeAdapter[Any](model.kind).json_schema(mode=model.side)
    return {"$schema": _DIALECT, **schema, "title": model.what}


def texts() -> dict[str, str]:
    """Return the files of schemas/, by their paths there."""
    models = described()
    files = {
        f"{name}{_ENDING}": json.dumps(schema_of(model), indent=2, ensure_ascii=False) + "\n"
        for name, model in models.items()
    }
    lines = [f"| [{name}]({name}{_ENDING}) | {model.what} |" for name, model in models.items()]
    return files | {"README.md": "\n".join((_HEAD, *lines)) + "\n"}


def write(folder: Path) -> None:
    """Write the schemas and remove old ones."""
    files = texts()
    for path in folder.rglob(f"*{_ENDING}"):
        if path.relative_to(folder).as_posix() not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
