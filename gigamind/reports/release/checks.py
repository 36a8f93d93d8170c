"""What a comparison must know of the checklist quality gate beside an evaluation (seed 004, "2-1").

Its checks are compared only where the same checklist, asked of the same model, gave both; else no figure of theirs is,
and the rest of the comparison goes on.
"""

from collections.abc import Sequence
from typing import Literal

from gigamind.reports.quality_schema import QualityReport
from gigamind.reports.release.model import Part
from gigamind.reports.release.task import Values

BLOCK = "quality"
PASS_RATE = f"{BLOCK}.pass_rate"
Checks = Literal["none", "compared", "not-compared"]
"""Of two runs: neither has checks; both have those of one checklist; or anything else."""


class SnapshotCheck(Part):
    """The check of one item.

    Attributes:
        yes: whether it fulfils each item of the checklist, by its id.
    """

    passed: bool
    yes: dict[str, bool]


def checks_of(marks: tuple[str, str]) -> Checks:
    """By the fingerprints of the checklists of two runs; "" for a run without checks."""
    if not any(marks):
        return "none"
    return "compared" if marks[0] == marks[1] else "not-compared"


def why_not_compared(marks: tuple[str, str]) -> str:
    """One sentence or two, for people."""
    baseline, current = marks
    if not baseline:
        return (
            "The baseline holds no checks by a checklist (none were made, or an older version took the snapshot), so"
            " those of the current run are compared with nothing. For them a new baseline is needed."
        )
    if not current:
        return (
            "The baseline holds checks by a checklist and the current run holds none: evaluations are compared, checks"
            " are not. Run it again with --checklist."
        )
    return (
        "The checks were made by different checklists or models: evaluations are compared, checks are not. For them a"
        " new baseline is needed."
    )


def check_of(quality: QualityReport | None) -> SnapshotCheck | None:
    """What a snapshot keeps of a check."""
    if quality is None:
        return None
    return SnapshotCheck(passed=quality.passed, yes={item.id: item.yes for item in quality.items})


def check_values(pairs: Sequence[tuple[SnapshotCheck | None, SnapshotCheck | None]]) -> Values:
    """The pass rate and each item's rate, over what was checked in both runs."""
    both = [(a, b) for a, b in pairs if a is not None and b is not None]
    if not both:
        return {}
    found: Values = {PASS_RATE: [(float(a.passed), float(b.passed)) for a, b in both]}
    for name in dict.fromkeys(name for _, current in both for name in current.yes):
        found[f"{BLOCK}.{name}"] = [
            (float(a.yes[name]), float(b.yes[name])) for a, b in both if name in a.yes
        ]
    return found


def check_change(before: SnapshotCheck | None, after: SnapshotCheck | None) -> tuple[float, str]:
    """By how many items of the checklist, in [-1, 1], and which, in a few words; (0, "") where nothing can be said."""
    if before is None or after is None:
        return 0.0, ""
    lost = [name for name, yes in before.yes.items() if yes and not after.yes.get(name)]
    found = [name for name, yes in after.yes.items() if yes and not before.yes.get(name)]
    if not lost and not found:
        return 0.0, ""
    words = {True: "passed", False: "not passed"}
    verdict = (
        f" {words[before.passed]} -> {words[after.passed]}" if before.passed != after.passed else ""
    )
    parts = [f"no longer {', '.join(lost)}"] if lost else []
    parts += [f"now {', '.join(found)}"] if found else []
    gain = (len(found) - len(lost)) / len(after.yes)
    return gain, f"checklist{verdict}: {'; '.join(parts)}"
