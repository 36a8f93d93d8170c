"""The ledger of a run: `attempts.jsonl`, one row for each HTTP attempt and each stored reply.

Every figure about cost is a sum over it.  Costs are integer picodollars, so sums are exact.  Before a request is sent,
a short line records its upper bound; if the process is killed and no final row follows, this line counts as the row.

A price comes from the caller's file if it is there.  Else a model on this machine costs nothing, and other models have
the price in litellm's table.  The cost of a model without a price is unknown, never zero.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from decimal import Decimal
from itertools import count
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, Field, ValidationError

from gigamind.errors import InputError, LlmError, reason_of
from gigamind.llm.client import Usage, on_loopback
from gigamind.llm.loading import load_litellm
from gigamind.loading import first_problem, toml_values
from gigamind.runs.store import Journal, read_journal

_CostSource = Literal["table", "estimated", "unpriced"]
STORE = "store"
HTTP = "http"
PICO_PER_MICRO = 10**6
UNFINISHED = "unfinished"
SCRIPTED = "gigamind-scripted"
"""Fingerprint of our own stand-ins that replay prepared answers instead of calling a model."""
_STARTED = "started"  # status of a line before a request; no row has it
_WITHDRAWN = "withdrawn"  # status of a line after a request that was never sent; no row has it


@dataclass(frozen=True, slots=True)
class Price:
    """Picodollars per token."""

    prompt: int
    completion: int
    cached: int  # for a prompt token read from the cache
    source: str = "file"  # `local` for a model on this machine
    written: int | None = None  # to the cache; None for 1.25 times `prompt`, as for Anthropic

    def cost_pico_usd(self, usage: Usage) -> int:
        """Return the cost of one answer."""
        fresh = usage.prompt_tokens - usage.cached_tokens - usage.written_tokens
        written = -(-self.prompt * 5 // 4) if self.written is None else self.written
        return (
            fresh * self.prompt
            + usage.cached_tokens * self.cached
            + usage.written_tokens * written
            + usage.completion_tokens * self.completion
        )

    def halved(self) -> "Price":
        """Return the price in a batch file for OpenAI and Anthropic: half, rounded up."""
        whole = {
            name: getattr(self, name) for name in ("prompt", "completion", "cached", "written")
        }
        half = {name: -(-whole[name] // 2) for name in whole if whole[name] is not None}
        return replace(self, **half)


def micro_usd(pico_usd: int) -> int:
    """Convert to integer microdollars (1e-6 USD), rounded half up; apply once, to a sum."""
    return (pico_usd + PICO_PER_MICRO // 2) // PICO_PER_MICRO


@dataclass(frozen=True, slots=True)
class Attempt:
    """One row.

    Attributes:
        call: Id of the item of the logical call.
        number: Number of the attempt within its call, from 1.
        source: `http` or `store`.
        status: `ok`, the code of the error, or `unfinished` for a cancelled or killed request.
        key: Key of the logical call in the store.
        cost_pico_usd: None if the model has no price.
        cost_source: `table` if the server reported plausible tokens.  `estimated` else: the amount is reserved, and for
            an answer that may have been generated and never arrived it is the upper bound.
        latency_ms: Time of the HTTP request.
        wait_ms: Time before it in the limiter.
        http_status: None without an HTTP error status.
        answered_by: The server's name of the model.
        at: Seconds since the epoch.
        role: Purpose of the request; empty if a command has only one.
        custom_id: Id of a request in a batch file, which has one row, the latest.
        written_tokens: See `Usage`.
        repaired: 1 if the JSON of the answer had to be repaired.
    """

    call: str
    number: int
    source: str
    status: str
    model: str
    key: str = ""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cost_pico_usd: int | None = None
    cost_source: _CostSource = "unpriced"
    latency_ms: float = 0.0
    wait_ms: float = 0.0
    http_status: int | None = None
    answered_by: str = ""
    fingerprint: str = ""
    at: float = 0.0
    role: str = ""
    custom_id: str = ""
    written_tokens: int = 0
    repaired: int = 0

    def charged(self, usage: Usage, price: Price | None, *, counted: bool = True) -> "Attempt":
        """Return the row with tokens and cost; `counted` says whether the server reported the tokens."""
        return replace(
            self,
            **asdict(usage),
            cost_pico_usd=price.cost_pico_usd(usage) if price else None,
            cost_source=("table" if counted else "estimated") if price else "unpriced",
        )

    def failed(self, error: LlmError) -> "Attempt":
        """Return the row after an error, free of charge if the server generated nothing."""
        row = replace(self, status=error.code, http_status=error.status)
        if error.may_cost:  # the result of a batch can still become known
            return replace(row, status=UNFINISHED) if row.custom_id else row
        cost = None if row.cost_pico_usd is None else 0
        return replace(row.charged(Usage(0, 0), None), cost_pico_usd=cost)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over rows."""

    http_calls: int  # HTTP attempts, including failed ones
    store_hits: int  # replies from the store
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    pico_usd: int  # reported and reserved
    micro_usd: int | None  # of `pico_usd`; None if any paid call has no price
    reserved_micro_usd: int | None  # the part for which the server reported no plausible usage
    repaired: int  # answers with repaired JSON
    cost_source: _CostSource  # the least reliable source of its rows
    by_status: Mapping[str, int]  # HTTP attempts by status

    @classmethod
    def of(cls, rows: Iterable[Attempt]) -> Self:
        """Return the sums over rows."""
        rows = list(rows)
        paid = [row for row in rows if row.source == HTTP]
        unpriced = any(row.cost_pico_usd is None and row.prompt_tokens for row in paid)
        pico_usd = sum(row.cost_pico_usd or 0 for row in paid)
        sources = {row.cost_source for row in paid}
        reserved = sum(row.cost_pico_usd or 0 for row in paid if row.cost_source == "estimated")
        estimated: _CostSource = "estimated" if "estimated" in sources else "table"
        return cls(
            http_calls=len(paid),
            store_hits=len(rows) - len(paid),
            prompt_tokens=sum(row.prompt_tokens for row in paid),
            completion_tokens=sum(row.completion_tokens for row in paid),
            cached_tokens=sum(row.cached_tokens for row in paid),
            pico_usd=pico_usd,
            micro_usd=None if unpriced else micro_usd(pico_usd),
            reserved_micro_usd=None if unpriced else micro_usd(reserved),
            repaired=sum(row.repaired for row in paid),
            cost_source="unpriced" if unpriced else estimated,
            by_status=dict(Counter(row.status for row in paid)),
        )


class Ledger:
    """The rows of a run, in memory and optionally in a file; an existing file is continued."""

    def __init__(self, path: Path | None = None) -> None:
        self._rows: _Rows = {} if path is None else _read(path)
        self._journal = None if path is None else Journal(path)

    @property
    def rows(self) -> list[Attempt]:
        """Finished rows in the order of their first lines."""
        return list(self._rows.values())

    def row_of(self, custom_id: str) -> Attempt | None:
        """Return the row of a request in a batch file, if any."""
        return self._rows.get(custom_id)

    def start(self, worst: Attempt) -> None:
        """Record before a request the row that counts if it never ends; on disk on return, not part of `rows`."""
        if self._journal:
            row = {**_changed(worst), "status": _STARTED, "at": round(time.time(), 3)}
            self._journal.append(row)

    def append(self, attempt: Attempt) -> None:
        """Add a row; it is on disk on return."""
        stamped = replace(attempt, at=round(time.time(), 3))
        _put(self._rows, stamped)
        if self._journal:
            self._journal.append(asdict(stamped))

    def withdraw(self, started: Attempt) -> None:
        """Remove what `start` recorded for a batch request that was never received."""
        self._rows.pop(started.custom_id, None)
        if self._journal:
            self._journal.append({**_changed(started), "status": _WITHDRAWN})

    def totals(self) -> Totals:
        """Return the sums over all rows, including those before a resume."""
        return Totals.of(self.rows)

    def close(self) -> None:
        """Release the file for the next writer."""
        if self._journal:
            self._journal.close()
            self._journal = None  # models that share a ledger each close it


def read_ledger(path: Path) -> list[Attempt]:
    """Return the rows of a file, if any; a request without an end is `unfinished`.  InputError: not a ledger."""
    return list(_read(path).values())


_Rows = dict[int | str, Attempt]
_places = count()


def _read(path: Path) -> _Rows:
    rows: _Rows = {}
    open_rows: dict[tuple[str, ...], list[int | str]] = {}
    for values in read_journal(path):
        try:
            line = Attempt(**values)
        except TypeError as error:
            raise InputError(
                "{file}: a line of this request log is invalid ({reason}). The file was damaged or edited.",
                file=path,
                reason=str(error),
            ) from error
        if line.status == _WITHDRAWN:
            rows.pop(line.custom_id, None)
            continue
        started = line.status == _STARTED
        place = _put(rows, replace(line, status=UNFINISHED) if started else line)
        if line.custom_id:
            continue
        request = (line.call, str(line.number), line.model, line.key, line.role)
        if started:
            open_rows.setdefault(request, []).append(place)
        elif line.source == HTTP and open_rows.get(request):
            del rows[open_rows[request].pop()]
    return rows


def _put(rows: _Rows, row: Attempt) -> int | str:
    place = row.custom_id or next(_places)
    rows[place] = row
    return place


_DEFAULTS = {field.name: field.default for field in fields(Attempt) if field.default is not MISSING}


def _changed(row: Attempt) -> dict[str, object]:
    values = asdict(row)
    return {name: values[name] for name in values if values[name] != _DEFAULTS.get(name, MISSING)}


_PICO_PER_USD = 10**12
_IN_BATCH, _OUT_BATCH = "input_cost_per_token_batches", "output_cost_per_token_batches"
_Usd = Annotated[Decimal, Field(ge=0, le=10**9, allow_inf_nan=False)]


class _Row(BaseModel, extra="forbid", frozen=True, defer_build=True):
    """USD per million tokens."""

    prompt: _Usd
    completion: _Usd
    cached: _Usd | None = None
    written: _Usd | None = None

    def price(self) -> Price:
        usd = {name: value for name, value in self if value is not None}
        pico = {name: round(each * _PICO_PER_USD / 10**6) for name, each in usd.items()}
        return Price(**{"cached": pico["prompt"], **pico})


class _File(BaseModel, extra="forbid", frozen=True, defer_build=True):
    models: dict[str, _Row]


def read_prices(path: Path) -> dict[str, Price]:
    """Read prices by model from a TOML file, in USD per million tokens; raise InputError if it is invalid.

    A table `[models."openai/x"]` has `prompt`, `completion` and, if it differs from `prompt`, `cached`.  Add `written`
    if the server reports tokens written to its cache and they do not cost a quarter more than `prompt`.
    """
    try:
        # Decimal keeps the digits as written: the float 0.15 is not exactly 0.15.
        rows = toml_values(path.read_text(encoding="utf-8"), Decimal)
        return {name: row.price() for name, row in _File.model_validate(rows).models.items()}
    except ValidationError as error:
        raise InputError(
            '{file}: {problem}. Write [models."NAME"] with prompt and completion, in USD per million tokens.',
            file=path,
            problem=first_problem(error),
        ) from None
    except (OSError, ValueError) as error:
        reason = reason_of(error) if isinstance(error, OSError) else str(error)
        raise InputError(
            "{file}: the price file cannot be read: {reason}", file=path, reason=reason
        ) from error


def price_of(
    model: str, own: Mapping[str, Price], *, api_base: str | None = None, batch: bool = False
) -> Price | None:
    """Return the price of a model: from `own`, else 0 on loopback, else from litellm's table; None if unknown.

    A request in a `batch` has the batch price of the table, or half of the normal price.
    """
    price = own.get(model)
    if price and batch:
        return price.halved()
    return price or (LOCAL if on_loopback(api_base) else _listed(model, batch=batch))


LOCAL = Price(0, 0, 0, source="local")
"""Price of a model on this machine that no table lists."""


def _listed(model: str, *, batch: bool) -> Price | None:
    try:
        row: Mapping[str, Any] = load_litellm().get_model_info(model)
    except Exception:  # noqa: BLE001  litellm raises a plain Exception for unknown models
        return None
    prompt, completion = _pico(row, "input_cost_per_token"), _pico(row, "output_cost_per_token")
    if prompt is None or completion is None:
        return None
    cached = _pico(row, "cache_read_input_token_cost")
    cached = prompt if cached is None else cached
    price = Price(
        prompt, completion, cached, "litellm", _pico(row, "cache_creation_input_token_cost")
    )
    return _batch_price(row, price) if batch else price


def _batch_price(row: Mapping[str, Any], price: Price) -> Price:
    half = price.halved()
    prompt, completion = _pico(row, _IN_BATCH), _pico(row, _OUT_BATCH)
    if prompt is not None and completion is not None:
        half = replace(half, prompt=prompt, completion=completion)
    if row.get("litellm_provider") == "anthropic":
        return half
    flex = _pico(row, "cache_read_input_token_cost_flex")  # flex and batch have the same price
    return replace(half, cached=half.prompt if flex is None else flex)


def _pico(row: Mapping[str, Any], name: str) -> int | None:
    usd = row.get(name)
    return None if usd is None else round(Decimal(str(usd)) * _PICO_PER_USD)
