"""Why a request is refused, in the language that its sender asked for."""

from collections.abc import Mapping

from starlette.datastructures import Headers
from starlette.responses import JSONResponse

from gigamind.messages import message_in
from gigamind.wording import Language

_LANGUAGES: Mapping[str, Language] = {"ko": "ko", "en": "en"}


def language_asked(headers: Headers) -> Language:
    """The one of `Accept-Language` that is ours and liked best; English where none is."""
    liked: dict[Language, float] = {}
    for choice in headers.get("accept-language", "").split(","):
        name, _, weight = choice.partition(";")
        language = _LANGUAGES.get(name.strip().lower().partition("-")[0])
        if language:
            liked[language] = max(_weight(weight), liked.get(language, 0.0))
    if not liked:
        return "en"
    return max(liked, key=lambda one: liked[one])


def _weight(told: str) -> float:
    """The value of `q=0.5`; 1 without one, 0 where it is no number."""
    try:
        return float(told.strip().removeprefix("q=") or 1)
    except ValueError:
        return 0.0


def refused(
    asked: Headers, status: int, why: str, headers: Mapping[str, str] | None = None
) -> JSONResponse:
    """The answer to a request whose headers are `asked`: `detail` is a sentence for people."""
    return JSONResponse({"detail": message_in(language_asked(asked), why)}, status, headers)
