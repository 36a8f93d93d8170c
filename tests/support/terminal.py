"""A command as a person runs it: with a terminal to look at."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path


class Terminal:
    """A command with a pseudo-terminal as its standard input and error."""

    def __init__(self, folder: Path, command: str, **environment: str) -> None:
        self._side, other = pty.openpty()
        settings = {k: v for k, v in os.environ.items() if k not in {"CI", "NO_COLOR"}}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "gigamind", *command.split()],
            cwd=folder,
            stdin=other,
            stdout=subprocess.PIPE,
            stderr=other,
            env={**settings, "TERM": "xterm", "COLUMNS": "100", **environment},
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
                except OSError:  # the other side has been closed
                    return
                self.shown += re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", piece.decode(errors="replace"))

    def type(self, text: str) -> None:
        """Type this at the terminal."""
        os.write(self._side, text.encode())

    def end(self) -> tuple[int, str]:
        """Wait for the end; the exit code and standard output."""
        self.read_until(r"(?!)")  # first, or the command waits for a reader of its bar
        assert self.process.stdout
        output = self.process.stdout.read().decode()
        code = self.process.wait(60)
        self.process.stdout.close()
        os.close(self._side)
        return code, output
