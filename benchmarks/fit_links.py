"""Fit the weights of link suggestions on vaults with links and print `gigamind/linking/weights.toml`.

Links are removed from a copy of each vault.  A link that is suggested again is a hit, every other candidate in the
same notes a miss.  People would accept some misses, so confidences are low.  Each vault has the same weight, whatever
its number of links.  Evaluations use seed 42: fit on other seeds.

    python benchmarks/fit_links.py VAULT [VAULT ...] [--seeds 1 2 3]
"""

import argparse
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import optimize

from gigamind.datasets.generate_links import generate_links
from gigamind.errors import InputError
from gigamind.linking.candidates import CandidateFinder
from gigamind.linking.features import Features, MeantFeatures, NamedFeatures
from gigamind.linking.habits import _Shipped, _term_names, _terms, _Weights
from gigamind.linking.suggest import SuggestOptions
from gigamind.retrieval.embed import Embedder
from gigamind.retrieval.embedders import load_short_embedder
from gigamind.retrieval.settings import DEFAULT_EMBEDDER
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

EVALUATED = 42
_RIDGE = 1.0  # a unit-variance term with weight 1 costs as much as half an example of one nat
_ROUNDS = 4  # in which each target's likeliest place is found anew

_optimize = cast("Any", optimize)  # ships no types

_Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """Hold one candidate, and whether a link to its target was removed from the note.

    Attributes:
        pair: note and target: of the places that mean one target only the likeliest is suggested.
    """

    features: Features
    is_link: bool
    pair: tuple[str, str]


def removed_link_examples(
    notes: Path,
    seeds: Iterable[int],
    *,
    remove_ratio: float = 0.3,
    embedder: Embedder | None = None,
    cache: Path | None = None,
) -> list[Example]:
    """Return candidates in the notes of a vault with removed links, per seed; the vault is only read.

    Raises:
        InputError: the vault has no link to remove.
        NotesError: it cannot be read.
    """
    examples: list[Example] = []
    for seed in seeds:
        with tempfile.TemporaryDirectory() as folder:
            copy = Path(folder) / "notes"
            made = generate_links(
                notes, copy, Path(folder) / "links.jsonl", remove_ratio=remove_ratio, seed=seed
            )
            vault = Vault.read(copy)
        expected: defaultdict[str, set[str]] = defaultdict(set)
        for row in made.rows:
            expected[row.source_note].update(row.expected_links)
        finder = CandidateFinder(vault, Identities(vault.notes), embedder, cache)
        losing = [note for note in vault.notes if note.path in expected]
        finder.prepare(losing)
        examples += [
            Example(
                one.features, one.target in expected[note.path], (f"{seed} {note.path}", one.target)
            )
            for note in losing
            for place in finder.places(note, SuggestOptions().context_chars)
            for one in place
        ]
    return examples


def fit_weights(vaults: Sequence[Sequence[Example]], kind: type[Features]) -> _Shipped:
    """Return the non-negative weights with the highest likelihood of the examples of one kind, with a small ridge.

    Raises:
        InputError: there are no hits, or no misses.
    """
    own = [[one for one in vault if isinstance(one.features, kind)] for vault in vaults]
    hits = {one.is_link for vault in own for one in vault}
    if hits != {True, False}:
        raise InputError("the removed links give no hits or no misses, so no weights can be fitted")
    names = _term_names(kind)
    fitted: _Shipped | None = None
    for _ in range(_ROUNDS):
        chosen = [_likeliest(vault, fitted) for vault in own if vault]
        fitted = _fitted(chosen, names)
    assert fitted is not None
    return fitted


def _likeliest(vault: Sequence[Example], weights: _Weights | None) -> list[Example]:
    """Choose one example per pair; at first, use all of them."""
    if weights is None:
        return list(vault)
    best: dict[tuple[str, str], tuple[float, Example]] = {}
    for one in vault:
        score = weights.score(one.features)
        if one.pair not in best or score > best[one.pair][0]:
            best[one.pair] = (score, one)
    return [one for _, one in best.values()]


def _fitted(vaults: Sequence[Sequence[Example]], names: Sequence[str]) -> _Shipped:
    examples = [one for vault in vaults for one in vault]
    rows = [_terms(one.features) for one in examples]
    table = np.array([[row[name] for name in names] for row in rows])
    hits = np.array([one.is_link for one in examples], dtype=np.float64)
    shares = np.concatenate([np.full(len(v), len(examples) / len(vaults) / len(v)) for v in vaults])
    bias, *found = (round(float(weight), 3) for weight in _maximised(table, hits, shares))
    spreads = (round(float(spread), 3) for spread in table.std(axis=0))
    return _Shipped(
        bias=bias,
        weights=dict(zip(names, found, strict=True)),
        spreads=dict(zip(names, spreads, strict=True)),
    )


def _maximised(table: _Matrix, hits: _Matrix, shares: _Matrix) -> _Matrix:
    """Return the bias, then one weight per column."""
    spread = table.std(axis=0) ** 2
    columns = np.column_stack([np.ones(len(table)), table])
    ridge = _RIDGE * np.concatenate([[0.0], spread])

    def loss(weights: _Matrix) -> tuple[float, _Matrix]:
        scores = columns @ weights
        losses = np.logaddexp(0, scores) - hits * scores
        slope = columns.T @ (shares * (1 / (1 + np.exp(-scores)) - hits))
        value = float(shares @ losses + ridge @ weights**2 / 2)
        return value, slope + ridge * weights

    bounds = [(None, None), *[(0, None)] * table.shape[1]]
    start = np.zeros(columns.shape[1])
    optimum = _optimize.minimize(loss, start, jac=True, bounds=bounds, method="L-BFGS-B")
    return np.asarray(optimum.x, dtype=np.float64)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("vaults", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])
    parser.add_argument("--cache", type=Path, default=Path("embeddings.sqlite"))
    options = parser.parse_args()
    if EVALUATED in options.seeds:
        parser.error(
            f"--seeds {EVALUATED}: is the seed of evaluations; weights must not be fitted on it"
        )
    embedder = load_short_embedder(DEFAULT_EMBEDDER)
    found = [
        removed_link_examples(one, options.seeds, embedder=embedder, cache=options.cache)
        for one in options.vaults
    ]
    names = ", ".join(vault.name for vault in options.vaults)
    print(f'fitted_on = "{names}; seeds {" ".join(map(str, options.seeds))}; 30 % of the links"')
    for section, kind in (("names", NamedFeatures), ("phrases", MeantFeatures)):
        fitted = fit_weights(found, kind)
        print(f"\n[{section}]\nbias = {fitted.bias}")
        for part, values in (("weights", fitted.weights), ("spreads", fitted.spreads)):
            print(f"\n[{section}.{part}]")
            for name, value in values.items():
                print(f"{name} = {value}")


if __name__ == "__main__":
    main()
