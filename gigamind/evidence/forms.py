"""A quote as it is compared at each level of normalising."""

import re
from dataclasses import dataclass

from gigamind.evidence.normalize import spaceless, unmarked, visible
from gigamind.evidence.source import NormalLevel

_MARK = r"""(?:["'\s]|\.{2,}+|\[\.{3}\])"""
_OUTER_MARKS = re.compile(rf"^{_MARK}+|(?<![\s.\"'\]]){_MARK}+$")


@dataclass(frozen=True, slots=True)
class Forms:
    """The normalised texts of one quote, without white space at their ends; any may be empty."""

    n1: str
    n2: str
    n3: str

    @classmethod
    def of(cls, quote: str) -> "Forms":
        """Normalise a quote at every level."""
        n1 = visible(quote)
        n2 = unmarked(quote, n1, is_quote=True)
        return cls(n1.text.strip(), n2.text.strip(), spaceless(n2).text)

    def at(self, level: NormalLevel) -> str:
        """The text at one level."""
        if level == "N1":
            return self.n1
        return self.n2 if level == "N2" else self.n3

    def bare(self) -> "Forms":
        """Without the quotation marks and ellipses around it, which a model likes to add."""
        return Forms(*(_OUTER_MARKS.sub("", text) for text in (self.n1, self.n2, self.n3)))
