"""The seam between a session and whatever finds its entries: a file, or a language model."""

from typing import Protocol

from gigamind.memory.schema import Extraction, Session


class Extractor(Protocol):
    """Finds the entries of a session."""

    def extract(self, session: Session) -> Extraction:
        """The entries of `session`, each with its quotes, still untrusted.

        Raises:
            GigamindError: nothing could be extracted.
        """
        ...


class Prepared:
    """An extractor whose answer is known beforehand, such as one read from a file."""

    def __init__(self, extraction: Extraction) -> None:
        self._extraction = extraction

    def extract(self, session: Session) -> Extraction:  # noqa: ARG002 - the answer is for one session only
        """The known answer."""
        return self._extraction
