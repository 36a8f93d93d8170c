"""The evaluation tasks: search, links and answers."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Generic, TypeVar

if TYPE_CHECKING:  # the options of a task must not cost the import of all that runs it
    from gigamind.assurance.judged_runs import JudgedKind
    from gigamind.evaluation.finish import Evaluated
    from gigamind.evaluation.options import EvalOptions
    from gigamind.evaluation.progress import Progress
    from gigamind.evaluation.task import Task
    from gigamind.release.model import ComparedTask

_NAMES = ("search", "links", "answers")
_Part = TypeVar("_Part")


def _load(name: str) -> "Task[Any, Any, Any]":
    match name:
        case "search":
            from gigamind.tasks.search.task import SearchTask as TaskClass
        case "links":
            from gigamind.tasks.links.task import LinkTask as TaskClass
        case "answers":
            from gigamind.tasks.answers.task import AnswerTask as TaskClass
        case _:
            raise KeyError(name)
    return TaskClass()


class _Named(Mapping[str, _Part], Generic[_Part]):
    """Tasks, or a part of each, by name. Each task is imported on first access."""

    def __init__(self, part: "Callable[[Task[Any, Any, Any]], _Part]") -> None:
        self._part = part

    def __getitem__(self, name: str) -> _Part:
        return self._part(_load(name))

    def __iter__(self) -> Iterator[str]:
        return iter(_NAMES)

    def __len__(self) -> int:
        return len(_NAMES)


TASKS: "Mapping[str, Task[Any, Any, Any]]" = _Named(lambda task: task)
KINDS: "Mapping[str, ComparedTask[Any, Any, Any]]" = _Named(lambda task: task.compared)
"""The part of each task that snapshots, comparisons and gates use."""


def judged_kinds() -> "dict[str, JudgedKind]":
    """Return what is judged in each task that has a judge."""
    return {name: task.judged for name, task in TASKS.items() if task.judged}


def evaluate(options: "EvalOptions", progress: "Progress | None" = None) -> "Evaluated[Any]":
    """Run the evaluation that the options describe; the class of a GigamindError has the exit code."""
    from gigamind.evaluation import run

    return run.evaluate_and_keep(TASKS[options.task], options, KINDS, progress)[1]
