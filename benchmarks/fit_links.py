"""Fits the weights of link suggestions on vaults with links, and prints `gigamind/linking/weights.toml`.

The seed that evaluations use (42) is never fitted on: give others.

    python benchmarks/fit_links.py VAULT [VAULT ...] [--seeds 1 2 3 4 5]
"""

import argparse
from pathlib import Path

from gigamind.linking.fit import Example, fit_weights, removed_link_examples
from gigamind.retrieval.embed import Embedder
from gigamind.retrieval.providers import load_embedder

EVALUATED = 42


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
