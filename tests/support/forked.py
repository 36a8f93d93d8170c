"""Commands in processes of their own, forked from one that has loaded the package.

Their signals, limits and deaths are real, and each starts in a tenth of the time that `python -m gigamind` loads for.
"""

import multiprocessing
import os
import resource
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import IO, Any

# litellm looks at these when it is imported, and would fetch prices.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")
os.environ.setdefault("LITELLM_MODE", "PRODUCTION")
_FORKS = multiprocessing.get_context("forkserver")
# What commands load late: by the one that makes the processes, each of which would else load it again.
_FORKS.set_forkserver_preload(
    [
        "pytest",  # each process imports the file that was started, which it may be
        "gigamind.cli.evaluate", "gigamind.cli.evaluations", "gigamind.cli.main",
        "gigamind.cli.memory", "gigamind.reports.terminal", "gigamind.cli.suggestions",
        "gigamind.evaluation.finish", "gigamind.evaluation.run", "gigamind.judges.own",
        "gigamind.judges.search_qa.judge", "gigamind.reports.html", "gigamind.retrieval.prepare",
        "gigamind.systems.http", "gigamind.tasks.answers.task", "gigamind.tasks.links.task",
        "gigamind.tasks.search.judging", "gigamind.tasks.search.view",
        "gigamind.tasks.search.score", "gigamind.tasks.search.summary",
        "gigamind.tasks.search.task", "httpx", "gigamind.llm.completion", "instructor", "litellm",
        "litellm.llms.custom_httpx.http_handler", "openai", "rich.live", "rich.progress",
        "rich.table",
    ]
)  # fmt: skip
Call = Callable[..., object]


class Forked:
    """A call in a process of its own, with what `subprocess.Popen` has of a process.

    Args:
        call: of a module, which the process imports by name.
        room: bytes beyond which no file may grow, as on a full disk.
        ignoring: Ctrl-C is ignored, as where a script starts `command &`.
        terminal: path of the terminal that is its standard input and error.
    """

    def __init__(
        self,
        folder: Path,
        call: Call,
        *arguments: object,
        environment: Mapping[str, str] | None = None,
        room: int | None = None,
        ignoring: bool = False,
        terminal: str | None = None,
    ) -> None:
        self._output, self._errors = (tempfile.NamedTemporaryFile() for _ in "oe")  # noqa: SIM115  read at its end
        files = (terminal or os.devnull, self._output.name, terminal or self._errors.name)
        how = (folder, dict(environment or os.environ), room, ignoring, files)
        self._process = _FORKS.Process(target=_do, args=(*how, call, arguments))
        self._process.start()
        assert self._process.pid
        self.pid = self._process.pid

    @property
    def returncode(self) -> int | None:
        """As `subprocess.Popen` has it."""
        return self._process.exitcode

    def poll(self) -> int | None:
        """How it ended; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """How it ended, once it has."""
        self._process.join(timeout)
        assert self._process.exitcode is not None, "it does not end"
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Unless it has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """End it without a chance."""
        self.send_signal(signal.SIGKILL)

    def communicate(self, timeout: float | None = 120) -> tuple[str, str]:
        """What it wrote to standard output and error, once it has ended."""
        self.wait(timeout)
        return _text(self._output), _text(self._errors)

    def completed(self) -> "subprocess.CompletedProcess[str]":
        """What `subprocess.run` gives."""
        output, errors = self.communicate()
        return subprocess.CompletedProcess((), self.wait(), output, errors)


def command(folder: Path, *arguments: object, **how: Any) -> Forked:
    """`gigamind ARGUMENTS` in that folder."""
    return Forked(folder, _gigamind, *map(str, arguments), **how)


def _gigamind(*arguments: str) -> None:
    import_module("gigamind.cli.main").main(arguments)


def _do(
    folder: Path,
    environment: Mapping[str, str],
    room: int | None,
    ignoring: bool,
    files: Sequence[str],
    call: Call,
    arguments: Sequence[object],
) -> None:
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    for number, name in enumerate(files):
        opened = os.open(name, os.O_RDWR | os.O_NOCTTY | (0 if number == 0 else os.O_APPEND))
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
    sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
    sys.stderr = os.fdopen(2, "w", buffering=1, encoding="utf-8", closefd=False)
    signal.signal(signal.SIGINT, signal.SIG_IGN if ignoring else signal.default_int_handler)
    if room is not None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    call(*arguments)


def _text(file: IO[bytes]) -> str:
    with file:
        return Path(str(file.name)).read_text("utf-8", "replace")
