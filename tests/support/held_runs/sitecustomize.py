"""Holds the process of a flow run at a moment, which the file `moment` beside this one names: MODULE CALL NUMBER.

Python imports this module at its start from a folder in PYTHONPATH. The call is of a function or method in it. The
run waits before the call with that number while the file `held` exists; `-` is the import of the module.
"""

import functools
import itertools
import sys
import time
from importlib.machinery import PathFinder
from pathlib import Path

HERE = Path(__file__).parent
MODULE, CALL, NUMBER = [*(HERE / "moment").read_text().split(), "", "", "0"][:3]


def hold():
    (HERE / "held").touch()
    while (HERE / "held").exists():
        time.sleep(0.05)


def wrapped(call):
    numbers = itertools.count(1)

    @functools.wraps(call)
    def held(*given, **more):
        if next(numbers) == int(NUMBER):
            hold()
        return call(*given, **more)

    return held


class Finder:
    @staticmethod
    def find_spec(name, path=None, _target=None):
        spec = PathFinder.find_spec(name, path) if name == MODULE else None
        if spec is None:
            return None
        execute = spec.loader.exec_module

        def exec_module(module):
            execute(module)
            if CALL == "-":
                hold()
                return
            *owner, last = CALL.split(".")
            owner = getattr(module, owner[0]) if owner else module
            setattr(owner, last, wrapped(getattr(owner, last)))

        spec.loader.exec_module = exec_module
        return spec


if MODULE:
    sys.meta_path.insert(0, Finder)
