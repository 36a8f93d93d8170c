"""The phrases of a language, one by one."""

from string import Formatter

from gigamind.wording import Words


def phrases(words: Words) -> dict[str, str]:
    """Phrase by its full key, such as "page.judge"."""
    return {
        f"{table}.{key}": phrase
        for table, inner in words.tables.items()
        for key, phrase in inner.items()
    }


def placeholders(phrase: str) -> set[str]:
    """The names that a phrase wants a value for."""
    return {name for _, name, _, _ in Formatter().parse(phrase) if name}
