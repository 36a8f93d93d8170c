"""Pages of docs/ generated from the code: all options of all commands, all metrics with their formulas.

`make reference` writes them.  Formulas and sources are in docs/metrics.toml; names, labels and uses are in the table of
metrics.
"""

import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import click

from gigamind.cli.command import EVERYWHERE, Command, GroupedOption
from gigamind.cli.help_pages import help_in, row_in, usage_in
from gigamind.cli.lazy import every_command
from gigamind.cli.main import cli
from gigamind.i18n import Translator, translator
from gigamind.metrics.spec import BLOCKS, Metric
from gigamind.metrics.table import metrics_of
from gigamind.wording import Language

_OPTIONS_HEAD: dict[Language, str] = {
    "en": """# Commands and options

[한국어](reference.ko.md)

`make reference` generates this page from the commands; a test checks that it is current. `gigamind COMMAND --help`
shows the main options. Options can also be set in `gigamind.toml`: [command-line.md](command-line.md). All commands
have `--quiet`, `--config` and `--help`, and `--lang` for the language of the output. They are not repeated below.""",
    "ko": """# 명령과 옵션

`make reference`가 명령에서 만드는 페이지이며, 명령과 같은지 테스트가 확인합니다. `gigamind 명령 --help`는 자주 쓰는
옵션을 보여 줍니다. 옵션은 `gigamind.toml`에 적어 둘 수도 있습니다: [command-line.ko.md](command-line.ko.md). 모든
명령에 `--quiet`, `--config`, `--help`와 출력의 언어를 정하는 `--lang`이 있으며, 아래에는 되풀이하지 않습니다. 영어판:
[reference.md](reference.md).""",
}
_METRICS_HEAD = """# Metrics

`make reference` generates this page from `gigamind/metrics/table.py` and `docs/metrics.toml`; a test checks that it
is current.

Metrics are in [0, 1] unless a unit is given. *gate* marks metrics that `gates.toml` may name; ↓ means that lower is
better. A metric that could not be measured (0 of 0) is shown as a dash, never as zero. Intervals are 95 %: a bootstrap
over items with a fixed seed (BCa: Efron, JASA 82, 1987), widened near 0 and 1 to include Wilson's interval (JASA 22,
1927). Two runs are compared on the same items with a sign-flip test (McNemar's for 0 and 1), corrected over all metrics
(Holm). For the measured coverage of intervals and error rates of gates, see
[benchmarks/README.md](../benchmarks/README.md). `{k}` stands for the cut-offs 1, 3, 5, 10 and `--topk`. To add a metric
of your own: [architecture.md](architecture.md#adding)."""
_HELP = frozenset({"--help-all", "--help"})


class MetricTexts(NamedTuple):
    """Content of docs/metrics.toml.

    Attributes:
        blocks: heading and text of each block.
        metrics: formula and source of each metric, by block and name.
    """

    blocks: dict[str, dict[str, str]]
    metrics: dict[str, dict[str, str]]

    @classmethod
    def read(cls, file: Path) -> "MetricTexts":
        """Read a file."""
        read: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        return cls(read["blocks"], read["metrics"])


def options_page(language: Language) -> str:
    """Return docs/reference.md or docs/reference.ko.md."""
    parts, say = [_OPTIONS_HEAD[language]], translator(language)
    for path, command in every_command(cli):
        parts.append("\n".join(_command_lines(" ".join(path), command, say)))
    return "\n\n".join(parts) + "\n"


def metrics_page(texts: MetricTexts) -> str:
    """Return docs/metrics.md.

    Raises:
        KeyError: a metric of the table has no formula.
    """
    parts = [_METRICS_HEAD]
    for block in BLOCKS:
        block_texts = texts.blocks[block]
        rows = (_metric_line(metric, texts.metrics[metric.key]) for metric in metrics_of(block))
        head = "| metric | 한국어 | key | formula | source | gate |\n|---|---|---|---|---|:-:|"
        parts.append(
            "\n".join(
                (f"## {block_texts['en']}\n", block_texts["text"].strip() + "\n", head, *rows)
            )
        )
    return "\n\n".join(parts) + "\n"


def _metric_line(metric: Metric, texts: dict[str, str]) -> str:
    down = " ↓" if metric.use.lower else ""
    gate = "yes" if metric.use.gate else ""
    cells = (metric.label.en + down, metric.label.ko, f"`{metric.key}`", *texts.values(), gate)
    return _row(*cells)


def _command_lines(name: str, command: click.Command, say: Translator) -> Iterator[str]:
    context = click.Context(command, info_name=f"gigamind {name}")
    usage = usage_in(say, " ".join(command.collect_usage_pieces(context)))
    yield f"## gigamind {name}\n"
    yield _plain(help_in(say, command.help or "")) + "\n"
    yield f"```text\ngigamind {name} {usage}\n```"
    if isinstance(command, Command) and command.examples:
        yield "\n```sh\n" + "\n".join(command.examples) + "\n```"
    groups: dict[str, list[str]] = {}
    for param in command.params:
        record = param.get_help_record(context)
        group = param.group if isinstance(param, GroupedOption) else "Options"
        is_common = group == EVERYWHERE or param.opts[0] in _HELP
        if record and isinstance(param, click.Option) and not is_common:
            names, text = row_in(say, record)
            groups.setdefault(help_in(say, group), []).append(_row(f"`{names}`", _plain(text)))
    for group, rows in groups.items():
        yield "\n".join((f"\n| {group} | |", "|---|---|", *rows))


def _plain(text: str) -> str:
    """Return a text of a help page in one line, with HTML escaped."""
    return " ".join(text.replace("\b", "").split()).replace("<", "&lt;")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def pages(folder: Path) -> dict[str, str]:
    """Return the generated pages of the folder docs/, by name."""
    return {
        "reference.md": options_page("en"),
        "reference.ko.md": options_page("ko"),
        "metrics.md": metrics_page(MetricTexts.read(folder / "metrics.toml")),
    }


def write(folder: Path) -> None:
    """Write the generated pages into a folder."""
    for name, text in pages(folder).items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
