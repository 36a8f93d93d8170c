"""The names of Completed states of a comparison."""

from types import SimpleNamespace as Some
from typing import Any

import pytest

from gigamind.publish.ends import completed_name


@pytest.mark.parametrize(
    ("verdict", "better", "remarks", "informs", "waived", "name"),
    [
        ("passed", [None, True], (), False, False, ""),
        ("warned", [None], ("at_worst",), False, False, "Warned"),
        ("warned", [None], ("at_worst",), True, False, ""),
        ("warned", [None], ("soft",), False, False, "RegressedSoft"),
        ("warned", [False], (), False, False, "RegressedSoft"),
        ("warned", [False], ("at_worst",), True, False, "RegressedSoft"),
        ("passed", [False], (), False, False, "RegressedSoft"),
        ("inconclusive", [None], (), False, False, "Inconclusive"),
        ("failed", [False], (), False, True, "Waived"),
    ],
)
def test_only_what_got_worse_is_named_a_regression(
    verdict: str,
    better: list[Any],
    remarks: tuple[str, ...],
    name: str,
    *,
    informs: bool,
    waived: bool,
):
    why = "worst" if "at_worst" in remarks else "drop"
    rules = [Some(status=verdict, remarks=remarks, why=why, metric="search.mrr")]
    release: Any = Some(
        waiver=object() if waived else None,
        informational=informs,
        gate=Some(verdict=verdict, rules=rules, failed=rules if verdict == "failed" else []),
        comparison=Some(metrics=[Some(is_better=one, metric="search.x") for one in better]),
    )
    assert completed_name(release) == name
