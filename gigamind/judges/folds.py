"""Splits rows for cross-validation so that no two folds share a note or a query."""

import hashlib
from collections.abc import Collection, Sequence


def grouped_folds(
    keys: Sequence[Collection[str]], stratum: Sequence[bool], folds: int
) -> list[int]:
    """The fold of each row, in [0, folds); rows that share a key, even through others, share a fold.

    Groups go one by one, those with a row of `stratum` first, into the fold that holds the fewest rows: sizes and
    shares come out alike.  The same rows always give the same folds.
    """
    groups = _groups(keys)
    members: dict[int, list[int]] = {}
    for row, group in enumerate(groups):
        members.setdefault(group, []).append(row)

    def place(group: int) -> tuple[bool, str]:
        least = min((key for row in members[group] for key in keys[row]), default=str(group))
        has_none = not any(stratum[row] for row in members[group])
        return has_none, hashlib.sha256(least.encode()).hexdigest()

    sizes = [0] * folds
    fold_of = [0] * len(keys)
    for group in sorted(members, key=place):
        fold = sizes.index(min(sizes))
        sizes[fold] += len(members[group])
        for row in members[group]:
            fold_of[row] = fold
    return fold_of


def count_groups(keys: Sequence[Collection[str]]) -> int:
    """How many folds could be made at most."""
    return len(set(_groups(keys)))


def _groups(keys: Sequence[Collection[str]]) -> list[int]:
    """The first row of each row's group: union-find over the keys."""
    parent = list(range(len(keys)))

    def root(row: int) -> int:
        while parent[row] != row:
            parent[row] = parent[parent[row]]
            row = parent[row]
        return row

    first: dict[str, int] = {}
    for row, own in enumerate(keys):
        for key in own:
            low, high = sorted((root(first.setdefault(key, row)), root(row)))
            parent[high] = low
    return [root(row) for row in range(len(keys))]
