"""A command as a person runs it: with a terminal to look at."""

import os
import pty
import re
import select
import time
from pathlib import Path

import forked


class Terminal:
    """A command with a pseudo-terminal as its standard input and error."""

    def __init__(self, folder: Path, command: str, **environment: str) -> None:
        self._side, other = pty.openpty()
        settings = {k: v for k, v in os.environ.items() if k not in {"CI", "NO_COLOR"}}
        environment = {**settings, "TERM": "xterm", "COLUMNS": "100", **environment}
        self.process = forked.command(
            folder, *command.split(), terminal=os.ttyname(other), environment=environment
        )
        os.close(other)
        self.shown = ""

    def read_until(self, pattern: str, seconds: float = 60.0) -> None:
        """Read what is shown until it matches, or the command has ended."""
        end = time.monotonic() + seconds
        while time.monotonic() < end and not re.search(pattern, self.shown):
            if select.select([self._side], [], [], 0.2)[0]:
                try:
                    piece = os.read(self._side, 65536)
                except OSError:  # nobody has the other side open
                    if self.process.poll() is not None:
                        return
                    time.sleep(0.01)  # not yet
                    continue
                self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", piece.decode(errors="replace"))

    def type(self, text: str) -> None:
        """Type this at the terminal."""
        os.write(self._side, text.encode())

    def end(self) -> tuple[int, str]:
        """Wait for the end; the exit code and standard output."""
        self.read_until(r"(?!)")  # first, or the command waits for a reader of its bar
        output, _ = self.process.communicate(60)
        os.close(self._side)
        return self.process.wait(), output
