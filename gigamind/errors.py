"""Every error that a caller can meet, with the exit code the command line ends in.

GigamindError               3  the evaluation could not be carried out
├── InputError              1  an option, a dataset or a file that the caller can mend
│   └── DatasetError        1  a dataset without a usable row, or a bad row under --strict
├── NotesError              2  the vault cannot be read
│   └── IndexingError       2  its index cannot be built, opened or reached
└── EvaluationError         3  an evaluation broke off
    ├── QueryTimeoutError   3  one query passed its time limit: a Failure of that item, never the end of a run
    └── EmbeddingError      3  an embedding model refused, failed, or answered nonsense

0 is success and 4 a regression (a verdict, not an error).  Messages say what is wrong, where, and how to mend it.
"""

from typing import ClassVar


class GigamindError(Exception):
    """The root: anything that gigamind itself reports as an error."""

    exit_code: ClassVar[int] = 3


class InputError(GigamindError):
    """Something the caller gave is wrong and can be mended by the caller."""

    exit_code: ClassVar[int] = 1


class DatasetError(InputError):
    """A dataset has no usable row, or a bad one under `--strict`."""


class NotesError(GigamindError):
    """The vault cannot be read."""

    exit_code: ClassVar[int] = 2


class IndexingError(NotesError):
    """The index of a vault cannot be built, opened or reached."""


class EvaluationError(GigamindError):
    """An evaluation broke off."""


class QueryTimeoutError(EvaluationError):
    """One query passed its time limit."""


class EmbeddingError(EvaluationError):
    """An embedding model refused, failed, or answered something that is no embedding."""
