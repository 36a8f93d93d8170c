"""The tasks that can be compared, by the name that run.json and snapshot.json give them."""

from typing import Any

from gigamind.reports.release.answers import AnswerTask
from gigamind.reports.release.links import LinkTask
from gigamind.reports.release.search import SearchTask
from gigamind.reports.release.task import ComparedTask

TASKS: dict[str, ComparedTask[Any, Any, Any]] = {
    task.name: task for task in (SearchTask(), LinkTask(), AnswerTask())
}
