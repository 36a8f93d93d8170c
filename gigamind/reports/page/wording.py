"""The words of report.html and of the figures, from translations/<language>.toml."""

import functools
import tomllib
from dataclasses import dataclass
from importlib import resources
from typing import Literal

Language = Literal["en", "ko"]


@dataclass(frozen=True, slots=True)
class Words:
    """Phrases of one language by table and key."""

    language: Language
    tables: dict[str, dict[str, str]]

    def __call__(self, name: str, **values: object) -> str:
        """The phrase "table.key" with its placeholders filled.

        Raises:
            KeyError: no such phrase, or a placeholder without its value.
        """
        table, _, key = name.partition(".")
        return self.tables[table][key].format(**values)

    def knows(self, name: str) -> bool:
        """Whether there is a phrase "table.key"."""
        table, _, key = name.partition(".")
        return key in self.tables.get(table, {})

    def script(self, *tables: str) -> dict[str, str]:
        """The phrases of a list of items: its own, and those of the tables, which go before them."""
        return {
            key: phrase for name in ("script", *tables) for key, phrase in self.tables[name].items()
        }

    def metric(self, name: str) -> str:
        """A metric's name for people: `ndcg_at_10` is "nDCG@10", `latency_p95_ms` is "latency p95"."""
        base, _, k = name.removesuffix("_ms").partition("_at_")
        return self.tables["metric"][base] + (f"@{k}" if k else "")


@functools.cache
def words(language: Language) -> Words:
    """The phrases of one language."""
    file = resources.files("gigamind.reports.page") / "translations" / f"{language}.toml"
    return Words(language, tomllib.loads(file.read_text(encoding="utf-8")))
