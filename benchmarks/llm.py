"""Measure what the model layer loses and pays when answers have faults or a run is killed, and its memory.

    python benchmarks/llm.py --only faults ledger         # what each kind of fault costs
    python benchmarks/llm.py --only kills                 # 60 commands are killed and resumed
    python benchmarks/llm.py --only memory --calls 5000   # growth with the calls, with the store off and on; Linux

The server is a separate process on loopback.  Nothing leaves this machine.  llm_peers.py compares with other layers.
"""

import argparse
import asyncio
import gc
import json
import resource
import signal
import sys
import tempfile
import time
from dataclasses import astuple
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "support"))

import psutil
from faulty_model import FAULTS, REFUSALS, FakeServer, running
from flow_kills import comparable, verdict
from forked import Forked, command
from llm_server import reset, server, stats
from peers.exchange import NOTE, Verdict

from gigamind.errors import LlmError
from gigamind.llm.ask import LanguageModel
from gigamind.llm.ledger import Ledger, Price
from gigamind.llm.settings import ModelSettings
from gigamind.llm.store import Store

IN_FLIGHT = 16
FAULT_SHARE = 0.2
LIE_SHARE = 0.3
MOMENTS, KILLED_IN_FLIGHT, WAIT_S = 20, 8, 300
# The answer may have been generated and does not arrive, so it is booked with the most that it may cost.
NEVER_COME = {"timeout", "disconnect", "reset", "html", "badjson", "empty_body"}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--calls", type=int, default=1000)
    parser.add_argument("--only", nargs="+", choices=[*SCENARIOS], default=[*SCENARIOS])
    arguments = parser.parse_args()
    with server() as url:
        for scenario in arguments.only:
            SCENARIOS[scenario](url, arguments.calls)


def faults(url: str, calls: int) -> None:
    """Measure each kind of fault with the same number of calls, so the mean is a server with all of them."""
    calls = max(calls // 10, 20)
    print(f"{FAULT_SHARE:.0%} of all answers have a fault, {calls} calls a kind:")
    lost: dict[str, int] = {}
    sent: dict[str, int] = {}
    for kind in sorted(FAULTS):
        lost[kind], sent[kind], _, _ = with_fault(url, kind, FAULT_SHARE, calls)
        if lost[kind] or sent[kind] > calls:
            apart = "  (refused)" if kind in REFUSALS else ""
            print(
                f"  {kind:16} lost {lost[kind] / calls:6.2%}, {sent[kind] / calls:.3f} requests a call{apart}"
            )
    kinds = [kind for kind in FAULTS if kind not in REFUSALS]
    asked = calls * len(kinds)
    lost_share = sum(lost[kind] for kind in kinds) / asked
    requests = sum(sent[kind] for kind in kinds) / asked
    of_all = f"{len(kinds)} of {len(FAULTS)} kinds are no refusals"
    print(f"  {of_all}: lost {lost_share:.2%}, {requests:.3f} requests a call")


def ledger(url: str, calls: int) -> None:
    """Measure the ledger; before the first reported usage, tokens are booked by an upper bound."""
    calls = max(calls // 2, 20)
    print(
        f"booked of what was generated, {LIE_SHARE:.0%} of all answers have a fault, {calls} calls a kind:"
    )
    ratios: dict[str, float] = {}
    for kind in sorted(FAULTS - REFUSALS):
        _, _, booked, generated = with_fault(url, kind, LIE_SHARE, calls)
        ratios[kind] = booked / generated
    come = {kind: ratio for kind, ratio in ratios.items() if kind not in NEVER_COME}
    never = {kind: ratios[kind] for kind in NEVER_COME}
    for name, group in {"answers that arrive": come, "that never come": never}.items():
        low, high = min(group, key=group.__getitem__), max(group, key=group.__getitem__)
        print(f"  {name:20} {group[low]:.4f} ({low}) to {group[high]:.4f} ({high})")
    for name, kind, share in (("no faults", "500", 0.0), ("of all kinds", "mixed", FAULT_SHARE)):
        lost, sent, booked, generated = with_fault(url, kind, share, calls)
        print(
            f"  {name}: {booked / generated:.4f}, {share:.0%} of {sent} requests have a fault, lost {lost}"
        )
    model = layer("http://127.0.0.1:9/v1", "", attempts=2, backoff_s=0.01)
    lost = asyncio.run(lost_of(model, calls))
    print(f"  never sent: {model.ledger.totals().micro_usd} micro-USD, lost {lost} of {calls}")


def with_fault(url: str, kind: str, share: float, calls: int) -> tuple[int, int, int, int]:
    """Return calls lost, requests sent, micro-USD booked, micro-USD generated."""
    reset(url)
    behaviour = f";fault={kind};share={share};hang=3;ra=0.01;sid={kind}"
    timeout_s = 0.5 if kind == "timeout" else 20
    model = layer(url, behaviour, timeout_s=timeout_s, backoff_s=0.01, max_tokens=100)
    lost = asyncio.run(lost_of(model, calls))
    seen = stats(url)
    generated = seen["generated"]["prompt_tokens"] + 2 * seen["generated"]["completion_tokens"]
    return lost, seen["total"], model.ledger.totals().micro_usd, generated


def kills(_url: str, calls: int) -> None:
    """Kill a command at moments of its run and resume it; `calls` is ten times the number of its questions."""
    questions = max(calls // 10, 40)
    with running() as server, tempfile.TemporaryDirectory() as home:
        server.respond = verdict
        folder, moments = Path(home), [(number + 1) / (MOMENTS + 1) for number in range(MOMENTS)]
        whole = judged(folder, server, questions, "whole")
        whole.wait(WAIT_S)
        calls, expected = server.seen.total, report_of(folder / "whole")
        print(f"unbroken: {calls} requests for {questions} questions, {KILLED_IN_FLIGHT} in flight")
        for number in (signal.SIGKILL, signal.SIGTERM, signal.SIGINT):
            rows = [
                killed(folder, server, questions, number, int(share * calls)) for share in moments
            ]
            twice = sorted(total - calls for total, _ in rows)
            equal = sum(report == expected for _, report in rows)
            ended = f"verdicts equal {equal} of {len(rows)}"
            print(f"  {number.name}: paid twice {twice[len(twice) // 2]} to {twice[-1]}, {ended}")


def killed(
    folder: Path, server: FakeServer, questions: int, number: signal.Signals, after: int
) -> tuple[int, object]:
    """Return the requests of a run that gets a signal after so many and is resumed, and its report."""
    name = f"{number.name}-{after}"
    server.seen.calls.clear()
    process = judged(folder, server, questions, name)
    while server.seen.total < after and process.poll() is None:
        time.sleep(0.002)
    process.send_signal(number)
    process.wait(WAIT_S)
    judged(folder, server, questions, name, "--resume").wait(WAIT_S)
    return server.seen.total, report_of(folder / name)


def judged(
    folder: Path, server: FakeServer, questions: int, name: str, option: str = "--out"
) -> Forked:
    """Start `gigamind eval search` with a model as the judge, without stored replies."""
    examples = Path(__file__).resolve().parents[1] / "examples"
    dataset, notes = examples / "queries.jsonl", examples / "vault"
    data = ("--dataset", dataset, "--notes", notes, "--sample", questions)
    model = ("--model", "openai/judge;lat=30", "--api-base", server.url, "--store-mode", "off")
    limits = ("--max-in-flight", KILLED_IN_FLIGHT, "--model-timeout-s", 60, "--allow-partial")
    judge = ("--mode", "keyword", "--unanswerable-mode", "llm", "--speed-passes", 0)
    return command(folder, "eval", "search", *data, *judge, *model, *limits, option, folder / name)


def report_of(folder: Path) -> object:
    return comparable(json.loads((folder / "summary.json").read_text("utf-8")))


def memory(url: str, calls: int) -> None:
    """Print the growth after the first tenth of the calls, which fills caches; the ledger is a file, as in a run."""
    for kept in (False, True):
        with tempfile.TemporaryDirectory() as folder:
            model = layer(url, ";sid=1", Path(folder), kept=kept)
            print(f"store {'on' if kept else 'off'}: ", end="")
            asyncio.run(print_growth(model, calls))


async def print_growth(model: LanguageModel, calls: int) -> None:
    sizes: list[float] = []
    for part in range(10):
        await lost_of(model, calls // 10, f"{part} ", closes=False)
        gc.collect()
        sizes.append(psutil.Process().memory_info().rss / 2**20)  # now, not the peak
    rows = sum(
        sys.getsizeof(row) + sum(sys.getsizeof(value) for value in astuple(row))
        for row in model.ledger.rows
    )
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**10
    await model.close()
    shown = " ".join(f"{size:.1f}" for size in sizes)
    growth = 2**10 * (sizes[-1] - sizes[0]) / (0.9 * calls)
    print(f"MB after each tenth of {calls} calls {shown}; at most {peak:.1f};")
    print(f"  {growth:.2f} KB a call, of which the ledger's rows {rows / 2**10 / calls:.2f} KB")


def layer(
    url: str,
    behaviour: str,
    folder: Path | None = None,
    *,
    kept: bool = False,
    **settings: Any,  # noqa: ANN401  those of ModelSettings
) -> LanguageModel:
    """Return our layer; with a folder, the ledger is a file there, and so are stored replies if `kept`."""
    name = f"openai/judge{behaviour}"
    return LanguageModel(
        ModelSettings(name, api_base=url, max_in_flight=IN_FLIGHT, **settings),
        prices={name: Price(1_000_000, 2_000_000, 1_000_000)},
        store=Store(folder / "store", "readwrite") if folder and kept else None,
        ledger=Ledger(folder / "attempts.jsonl") if folder else None,
    )


async def lost_of(model: LanguageModel, calls: int, name: str = "", *, closes: bool = True) -> int:
    """Return how many of the calls have no answer."""
    questions = iter([f"질문 {name}{number}" for number in range(calls)])
    lost = 0

    async def work() -> None:
        nonlocal lost
        for question in questions:
            system = {"role": "system", "content": "Judge."}
            try:
                asked = [system, {"role": "user", "content": NOTE + question}]
                await model.ask(asked, Verdict, item_id=question)
            except LlmError:
                lost += 1

    await asyncio.gather(*(work() for _ in range(IN_FLIGHT)))
    if closes:
        await model.close()
    return lost


SCENARIOS = {"faults": faults, "ledger": ledger, "kills": kills, "memory": memory}

if __name__ == "__main__":
    main()
