"""The account of a run: `attempts.jsonl`, one row for each HTTP attempt and each answer from the store.

Every figure about cost is a sum over it.  Costs are whole picodollars, so that the sum is exact.  Before a request is
sent, a short line says what it costs at most: where no row of its end follows, for it was killed, that is its row.
"""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import MISSING, asdict, dataclass, fields, replace
from itertools import count
from pathlib import Path
from typing import Literal

from gigamind.errors import InputError
from gigamind.llm.usage import Price, Usage, micro_usd
from gigamind.runs.store import Journal, read_journal

CostSource = Literal["table", "estimated", "unpriced"]
STORE = "store"
HTTP = "http"
UNFINISHED = "unfinished"
SCRIPTED = "gigamind-scripted"
"""The fingerprint of a stand-in of ours that plays back what was written before, and is no model."""
_STARTED = "started"  # the status of a line before a request; no row has it
_WITHDRAWN = "withdrawn"  # that of a line after a request that was never sent; no row has it


@dataclass(frozen=True, slots=True)
class Attempt:
    """One row.

    Attributes:
        call: the logical call, by the id of its item.
        number: of the attempt within its call, from 1.
        source: `http` or `store`.
        status: `ok`, the code of the error it ended in, or `unfinished`: cancelled or killed, so its end is not known.
        key: of the logical call in the store.
        cost_pico_usd: None when the model has no price.
        cost_source: `estimated` when the server did not tell the tokens; an answer that may have been generated, and
            never arrived, is booked with the most that it may take.
        latency_ms: of the HTTP request.
        wait_ms: for the limiter, before it.
        http_status: None when no HTTP answer came, or a good one.
        answered_by: the server's name of the model.
        at: seconds since the epoch.
        role: what the model was asked for; empty where a command asks for one thing only.
        custom_id: of a request in a batch file, which has one row: the latest that was written of it.
        written_tokens: see `Usage`.
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
    cost_source: CostSource = "unpriced"
    latency_ms: float = 0.0
    wait_ms: float = 0.0
    http_status: int | None = None
    answered_by: str = ""
    fingerprint: str = ""
    at: float = 0.0
    role: str = ""
    custom_id: str = ""
    written_tokens: int = 0

    def charged(self, usage: Usage, price: Price | None, *, counted: bool = True) -> "Attempt":
        """The row with its tokens and what they cost; `counted`: by the server, not by us."""
        return replace(
            self,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
            written_tokens=usage.written_tokens,
            cost_pico_usd=price.cost_pico_usd(usage) if price else None,
            cost_source=("table" if counted else "estimated") if price else "unpriced",
        )

    def free(self) -> "Attempt":
        """The row of a request for which the server surely generated nothing."""
        cost = None if self.cost_pico_usd is None else 0
        none = Usage(0, 0)
        return replace(self.charged(none, None), cost_pico_usd=cost)


@dataclass(frozen=True, slots=True)
class Totals:
    """Sums over rows.

    Attributes:
        http_calls: attempts over HTTP, failed ones included.
        store_hits: answers from the store.
        micro_usd: None when any paid call has no price.
        cost_source: the weakest of its rows.
        by_status: attempts over HTTP by how they ended.
    """

    http_calls: int
    store_hits: int
    prompt_tokens: int
    completion_tokens: int
    cached_tokens: int
    pico_usd: int
    micro_usd: int | None
    cost_source: CostSource
    by_status: Mapping[str, int]


class Ledger:
    """Keeps the rows of a run, in memory or in a file too; a file that exists is continued."""

    def __init__(self, path: Path | None = None) -> None:
        self._rows: _Rows = {} if path is None else _read(path)
        self._journal = None if path is None else Journal(path)

    @property
    def rows(self) -> list[Attempt]:
        """All that have ended, in the order of their first lines."""
        return list(self._rows.values())

    def row_of(self, custom_id: str) -> Attempt | None:
        """That of a request in a batch file, where it has one."""
        return self._rows.get(custom_id)

    def start(self, worst: Attempt) -> None:
        """Note before a request what its row is should it never end; in the file on return, and in no sum of `rows`."""
        if self._journal:
            row = {**_changed(worst), "status": _STARTED, "at": round(time.time(), 3)}
            self._journal.append(row)

    def append(self, attempt: Attempt) -> None:
        """Add a row; it is in the file on return."""
        stamped = replace(attempt, at=round(time.time(), 3))
        _put(self._rows, stamped)
        if self._journal:
            self._journal.append(asdict(stamped))

    def withdraw(self, started: Attempt) -> None:
        """Take back what `start` has noted of a request in a batch file: surely nobody got it."""
        self._rows.pop(started.custom_id, None)
        if self._journal:
            self._journal.append({**_changed(started), "status": _WITHDRAWN})

    def totals(self) -> Totals:
        """Sums over all rows, those of a resumed run's first part included."""
        return totals(self.rows)

    def close(self) -> None:
        """Let the next writer in."""
        if self._journal:
            self._journal.close()
            self._journal = None  # models that share an account each close it


def read_ledger(path: Path) -> list[Attempt]:
    """The rows of a file; none when it is absent.  A request that was started and never ended is `unfinished`.

    Raises:
        InputError: it is no ledger.
    """
    return list(_read(path).values())


_Rows = dict[int | str, Attempt]
_places = count()


def _attempts(path: Path) -> Iterator[Attempt]:
    for row in read_journal(path):
        try:
            yield Attempt(**row)
        except TypeError as error:
            raise InputError(
                f"{path}: holds what is no request ({error}); the file was damaged or changed by hand"
            ) from error


def _read(path: Path) -> _Rows:
    rows: _Rows = {}
    open_rows: dict[tuple[str, ...], list[int | str]] = {}
    for line in _attempts(path):
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
    """The place of a row; one of the same request in a batch file gives way to it."""
    place = row.custom_id or next(_places)
    rows[place] = row
    return place


_DEFAULTS = {field.name: field.default for field in fields(Attempt) if field.default is not MISSING}


def _changed(row: Attempt) -> dict[str, object]:
    """The fields that differ from their defaults."""
    values = asdict(row)
    return {name: values[name] for name in values if values[name] != _DEFAULTS.get(name, MISSING)}


def totals(rows: Iterable[Attempt]) -> Totals:
    """Sums over rows."""
    rows = list(rows)
    paid = [row for row in rows if row.source == HTTP]
    unpriced = any(row.cost_pico_usd is None and row.prompt_tokens for row in paid)
    pico_usd = sum(row.cost_pico_usd or 0 for row in paid)
    sources = {row.cost_source for row in paid}
    estimated: CostSource = "estimated" if "estimated" in sources else "table"
    return Totals(
        http_calls=len(paid),
        store_hits=len(rows) - len(paid),
        prompt_tokens=sum(row.prompt_tokens for row in paid),
        completion_tokens=sum(row.completion_tokens for row in paid),
        cached_tokens=sum(row.cached_tokens for row in paid),
        pico_usd=pico_usd,
        micro_usd=None if unpriced else micro_usd(pico_usd),
        cost_source="unpriced" if unpriced else estimated,
        by_status=dict(Counter(row.status for row in paid)),
    )
