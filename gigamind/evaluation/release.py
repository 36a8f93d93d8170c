"""Holds a run against a baseline and says whether the release may go out; every output comes from one GateResult."""

import json
import os
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Literal

from gigamind.errors import BrokenBoundError, GigamindError, InputError
from gigamind.evaluation.options import EvalOptions, ReleaseOptions
from gigamind.interop.junit import JunitCase, junit_xml
from gigamind.messages import heading_in, message_in
from gigamind.records.card import JudgeCard, read_card
from gigamind.release.compare import compare
from gigamind.release.comparison import Comparison
from gigamind.release.gates import judge_release
from gigamind.release.mismatch import check_models, check_task
from gigamind.release.model import EvalSnapshot
from gigamind.release.policy import GateResult, Policy, Status, read_policy
from gigamind.release.shortfall import judged_languages
from gigamind.release.snapshot import Kinds, read_baseline
from gigamind.reports.comparison import render_comparison
from gigamind.reports.decision import failed_brief
from gigamind.reports.release import Release, reason_texts
from gigamind.wording import Language, Words, words

REGRESSION_EXIT_CODE = 4
_CI_SUMMARY = "GITHUB_STEP_SUMMARY"
COMPARE_FILE = "compare.md"
_VERDICT_FILE = "compare.json"


@dataclass(frozen=True, slots=True)
class ReleaseVerdict:
    """A comparison and what the gates say of it."""

    comparison: Comparison
    gate: GateResult

    def files(self, language: Language) -> dict[str, str]:
        """compare.md and compare.json, by name."""
        text = json.dumps(self.dump(), ensure_ascii=False, indent=2, allow_nan=False)
        return {COMPARE_FILE: self.markdown(language), _VERDICT_FILE: text + "\n"}

    def dump(self) -> dict[str, Any]:
        """JSON values: `comparison` and `gate`."""
        return {
            "comparison": self.comparison.model_dump(mode="json"),
            "gate": self.gate.model_dump(mode="json"),
        }

    @classmethod
    def load(cls, dumped: Mapping[str, Any]) -> "ReleaseVerdict":
        """What `dump` gave."""
        return cls(
            Comparison.model_validate(dumped["comparison"]),
            GateResult.model_validate(dumped["gate"]),
        )

    @property
    def release(self) -> Release:
        """The part that summaries tell."""
        return Release(self.comparison, self.gate)

    def markdown(self, language: Language = "en") -> str:
        """The text of compare.md."""
        return render_comparison(self.comparison, self.gate, language)

    def exit_code(self, *, fail_on_regression: bool) -> int:
        """4 for a regression, 1 where no verdict is possible, if that is asked for; else 0."""
        codes = {"failed": REGRESSION_EXIT_CODE, "not-comparable": InputError.exit_code}
        return codes.get(self.gate.verdict, 0) if fail_on_regression else 0


def read_verdict(out: Path) -> ReleaseVerdict | None:
    """The verdict in an out folder; None where the run was compared with nothing.

    Raises:
        InputError: it cannot be read.
    """
    file = out / _VERDICT_FILE
    if not file.is_file():
        return None
    try:
        return ReleaseVerdict.load(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            f"{file}: not as gigamind writes it ({error}); evaluate that run again"
        ) from error


@dataclass(frozen=True, slots=True)
class Reference:
    """What a run will be held against, read before the run so that a wrong path costs no time."""

    baseline: EvalSnapshot[Any, Any]
    policy: Policy
    options: ReleaseOptions
    card: JudgeCard | None = None

    def judge(self, current: EvalSnapshot[Any, Any]) -> ReleaseVerdict:
        """Compare and apply the gates.

        Raises:
            InputError: the tasks or the embedding models differ.
        """
        check_models(self.baseline, current)
        return self.verdict(current)

    def verdict(self, current: EvalSnapshot[Any, Any]) -> ReleaseVerdict:
        """The same, where no verdict is the answer about other embedding models.

        Raises:
            InputError: the tasks differ.
        """
        comparison = compare(self.baseline, current)
        return ReleaseVerdict(
            comparison,
            judge_release(
                comparison,
                self.policy,
                self.options.phase,
                judge=current.judge,
                card=self.card,
                languages=judged_languages(current.metrics),
            ),
        )


def read_reference(baseline: Path, options: ReleaseOptions, task: str, kinds: Kinds) -> Reference:
    """The baseline of a task at that path, and the policy of the options.

    Raises:
        InputError: either cannot be used.
    """
    snapshot = read_baseline(baseline, kinds, task)
    check_task(snapshot, task)
    return Reference(
        snapshot,
        read_policy(options.gates, options.changed),
        options,
        read_card(options.judge_card) if options.judge_card else None,
    )


def announce(
    verdict: ReleaseVerdict | None,
    options: ReleaseOptions,
    brief: Callable[[], str],
    refused: GigamindError | None = None,
    language: Language = "en",
    *,
    bounds: GateResult | None = None,
    status: str = "complete",
) -> None:
    """Write JUnit XML and the comment where asked, and append to the CI job's summary where CI gives a place for it.

    Args:
        verdict: None for a run that was compared with nothing.
        brief: makes what the comment and the summary say.
        refused: why the run is no result all the same.
        language: of the JUnit XML.
        bounds: what holds a run that was compared with nothing.
        status: of the run, which may have been interrupted.

    Raises:
        InputError: a file cannot be written.
    """
    cases = _cases(verdict.release, words(language)) if verdict else []
    if bounds:
        cases += _rule_cases(bounds, words(language))
    if refused and not isinstance(refused, BrokenBoundError):  # which the bounds say
        name, why = heading_in(language, "evaluation"), message_in(language, str(refused))
        cases.append(JunitCase(name, "error", why))
    if options.junit:
        if not cases:  # what nothing holds has ended all the same, and a job that looks for the file must find it
            name = heading_in(language, "evaluation")
            cases.append(
                JunitCase(name, "passed", heading_in(language, "measured; no gate holds the run"))
                if status == "complete"
                else JunitCase(name, "error", heading_in(language, "the run was interrupted"))
            )
        suite = heading_in(language, "gigamind release gate")
        _write(options.junit, junit_xml(suite, cases), mode="w")
    if options.comment:
        _write(options.comment, brief(), mode="w")
    if place := os.environ.get(_CI_SUMMARY):
        _write(Path(place), f"{brief()}\n", mode="a")


@contextmanager
def announcing_failure(options: EvalOptions) -> Generator[None]:
    """The same of an evaluation that ends inside with an error, which goes on."""
    try:
        yield
    except GigamindError as error:
        summary = partial(failed_brief, error, options.task, words(options.language))
        announce(None, options, summary, error, options.language)
        raise


def _write(path: Path, text: str, mode: Literal["w", "a"]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise InputError(f"{path}: cannot be written ({error.strerror})") from error


_OUTCOMES: dict[Status, Literal["passed", "failed", "skipped", "error"]] = {
    "not-comparable": "error",
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "warned": "skipped",  # a green test would hide that it is worse; the message says so
    "inconclusive": "skipped",  # JUnit has no word for it; the message says what is missing
}


def _cases(release: Release, say: Words) -> list[JunitCase]:
    comparison, gate = release
    if gate.is_refused:
        name = heading_in(say.language, "comparable with the baseline")
        return [JunitCase(name, "error", " ".join(reason_texts(gate, comparison, say)))]
    return _rule_cases(gate, say)


def _rule_cases(gate: GateResult, say: Words) -> list[JunitCase]:
    return [JunitCase(rule.metric, _OUTCOMES[rule.status], rule.told(say)) for rule in gate.rules]
