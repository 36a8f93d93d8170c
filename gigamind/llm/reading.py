"""Find the answer in a reply with more than one JSON object: in a code block, in prose, after a thought.

Only an object that is certainly the model's own is used; otherwise the model is asked again.  A reply can quote a note,
and a note can contain an object that imitates the verdict, so the words around an object are ignored:

- A reply that is one object, bare or in a code block, is the answer.
- Otherwise each `{` must begin an object, because the inside of a broken object would be used instead.
- Objects that occur in the request are quotes, whoever wrote them.
- One object must remain, possibly repeated.  If two differ, neither the first nor the last is the answer.  Following
  the schema proves nothing, because a forged object would follow it too.
"""

import json
import re
from collections.abc import Sequence
from collections.abc import Set as AbstractSet
from typing import Any, cast

from gigamind.llm.client import Message

_THOUGHT, _THOUGHT_ENDS = "<think>", "</think>"
_BLOCK = re.compile(r"```\w*\s*(.*?)\s*```", re.DOTALL)
_OPENED = re.compile(r"```\w*\s*")
_SECOND = re.compile(r"\}\s*[^\s,\]}]")  # text after an object: perhaps another one
_LITERALS = ("true", "false", "null")
_SPACE = re.compile(r"[\s\\]+")  # a quote can be wrapped, or encoded as JSON in JSON
_MOST_CHARS = 100_000  # of a searched reply; a broken object can make the search quadratic


def own_object(text: str, request: Sequence[Message]) -> str | None:
    """Return the only JSON object of a reply that is certainly its answer; None if there is none."""
    answer, bare = _after_thought(text), _bare(text)
    objects = _objects(bare if _is_object(bare) else answer)
    if not _is_object(bare):
        objects = _without_quotes(objects, request)
    try:
        different = {
            json.dumps(json.loads(json_text), sort_keys=True): json_text for json_text in objects
        }
    except RecursionError:
        return None
    return next(iter(different.values())) if len(different) == 1 else None


def readable(text: str, request: Sequence[Message], fields: AbstractSet[str]) -> tuple[str, bool]:
    """Return the JSON object of a reply with these fields, and whether it had to be repaired.

    A reply is repaired only if it is one broken object: a trailing comma, comments, `True`, typographic quotes, raw
    line breaks, lone surrogates, or one object around it.  A reply without such an object is returned unchanged.
    """
    own = own_object(text, request)
    value: Any = json.loads(own) if own is not None else _repaired(_bare(text))
    if not isinstance(value, dict):
        return text, False
    found = cast("dict[str, Any]", value)
    (key, inner), *others = found.items() or [("", None)]
    is_wrapped = not others and key not in fields and isinstance(inner, dict)
    whole = json.dumps(inner if is_wrapped else found, ensure_ascii=False)
    sound = whole.encode("utf-8", "replace").decode()
    if own is not None and not is_wrapped and sound == whole:
        return own, False
    return sound, True


def _repaired(text: str) -> object:
    """Return the value of a broken JSON object; None for any other text."""
    is_one = text.startswith("{") and text.endswith("}") and not _SECOND.search(text)
    if not is_one or len(text) > _MOST_CHARS:
        return None
    try:
        json.JSONDecoder().raw_decode(text)
    except json.JSONDecodeError:
        from json_repair import repair_json

        try:
            return repair_json(text, return_objects=True, skip_json_loads=True)
        except (ValueError, RecursionError):
            return None
    except (ValueError, RecursionError):
        return None
    return None  # a whole object and more: which one is the answer is unknown


def _bare(text: str) -> str:
    answer = _after_thought(text)
    block = _BLOCK.fullmatch(answer)
    return block[1] if block else answer


def cut_off(text: str | None) -> bool:
    """Return whether a text is a truncated object or thought; some servers report `stop` when tokens run out."""
    stripped = (text or "").strip()
    answer = _after_thought(stripped)
    if answer.startswith(_THOUGHT):
        return True
    opened = _OPENED.match(answer)
    answer = answer[opened.end() :] if opened else answer
    if not answer.startswith("{"):
        return False
    try:
        json.JSONDecoder().raw_decode(answer)
    except json.JSONDecodeError as error:
        rest = answer[error.pos :]
        return "Unterminated" in error.msg or any(word.startswith(rest) for word in _LITERALS)
    except (ValueError, RecursionError):  # a number of 5 000 digits; nested too deeply
        return False
    return False


def _after_thought(text: str) -> str:
    stripped = text.strip()
    if not stripped.startswith(_THOUGHT) or _THOUGHT_ENDS not in stripped:
        return stripped
    return stripped.partition(_THOUGHT_ENDS)[2].strip()


def _is_object(text: str) -> bool:
    objects = _objects(text)
    return len(objects) == 1 and objects[0] == text


def _objects(text: str) -> list[str]:
    """Return the outermost objects of a text; none if any brace does not begin an object."""
    if len(text) > _MOST_CHARS:
        return []
    objects: list[str] = []
    decoder, place = json.JSONDecoder(), text.find("{")
    while place >= 0:
        try:
            _value, end = decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            return []
        objects.append(text[place:end])
        place = text.find("{", end)
    return objects


def _without_quotes(objects: Sequence[str], request: Sequence[Message]) -> list[str]:
    flat = "".join(_SPACE.sub("", str(message.get("content") or "")) for message in request)
    return [json_text for json_text in objects if _SPACE.sub("", json_text) not in flat]
