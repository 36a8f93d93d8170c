"""Bash as people use it, where `gigamind` is forked from a process that has it loaded, and Python as they type it."""

import json
import os
import socketserver
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Self, cast

from forked import Forked, command

_GIGAMIND = """#!{python} -IS
import json, os, socket, sys
asked = {{"arguments": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}
with socket.create_connection({address}) as server:
    server.sendall(json.dumps(asked).encode())
    server.shutdown(socket.SHUT_WR)
    code, output, errors = json.load(server.makefile("rb"))
sys.stdout.buffer.write(output.encode())
sys.stderr.buffer.write(errors.encode())
sys.exit(code)
"""


class _Request(socketserver.StreamRequestHandler):
    def handle(self) -> None:
        shell = cast("Shell", self.server)
        asked = json.loads(self.rfile.read())
        called = command(
            asked["folder"], *asked["arguments"], environment={**asked["environment"], "TERM": ""}
        )
        shell.forked.append(called)
        output, errors = called.communicate()
        with suppress(ConnectionError):  # bash, which waited, has ended
            self.wfile.write(json.dumps([called.returncode, output, errors]).encode())


class Shell(socketserver.ThreadingTCPServer):
    """Runs scripts of bash in a folder; what they leave in the background ends with it.

    Args:
        programs: scripts by the name that calls them, instead of the machine's.
        home: an empty folder for them, and for `gigamind`, which anybody may call while this one serves.
    """

    def __init__(
        self, folder: Path, environment: dict[str, str], programs: dict[str, str], home: Path
    ) -> None:
        super().__init__(("127.0.0.1", 0), _Request)
        self.forked: list[Forked] = []
        self.home = home
        self._folder = folder
        gigamind = _GIGAMIND.format(python=sys.executable, address=self.server_address)
        python = f'#!/bin/sh\nexec {sys.executable} "$@"\n'
        for name, text in {"gigamind": gigamind, "python": python, **programs}.items():
            (home / name).write_text(text, "utf-8")
            (home / name).chmod(0o755)
        path = f"{home}{os.pathsep}{os.environ['PATH']}"
        self._environment = {**os.environ, **environment, "PATH": path}

    def __enter__(self) -> Self:
        Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.shutdown()
        self.server_close()

    def bash(self, script: str) -> subprocess.CompletedProcess[str]:
        """How a script ended, which it does at the first line that fails."""
        out, err = (self._folder.parent / name for name in ("stdout", "stderr"))
        with out.open("wb") as output, err.open("wb") as errors:
            process = subprocess.Popen(
                ["bash", "-exo", "pipefail", "-c", f"{script}\n"],
                cwd=self._folder,
                env=self._environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=errors,
                start_new_session=True,
            )
            code = process.wait()
        with suppress(ProcessLookupError):
            os.killpg(process.pid, 9)  # what goes on in the background
        return subprocess.CompletedProcess(
            script, code, out.read_text("utf-8"), err.read_text("utf-8")
        )

    def python(self, source: str) -> subprocess.CompletedProcess[str]:
        """How a program ended."""
        return Forked(self._folder, run, source, environment=self._environment).completed()

    def server_close(self) -> None:
        for called in self.forked:
            called.kill()
        super().server_close()


def run(source: str) -> None:
    """The program as the one that was started."""
    sys.path.insert(0, "")
    exec(compile(source, "page", "exec"), {"__name__": "__main__"})
