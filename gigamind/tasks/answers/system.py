"""Asks a system each question once; what it answers is kept beside the out folder as it ends, and judged thereafter.

One process asks, whatever the runner: `--max-concurrency` holds for the run.  A resumed run asks only what was not
answered.
"""

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from math import isfinite
from pathlib import Path
from typing import Any

from gigamind.errors import SystemFailedError
from gigamind.evaluation.progress import Progress
from gigamind.evaluation.unfinished import unfinished_folder
from gigamind.evaluation.workers import ItemOutcome, Stopped, run_workers
from gigamind.interop.ranking import Oddity
from gigamind.interop.reply import Reply, parse_reply
from gigamind.outcome import Failure, attempt
from gigamind.runs.store import ItemKey, ItemResult, RunStore, read_results
from gigamind.systems.dialect import Answers
from gigamind.systems.health import MOST_FAILED
from gigamind.systems.open import SystemAnswerer, open_system
from gigamind.systems.protocol import Answerer, Query
from gigamind.tasks.answers.case import SYSTEM_ROLE, EvalCase
from gigamind.tasks.answers.judging import begin
from gigamind.tasks.answers.prepared import PreparedAnswers, with_answers

_ENOUGH = 8  # questions in a row, without one answer: the thousandth would fare no better


@dataclass
class Asked:
    """What asking gave.

    Attributes:
        results: of each question that has ended, by item.
        interrupted: Ctrl-C stopped it.
        warnings: what is odd about all of it.
    """

    results: Mapping[ItemKey, ItemResult] = field(default_factory=dict[ItemKey, ItemResult])
    interrupted: bool = False
    warnings: tuple[str, ...] = ()

    @property
    def for_good(self) -> Mapping[ItemKey, ItemResult]:
        """The results; failures are final where they are few enough for the run to be one.

        Else a night with one time-out would leave a run to be continued, and the next one would judge old answers.
        """
        failed = [key for key, result in self.results.items() if result.outcome != "scored"]
        if len(failed) > MOST_FAILED * len(self.results):
            return self.results
        final = {key: replace(self.results[key], outcome="unscored") for key in failed}
        return {**self.results, **final}


@dataclass(frozen=True, slots=True)
class OpenAnswerer:
    """A system that is ready; see `systems.open.Opened`."""

    answerer: Answerer
    concurrency: int
    warnings: tuple[str, ...] = ()


@contextmanager
def opened(prepared: PreparedAnswers, answerer: Answerer | None) -> Generator[OpenAnswerer]:
    """The system of a run; `answerer`, where it is at hand.

    Raises:
        InputError: it cannot be opened; says why.
    """
    options = prepared.options
    named = options.named_system
    if named is None:
        raise TypeError("no system answers in this run")
    if answerer is None:
        whole = options.sample is None and not prepared.errors
        opened_system = open_system(named, Answers(), prepared.cases.keys() if whole else None)
        most = min(options.max_concurrency, opened_system.concurrency or options.max_concurrency)
        ready = OpenAnswerer(SystemAnswerer(opened_system.system), most, opened_system.warnings)
    else:
        ready = OpenAnswerer(answerer, options.max_concurrency)
    try:
        yield ready
    finally:
        ready.answerer.close()


def ask_system(
    prepared: PreparedAnswers, answerer: Answerer | None, out: Path, progress: Progress
) -> Asked:
    """Begin the run of `out`, or go on with it, and ask what has no answer yet.

    Args:
        answerer: the system, where it is at hand.

    Raises:
        GigamindError: see `opened` and `begin`.
        UnwrittenError: what was answered cannot be kept.
    """
    with opened(prepared, answerer) as ready:
        identity = begin(prepared, out, progress)
        return _ask(prepared, ready, out, identity, progress)


def kept_answers(prepared: PreparedAnswers, out: Path) -> Asked:
    """What another process was answered, which has begun the run."""
    results = read_results(unfinished_folder(out))
    keys = [ItemKey(name, SYSTEM_ROLE) for name in prepared.cases]
    return Asked({key: results[key] for key in keys if key in results})


def _ask(
    prepared: PreparedAnswers,
    ready: OpenAnswerer,
    out: Path,
    identity: Mapping[str, str],
    progress: Progress,
) -> Asked:
    with RunStore(unfinished_folder(out), identity, resume=True) as store:
        keys = [ItemKey(name, SYSTEM_ROLE) for name in prepared.cases]
        cases = [prepared.cases[key.item_id] for key in keys if store.final(key) is None]
        total, ended = len(keys), itertools.count(len(keys) - len(cases) + 1)
        is_run = prepared.system is not None and prepared.system.kind == "run"

        asking = _Asking(ready.answerer)

        def keep(outcome: ItemOutcome[Reply]) -> None:
            asking.note(outcome)
            store.append(_result(outcome, is_run=is_run))
            progress.stage("Questions", next(ended), total)

        interrupted = False
        if cases:
            progress.stage("Questions", total - len(cases), total)
        try:
            run_workers(
                asking.about(cases),
                max_concurrency=ready.concurrency,
                timeout_ms=prepared.options.timeout_ms,
                on_end=keep,
            )
        except Stopped as stop:
            interrupted = True
            for outcome in stop.outcomes:
                if ItemKey(outcome.item_id, SYSTEM_ROLE) not in store.results:
                    store.append(_result(outcome, is_run=is_run))
        results = {key: store.results[key] for key in keys if key in store.results}
    return Asked(results, interrupted, ready.warnings)


@dataclass
class _Asking:
    """Asks, until the first questions have all failed.

    Attributes:
        hopeless: why no more is asked.
    """

    answerer: Answerer
    failures: int = 0
    answered: bool = False
    hopeless: str = ""

    def about(self, cases: Sequence[EvalCase]) -> dict[str, Callable[[], Reply]]:
        """What asks each question, by its id."""
        queries = (Query(case.id, case.question) for case in cases)
        return {query.id: functools.partial(self.ask, query) for query in queries}

    def ask(self, question: Query) -> Reply:
        if self.hopeless:
            raise SystemFailedError(self.hopeless)
        reply = self.answerer.answer(question)
        try:
            return parse_reply(reply)
        except ValueError as error:
            raise SystemFailedError(str(error)) from error

    def note(self, outcome: ItemOutcome[Reply]) -> None:
        """What became of a question."""
        if not isinstance(outcome, Failure):
            self.answered = True
        elif not self.answered and not self.hopeless:
            self.failures += 1
            if self.failures == _ENOUGH:
                self.hopeless = (
                    f"not asked, for the first {_ENOUGH} questions got no answer: {outcome.message}"
                )


def _result(outcome: ItemOutcome[Reply], *, is_run: bool) -> ItemResult:
    """As the run keeps it; `is_run`: of a file, where nothing takes time and asking again is vain."""
    if isinstance(outcome, Failure):
        return ItemResult(
            outcome.item_id,
            "unscored" if is_run else "error",
            outcome.error,
            outcome.message,
            part=SYSTEM_ROLE,
        )
    odd: Counter[Oddity] = Counter(outcome.value.oddities)
    contexts: list[dict[str, Any]] = []
    for context in outcome.value.contexts:
        bad = context.base_score is not None and not isfinite(context.base_score)
        odd["bad_scores"] += bad
        contexts.append(asdict(replace(context, base_score=None) if bad else context))
    value = {
        "answer": outcome.value.answer,
        "contexts": contexts,
        "oddities": {name: count for name, count in odd.items() if count},
    }
    latency_ms = 0.0 if is_run else outcome.latency_ms
    return ItemResult(
        outcome.item_id, "scored", value=value, latency_ms=latency_ms, part=SYSTEM_ROLE
    )


def with_run(prepared: PreparedAnswers) -> PreparedAnswers:
    """With the answers of a run file, and nothing kept: what would be judged.

    Raises:
        InputError: the file cannot be used.
    """
    with opened(prepared, None) as ready:
        asking = _Asking(ready.answerer).about(list(prepared.cases.values()))
        outcomes = [attempt(name, ask) for name, ask in asking.items()]
    results = [_result(outcome, is_run=True) for outcome in outcomes]
    answered = with_answers(prepared, {result.key: result for result in results})
    given = {name: case for name, case in answered.cases.items() if case.given}
    return replace(prepared, cases=given, warnings=(*prepared.warnings, *ready.warnings))
