"""Compare a run with a baseline and decide on the release; every output comes from one GateResult."""

import json
import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Literal

from gigamind.errors import BrokenBoundError, GigamindError, InputError, reason_of, text_of
from gigamind.evaluation.options import EvalOptions, ReleaseOptions
from gigamind.i18n import Language, Translator, _, translator
from gigamind.interop.junit import JunitCase, junit_xml
from gigamind.records.card import JudgeCard, read_card
from gigamind.release.compare import compare
from gigamind.release.comparison import Comparison
from gigamind.release.gates import judge_release
from gigamind.release.mismatch import check_models, check_task
from gigamind.release.model import EvalSnapshot
from gigamind.release.policy import GateResult, Policy, Status, read_policy
from gigamind.release.shortfall import judged_languages
from gigamind.release.snapshot import Kinds, read_baseline
from gigamind.release.waiver import Attempt, Waiver
from gigamind.reports.document import Document
from gigamind.reports.markdown import render_markdown
from gigamind.reports.run import failed_document
from gigamind.reports.verdict import Release, release_document, waiver_text

REGRESSION_EXIT_CODE = 4
_CI_SUMMARY = "GITHUB_STEP_SUMMARY"
COMPARE_FILE = "compare.md"
_VERDICT_FILE = "compare.json"


@dataclass(frozen=True, slots=True)
class ReleaseVerdict(Release):
    """A comparison and the verdict of the gates, with its files."""

    def files(self, language: Language, out: Path) -> dict[str, str]:
        text = json.dumps(self.dump(), ensure_ascii=False, indent=2, allow_nan=False)
        return {COMPARE_FILE: self.markdown(language, out), _VERDICT_FILE: text + "\n"}

    def dump(self) -> dict[str, Any]:
        dumped: dict[str, Any] = {
            "comparison": self.comparison.model_dump(mode="json"),
            "gate": self.gate.model_dump(mode="json"),
        }
        if self.waiver:
            dumped["waiver"] = self.waiver.model_dump(mode="json")
        if self.attempts:
            dumped["attempts"] = [attempt._asdict() for attempt in self.attempts]
        return dumped

    @classmethod
    def load(cls, dumped: Mapping[str, Any]) -> "ReleaseVerdict":
        return cls(
            Comparison.model_validate(dumped["comparison"]),
            GateResult.model_validate(dumped["gate"]),
            Waiver.model_validate(dumped["waiver"]) if "waiver" in dumped else None,
            tuple(Attempt(**attempt) for attempt in dumped.get("attempts", ())),
        )

    def markdown(self, language: Language, out: Path) -> str:
        return render_markdown(release_document(self, str(out)), translator(language))

    def exit_code(self, *, fail_on_regression: bool) -> int:
        """Return 4 for a regression and 1 if there is no verdict, when requested; otherwise 0, also if it is waived."""
        codes = {"failed": REGRESSION_EXIT_CODE, "not-comparable": InputError.exit_code}
        if self.waiver or not fail_on_regression:
            return 0
        return codes.get(self.gate.verdict, 0)


def read_verdict(out: Path) -> ReleaseVerdict | None:
    """Read the verdict in an output folder, or raise InputError; None without a baseline."""
    file = out / _VERDICT_FILE
    if not file.is_file():
        return None
    try:
        return ReleaseVerdict.load(json.loads(file.read_text("utf-8")))
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise InputError(
            _(
                "{file}: not written by this version of gigamind ({reason}). Evaluate the run again.",
                file=file,
                reason=reason_of(error) if isinstance(error, OSError) else text_of(error),
            )
        ) from error


@dataclass(frozen=True, slots=True)
class Reference:
    """The baseline and policy of a run, read before it starts so that a wrong path costs no time."""

    baseline: EvalSnapshot[Any, Any]
    policy: Policy
    options: ReleaseOptions
    card: JudgeCard | None = None

    def judge(self, current: EvalSnapshot[Any, Any]) -> ReleaseVerdict:
        """Compare a run with the baseline and apply the gates; InputError if tasks or embedding models differ."""
        check_models(self.baseline, current)
        return self.verdict(current)

    def verdict(self, current: EvalSnapshot[Any, Any]) -> ReleaseVerdict:
        """Do the same, but other embedding models give a "not-comparable" verdict."""
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
    """Read the baseline of a task at that path, and the policy of the options, or raise InputError."""
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
    page: Document,
    refused: GigamindError | None = None,
    language: Language = "en",
    *,
    bounds: GateResult | None = None,
    status: str = "complete",
) -> None:
    """Write JUnit XML and the comment if requested, and append to the CI job's summary if CI provides a file.

    Args:
        page: the page of the run; the comment and the job's summary show what comes before its sections.
        refused: why the run counts as failed.
        bounds: verdict of the bounds of a run without a baseline.
        status: of the run, which may have been interrupted.

    Raises:
        InputError: a file cannot be written.
    """
    say = translator(language)
    cases = _cases(verdict, translator(language)) if verdict else []
    if bounds:
        cases += _rule_cases(bounds, translator(language))
    if refused and not isinstance(refused, BrokenBoundError):  # reported by the bounds
        cases.append(JunitCase(say(_("evaluation")), "error", say(refused.message)))
    if options.junit:
        if not cases:  # a job that expects the file must find it even without gates
            cases.append(
                JunitCase(
                    say(_("evaluation")),
                    "passed",
                    say(_("the metrics were measured; no gate was applied to them")),
                )
                if status == "complete"
                else JunitCase(say(_("evaluation")), "error", say(_("the run was interrupted")))
            )
        _write(options.junit, junit_xml(say(_("gigamind release gate")), cases), mode="w")
    text = render_markdown(page.only("errors"), say, level=3, fold=True)
    if options.comment:
        _write(options.comment, text, mode="w")
    if place := os.environ.get(_CI_SUMMARY):
        _write(Path(place), f"{text}\n", mode="a")


@contextmanager
def announcing_failure(options: EvalOptions) -> Generator[None]:
    """Announce an evaluation that fails inside the block, and re-raise its error."""
    try:
        yield
    except GigamindError as error:
        page = failed_document(options.task, error.message, error.exit_code, "")
        announce(None, options, page, error, options.language)
        raise


def _write(path: Path, text: str, mode: Literal["w", "a"]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open(mode, encoding="utf-8", errors="backslashreplace") as file:
            file.write(text)
    except OSError as error:
        raise InputError(
            _("{file}: cannot be written ({reason})", file=path, reason=reason_of(error))
        ) from error


_OUTCOMES: dict[Status, Literal["passed", "failed", "skipped", "error"]] = {
    "not-comparable": "error",
    "passed": "passed",
    "failed": "failed",
    "skipped": "skipped",
    "warned": "skipped",  # "passed" would hide the regression, which the message reports
    "inconclusive": "skipped",  # JUnit has no such outcome; the message says what is missing
}


def _cases(release: Release, say: Translator) -> list[JunitCase]:
    gate = release.gate
    if gate.is_refused:
        name = translator(say.language)(_("comparable with the baseline"))
        return [JunitCase(name, "error", " ".join(map(say, gate.reasons)))]
    cases = _rule_cases(gate, say)
    if release.waiver is None:
        return cases
    why = say(waiver_text(release.waiver))
    return [
        replace(case, outcome="skipped", message=f"{why} {case.message}")
        if case.outcome == "failed"
        else case
        for case in cases
    ]


def _rule_cases(gate: GateResult, say: Translator) -> list[JunitCase]:
    return [
        JunitCase(rule.metric, _OUTCOMES[rule.status], say(rule.explanation)) for rule in gate.rules
    ]
