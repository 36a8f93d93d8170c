"""READMEs and docs/: links, anchors and commands exist, and what is made of the code is as made."""

import re
import tomllib
import unicodedata
from collections import Counter
from pathlib import Path

import click
import pytest
from pages import DOCS, NAMES, ROOT, commands, prose
from typed import parsed, words_of

from gigamind.cli.reference import MetricTexts, pages
from gigamind.metrics.spec import BLOCKS
from gigamind.metrics.table import metrics_of
from gigamind.version import __version__

CONFIGURED = {"docs/command-line.md"}  # their commands get what is required from gigamind.toml


def anchors(page: Path) -> set[str]:
    """The anchors of its headings, as GitHub makes them."""
    seen = Counter[str]()
    found = set[str]()
    for line in prose(page).splitlines():
        if heading := re.match(r"#{1,6} +(.*)", line):
            text = re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", heading[1]).strip().lower()
            kept = (c for c in text if c in " -_" or unicodedata.category(c)[0] in "LMN")
            anchor = "".join(kept).replace(" ", "-")
            found.add(f"{anchor}-{seen[anchor]}" if seen[anchor] else anchor)
            seen[anchor] += 1
    return found


def targets(page: Path) -> list[str]:
    text = re.sub(r"`[^`\n]*`", "", prose(page))
    return re.findall(r"\]\(([^)\s]+)\)", text)


@pytest.mark.parametrize("name", NAMES)
def test_every_link_of_a_page_leads_to_a_file_and_to_a_heading_of_it(name):
    page = ROOT / name
    for target in targets(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.parametrize("name", NAMES)
def test_every_command_of_a_page_is_taken_by_its_options(name):
    for words in commands(ROOT / name):
        try:
            parsed(words, elided=name in CONFIGURED)
        except click.UsageError as error:
            pytest.fail(f"gigamind {' '.join(words)}: {error.format_message()}")


def test_an_option_that_is_none_is_found_where_others_are_left_out():
    with pytest.raises(click.NoSuchOption):
        parsed(["eval", "search", "...", "--no-such-option"])
    with pytest.raises(click.BadParameter):
        parsed(["eval", "search", "...", "--mode", "telepathy"])
    with pytest.raises(click.MissingParameter):
        parsed(["eval", "generate-queries", "--out", "x"])


def test_commands_are_found_behind_variables_and_before_pipes():
    assert words_of("KEY=x .venv/bin/gigamind doctor --json | jq .  # why") == ["doctor", "--json"]
    assert words_of("make demo  # gigamind") is None
    assert sum(1 for name in NAMES for _ in commands(ROOT / name)) > 100


def test_the_readmes_are_short_and_say_the_same_things():
    english, korean = (ROOT / name for name in ("README.md", "README.ko.md"))
    for page in (english, korean):
        assert len(page.read_text("utf-8").splitlines()) <= 120
    own = {"README.md", "README.ko.md"}
    assert set(targets(korean)) - own <= set(targets(english)) | {
        "docs/figures/report.ko.png",
        "docs/links.md#a-first-dataset",
        "docs/release-manager.ko.md",
    }
    in_korean = [
        [word for word in words if word not in {"--lang", "ko"}] for words in commands(korean)
    ]
    assert in_korean == list(commands(english))


def test_every_page_of_docs_stands_in_their_index():
    listed = set(targets(DOCS / "README.md"))
    assert {page.name for page in DOCS.glob("*.md")} - {"README.md"} <= listed


def test_pictures_are_small():
    for picture in DOCS.glob("figures/*.png"):
        assert picture.stat().st_size < 200_000, picture.name


def test_pages_that_are_made_of_the_code_are_as_made():
    for name, text in pages(DOCS).items():
        assert (DOCS / name).read_text("utf-8") == text, f"{name}: make reference"


def test_each_metric_of_the_table_has_a_formula_and_no_other_has():
    said = MetricTexts.read(DOCS / "metrics.toml")
    assert set(said.metrics) == {metric.key for metric in metrics_of(*BLOCKS)}
    assert set(said.blocks) == set(BLOCKS)
    assert all(
        set(of) == {"formula", "source"} and all(of.values()) for of in said.metrics.values()
    )


def test_changelog_and_citation_are_of_the_version_of_the_package():
    written = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"## {written} - " in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\nversion: {written}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert __version__ == written
