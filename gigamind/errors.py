"""Every error that a caller can meet, with the exit code of the command line.

0 success, 1 input, 2 notes or index, 3 evaluation, 4 gate.  With a baseline, 4 comes from `Release.exit_code` and no
error is raised; without one, it is `BrokenBoundError`.  Messages say what is wrong, where, and how to fix it.
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
]
Outcome = Literal["scored", "unscored", "refused", "error", "skipped_budget"]
"""Outcome of an item that needs a model."""
# What third-party code may raise.  `sys.exit()` raises no Exception and would end the run with exit code 0.
OWN_FAULTS = (Exception, SystemExit)
REGRESSION_EXIT_CODE = 4

_OS_REASONS = {
    errno.ENOENT: _("no such file or folder"),
    errno.EISDIR: _("this is a folder, not a file"),
    errno.ENOTDIR: _("not a folder"),
    errno.EACCES: _("permission denied"),
    errno.EPERM: _("operation not permitted"),
    errno.EEXIST: _("already exists"),
    errno.ENAMETOOLONG: _("the name is too long"),
    errno.ENOSPC: _("no space left on the disk"),
    errno.EROFS: _("the file system is read-only"),
    errno.EFBIG: _("the file is too large"),
    errno.EDQUOT: _("the disk quota is used up"),
    errno.EIO: _("input/output error"),
    errno.ECONNREFUSED: _("connection refused"),
    errno.ECONNRESET: _("connection reset by the other side"),
    errno.EADDRINUSE: _("the network address is already in use"),
    errno.EADDRNOTAVAIL: _("the network address is not available on this computer"),
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
    """Return the error that third-party code raised, in one line."""
    text = error.msg if isinstance(error, SyntaxError) else " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


class GigamindError(Exception):
    """The root of all errors that gigamind reports.

    Attributes:
        run: the out folder of a run that was written but failed; None if there is none.
    """

    exit_code: ClassVar[int] = 3
    run: Path | None = None

    def __init__(self, text: Text = "", /, **values: object) -> None:
        """Keep the message: `InputError("{file}: no such note", file=path)`, or a finished text."""
        super().__init__(Message(text, values) if values else text)

    @property
    def message(self) -> Text:
        """What went wrong and how to fix it; `str(error)` is its English."""
        return self.args[0] if self.args else ""


class InputError(GigamindError):
    """An input of the caller is wrong; the caller can fix it."""

    exit_code: ClassVar[int] = 1


class DatasetError(InputError):
    """A dataset has no usable row, or a bad one under `--strict`."""


class OtherRunError(InputError):
    """The run to resume has another dataset, judge or setting."""


class NotesError(GigamindError):
    """The vault cannot be read."""

    exit_code: ClassVar[int] = 2


class IndexingError(NotesError):
    """The index of a vault cannot be built, opened or reached."""


class BrokenBoundError(GigamindError):
    """A run without a baseline misses a floor or a ceiling of the gates, under `--fail-on-regression`."""

    exit_code: ClassVar[int] = REGRESSION_EXIT_CODE


class EvaluationError(GigamindError):
    """An evaluation failed."""


class QueryTimeoutError(EvaluationError):
    """One query passed its time limit."""


class SystemFailedError(EvaluationError):
    """An evaluated search gave no ranking for a query."""


class EmbeddingError(EvaluationError):
    """An embedding model refused, failed, or returned no embedding."""


class BudgetError(EvaluationError):
    """The budget left items without a verdict; finished items are kept."""


class UnaskedError(EvaluationError):
    """A model could not be queried about all cases of a trial, so the trial proves nothing."""


class ServerError(EvaluationError):
    """The Prefect server cannot be reached or used, or no worker runs the flow."""


class UnwrittenError(EvaluationError):
    """A run's results cannot be written.  The run ends; what its files already have is kept."""


class LlmError(EvaluationError):
    """A language model gave no usable answer.  It holds no key, and survives pickling.

    Attributes:
        code: the reason, stable enough to group by.
        status: of the HTTP response, if there was one.
        retry_after_s: seconds to wait, if the server sent them.
        may_cost: the server may bill an answer that never arrived.
    """

    def __init__(
        self,
        text: Text,
        code: LlmCode,
        status: int | None = None,
        retry_after_s: float | None = None,
        may_cost: bool = False,  # noqa: FBT001, FBT002  pickle passes it by position
        **values: object,
    ) -> None:
        super().__init__(text, **values)
        # All five, as pickle recreates the error from them.
        self.args = (self.message, code, status, retry_after_s, may_cost)
        self.code: LlmCode = code
        self.status = status
        self.retry_after_s = retry_after_s
        self.may_cost = may_cost

    def __str__(self) -> str:
        return str(self.args[0])
