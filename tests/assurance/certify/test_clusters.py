"""Claims of one answer do not tell as much as claims of several."""

import pytest
from certified import answers_with_claims, card_of, claims_of


def test_intervals_of_claims_are_those_of_their_answers(run_folder):
    """Three alike claims an answer: every interval is as if each answer were one claim."""
    scales = []
    for copies in (1, 3):
        runs = [run_folder(f"{n} {copies}", task="answers", items=items) for n, items in (
            ("one", answers_with_claims(copies)),
            ("two", [*answers_with_claims(copies)[:5], claims_of("q", ["unverified"] * copies, [])]),
        )]  # fmt: skip
        (scale,) = card_of(*runs).scales
        scales.append(scale)
    alone, alike = scales
    assert (alone.overall.items, alone.overall.clusters) == (4, None)
    assert (alike.overall.items, alike.overall.clusters) == (12, 4)
    for name, figure in alone.overall.figures.items():
        found = alike.overall.figures[name]
        assert (found.low, found.high) == (figure.low, figure.high)
        assert (figure.clusters, found.clusters) == (None, figure.n)
    ends = pytest.approx((alone.flips.low, alone.flips.high))
    assert (alike.flips.low, alike.flips.high) == ends
    assert (alike.flips.n, alike.flips.clusters, alone.flips.clusters) == (18, 6, None)
    ends = pytest.approx((alone.headline.labelled.low, alone.headline.labelled.high))
    assert (alike.headline.labelled.low, alike.headline.labelled.high) == ends
    assert (alike.headline.items, alike.headline.clusters) == (18, 6)
    assert (alike.headline.corrected.n, alike.headline.corrected.clusters) == (12, 4)


def test_an_answer_with_a_claim_that_nobody_labelled_is_one_cluster(run_folder):
    two = ["supported", "unverified"]
    items = [
        claims_of("x", two, [two[0], None]), claims_of("y", two, [None, two[0]]),
        claims_of("z", two, two), claims_of("w", two, []),
    ]  # fmt: skip
    (scale,) = card_of(run_folder(items=items, task="answers")).scales
    assert (scale.overall.items, scale.overall.clusters) == (4, 3)
    assert (scale.headline.labelled.n, scale.headline.labelled.clusters) == (4, 3)
    assert (scale.headline.items, scale.headline.clusters) == (8, 4)


def test_items_that_stand_alone_have_no_clusters(run_folder, labels_file):
    rows = [{"id": name, "unanswerable": name[0] == "u"} for name in ("u0", "u1", "a0", "a1")]
    folders = run_folder("one"), run_folder("two")
    (scale,) = card_of(*folders, labels=labels_file(rows)).scales
    shown = [scale.overall, *scale.overall.figures.values(), scale.flips, scale.headline]
    shown += [b.right for b in scale.overall.bins]
    shown += [scale.headline.labelled, scale.headline.corrected]
    assert {one.clusters for one in shown} == {None}
