"""Every error that a caller can meet, with the exit code the command line ends in.

GigamindError               3  the evaluation could not be carried out
├── InputError              1  an option, a dataset or a file that the caller can mend
│   ├── DatasetError        1  a dataset without a usable row, or a bad row under --strict
│   └── OtherRunError       1  what is to be resumed is a run of something else
├── NotesError              2  the vault cannot be read
│   └── IndexingError       2  its index cannot be built, opened or reached
├── BrokenBoundError        4  a run that is compared with nothing misses a floor or a ceiling of the gates
└── EvaluationError         3  an evaluation broke off
    ├── QueryTimeoutError   3  one query passed its time limit: a Failure of that item, never the end of a run
    ├── SystemFailedError   3  an evaluated search gave no ranking: a Failure of that item
    ├── EmbeddingError      3  an embedding model refused, failed, or answered nonsense
    ├── BudgetError         3  the budget left items undone, and that was not allowed
    ├── UnaskedError        3  a model could not be asked about all the cases of a trial
    ├── ServerError         3  the Prefect server cannot be reached or used, or nothing runs what is started there
    ├── UnwrittenError      3  what a run must keep cannot be written: the disk is full, or read-only
    └── LlmError            3  a language model gave no usable answer: a Failure of that item; `code` tells why

0 is success and 4 a regression (of a run with a baseline a verdict, not an error).  Messages say what is wrong, where,
and how to mend it.
"""

import errno
from pathlib import Path
from typing import ClassVar, Literal

from gigamind.i18n import Message, Text, _

LlmCode = Literal[
    "rate_limited",
    "quota_exhausted",
    "server_error",
    "timeout",
    "malformed_response",
    "auth_failed",
    "bad_request",
    "context_too_long",
    "refused",
    "content_filtered",
    "truncated",
    "invalid_output",
    "budget_exceeded",
    "cassette_miss",
    "not_asked",
    "panel_incomplete",
    "panel_tied",
]
Outcome = Literal["scored", "unscored", "refused", "error", "skipped_budget"]
"""How an item ends that models are asked about."""
# What code of a team's own may raise: `sys.exit()` is no Exception, and would end all in exit code 0.  Ctrl-C is ours.
OWN_FAULTS = (Exception, SystemExit)


_OS_REASONS = {
    errno.ENOENT: _("no such file or folder"),
    errno.EISDIR: _("it is a folder"),
    errno.ENOTDIR: _("not a folder"),
    errno.EACCES: _("permission denied"),
    errno.EPERM: _("operation not permitted"),
    errno.EEXIST: _("it exists already"),
    errno.ENAMETOOLONG: _("the name is too long"),
    errno.ENOSPC: _("no space left on the disk"),
    errno.EROFS: _("the file system is read-only"),
    errno.EIO: _("input/output error"),
    errno.ECONNREFUSED: _("connection refused"),
    errno.ECONNRESET: _("connection reset by the other side"),
    errno.EADDRINUSE: _("the address is in use"),
    errno.EADDRNOTAVAIL: _("the address is not available"),
    errno.ENETUNREACH: _("the network is unreachable"),
    errno.ETIMEDOUT: _("timed out"),
}


def reason_of(error: OSError) -> Text:
    """Return why the operating system refused."""
    return _OS_REASONS.get(error.errno or 0) or error.strerror or str(error)


def text_of(error: BaseException) -> Text:
    """Return the message that an error of Python carries, or else its own words."""
    text = error.args[0] if error.args else ""
    return text if isinstance(text, Message) else str(error)


def fault_of(error: BaseException) -> str:
    """What code of a team's own raised, in a line."""
    said = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    return f"{type(error).__name__}: {said}" if said else type(error).__name__


class GigamindError(Exception):
    """The root: anything that gigamind itself reports as an error.

    Attributes:
        run: the out folder of a run that was written, and is no result all the same; None where there is none.
    """

    exit_code: ClassVar[int] = 3
    run: Path | None = None

    @property
    def message(self) -> Text:
        """What went wrong and how to fix it; `str(error)` is its English."""
        return self.args[0] if self.args else ""


class InputError(GigamindError):
    """Something the caller gave is wrong and can be mended by the caller."""

    exit_code: ClassVar[int] = 1


class DatasetError(InputError):
    """A dataset has no usable row, or a bad one under `--strict`."""


class OtherRunError(InputError):
    """What is to be resumed is a run of another dataset, judge or setting."""


class NotesError(GigamindError):
    """The vault cannot be read."""

    exit_code: ClassVar[int] = 2


class IndexingError(NotesError):
    """The index of a vault cannot be built, opened or reached."""


class BrokenBoundError(GigamindError):
    """A run that is compared with nothing misses a floor or a ceiling of the gates, under `--fail-on-regression`."""

    exit_code: ClassVar[int] = 4


class EvaluationError(GigamindError):
    """An evaluation broke off."""


class QueryTimeoutError(EvaluationError):
    """One query passed its time limit."""


class SystemFailedError(EvaluationError):
    """An evaluated search gave no ranking for a query."""


class EmbeddingError(EvaluationError):
    """An embedding model refused, failed, or answered something that is no embedding."""


class BudgetError(EvaluationError):
    """The budget left items without a verdict; what was done is kept."""


class UnaskedError(EvaluationError):
    """A model could not be asked about all the cases of a trial, which so proves nothing."""


class ServerError(EvaluationError):
    """The Prefect server cannot be reached or used, or no worker runs what is started there."""


class UnwrittenError(EvaluationError):
    """What a run must keep cannot be written; it ends the run, of which all that stands in its files is kept."""


class LlmError(EvaluationError):
    """A language model gave no usable answer.  It holds no key, and survives pickling.

    Attributes:
        code: the reason, stable enough to group by.
        status: that of the HTTP answer, if there was one.
        retry_after_s: seconds that the server asked to wait, if it did.
        may_cost: the server may have generated an answer that never arrived, and bill it.
    """

    def __init__(
        self,
        message: str,
        code: LlmCode,
        status: int | None = None,
        retry_after_s: float | None = None,
        may_cost: bool = False,  # noqa: FBT001, FBT002  pickle gives it by its place
    ) -> None:
        # All five: pickle makes it anew from them.
        super().__init__(message, code, status, retry_after_s, may_cost)
        self.code: LlmCode = code
        self.status = status
        self.retry_after_s = retry_after_s
        self.may_cost = may_cost

    def __str__(self) -> str:
        return str(self.args[0])
