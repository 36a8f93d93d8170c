"""A search of a team's own in Python: a function of the query and of how many notes to find."""

from collections.abc import Callable

from gigamind.errors import InputError, SystemFailedError
from gigamind.interop.ranking import RankedNote, Ranking, told_hits
from gigamind.loading import imported
from gigamind.systems.protocol import Query

Function = Callable[[str, int], object]


class FunctionRetriever:
    """See the module; implements `Retriever`.  What the function gives is read by `told_hits`."""

    def __init__(self, function: Function, topk: int) -> None:
        self._function, self._topk = function, topk

    def search(self, query: Query) -> Ranking[RankedNote]:
        try:
            return Ranking(told_hits(self._function(query.text, self._topk)))
        except Exception as error:  # whatever a team's code raises is its answer to this query
            raise SystemFailedError(f"{type(error).__name__}: {error}") from error

    def close(self) -> None:
        """Nothing is held."""


def load_function(name: str) -> Function:
    """The function that "module:function" names.

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
        raise InputError(f"--system python:{name}: is no function of a query and a number of notes")
    return found
