"""The account of a run: `attempts.jsonl`, one row for each HTTP attempt and each answer from the store.

Every figure about cost is a sum over it.  Costs are whole picodollars, so that the sum is exact.
"""

import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Literal

from gigamind.llm.client import Usage
from gigamind.llm.prices import Price, micro_usd
from gigamind.runs.store import Journal, read_journal

CostSource = Literal["table", "estimated", "unpriced"]
STORE = "store"
HTTP = "http"


@dataclass(frozen=True, slots=True)
class Attempt:
    """One row.

    Attributes:
        call: the logical call, by the id of its item.
        number: of the attempt within its call, from 1.
        source: `http` or `store`.
        status: `ok`, or the code of the error it ended in.
        key: of the logical call in the store.
        cost_pico_usd: None when the model has no price.
        cost_source: `estimated` when the server did not tell the tokens.
        latency_ms: of the HTTP request.
        wait_ms: for the limiter, before it.
        http_status: None when no HTTP answer came, or a good one.
        answered_by: the server's name of the model.
        at: seconds since the epoch.
        role: what the model was asked for; empty where a command asks for one thing only.
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

    def charged(self, usage: Usage, price: Price | None, *, counted: bool = True) -> "Attempt":
        """The row with its tokens and what they cost; `counted`: by the server, not by us."""
        return replace(
            self,
            prompt_tokens=usage.prompt_tokens,
            completion_tokens=usage.completion_tokens,
            cached_tokens=usage.cached_tokens,
            cost_pico_usd=price.cost_pico_usd(usage) if price else None,
            cost_source=("table" if counted else "estimated") if price else "unpriced",
        )


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
        self.rows: list[Attempt] = [] if path is None else read_ledger(path)
        self._journal = None if path is None else Journal(path)

    def append(self, attempt: Attempt) -> None:
        """Add a row; it is in the file on return."""
        stamped = replace(attempt, at=round(time.time(), 3))
        self.rows.append(stamped)
        if self._journal:
            self._journal.append(asdict(stamped))

    def totals(self) -> Totals:
        """Sums over all rows, those of a resumed run's first part included."""
        return totals(self.rows)

    def close(self) -> None:
        """Let the next writer in."""
        if self._journal:
            self._journal.close()
            self._journal = None  # models that share an account each close it


def read_ledger(path: Path) -> list[Attempt]:
    """The rows of a file; none when it is absent.

    Raises:
        InputError: it is no ledger.
    """
    return [Attempt(**row) for row in read_journal(path)]


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
