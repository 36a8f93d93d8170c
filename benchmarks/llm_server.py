"""Run the fake model in a separate process on loopback and report its requests."""

import json
import os
import re
import subprocess
import sys
import urllib.request
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

MODEL = Path(__file__).resolve().parents[1] / "tests" / "support" / "faulty_model.py"


@contextmanager
def server() -> Generator[str]:
    command = [sys.executable, "-u", str(MODEL)]
    started = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ)
    try:
        yield re.search(r"http://\S+/v1", started.stdout.readline()).group()
    finally:
        started.terminate()
        started.wait()


def stats(url: str) -> dict[str, Any]:
    with urllib.request.urlopen(url.removesuffix("/v1") + "/stats") as answer:
        return json.load(answer)


def reset(url: str) -> None:
    request = urllib.request.Request(url.removesuffix("/v1") + "/reset", method="POST")
    urllib.request.urlopen(request).close()
