"""Commands with examples, grouped options, options from a file, pages of help in two languages, and lazy groups."""

import difflib
import inspect
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, TypeVar, get_args
from unicodedata import east_asian_width

import click

from gigamind.cli.output import call_translator
from gigamind.i18n import LanguageChoice, Message, Translator, _, joined

_EXTRAS = "  ["  # what click puts between a text and its addition: a default, a range, "required"
_DEFAULT = "default: "
_KIND = re.compile(r"\b[A-Z]+(?: RANGE)?$")  # the type of a value, behind the names of an option
_USAGE = re.compile(r"\[(?:-- )?OPTIONS(?: OF EVAL)?\]|COMMAND \[ARGS\]\.\.\.")
_FILLER = "\ue000"  # for the second column of a wide letter while click counts letters
_CLICK_WORDS = (
    *(_("Usage:"), _("[OPTIONS]"), _("COMMAND [ARGS]..."), _("[-- OPTIONS OF EVAL]")),
    *(_("Options"), _("Commands"), _("Examples"), _("required"), _("default:")),
    *(_("PATH"), _("TEXT"), _("INTEGER"), _("INTEGER RANGE"), _("FLOAT"), _("FLOAT RANGE")),
    *(_("FILE"), _("FOLDER"), _("COPY"), _("NAME"), _("JUDGE")),
    *(_("Show the version and exit."), _("Show this message and exit.")),
)
"""Texts that click itself puts on a page; looked up like all others."""


def help_in(say: Translator, text: str) -> str:
    """Return a text of a page of help in a language."""
    paragraphs = (" ".join(part.split()) for part in inspect.cleandoc(text).split("\n\n"))
    return "\n\n".join(map(say.plain, paragraphs))


def usage_in(say: Translator, arguments: str) -> str:
    """Return what follows a command in its usage line; names of arguments are not translated."""
    return _USAGE.sub(lambda part: say.plain(part[0]), arguments)


def _first_sentence(text: str) -> str:
    """Return the first sentence of a text."""
    return text.partition("\n\n")[0].partition(". ")[0].removesuffix(".") + "."


def row_in(say: Translator, row: tuple[str, str]) -> tuple[str, str]:
    """Return a row of click's help records (an option or a command, and its text) in a language."""
    names, text = row
    names = _KIND.sub(lambda kind: say.plain(kind[0]), names)
    text, bracket, extras = f"{'  ' if text.startswith('[') else ''}{text}".partition(_EXTRAS)
    if not bracket:
        return names, help_in(say, text)
    translated: list[str] = []
    for extra in extras.removesuffix("]").split("; "):
        _before, default, value = extra.rpartition(_DEFAULT)
        translated.append(f"{say.plain(default.strip())} {value}" if default else say.plain(value))
    return names, f"{help_in(say, text)}{_EXTRAS}{'; '.join(translated)}]".strip()


class _HelpPage(click.HelpFormatter):
    """A page of help in one language, in whose columns a wide letter counts for two."""

    def __init__(self, say: Translator, width: int | None, max_width: int | None) -> None:
        super().__init__(width=width, max_width=max_width)
        self._say = say

    def _translated(self, text: str) -> str:
        return _wide(help_in(self._say, text))

    def write_usage(self, prog: str, args: str = "", prefix: str | None = None) -> None:
        usage = _wide(usage_in(self._say, args))
        super().write_usage(prog, usage, f"{self._translated((prefix or 'Usage:').strip())} ")

    def write_heading(self, heading: str) -> None:
        super().write_heading(self._translated(heading))

    def write_text(self, text: str) -> None:
        super().write_text(self._translated(text))

    def write_dl(
        self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2
    ) -> None:
        definitions = (map(_wide, row_in(self._say, row)) for row in rows)
        super().write_dl([(names, text) for names, text in definitions], col_max, col_spacing)

    def getvalue(self) -> str:
        return super().getvalue().replace(_FILLER, "")


def _wide(text: str) -> str:
    return "".join(c + _FILLER if east_asian_width(c) in "WF" else c for c in text)


_Callback = TypeVar("_Callback", bound=Callable[..., Any])
_ALL, _QUIET, _LANG = "gigamind.help_all", "gigamind.quiet", "gigamind.lang"
_MANY = 30  # a page of help with more options shows only the main ones
EVERYWHERE = _("General")
_OUTPUT_LANGUAGE = _("language of the output; auto follows LC_ALL, LC_MESSAGES or LANG")
CONFIG_VARIABLE = "GIGAMIND_CONFIG"
_PLAIN = "Options"
_LANGUAGES = click.Choice(get_args(LanguageChoice))
_MIN_SIMILARITY = 0.5  # of a mistyped command to the one that is suggested


class GroupedOption(click.Option):
    """An option in a group; without `first`, only `--help-all` shows it."""

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401  click's own
        group: str = _PLAIN,
        first: bool = True,
        **settings: Any,  # noqa: ANN401  click's own
    ) -> None:
        super().__init__(*arguments, **settings)
        self.group = group
        self.first = first


class _Context(click.Context):
    """A context whose pages of help are in the language of the call."""

    def make_formatter(self) -> click.HelpFormatter:
        return _HelpPage(call_translator(self), self.terminal_width, self.max_content_width)


class Command(click.Command):
    """A command with examples; options of a `configured` one may come from a file."""

    context_class = _Context

    def __init__(
        self,
        *arguments: Any,  # noqa: ANN401  click's own
        examples: Sequence[str] = (),
        configured: bool = True,
        **settings: Any,  # noqa: ANN401  click's own
    ) -> None:
        super().__init__(*arguments, **settings)
        self.examples = tuple(examples)
        if not any(param.name == "lang" for param in self.params):
            self.params.append(_common_option("--lang", _set_language, type=_LANGUAGES))
        text = _("print only results and errors, no progress or warnings")
        self.params.append(_common_option("--quiet", _keep_quiet, text, is_flag=True))
        if configured:
            file: dict[str, Any] = {"type": click.Path(path_type=Path), "metavar": "FILE"}
            file |= {"envvar": CONFIG_VARIABLE, "is_eager": True}
            text = _(
                "read options from this file (default: the nearest gigamind.toml in this folder or above)"
            )
            self.params.append(_common_option("--config", _read_config, text, **file))
        self._shortened = len(self.params) > _MANY
        text = _("show this message with all options and exit")
        flag = {"is_flag": True, "is_eager": True, "hidden": not self._shortened}
        self.params.append(_common_option("--help-all", _show_all, text, _PLAIN, **flag))

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  click's own
        if ctx.params.get("lang") and ctx.obj is not None:
            ctx.obj.choice = ctx.params["lang"]
        if not ctx.meta.get(_QUIET):
            return super().invoke(ctx)
        # Errors are printed by the caller, outside this redirection.
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
            return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse a command line; unexpected arguments are refused with our message instead of click's."""
        allowed, ctx.allow_extra_args = ctx.allow_extra_args, True
        left = super().parse_args(ctx, [*ctx.meta.get(_LANG, ()), *args])
        ctx.allow_extra_args = allowed
        if left and not allowed and not ctx.resilient_parsing:
            names = " ".join(map(str, left))
            raise click.UsageError(_("Unexpected arguments: {names}.", names=names), ctx)
        return left

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options by group; a shortened page has only the main ones."""
        shown: dict[str, list[tuple[str, str]]] = {_PLAIN: []}
        left: dict[str, None] = {}
        everything = not self._shortened or ctx.meta.get(_ALL, False)
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None or isinstance(param, click.Argument):
                continue
            group = param.group if isinstance(param, GroupedOption) else _PLAIN
            if isinstance(param, GroupedOption) and not param.first and not everything:
                left.setdefault(group)
                continue
            heading = group if everything or group == EVERYWHERE else _PLAIN
            shown.setdefault(heading, []).append(record)
        last = shown.pop(EVERYWHERE, [])
        for heading, records in (*shown.items(), (EVERYWHERE, last)):
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)
        if left:
            formatter.write_paragraph()
            more = _("--help-all also shows these groups of options: {groups}.", groups=list(left))
            formatter.write_text(call_translator(ctx)(more))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        super().format_epilog(ctx, formatter)


class Group(click.Group):
    """A group of commands with examples, which takes `--lang` for them."""

    context_class = _Context
    command_class = Command

    def __init__(self, *arguments: Any, **settings: Any) -> None:  # noqa: ANN401  click's own
        super().__init__(*arguments, **settings)
        self.params.append(_common_option("--lang", _set_language, type=_LANGUAGES))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write each command with the first sentence of its help; click would cut it short."""
        say = call_translator(ctx)
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl(
                (name, _first_sentence(help_in(say, command.help or "")))
                for name, command in commands
                if command
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Resolve a command as click does; for an unknown name, suggest the nearest one with its full path."""
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name):
            return super().resolve_command(ctx, args)
        known = self.callable_names(ctx)
        problem = _("No such command: {name}.", name=name)
        if near := difflib.get_close_matches(name, known, 1, _MIN_SIMILARITY):
            meant = f"{ctx.command_path} {known[near[0]]}"
            problem = joined((problem, _("Did you mean {command}?", command=meant)), " ")
        raise click.UsageError(problem, ctx)

    def callable_names(self, ctx: click.Context) -> dict[str, str]:
        """Return the names a user may type for a command, each with the words that call it."""
        return {name: name for name in self.list_commands(ctx)}


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], Command]:  # noqa: ANN401  click's own
    """Return `click.command` for a command with examples and common options."""
    return click.command(name, cls=Command, **settings)


def is_quiet() -> bool:
    """Return whether only results and errors are printed."""
    return bool(click.get_current_context().meta.get(_QUIET))


def lang_option(text: Message = _OUTPUT_LANGUAGE) -> Callable[[_Callback], _Callback]:
    """Return `--lang` for a command whose options are not from a model."""
    return click.option("--lang", type=_LANGUAGES, default="auto", show_default=True, help=text)


def _common_option(
    flag: str,
    callback: Callable[..., None],
    text: Message = _OUTPUT_LANGUAGE,
    group: str = EVERYWHERE,
    **settings: Any,  # noqa: ANN401  click's own
) -> click.Parameter:
    settings |= {"group": group, "callback": callback, "help": text}
    return GroupedOption([flag], expose_value=False, **settings)


def _set_language(ctx: click.Context, param: click.Parameter, value: LanguageChoice | None) -> None:
    del param
    if value and ctx.obj is not None:
        ctx.obj.choice = value
        ctx.meta[_LANG] = ("--lang", value)


def _keep_quiet(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001  click's own
    del param
    ctx.meta[_QUIET] = value


def _show_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001  click's own
    del param
    if value and not ctx.resilient_parsing:
        ctx.meta[_ALL] = True
        click.echo(ctx.get_help(), color=ctx.color)
        ctx.exit()


def _read_config(ctx: click.Context, param: click.Parameter, value: Path | None) -> None:
    from gigamind.cli.config import options_from_file

    del param
    if not ctx.resilient_parsing:
        ctx.default_map = options_from_file(ctx, value)


def every_command(
    group: click.Group, path: tuple[str, ...] = ()
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield each command below a group with the words that call it; imports all of them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from every_command(command, (*path, name))
        elif command:
            yield (*path, name), command
