"""Prompt files: Jinja templates with a block `system` and a block `user`, rendered in a sandbox.

Note text is only ever a value, never a template.  A template that names a variable which nobody gives is refused when
it is loaded, not at the 800th item.  `question` and `answer` stand in it as JSON strings, notes in their fences.
"""

import json
from collections.abc import Collection
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from gigamind.errors import InputError
from gigamind.llm.client import Message

if TYPE_CHECKING:
    from jinja2 import Template

_BLOCKS = ("system", "user")
_LEAST_ECHO = 6  # letters and digits, below which words may stand in a prompt by chance


@dataclass(frozen=True, slots=True)
class Prompt:
    """A loaded prompt.

    Attributes:
        fingerprint: SHA-256 of its text, in hexadecimal.
        variables: those it uses.
        text: as its file has it.
    """

    fingerprint: str
    variables: frozenset[str]
    template: "Template"
    text: str

    def says(self, text: str) -> bool:
        """Whether the words of a row are its own: small models give the example of a prompt back as an answer."""
        said = _flat(text)
        return sum(map(str.isalnum, said)) >= _LEAST_ECHO and said in _flat(self.text)

    def render(self, **values: str) -> list[Message]:
        """The system message and the user message; a blank one is left out."""
        context = self.template.new_context(values)
        texts = {name: "".join(self.template.blocks[name](context)).strip() for name in _BLOCKS}
        return [{"role": name, "content": text} for name, text in texts.items() if text]


def load_prompt(path: Path, given: Collection[str]) -> Prompt:
    """A prompt that uses no variable but those `given`.

    Raises:
        InputError: it cannot be read or parsed, lacks a block, or uses another variable.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: the prompt cannot be read: {error}") from error
    return prompt_of(text, str(path), given)


def prompt_of(text: str, where: str, given: Collection[str]) -> Prompt:
    """The same from a text; `where` is for messages.

    Raises:
        InputError: see `load_prompt`.
    """
    from jinja2 import StrictUndefined, TemplateSyntaxError, meta
    from jinja2.sandbox import ImmutableSandboxedEnvironment

    environment = ImmutableSandboxedEnvironment(
        undefined=StrictUndefined,
        autoescape=False,  # a prompt is no HTML, and note text must stay as it is
        trim_blocks=True,
        lstrip_blocks=True,
    )
    try:
        used = meta.find_undeclared_variables(environment.parse(text))
        template = environment.from_string(text)
    except TemplateSyntaxError as error:
        raise InputError(f"{where}:{error.lineno}: the prompt cannot be parsed: {error}") from error
    _check(where, used - set(given), [name for name in _BLOCKS if name not in template.blocks])
    return Prompt(sha256(text.encode()).hexdigest(), frozenset(used), template, text)


def _flat(text: str) -> str:
    return " ".join(text.casefold().split())


def as_json(text: str) -> str:
    """A text as a JSON string: a title, a question or an answer that cannot leave its quotes."""
    return json.dumps(text, ensure_ascii=False)


def _check(where: str, unknown: Collection[str], missing: Collection[str]) -> None:
    if unknown:
        raise InputError(f"{where}: no such variable in a prompt: {', '.join(sorted(unknown))}")
    if missing:
        raise InputError(f"{where}: the prompt has no block {' and no block '.join(missing)}")
