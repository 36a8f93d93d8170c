"""What every command has: examples, options in groups, `--quiet`, and options from a file.

A page of help shows the options of a few first; `--help-all` shows all of them.
"""

import difflib
import os
from collections.abc import Callable, Sequence
from contextlib import redirect_stderr
from pathlib import Path
from typing import Any, TypeVar, get_args

import click

from gigamind.cli.errors import spoken
from gigamind.cli.help_pages import HelpPage, first_sentence, help_in
from gigamind.wording import LanguageChoice

Callback = TypeVar("Callback", bound=Callable[..., Any])
_ALL, _QUIET = "gigamind.help_all", "gigamind.quiet"
_MANY = 30  # options, from which on a page of help shows the first ones only
EVERYWHERE = "General"
CONFIG_VARIABLE = "GIGAMIND_CONFIG"
_PLAIN = "Options"
_MORE = "--help-all shows those of {}, too."
_LEAST_ALIKE = 0.5  # of a mistyped command


class GroupedOption(click.Option):
    """An option of a group.

    Attributes:
        group: heading that it stands below.
        first: whether it is among the few that a page of help shows.
    """

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


class Context(click.Context):
    """A context whose pages of help are in the language of the call."""

    def make_formatter(self) -> click.HelpFormatter:
        return HelpPage(spoken(self), self.terminal_width, self.max_content_width)


class Command(click.Command):
    """A command with examples.

    Attributes:
        examples: command lines, whole.
        configured: whether its options may stand in a file.
    """

    context_class = Context

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
            self.params.append(_lang())
        self.params += [_quiet(), _config()] if configured else [_quiet()]
        self._shortened = len(self.params) > _MANY
        if self._shortened:
            self.params.append(_help_all())

    def invoke(self, ctx: click.Context) -> Any:  # noqa: ANN401  click's own
        if ctx.params.get("lang") and ctx.obj is not None:
            ctx.obj.choice = ctx.params["lang"]
        if not ctx.meta.get(_QUIET):
            return super().invoke(ctx)
        # Errors are told where they are caught, which is further out.
        with Path(os.devnull).open("w", encoding="utf-8") as nowhere, redirect_stderr(nowhere):
            return super().invoke(ctx)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The options by group, the first ones before all others."""
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
            language = spoken(ctx)
            groups = ", ".join(help_in(language, group) for group in left)
            formatter.write_text(help_in(language, _MORE).format(groups))

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The examples, as they are typed, and what else the command has to say."""
        if self.examples:
            with formatter.section("Examples"):
                for example in self.examples:
                    formatter.write(f"{'':>{formatter.current_indent}}{example}\n")
        super().format_epilog(ctx, formatter)


class Group(click.Group):
    """A group whose commands are of this house."""

    context_class = Context
    command_class = Command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """As click does, which cuts summaries short: in the language that they have words in."""
        language = spoken(ctx)
        if language == "en":
            super().format_commands(ctx, formatter)
            return
        commands = ((name, self.get_command(ctx, name)) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl(
                (name, first_sentence(help_in(language, command.help or "")))
                for name, command in commands
                if command
            )

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does; of a name that is none, the nearest are told with the words that go before them."""
        name = args[0]
        if name.startswith("-") or self.get_command(ctx, name):
            return super().resolve_command(ctx, args)
        known = self.callable_names(ctx)
        near = difflib.get_close_matches(name, known, 1, _LEAST_ALIKE)
        meant = f"; did you mean {ctx.command_path} {known[near[0]]}?" if near else ""
        raise click.UsageError(f"No such command '{name}'{meant}", ctx)

    def callable_names(self, ctx: click.Context) -> dict[str, str]:
        """What people may type for a command, and the words that call it."""
        return {name: name for name in self.list_commands(ctx)}


def command(name: str | None = None, **settings: Any) -> Callable[[Callable[..., Any]], Command]:  # noqa: ANN401  click's own
    """`click.command` for a command of this house."""
    return click.command(name, cls=Command, **settings)


def lang_option(said: str, *, show_default: bool = True) -> Callable[[Callback], Callback]:
    """`--lang` of a command whose options are of no model."""
    return click.option(
        "--lang",
        type=click.Choice(get_args(LanguageChoice)),
        default="auto",
        show_default=show_default,
        help=said,
    )


def is_quiet() -> bool:
    """Whether nobody reads what is told beside results and errors."""
    return bool(click.get_current_context().meta.get(_QUIET))


def _told(flag: str, callback: Callable[..., None], said: str, **settings: Any) -> click.Parameter:  # noqa: ANN401  click's own
    """An option that its callback sees to, and no command is given."""
    return GroupedOption([flag], expose_value=False, callback=callback, help=said, **settings)


def _lang() -> click.Parameter:
    """Of a command that writes no pages, whose lines and errors have a language all the same."""
    said = "language of the output; auto follows LC_ALL, LC_MESSAGES or LANG"
    choices = click.Choice(get_args(LanguageChoice))
    return _told("--lang", _speak, said, type=choices, group=EVERYWHERE)


def _quiet() -> click.Parameter:
    said = "print only results and errors, no progress or warnings"
    return _told("--quiet", _keep_quiet, said, is_flag=True, group=EVERYWHERE)


def _config() -> click.Parameter:
    return _told(
        "--config",
        _read_config,
        "read options from this file (default: gigamind.toml in this folder or the nearest one above)",
        type=click.Path(path_type=Path),
        metavar="FILE",
        envvar=CONFIG_VARIABLE,
        is_eager=True,
        group=EVERYWHERE,
    )


def _help_all() -> click.Parameter:
    said = "show this message with all options and exit"
    return _told("--help-all", _show_all, said, is_flag=True, is_eager=True)


def _speak(ctx: click.Context, param: click.Parameter, value: LanguageChoice | None) -> None:
    del param
    if value and ctx.obj is not None:
        ctx.obj.choice = value


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
