"""Commands called in this process."""

from contextlib import redirect_stderr, redirect_stdout
from io import BytesIO, StringIO, TextIOWrapper
from typing import NamedTuple

import pytest

from gigamind.cli.main import main


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    stdout: str
    stderr: str


def call(*arguments: object, encoding: str = "utf-8") -> Ended:
    """`gigamind ARGUMENTS`, where standard output has that encoding."""
    out, err = TextIOWrapper(BytesIO(), encoding, newline=""), StringIO()
    with redirect_stdout(out), redirect_stderr(err), pytest.raises(SystemExit) as end:
        main([str(argument) for argument in arguments])
    out.seek(0)
    return Ended(int(end.value.code or 0), out.read(), err.getvalue())


def ran(*arguments: object, encoding: str = "utf-8") -> Ended:
    """How a command ended that must end well."""
    ended = call(*arguments, encoding=encoding)
    assert ended.code == 0, ended.stderr
    return ended
