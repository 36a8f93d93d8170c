"""Link runs in comparisons and gates."""

import pytest
from message_values import values_of
from snapshots import links, snapshot

from gigamind.errors import InputError
from gigamind.release.compare import compare
from gigamind.release.gates import judge_release
from gigamind.release.policy import Policy, Release
from gigamind.reports.comparison import release_document
from gigamind.reports.document import Examples, Proportion, Verdict


def test_figures_of_links_are_sums_over_notes_divided():
    before = links({"a.md": (2, 2, 2), "b.md": (1, 4, 2), "c.md": (0, 0, 1)})
    after = links({"a.md": (1, 3, 2), "b.md": (2, 4, 2), "c.md": (0, 0, 1)})
    found = compare(before, after)
    precision, recall = found.metric("links.precision_at_5"), found.metric("links.recall_at_5")
    assert (precision.baseline, precision.current) == pytest.approx((3 / 6, 3 / 7))
    assert (recall.baseline, recall.current) == pytest.approx((3 / 5, 3 / 5))
    assert (precision.n, recall.n) == (2, 3)  # nothing was suggested in c
    assert (precision.improved, precision.worse) == (1, 1)
    assert precision.low <= precision.difference <= precision.high


def test_a_ceiling_is_no_metric_of_a_comparison():
    run = links({"a.md": (1, 1, 1)})
    names = {change.metric for change in compare(run, run).metrics}
    assert names == {"links.precision_at_5", "links.recall_at_5"}


def test_links_that_are_lost_stand_before_suggestions_that_are_wrong():
    before = links({"a.md": (1, 1, 2), "b.md": (2, 2, 2), "c.md": (0, 3, 1), "d.md": (1, 1, 1)})
    after = links({"a.md": (1, 2, 2), "b.md": (1, 1, 2), "c.md": (1, 3, 1), "d.md": (1, 1, 1)})
    found = compare(before, after)
    assert [(one.text, one.change, values_of(one.what)) for one in found.changes] == [
        ("b.md", "worse", ["t1.md"]),
        ("a.md", "worse", [0, 1]),
        ("c.md", "improved", ["t0.md", 3, 2]),
    ]
    assert found.unchanged == 1
    assert found.speed == ()


def test_a_search_run_cannot_be_compared_with_a_links_run():
    with pytest.raises(InputError, match=r"20260101-000000.*search.*links"):
        compare(snapshot({"a": 1}), links({"a.md": (1, 1, 1)}))


def test_another_floor_of_the_confidence_is_named():
    found = compare(links({"a.md": (1, 1, 1)}), links({"a.md": (1, 1, 1)}, floor=0.5))
    assert [(one.what, one.severity) for one in found.mismatches] == [
        ("suggesting settings", "no-verdict")
    ]
    assert "min_confidence 0.0 → 0.5" in found.mismatches[0].meaning


@pytest.mark.parametrize(
    ("phase", "lost", "expected"),
    [
        ("mvp", 3, "passed"),  # 3 of 100 links are 0.03, what is allowed of a small sample
        ("mvp", 4, "warned"),
        ("beta", 3, "passed"),
        ("beta", 4, "failed"),
        ("ga", 4, "failed"),
    ],
)
def test_links_only_warn_in_mvp_and_stop_a_release_afterwards(phase, lost, expected):
    before = links({f"n{i}.md": (1, 1, 1) for i in range(100)})
    after = links({f"n{i}.md": (int(i >= lost), 1, 1) for i in range(100)})
    gate = judge_release(compare(before, after), Policy.read(None), phase)
    assert gate.verdict == expected
    assert {rule.metric for rule in gate.rules} == {
        "links.precision_at_5",
        "links.recall_at_5",
        "coverage",
    }


@pytest.mark.parametrize(("phase", "expected"), [("mvp", "warned"), ("beta", "failed")])
def test_a_note_that_could_not_be_evaluated_any_more_counts_as_links_do(phase, expected):
    comparison = compare(links({"a.md": (1, 1, 1), "b.md": (1, 1, 1)}), links({"a.md": (1, 1, 1)}))
    gate = judge_release(comparison, Policy.read(None), phase)
    assert gate.verdict == expected
    values = gate.failed[0].values if gate.failed else gate.rules[-1].values
    assert (values["count"], values["total"], values["example"]) == ("1", "2", "b.md")


def test_the_page_shows_both_lists_of_suggestions():
    comparison = compare(links({"a.md": (2, 2, 2)}), links({"a.md": (1, 1, 2)}))
    gate = judge_release(comparison, Policy.read(None), "beta")
    document = release_document(Release(comparison=comparison, gate=gate))
    verdict, examples = (
        next(block for block in document.blocks if isinstance(block, kind))
        for kind in (Verdict, Examples)
    )
    assert verdict.state == "failed"
    (example,) = examples.items
    assert example.id == "a.md"
    assert example.expected == ("t0.md", "t1.md")
    assert values_of(example.what) == ["t1.md"]
    assert [
        [(line.text, line.value, line.mark) for line in side.lines] for side in example.sides
    ] == [
        [("1. t0.md", Proportion(0.9), "expected"), ("2. t1.md", Proportion(0.8), "expected")],
        [("1. t0.md", Proportion(0.9), "expected")],
    ]
