"""Words of a report that all tasks share, and texts of others inside our Markdown, shown as they are.

Such a text breaks no line, table, list or fence.
"""

import functools
import re
from collections import Counter
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined

from gigamind.messages import message_in
from gigamind.records.judged import JudgeReport, LlmReport
from gigamind.records.schema import RunReport
from gigamind.retrieval.settings import IN_BATCHES
from gigamind.wording import Language, Words, between, share

_MEANING = re.compile(r"([\\`*_\[\]<>|#~&$])")
_BLOCK_MARK = re.compile(r"^(\d*)([.)]|[-+=]+)(?=\s|$)")  # 1. or - or --- in front

# Browsers and terminals obey them; white space is none of them.
_OBEYED = re.compile(
    "[\x00-\x08\x0b\x0e-\x1b\x7f-\x84\x86-\x9f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]"
)


def inline(text: object) -> str:
    """On one line, every character that means something to Markdown or HTML escaped."""
    line = _MEANING.sub(r"\\\1", _one_line(text))
    return _BLOCK_MARK.sub(r"\1\\\2", line)


def code(text: object) -> str:
    """As a code span, on one line; backticks inside are kept by a longer fence.  Not for table cells."""
    line = _one_line(text)
    fence = "`" * (1 + max(map(len, re.findall("`+", line)), default=0))
    pad = " " if line.startswith("`") or line.endswith("`") else ""
    return f"{fence}{pad}{line}{pad}{fence}"


def fenced(text: object) -> str:
    """Line by line inside a fence of three backticks, which it must not close."""
    return _named(str(text).replace("```", "'''"))


def upright(value: object) -> object:
    """What a page shows of a value: see `_named`; markup and numbers as they are."""
    return _named(value) if type(value) is str else value


def _one_line(text: object) -> str:
    return _named(" ".join(str(text).split()))


def _named(text: str) -> str:
    """Control characters and direction overrides named, for they would turn round what stands beside them."""
    return _OBEYED.sub(lambda match: f"‹U+{ord(match[0]):04X}›", text)


def render(template: str, **values: object) -> str:
    """A template of this package with these values; one that is missing is an error, not an empty text."""
    return _templates().get_template(template).render(**values)


def judge_told(judge: JudgeReport, say: Words) -> str:
    """In a line, which judge it was: runs in which it is the same can be compared."""
    asked = say(_(" asking {model}", model=judge.model)) if judge.model else ""
    return f"{judge.file}{asked} ({say(_("fingerprint"))} {judge.fingerprint[:12]})"


def notes_told(run: RunReport, say: Words) -> str:
    """In a line, which notes a run with a vault was over."""
    return say(f"summary.{run.notes_hash_mode}", notes=run.notes, hash=run.notes_hash[:12])


def embedder_told(run: RunReport, say: Words) -> str:
    """The embedder of a run; how its vectors were made is for the cache to know."""
    name = run.environment.embedding_model or say(_("no embedding model"))
    return name.removesuffix(IN_BATCHES)


def told(message: str, language: Language) -> str:
    """What went wrong, in a language; the filter of templates."""
    return message_in(language, message)


@functools.cache
def _templates() -> Environment:
    templates = Environment(
        loader=PackageLoader("gigamind.reports"),
        undefined=StrictUndefined,
        autoescape=False,  # noqa: S701  Markdown, not HTML; the filters escape what comes from outside
        keep_trailing_newline=True,
    )
    filters: dict[str, Any] = {
        "inline": inline,
        "told": told,
        "code": code,
        "fenced": fenced,
        "figure": share,
        "between": between,
    }
    templates.filters.update(filters)
    return templates


def counted(names: Counter[str]) -> str:
    """Names with how often each came, the commonest first."""
    return ", ".join(f"{name}: {count}" for name, count in names.most_common())


def unjudged(llm: LlmReport | None) -> int:
    """Items that were to get a verdict and have none."""
    return llm.items - llm.outcomes.get("scored", 0) if llm else 0
