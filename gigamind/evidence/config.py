"""The settings of the aligner, all lengths in code points."""

from dataclasses import dataclass
from itertools import pairwise

from gigamind.errors import InputError

LEAST_FUZZY = 0.80  # below, foreign passages pass
_LEAST_SEARCH = 0.5  # below, more than half of the quote may be missing


@dataclass(frozen=True, slots=True)
class AlignConfig:
    """What counts as found.

    Attributes:
        fuzzy_threshold: similarity from which a fuzzy match is accepted, in [0.80, 1.0].
        search_threshold: similarity from which a refused match is still reported as a near miss, in
            [0.5, `fuzzy_threshold`].
        fuzzy: whether anything but an exact or normalised match may be accepted.
        max_quote_chars: a longer quote is refused.
        max_source_chars: a longer source raises an error.
        min_spaceless_chars: shortest quote, spaces off, that may match without regard to spaces.
        min_fuzzy_chars: shortest normalised quote that may match fuzzily: shorter foreign quotes reach 0.85 by chance
            (of 6-12 characters in 8-24 % of cases).
        min_promotable_chars: shortest normalised quote whose fuzzy match proves anything (of 30-40 in 1-3 %).
    """

    fuzzy_threshold: float = 0.85
    search_threshold: float = 0.75
    fuzzy: bool = True
    max_quote_chars: int = 500
    max_source_chars: int = 10_000_000
    min_spaceless_chars: int = 8
    min_fuzzy_chars: int = 16
    min_promotable_chars: int = 30

    def __post_init__(self) -> None:
        thresholds = (_LEAST_SEARCH, self.search_threshold, self.fuzzy_threshold, 1.0)
        rising = all(low <= high for low, high in pairwise(thresholds))
        if not rising or self.fuzzy_threshold < LEAST_FUZZY:
            raise InputError(
                f"thresholds must hold 0.5 <= search {self.search_threshold} <= fuzzy {self.fuzzy_threshold} <= 1.0 "
                "and fuzzy >= 0.80"
            )
        for name in self.__slots__:
            value = getattr(self, name)
            if isinstance(value, int) and not isinstance(value, bool) and value < 1:
                raise InputError(f"{name} must be 1 or more, not {value}")


DEFAULT = AlignConfig()
