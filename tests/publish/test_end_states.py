"""The names of Completed states of a comparison."""

from types import SimpleNamespace as Some
from typing import Any

import pytest

from gigamind.publish.artifacts import completed_name


@pytest.mark.parametrize(
    ("verdict", "better", "remarks", "waived", "name"),
    [
        ("passed", [None, True], (), False, ""),
        ("warned", [None], ("at_worst",), False, "Warned"),
        ("warned", [None], ("soft",), False, "RegressedSoft"),
        ("warned", [False], (), False, "RegressedSoft"),
        ("passed", [False], (), False, "RegressedSoft"),
        ("inconclusive", [None], (), False, "Inconclusive"),
        ("failed", [False], (), True, "Waived"),
    ],
)
def test_only_what_got_worse_is_named_a_regression(
    verdict: str, better: list[Any], remarks: tuple[str, ...], name: str, *, waived: bool
):
    rules = [Some(status=verdict, remarks=remarks)]
    release: Any = Some(
        waiver=object() if waived else None,
        gate=Some(verdict=verdict, rules=rules, failed=rules if verdict == "failed" else []),
        comparison=Some(metrics=[Some(is_better=one) for one in better]),
    )
    assert completed_name(release) == name
