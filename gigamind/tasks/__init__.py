"""What is evaluated: search, links and answers, each a room of its own.  This is the one list of them."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:  # the options of a task must not cost the import of all that runs it
    from gigamind.assurance.judged_runs import JudgedKind
    from gigamind.evaluation.finish import Evaluated
    from gigamind.evaluation.options import EvalOptions
    from gigamind.evaluation.progress import Progress
    from gigamind.evaluation.task import Task
    from gigamind.release.model import ComparedTask

NAMES = ("search", "links", "answers")
Part = TypeVar("Part")


def _load(name: str) -> "Task[Any, Any, Any]":
    match name:
        case "search":
            from gigamind.tasks.search.task import SearchTask as Found
        case "links":
            from gigamind.tasks.links.task import LinkTask as Found
        case "answers":
            from gigamind.tasks.answers.task import AnswerTask as Found
        case _:
            raise KeyError(name)
    return Found()


class _Named(Mapping[str, Part], Generic[Part]):
    """Tasks, or a part of each, by name; a room is loaded when it is asked for."""

    def __init__(self, part: "Callable[[Task[Any, Any, Any]], Part]") -> None:
        self._part = part

    def __getitem__(self, name: str) -> Part:
        return self._part(_load(name))

    def __iter__(self) -> Iterator[str]:
        return iter(NAMES)

    def __len__(self) -> int:
        return len(NAMES)


TASKS: "Mapping[str, Task[Any, Any, Any]]" = _Named(lambda task: task)
KINDS: "Mapping[str, ComparedTask[Any, Any, Any]]" = _Named(lambda task: task.compared)
"""What snapshots, comparisons and gates must know of each task."""


def judged_kinds() -> "dict[str, JudgedKind]":
    """What the judge of each task judges, of those that have one."""
    return {name: task.judged for name, task in TASKS.items() if task.judged}


def evaluate(options: "EvalOptions", progress: "Progress | None" = None) -> "Evaluated[Any]":
    """Run the evaluation that the options are of.

    Raises:
        GigamindError: see `evaluation.run.evaluate`; its class tells the exit code.
    """
    from gigamind.evaluation import run

    return run.evaluate(TASKS[options.task], options, KINDS, progress)
