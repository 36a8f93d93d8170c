"""Choices of thresholds and variants by labels: nothing is adopted without a signal, and a bias is found."""

from dataclasses import replace

import numpy as np

from gigamind.stats.intervals import numbered
from gigamind.stats.tuning import LabelledItems

KO, EN = 1, 0


def gain_of(items, tuned):
    return items.cross_validate(lambda _train: (None, tuned), seed=0)


CURRENT = {EN: 0.5, KO: 0.5}
DRAWS = 100


def drawn(seed, *, answers=60, claims=2, best=CURRENT, noise=0.15, current=CURRENT):
    """Claims of answers; a claim is true if its score reaches `best` of its language, up to noise."""
    rng = np.random.default_rng(seed)
    clusters = np.repeat(np.arange(answers), claims)
    groups = (clusters % 2).astype(np.intp)
    scores = rng.random(clusters.size)
    truth = scores + rng.normal(0, noise, clusters.size) >= np.array([best[EN], best[KO]])[groups]
    items = LabelledItems(
        truth=truth,
        verdicts=scores >= np.array([current[EN], current[KO]])[groups],
        weights=np.ones(clusters.size),
        clusters=numbered(clusters, clusters.size),
        folds=(clusters % 10 // 2).astype(np.intp),
    )
    assert set(items.folds) == set(range(LabelledItems.FOLDS))
    return items, scores, groups


def shuffled(items, seed):
    return replace(items, truth=np.random.default_rng(seed).permutation(items.truth))


def test_labels_without_signal_keep_the_thresholds():
    kept = 0
    for seed in range(DRAWS):
        items, scores, groups = drawn(seed)
        items = shuffled(items, seed + DRAWS)
        gain = items.cross_validate(items.pick_thresholds(scores, groups, CURRENT), seed=seed)
        kept += not gain.is_significant
    assert kept >= 0.95 * DRAWS


def test_labels_without_signal_keep_the_prompt():
    kept = 0
    for seed in range(DRAWS):
        items, _scores, _groups = drawn(seed)
        items = shuffled(items, seed + DRAWS)
        rng = np.random.default_rng(seed)
        columns = (rng.random((items.truth.size, 7)) < 0.5).astype(float)
        for fold in range(LabelledItems.FOLDS):  # learned from
            columns[items.folds == fold, 2 + fold] = np.nan
        kept += not items.cross_validate(items.pick_variant(columns), seed=seed).is_significant
    assert kept >= 0.95 * DRAWS


def test_a_threshold_too_high_in_korean_is_found_and_the_gain_is_in_its_interval():
    found = covered = 0
    draws = 40
    current = {EN: 0.5, KO: 0.9}
    world = drawn(10_000, answers=20_000, current=current)[0]
    fixed = drawn(10_000, answers=20_000)[0].verdicts
    true_gain = gain_of(world, fixed).value
    for seed in range(draws):
        items, scores, groups = drawn(seed, answers=120, current=current)
        pick = items.pick_thresholds(scores, groups, current)
        gain = items.cross_validate(pick, seed=seed)
        found += gain.is_significant
        covered += gain.interval.low <= true_gain <= gain.interval.high
        chosen = pick(np.ones(items.truth.size, dtype=bool))[0]
        assert abs(chosen[KO] - 0.5) < 0.25
    assert true_gain > 0.05
    assert found >= 0.9 * draws
    assert covered >= 0.8 * draws  # 90 %, less what 40 draws may miss


def test_a_better_variant_is_found_and_one_that_learned_from_a_fold_is_not_measured_there():
    items, _scores, _groups = drawn(1)
    right = items.truth.astype(float)
    learned = np.where(items.folds == 0, np.nan, right)
    poor = replace(items, verdicts=~items.truth)
    pick = poor.pick_variant(np.column_stack([1 - right, learned]))
    assert pick(poor.folds != 1)[0] == 1
    assert pick(poor.folds != 0)[0] is None
    assert pick(np.ones(right.size, dtype=bool))[0] == 1
    gain = poor.cross_validate(pick, seed=0)
    assert gain.is_significant
    assert gain.before == 0.0


def test_weights_count_in_the_choice_and_the_gain():
    items, _scores, groups = drawn(3)
    heavy = replace(items, weights=np.where(groups == KO, 9.0, 1.0))
    flipped = replace(heavy, verdicts=np.where(groups == KO, ~items.truth, items.truth))
    gain = gain_of(flipped, items.truth)
    assert gain.before < 0.2
    assert gain.after == 1.0


def test_few_changed_answers_are_never_enough():
    items, _scores, _groups = drawn(4)
    almost = items.truth.copy()
    almost[:8:2] ^= True  # of four answers
    gain = gain_of(replace(items, verdicts=almost), items.truth)
    assert (gain.changed, gain.is_significant) == (4, False)
