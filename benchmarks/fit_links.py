"""Fits the weights of link suggestions on vaults with links, and prints `gigamind/linking/weights.toml`.

Links are removed from a copy of each vault.  One that is suggested again is a hit, every other suggestion in the same
notes a miss.  People would accept some of the misses, so the confidence leans to the low side.  Every vault counts
alike, however many links it has.  The seed that evaluations use (42) is never fitted on: give others.

    python benchmarks/fit_links.py VAULT [VAULT ...] [--seeds 1 2 3 4 5]
"""

import argparse
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
from scipy import optimize

from gigamind.datasets.generate_links import generate_links
from gigamind.errors import InputError
from gigamind.linking.candidates import Candidate, CandidateFinder
from gigamind.linking.confidence import Features, Weights, terms, with_cosine
from gigamind.linking.relatedness import Relatedness
from gigamind.retrieval.embed import Embedder
from gigamind.retrieval.embedders import load_embedder
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, read_vault

EVALUATED = 42
_SHOWN = 20  # suggestions a note
_RIDGE = 1.0  # a unit-variance term with weight 1 costs as much as half an example of one nat

_optimize = cast("Any", optimize)  # ships no types

_Matrix = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class Example:
    """One suggestion, and whether a link to its target was removed from the note."""

    features: Features
    is_link: bool


def removed_link_examples(
    notes: Path,
    seeds: Iterable[int],
    *,
    remove_ratio: float = 0.3,
    embedder: Embedder | None = None,
    cache: Path | None = None,
) -> list[Example]:
    """Suggestions in the notes of a vault that lost links, once for each seed; the vault is only read.

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
            vault = read_vault(copy)
        expected: dict[str, set[str]] = {}
        for row in made.rows:
            expected.setdefault(row.source_note, set()).update(row.expected_links)
        finder = CandidateFinder(vault, Identities(vault.notes))
        related = Relatedness(vault, embedder, cache) if embedder is not None else None
        for note in vault.notes:
            if note.path in expected:
                best = _compared(note, _likeliest(finder.places(note)), related)
                examples += [
                    Example(candidate.features, candidate.target in expected[note.path])
                    for candidate in best
                ]
    return examples


def fit_weights(vaults: Sequence[Sequence[Example]]) -> Weights:
    """The weights, none negative, under which the examples are most likely, with a small ridge.

    Raises:
        InputError: there are no hits, or no misses.
    """
    examples = [example for vault in vaults for example in vault]
    hits = np.array([example.is_link for example in examples], dtype=np.float64)
    if not 0 < hits.sum() < len(hits):
        raise InputError("the removed links give no hits or no misses, so no weights can be fitted")
    rows = [terms(example.features) for example in examples]
    names = list(rows[0])
    table = np.array([[row[name] for name in names] for row in rows])
    shares = [
        np.full(len(vault), len(examples) / len(vaults) / len(vault)) for vault in vaults if vault
    ]
    weights = _maximised(table, hits, np.concatenate(shares))
    return Weights.model_validate(_named(names, weights))


def _maximised(table: _Matrix, hits: _Matrix, shares: _Matrix) -> _Matrix:
    """The bias, then one weight a column."""
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


def _named(names: Sequence[str], weights: _Matrix) -> Mapping[str, float]:
    values = [round(float(weight), 3) for weight in weights]
    return dict(zip(["bias", *names], values, strict=True))


def _likeliest(places: Iterable[Iterable[Candidate]]) -> list[Candidate]:
    """One candidate a target, by link probability times commonness: what needs no weights."""
    likeliest: dict[str, Candidate] = {}
    for candidate in sorted(
        (candidate for place in places for candidate in place), key=_plain_order
    ):
        likeliest.setdefault(candidate.target, candidate)
    return list(likeliest.values())[:_SHOWN]


def _plain_order(candidate: Candidate) -> tuple[float, bool, int]:
    product = candidate.features.link_probability * candidate.features.commonness
    return -product, not candidate.features.spelled_as_name, candidate.span.start


def _compared(
    note: Note, candidates: Sequence[Candidate], related: Relatedness | None
) -> list[Candidate]:
    if related is None:
        return list(candidates)
    cosines = related.cosines(
        note, [(candidate.span, candidate.target) for candidate in candidates]
    )
    return [
        Candidate(candidate.span, candidate.target, with_cosine(candidate.features, cosine))
        for candidate, cosine in zip(candidates, cosines, strict=True)
    ]


def examples(
    vaults: list[Path], seeds: list[int], embedder: Embedder | None, cache: Path
) -> list[list[Example]]:
    return [removed_link_examples(one, seeds, embedder=embedder, cache=cache) for one in vaults]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("vaults", type=Path, nargs="+")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--cache", type=Path, default=Path("embeddings.sqlite"))
    options = parser.parse_args()
    if EVALUATED in options.seeds:
        parser.error(
            f"--seeds {EVALUATED}: is the seed of evaluations; weights must not be fitted on it"
        )
    names = ", ".join(vault.name for vault in options.vaults)
    seeds = " ".join(map(str, options.seeds))
    print(f'fitted_on = "{names}; seeds {seeds}; 30 % of the links removed"')
    for section, embedder in (("plain", None), ("with_cosine", load_embedder("use-multilingual"))):
        found = examples(options.vaults, options.seeds, embedder, options.cache)
        print(f"\n[{section}]")
        for name, value in fit_weights(found).model_dump(exclude_none=True).items():
            print(f"{name} = {value}")


if __name__ == "__main__":
    main()
