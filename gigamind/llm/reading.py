"""Finds the answer in a reply that is more than one JSON object: in a code block, in prose, behind a thought.

Only what is surely the model's own is read; of anything else the model is asked again.  A reply may quote a note, and a
note may hold an object made to be taken for the verdict, so the words around an object say nothing:

- a reply that is one object, bare or in a code block, is the answer;
- else each `{` must begin an object, for of a broken one the inside would be taken;
- objects that stand in the request were copied from it: they are quotes, whoever wrote them there;
- of what is left there must be one object, or the same one several times.  Neither the first nor the last is the answer
  where two differ, and that one of them follows the schema proves nothing: a forged one would.
"""

import json
import re
from collections.abc import Sequence

from gigamind.llm.client import Message

_THOUGHT, _THOUGHT_ENDS = "<think>", "</think>"
_BLOCK = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
_OPENED = re.compile(r"```\w*\s*")
_LITERALS = ("true", "false", "null")
_SPACE = re.compile(r"[\s\\]+")  # a quote may be wrapped, and encoded as JSON in JSON
_MOST_CHARS = 100_000  # of a reply that is searched; a broken object may make it square


def own_object(text: str, request: Sequence[Message]) -> str | None:
    """The one JSON object of a reply that is surely its answer; None where there is none, or it is not sure."""
    said = _after_thought(text)
    block = _BLOCK.fullmatch(said)
    bare = block[1] if block else said
    objects = _objects(bare if _is_object(bare) else said)
    if not _is_object(bare):
        objects = _without_quotes(objects, request)
    try:
        different = {
            json.dumps(json.loads(json_text), sort_keys=True): json_text for json_text in objects
        }
    except RecursionError:
        return None
    return next(iter(different.values())) if len(different) == 1 else None


def cut_off(text: str | None) -> bool:
    """Whether a text is the beginning of an object or of a thought: some servers say `stop` where tokens ran out."""
    stripped = (text or "").strip()
    said = _after_thought(stripped)
    if said.startswith(_THOUGHT):
        return True
    opened = _OPENED.match(said)
    said = said[opened.end() :] if opened else said
    if not said.startswith("{"):
        return False
    try:
        json.JSONDecoder().raw_decode(said)
    except json.JSONDecodeError as error:
        rest = said[error.pos :]
        return "Unterminated" in error.msg or any(word.startswith(rest) for word in _LITERALS)
    except (ValueError, RecursionError):  # a number of 5 000 digits; nested too deeply
        return False
    return False


def _after_thought(text: str) -> str:
    """What follows the thought that a text begins with: its first end, for it may quote a later one."""
    stripped = text.strip()
    if not stripped.startswith(_THOUGHT) or _THOUGHT_ENDS not in stripped:
        return stripped
    return stripped.partition(_THOUGHT_ENDS)[2].strip()


def _is_object(text: str) -> bool:
    objects = _objects(text)
    return len(objects) == 1 and objects[0] == text


def _objects(text: str) -> list[str]:
    """The objects of a text, outermost only; none where any of its braces begins no object."""
    if len(text) > _MOST_CHARS:
        return []
    objects: list[str] = []
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            _, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        objects.append(text[place:end])
        place = text.find("{", end)
    return objects


def _without_quotes(objects: Sequence[str], request: Sequence[Message]) -> list[str]:
    asked = "".join(_SPACE.sub("", str(message.get("content") or "")) for message in request)
    return [json_text for json_text in objects if _SPACE.sub("", json_text) not in asked]
