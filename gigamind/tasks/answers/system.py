"""Sends each question to a system once, stores the answers next to the out folder, and judges them afterwards.

One process sends all questions, so `--max-concurrency` applies to the run; a resumed run sends those without answer.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from gigamind.errors import SystemFailedError, text_of
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.shards import unfinished_folder
from gigamind.evaluation.workers import ItemOutcome, Stopped, run_workers
from gigamind.i18n import Text, _
from gigamind.interop.ranking import Oddity
from gigamind.interop.reply import Reply, parse_reply
from gigamind.outcome import Failure, attempt
from gigamind.runs.store import ItemKey, ItemResult, RunStore, read_results
from gigamind.systems.dialect import ANSWERS, MOST_FAILED
from gigamind.systems.open import open_system
from gigamind.systems.protocol import Answerer, Query
from gigamind.tasks.answers.judging import begin
from gigamind.tasks.answers.prepared import SYSTEM_ROLE, EvalCase, PreparedAnswers, with_answers
from gigamind.tasks.answers.schema import question_id

_MAX_FAILURES = 8  # after this many failures without any answer, no more questions are sent


@dataclass
class SystemResults:
    """The answers of a system."""

    # Of each completed question, by item.
    results: Mapping[ItemKey, ItemResult] = field(default_factory=dict[ItemKey, ItemResult])
    interrupted: bool = False  # whether Ctrl-C stopped it
    warnings: tuple[str, ...] = ()  # data-quality warnings about the system

    @property
    def final(self) -> Mapping[ItemKey, ItemResult]:
        """The results; failures are final if they are few enough for a valid run.

        Otherwise a nightly run with one timeout would stay unfinished, and the next run would judge old answers.
        """
        failed = [key for key, result in self.results.items() if result.outcome != "scored"]
        if len(failed) > MOST_FAILED * len(self.results):
            return self.results
        final = {key: replace(self.results[key], outcome="unscored") for key in failed}
        return {**self.results, **final}


@contextmanager
def _opened(
    prepared: PreparedAnswers, answerer: Answerer | None
) -> Generator[tuple[Answerer, int, tuple[str, ...]]]:
    """Yield the system of a run, or `answerer`, with its concurrency and warnings; InputError if it cannot open."""
    options, warnings = prepared.options, tuple[str, ...]()
    most = options.max_concurrency
    if options.named_system is None:
        raise TypeError("no system answers in this run")
    if answerer is None:
        whole = options.sample is None and not prepared.errors
        answerer = found = open_system(
            options.named_system, ANSWERS, prepared.cases.keys() if whole else None
        )
        most, warnings = min(most, found.concurrency or most), found.warnings
    with closing(answerer):
        yield answerer, most, warnings


def ask_system(
    prepared: PreparedAnswers, answerer: Answerer | None, out: Path, progress: Progress
) -> SystemResults:
    """Start or resume the run of `out`, and send the questions without an answer, to `answerer` if it is open."""
    with (
        _opened(prepared, answerer) as (asked, most, warnings),
        RunStore(unfinished_folder(out), begin(prepared, out, progress), resume=True) as store,
    ):
        keys = [ItemKey(name, SYSTEM_ROLE) for name in prepared.cases]
        cases = [prepared.cases[key.item_id] for key in keys if store.final(key) is None]
        total, ended = len(keys), itertools.count(len(keys) - len(cases) + 1)
        is_run = prepared.system is not None and prepared.system.kind == "run"
        requests = _Requests(asked)

        def store_result(outcome: ItemOutcome[Reply]) -> None:
            requests.count(outcome)
            store.append(_result(outcome, is_run=is_run))
            progress.stage("Questions", next(ended), total)

        interrupted = False
        if cases:
            progress.stage("Questions", total - len(cases), total)
        try:
            run_workers(
                requests.by_id(cases),
                max_concurrency=most,
                timeout_ms=prepared.options.timeout_ms,
                on_end=store_result,
            )
        except Stopped as stop:
            interrupted = True
            for outcome in stop.outcomes:
                if ItemKey(outcome.item_id, SYSTEM_ROLE) not in store.results:
                    store.append(_result(outcome, is_run=is_run))
        results = {key: store.results[key] for key in keys if key in store.results}
    return SystemResults(results, interrupted, warnings)


def stored_answers(prepared: PreparedAnswers, out: Path) -> SystemResults:
    """Return the answers that another process of the run has stored."""
    results = read_results(unfinished_folder(out))
    keys = [ItemKey(name, SYSTEM_ROLE) for name in prepared.cases]
    return SystemResults({key: results[key] for key in keys if key in results})


@dataclass
class _Requests:
    """Sends questions, and stops if the first ones all fail."""

    answerer: Answerer
    failures: int = 0
    answered: bool = False
    stopped: Text = ""  # why no more questions are sent; "" while they are

    def by_id(self, cases: Sequence[EvalCase]) -> dict[str, Callable[[], Reply]]:
        return {
            case.id: functools.partial(self.send, Query(question_id(case), case.question))
            for case in cases
        }

    def send(self, question: Query) -> Reply:
        if self.stopped:
            raise SystemFailedError(self.stopped)
        reply = self.answerer.answer(question)
        try:
            return parse_reply(reply)
        except ValueError as error:
            raise SystemFailedError(text_of(error)) from error

    def count(self, outcome: ItemOutcome[Reply]) -> None:
        if not isinstance(outcome, Failure):
            self.answered = True
        elif not self.answered and not self.stopped:
            self.failures += 1
            if self.failures == _MAX_FAILURES:
                self.stopped = _(
                    "question not sent, because the system did not answer the first {count} questions: {reason}",
                    count=_MAX_FAILURES,
                    reason=outcome.message,
                )


def _result(outcome: ItemOutcome[Reply], *, is_run: bool) -> ItemResult:
    """Return the stored result; results of a file (`is_run`) have no latency, and their failures are final."""
    if isinstance(outcome, Failure):
        return ItemResult(
            outcome.item_id,
            "unscored" if is_run else "error",
            outcome.error,
            outcome.message,
            part=SYSTEM_ROLE,
        )
    oddities: Counter[Oddity] = Counter(outcome.value.oddities)
    contexts: list[dict[str, Any]] = []
    for context in outcome.value.contexts:
        bad = context.base_score is not None and not isfinite(context.base_score)
        oddities["bad_scores"] += bad
        contexts.append(asdict(replace(context, base_score=None) if bad else context))
    value = {
        "answer": outcome.value.answer,
        "contexts": contexts,
        "oddities": {name: count for name, count in oddities.items() if count},
    }
    latency_ms = 0.0 if is_run else outcome.latency_ms
    return ItemResult(
        outcome.item_id, "scored", value=value, latency_ms=latency_ms, part=SYSTEM_ROLE
    )


def with_run(prepared: PreparedAnswers) -> PreparedAnswers:
    """Add the answers of a run file, without storing them; raises InputError if it cannot be used."""
    with _opened(prepared, None) as (asked, _most, warnings):
        requests = _Requests(asked).by_id(list(prepared.cases.values()))
        outcomes = [attempt(name, send) for name, send in requests.items()]
    results = [_result(outcome, is_run=True) for outcome in outcomes]
    answered = with_answers(prepared, {result.key: result for result in results})
    cases = {name: case for name, case in answered.cases.items() if case.response}
    return replace(prepared, cases=cases, warnings=(*prepared.warnings, *warnings))
