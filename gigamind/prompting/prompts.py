"""Prompt files: Jinja templates with a block `system` and a block `user`, rendered in a sandbox.

Note text is only ever a value, never a template.  Unknown variables are rejected when the template is loaded, not at
the 800th item.  `question` and `answer` are inserted as JSON strings, notes in their fences.
"""

import json
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Self

from gigamind.assets import asset
from gigamind.errors import InputError, reason_of
from gigamind.i18n import or_english
from gigamind.llm.client import Message
from gigamind.prompting.fences import Source, fence

if TYPE_CHECKING:
    from jinja2 import Template

_BLOCKS = ("system", "user")
_LEAST_ECHO = 6  # letters and digits; shorter texts can occur in a prompt by chance


@dataclass(frozen=True, slots=True)
class Prompt:
    """A loaded prompt."""

    fingerprint: str  # SHA-256 of its text, in hexadecimal
    variables: frozenset[str]
    template: "Template"
    text: str

    def says(self, text: str) -> bool:
        """Return whether the prompt contains a text: small models return the prompt's own example as an answer."""
        flat = _flat(text)
        return sum(map(str.isalnum, flat)) >= _LEAST_ECHO and flat in _flat(self.text)

    def render(self, **values: str) -> list[Message]:
        """Return the system message and the user message, without blank ones."""
        context = self.template.new_context(values)
        texts = {name: "".join(self.template.blocks[name](context)).strip() for name in _BLOCKS}
        return [{"role": name, "content": text} for name, text in texts.items() if text]

    def about(self, notes: Sequence[Source], key: bytes, **values: str) -> list[Message]:
        """Return the messages about notes, which are fenced with a secret key; the others are as for `render`."""
        fenced = fence(notes, key)
        return self.render(nonce=fenced.nonce, notes=fenced.text, **values)

    @classmethod
    def included(cls, name: str, language: str, given: Collection[str]) -> Self:
        """Return a prompt in `prompts/`, such as "extract/v1", in its language or English; raises as `load`."""
        folder = asset("prompts") / name
        own = or_english(language, [file.stem for file in folder.glob("*.jinja")])
        return cls.load(folder / f"{own}.jinja", given)

    @classmethod
    def load(cls, path: Path, given: Collection[str]) -> Self:
        """Load a prompt; raise InputError if it is invalid, lacks a block, or uses a variable that is not `given`."""
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            reason = reason_of(error) if isinstance(error, OSError) else str(error)
            raise InputError(
                "{file}: the prompt cannot be read: {reason}", file=path, reason=reason
            ) from error
        return cls.of(text, str(path), given)

    @classmethod
    def of(cls, text: str, where: str, given: Collection[str]) -> Self:
        """Return a prompt from a text; `where` is for messages.  Raises as `load`."""
        from jinja2 import StrictUndefined, TemplateSyntaxError, meta
        from jinja2.sandbox import ImmutableSandboxedEnvironment

        environment = ImmutableSandboxedEnvironment(
            undefined=StrictUndefined,
            autoescape=False,  # a prompt is not HTML, and note text must not change
            trim_blocks=True,
            lstrip_blocks=True,
        )
        try:
            used = meta.find_undeclared_variables(environment.parse(text))
            template = environment.from_string(text)
        except TemplateSyntaxError as error:
            raise InputError(
                "{file}:{line}: the prompt cannot be parsed: {reason}",
                file=where,
                line=error.lineno,
                reason=str(error),
            ) from error
        if unknown := used - set(given):
            raise InputError(
                "{file}: unknown variables in the prompt: {names}",
                file=where,
                names=sorted(unknown),
            )
        if missing := [name for name in _BLOCKS if name not in template.blocks]:
            raise InputError(
                "{file}: the prompt template lacks these required blocks: {names}",
                file=where,
                names=missing,
            )
        return cls(sha256(text.encode()).hexdigest(), frozenset(used), template, text)


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def as_json(text: str) -> str:
    """Return a text as a JSON string, which a title, a question or an answer cannot break out of."""
    return json.dumps(text, ensure_ascii=False)
