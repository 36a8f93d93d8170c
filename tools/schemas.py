"""JSON Schemas of every file that is read or written and of every `--json` output, made of the models themselves.

`make schemas` writes them into schemas/, which git ignores.  A line of a .jsonl file is one value of its schema.
"""

import json
from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

from pydantic import Field, TypeAdapter

from gigamind.assurance.scenarios import AttackReport, UnitTestReport
from gigamind.assurance.tuning import TuneReport
from gigamind.cli import documents
from gigamind.cli.command import every_command
from gigamind.cli.doctor import DoctorDocument
from gigamind.cli.main import cli
from gigamind.cli.suggestions import NoteDocument
from gigamind.datasets.labels import Label
from gigamind.datasets.schema import AnswerItem, LinkItem, QueryItem
from gigamind.evidence.schema import QuoteRow
from gigamind.llm.ledger import Attempt
from gigamind.memory.sessions import Entry, Extraction, Message, SessionReport
from gigamind.records.card import JudgeCard
from gigamind.records.judged import Report
from gigamind.records.schema import ErrorReport, RunReport
from gigamind.release.comparison import Comparison, Experiment
from gigamind.release.policy import Earlier, GateResult, Waiver
from gigamind.reports.history import Histories
from gigamind.reports.tune import Tuning
from gigamind.tasks import KINDS

_ENDING = ".schema.json"
_DIALECT = "https://json-schema.org/draft/2020-12/schema"


class WrittenDocument(Report):
    """A written file or folder with the counts of its content."""

    out: str
    counts: dict[str, int]


class CompareFile(Report):
    """compare.json: `comparison` and `gate` for two runs, `experiment` for the runs of `gigamind compare`.

    `messages` has id and values of each message by its English, for translation.
    """

    comparison: Comparison | None = None
    gate: GateResult | None = None
    informational: bool = False
    incomplete: bool = False
    waiver: Waiver | None = None
    attempts: tuple[Earlier, ...] = ()
    messages: dict[str, dict[str, Any]] = Field(default={})
    experiment: Experiment | None = None


class Described(NamedTuple):
    """What a schema is of.

    Attributes:
        what: the file or the command, for people.
        side: of a file that is only read, what is taken; else what is written.
    """

    kind: Any
    what: str
    side: Literal["validation", "serialization"] = "serialization"


def described() -> dict[str, Described]:
    """What there are schemas of, by the name of their file without its ending."""
    read: dict[str, tuple[Any, str]] = {
        "queries": (QueryItem, "dataset of queries"),
        "links": (LinkItem, "dataset of links"),
        "answers": (AnswerItem, "dataset of answers"),
        "labels": (Label, "labels for `judge certify`"),
        "quotes": (QuoteRow, "quotes for `align`"),
        "session": (Message, "session for `memory`"),
        "extracted": (Extraction, "facts extracted from a session, for `memory graduate`"),
    }
    written: dict[str, tuple[Any, str]] = {
        "run": (RunReport, "run.json"),
        "errors": (ErrorReport, "errors.jsonl"),
        "attempts": (Attempt, "attempts.jsonl"),
        "compare": (CompareFile, "compare.json"),
        "history": (Histories, "history.json"),
        "tune": (Tuning, "tune.json"),
        "judge_card": (JudgeCard, "judge_card.json"),
        "attacks": (AttackReport, "report of `judge attack`"),
        "tests": (UnitTestReport, "report of `judge test`"),
        "suggestions": (NoteDocument, "output file of `suggest-links --out`"),
    }
    outputs: dict[str, Any] = {
        "written": WrittenDocument,
        "suggest-links": NoteDocument | list[NoteDocument],
        "dataset-check": documents.DatasetCheckDocument,
        "align": documents.AlignDocument,
        "memory-graduate": list[Entry],
        "memory-graduate-all": list[SessionReport],
        "judge-tune": TuneReport,
        "doctor": DoctorDocument,
    }
    for task, kind in KINDS.items():
        written |= {
            f"per_item.{task}": (kind.line, f"per_item.jsonl of `eval {task}`"),
            f"summary.{task}": (kind.summary, f"summary.json of `eval {task}`"),
            f"snapshot.{task}": (kind.snapshot, f"snapshot.json of `eval {task}`"),
        }
        outputs[f"eval-{task}"] = (
            documents.EvaluationDocument[kind.summary] | documents.DryRunDocument
        )
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
    return f"output of {', '.join(commands)}"


FOR_OTHER_TOOLS = {"import", "export"}
"""Groups of commands that all print what they wrote."""
OUTPUTS: Mapping[str, str] = {
    **{f"eval {task}": f"output/eval-{task}" for task in KINDS},
    **dict.fromkeys(
        (
            *("eval generate-links", "eval generate-queries", "dataset label", "baseline promote"),
            *("init", "gate waive"),
            *(" ".join(path) for path, _ in every_command(cli) if path[0] in FOR_OTHER_TOOLS),
        ),
        "output/written",
    ),
    "compare": "compare",
    "history": "history",
    "tune search": "tune",
    "suggest-links": "output/suggest-links",
    "dataset check": "output/dataset-check",
    "align": "output/align",
    "memory graduate": "output/memory-graduate",
    "memory graduate-all": "output/memory-graduate-all",
    "judge tune": "output/judge-tune",
    "judge certify": "judge_card",
    "judge attack": "attacks",
    "judge test": "tests",
    "doctor": "output/doctor",
}
"""The schema of what each command prints with `--json`."""


def schema_of(of: Described) -> dict[str, Any]:
    """The JSON Schema."""
    made = TypeAdapter[Any](of.kind).json_schema(mode=of.side)
    return {"$schema": _DIALECT, **made, "title": of.what}


def texts() -> dict[str, str]:
    """Return the generated files of schemas/, by their paths there; index.md links to the others."""
    of_all = described()
    files = {
        f"{name}{_ENDING}": json.dumps(schema_of(of), indent=2, ensure_ascii=False) + "\n"
        for name, of in of_all.items()
    }
    lines = (f"- [{name}]({name}{_ENDING}): {of.what}\n" for name, of in of_all.items())
    return files | {"index.md": "".join(lines)}
