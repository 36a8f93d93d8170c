"""What a command tells in the language of its call: the one line that it ends with where it failed, and others.

That line says what is wrong, where, and what to type.
"""

from collections.abc import Sequence
from itertools import pairwise
from typing import cast, get_args

import click

from gigamind.i18n import Message, translator
from gigamind.wording import Language, LanguageChoice, language_of


class Spoken:
    """The language of a call: what `--lang` says, on the command line or in gigamind.toml; else the environment.

    Attributes:
        choice: of the command that runs, once its options are known.
    """

    def __init__(self, arguments: Sequence[str]) -> None:
        self.choice: LanguageChoice = _choice(arguments)

    @property
    def language(self) -> Language:
        return language_of(self.choice)


def _choice(arguments: Sequence[str]) -> LanguageChoice:
    """What `--lang` says, of a command line that may be wrong elsewhere."""
    words = [part for argument in arguments for part in argument.split("=", 1)]
    choice = next((after for word, after in pairwise(words) if word == "--lang"), "")
    return cast("LanguageChoice", choice) if choice in get_args(LanguageChoice) else "auto"


def spoken(context: click.Context | None = None) -> Language:
    """The language of a command, by default of the one that runs."""
    context = context or click.get_current_context(silent=True)
    language_setting = context.find_object(Spoken) if context else None
    return language_setting.language if language_setting else language_of()


def translated(message: str, language: Language | None = None) -> str:
    """What is told, in a language; without one, in that of the running command."""
    language = language or spoken()
    if language == "en" or isinstance(message, Message):
        return translator(language)(message)
    from gigamind.messages import message_in

    return message_in(language, message)


def heading(text: str) -> str:
    """A heading, or another text that is always the same, in the language of the running command; one word, too."""
    if spoken() == "en" or isinstance(text, Message):
        return translator(spoken())(text)
    from gigamind.messages import heading_in

    return heading_in("ko", text)


def say_line(line: str, *, err: bool = False) -> None:
    """Print what is told to people in the language of the running command.

    Args:
        err: to standard error, beside the result.
    """
    click.echo(translated(line), err=err)


def show_error(message: str, language: Language) -> None:
    """Print what is wrong, to standard error."""
    from gigamind.text import printable_lines

    head = "오류" if language == "ko" else "Error"
    # It may quote a dataset or a model, and neither may speak to the terminal.
    click.echo(f"{head}: {printable_lines(translated(message, language))}", err=True)


def show_usage_error(error: click.ClickException, language: Language) -> None:
    """Print what is wrong with a command line, and which one to type; a group alone shows its help."""
    if isinstance(error, click.exceptions.NoArgsIsHelpError) or not isinstance(
        error, click.UsageError
    ):
        error.show()
        return
    message = error.format_message().rstrip(".")
    if isinstance(error, click.NoSuchOption):
        meant = f"; did you mean {error.possibilities[0]}?" if error.possibilities else ""
        message = f"No such option '{error.option_name}'{meant}"
    full_stop = "" if message.endswith("?") else "."
    show_error(f"{message}{full_stop} {_remedy(error)}", language)


def _remedy(error: click.UsageError) -> str:
    if error.ctx is None:
        return "See gigamind --help"
    command, path = error.ctx.command, error.ctx.command_path
    examples: Sequence[str] = getattr(command, "examples", ())
    if isinstance(error, click.MissingParameter) and examples:
        return f"Such as: {examples[0]}"
    return f"See {path} --help"


# The modules of each extra; pyproject.toml names what it is for.
_EXTRAS = {
    "fastembed": ("fastembed",),
    "llm": ("aiohttp", "instructor", "litellm", "openai"),
    "prefect": ("prefect", "sqlalchemy"),
    "qdrant": ("qdrant_client",),
    "service": ("fastapi", "prometheus_client", "starlette", "uvicorn"),
}


def extra_of(error: Exception) -> str | None:
    """What to install, in one line, where the error is that a module of an extra is not there; None otherwise."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    missing = (name or "").partition(".")[0]
    for extra, modules in _EXTRAS.items():
        if missing in modules:
            return (
                f"this needs the package {missing}, which is not installed:"
                f" pip install 'gigamind-eval[{extra}]', or [all]; in a clone: make all"
            )
    return None
