"""A system of a team's own in Python: a function of the query, and of what its dialect says besides."""

from collections.abc import Callable
from typing import Generic

from gigamind.errors import InputError, SystemFailedError
from gigamind.loading import imported
from gigamind.systems.dialect import Dialect, Told
from gigamind.systems.protocol import Query

Function = Callable[..., object]


class FunctionSystem(Generic[Told]):
    """See the module; implements `System`."""

    def __init__(self, function: Function, dialect: Dialect[Told]) -> None:
        self._function, self._dialect = function, dialect

    def ask(self, query: Query) -> Told:
        try:
            return self._dialect.read(self._function(*self._dialect.arguments(query)))
        except Exception as error:  # whatever a team's code raises is its answer to this query
            raise SystemFailedError(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Nothing is held."""


def load_function(name: str, parameters: str) -> Function:
    """The function that "module:function" names; `parameters` are what it takes, in words.

    Raises:
        InputError: there is none.
    """
    module, _, attribute = name.partition(":")
    try:
        found = imported(module, attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise InputError(
            f"--system python:{name}: cannot be imported ({error}); write python:MODULE:FUNCTION, its module below"
            " this folder, on PYTHONPATH, or installed"
        ) from error
    if not callable(found):
        raise InputError(f"--system python:{name}: is no function of {parameters}")
    return found
