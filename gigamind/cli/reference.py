"""Pages of docs/ that are made of the code: every option of every command, every metric with its formula.

`make reference` writes them.  Formulas and sources stand in docs/metrics.toml; names, labels and uses come of the table
of metrics.
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
from gigamind.metrics.spec import BLOCKS, Metric, in_language
from gigamind.metrics.table import metrics_of
from gigamind.wording import Language

_OPTIONS_HEAD: dict[Language, str] = {
    "en": """# Commands and options

[한국어](reference.ko.md)

Made of the commands by `make reference`; a test fails where they differ. `gigamind COMMAND --help` shows the few that
matter. Options may stand in `gigamind.toml`, too: [command-line.md](command-line.md). `--quiet`, `--config` and
`--help` are the same everywhere, and so is `--lang` where it is not listed: the language of what a command tells.
They are not repeated below.""",
    "ko": """# 명령과 옵션

`make reference`가 명령에서 만든 페이지로, 명령과 다르면 테스트가 실패합니다. `gigamind 명령 --help`는 자주 쓰는
옵션을 보여 줍니다. 옵션은 `gigamind.toml`에 적어 둘 수도 있습니다: [command-line.ko.md](command-line.ko.md). `--quiet`,
`--config`, `--help`는 모든 명령에서 같고, 따로 적지 않은 `--lang`은 어디서나 출력의 언어이므로 아래에는 적지
않았습니다. 영어판: [reference.md](reference.md).""",
}
_METRICS_HEAD = """# Metrics

Generated from `gigamind/metrics/table.py` and `docs/metrics.toml` by `make reference`; a test compares them.

Figures are in [0, 1] unless a unit is given. *gate*: `gates.toml` may name the metric. ↓: lower is better. A figure that
cannot be measured (0 of 0) is a dash, not a zero. Intervals cover 95%: a bootstrap over items with a fixed seed (BCa:
Efron, JASA 82, 1987), widened near 0 and 1 to include Wilson's (JASA 22, 1927). Two runs are compared on the same items
by a sign-flip test (McNemar's for 0 and 1), corrected over all metrics (Holm). Measured coverage of intervals and gates:
[benchmarks/README.md](../benchmarks/README.md). `{k}` stands for the cut-offs 1, 3, 5, 10 and `--topk`. To add your own
metric: [architecture.md](architecture.md#adding)."""
_HELP = frozenset({"--help-all", "--help"})


class MetricTexts(NamedTuple):
    """What docs/metrics.toml says.

    Attributes:
        blocks: heading and words of each block.
        metrics: formula and source of each metric, by its name with its block.
    """

    blocks: dict[str, dict[str, str]]
    metrics: dict[str, dict[str, str]]

    @classmethod
    def read(cls, file: Path) -> "MetricTexts":
        """Of a file."""
        read: dict[str, Any] = tomllib.loads(file.read_text(encoding="utf-8"))
        return cls(read["blocks"], read["metrics"])


def options_page(language: Language) -> str:
    """docs/reference.md, or docs/reference.ko.md."""
    parts = [_OPTIONS_HEAD[language]]
    for path, of in every_command(cli):
        parts.append("\n".join(_command_lines(" ".join(path), of, language)))
    return "\n\n".join(parts) + "\n"


def metrics_page(texts: MetricTexts) -> str:
    """docs/metrics.md.

    Raises:
        KeyError: a metric of the table has no formula.
    """
    parts = [_METRICS_HEAD]
    for block in BLOCKS:
        said = texts.blocks[block]
        rows = (_metric_line(metric, texts.metrics[metric.key]) for metric in metrics_of(block))
        head = "| metric | 한국어 | key | formula | source | gate |\n|---|---|---|---|---|:-:|"
        parts.append("\n".join((f"## {said['en']}\n", said["text"].strip() + "\n", head, *rows)))
    return "\n\n".join(parts) + "\n"


def _metric_line(metric: Metric, said: dict[str, str]) -> str:
    down = " ↓" if metric.use.lower else ""
    gate = "yes" if metric.use.gate else ""
    cells = (in_language(metric.label, "en") + down, in_language(metric.label, "ko"), f"`{metric.key}`", *said.values(), gate)
    return _row(*cells)


def _command_lines(name: str, of: click.Command, language: Language) -> Iterator[str]:
    context = click.Context(of, info_name=f"gigamind {name}")
    usage = usage_in(language, " ".join(of.collect_usage_pieces(context)))
    yield f"## gigamind {name}\n"
    yield _plain(help_in(language, of.help or "")) + "\n"
    yield f"```text\ngigamind {name} {usage}\n```"
    if isinstance(of, Command) and of.examples:
        yield "\n```sh\n" + "\n".join(of.examples) + "\n```"
    groups: dict[str, list[str]] = {}
    for param in of.params:
        record = param.get_help_record(context)
        group = param.group if isinstance(param, GroupedOption) else "Options"
        of_all = group == EVERYWHERE or param.opts[0] in _HELP
        if record and isinstance(param, click.Option) and not of_all:
            names, text = row_in(language, record)
            groups.setdefault(help_in(language, group), []).append(_row(f"`{names}`", _plain(text)))
    for group, rows in groups.items():
        yield "\n".join((f"\n| {group} | |", "|---|---|", *rows))


def _plain(text: str) -> str:
    """Text of a help page in one line, none of it read as HTML."""
    return " ".join(text.replace("\b", "").split()).replace("<", "&lt;")


def _row(*cells: str) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def pages(folder: Path) -> dict[str, str]:
    """The made pages of the folder docs/, by their names."""
    return {
        "reference.md": options_page("en"),
        "reference.ko.md": options_page("ko"),
        "metrics.md": metrics_page(MetricTexts.read(folder / "metrics.toml")),
    }


def write(folder: Path) -> None:
    """Write them there."""
    for name, text in pages(folder).items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
