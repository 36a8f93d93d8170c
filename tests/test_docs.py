"""READMEs and docs/: links, anchors and commands exist, and what is made of the code is as made."""

import re
import subprocess
import tomllib
import unicodedata
from collections import Counter
from contextlib import nullcontext
from pathlib import Path

import click
import pytest
from pages import DOCS, KOREAN, NAMES, ROOT, SHELLS, commands, lines_of, prose
from reference import MetricTexts, pages
from typed import parsed, words_of

from gigamind.loading import names_in
from gigamind.metrics.spec import BLOCKS
from gigamind.metrics.table import metrics_of
from gigamind.version import __version__

CONFIGURED = {
    "docs/command-line.md",
    "docs/command-line.ko.md",
}  # gigamind.toml has what is required
IN_ENGLISH_ALONE = {"architecture.md", "conformance.md", "metrics.md"}
CODE = SHELLS | {"json", "python", "toml", "yaml"}
FOR_ONE_LANGUAGE = r"(?:^|\s)#.*|--lang ko\b|\bPAGE=ko\b"


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


@pytest.mark.each("name", NAMES)
def test_every_link_of_a_page_leads_to_a_file_and_to_a_heading_of_it(name):
    page = ROOT / name
    for target in targets(page):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        file = (page.parent / path).resolve() if path else page
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), target


@pytest.mark.each("name", NAMES)
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


@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="needs a git clone")
def test_contributing_names_every_entry_of_the_repository():
    listed = subprocess.run(["git", "-C", ROOT, "ls-files"], capture_output=True, check=True)
    entries = {path.partition("/")[0] for path in listed.stdout.decode().splitlines()}
    page = (ROOT / "CONTRIBUTING.md").read_text("utf-8").partition("## Generated files")[0]
    named = re.findall(r"`([^`\n]+)`", "\n".join(re.findall(r"(?m)^\| (.*?) \|", page)))
    assert {name.rstrip("/") for name in named} == {entry.strip('"') for entry in entries}


def test_the_readmes_are_short():
    for name in ("README.md", "README.ko.md"):
        assert len((ROOT / name).read_text("utf-8").splitlines()) <= 120


def korean_of(page: Path) -> Path:
    return page.with_suffix(".ko.md")


def test_every_page_of_docs_stands_in_the_index_of_its_language_and_is_korean_too():
    english = {page.name for page in DOCS.glob("*.md") if not page.name.endswith(".ko.md")}
    korean = {korean_of(DOCS / name).name for name in english - IN_ENGLISH_ALONE}
    assert {page.name for page in DOCS.glob("*.ko.md")} == korean
    assert english - {"README.md"} <= set(targets(DOCS / "README.md"))
    listed = korean | IN_ENGLISH_ALONE
    assert listed - {"README.ko.md"} <= set(targets(DOCS / "README.ko.md"))


def code(page: Path) -> list[tuple[str | None, str]]:
    """What programs read of its blocks, line by line: no comments, nothing that asks for Korean."""
    lines = (
        (line.language, " ".join(re.sub(FOR_ONE_LANGUAGE, " ", line.text).split()))
        for line in lines_of(page)
        if line.language in CODE
    )
    return [(language, text) for language, text in lines if text]


@pytest.mark.each("name", KOREAN)
def test_a_korean_page_has_the_code_of_the_english_one(name):
    assert code(ROOT / name) == code(ROOT / name.replace(".ko.md", ".md"))


@pytest.mark.each("name", KOREAN)
def test_a_korean_page_leads_to_korean_pages_and_there_and_back_to_its_english_one(name):
    korean, english = ROOT / name, ROOT / name.replace(".ko.md", ".md")
    assert korean.name in targets(english)
    assert english.name in targets(korean)
    others = {target.partition("#")[0] for target in targets(korean)} - {english.name}
    assert [page for page in others if korean_of(korean.parent / page).exists()] == []


def test_pictures_are_small():
    for picture in DOCS.glob("figures/*.png"):
        assert picture.stat().st_size < 200_000, picture.name


def test_pages_that_are_made_of_the_code_are_as_made():
    for name, text in pages(DOCS).items():
        assert (DOCS / name).read_text("utf-8") == text, f"{name}: make reference"


def test_each_metric_of_the_table_has_a_formula_and_no_other_has():
    said = MetricTexts.read(DOCS / "metrics.toml")
    in_functions = MetricTexts(said.blocks, {})
    for metric in metrics_of(*BLOCKS):
        told = pytest.raises(ValueError, match=re.escape(f"{metric.key}: "))
        with told if metric.key in said.metrics else nullcontext():
            in_functions.of(metric)
    assert set(said.metrics) < {metric.key for metric in metrics_of(*BLOCKS)}
    assert set(said.blocks) == set(BLOCKS)
    assert all(
        set(of) == {"formula", "source"} and all(of.values()) for of in said.metrics.values()
    )


@pytest.mark.each("name", ["systems.md", "systems.ko.md"])
def test_each_preset_of_a_system_stands_in_a_table_and_no_other_does(name):
    _, *parts = (DOCS / name).read_text("utf-8").split("\n| `--system-config` | `--system` |\n")
    tables = [sorted(re.findall(r"(?m)^\| `(\w+)`", part.split("\n\n")[0])) for part in parts]
    assert tables == [names_in("systems"), names_in("systems/answers")]


def test_changelog_and_citation_are_of_the_version_of_the_package():
    written = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["version"]
    assert f"## {written} - " in (ROOT / "CHANGELOG.md").read_text("utf-8")
    assert f"\nversion: {written}\n" in (ROOT / "CITATION.cff").read_text("utf-8")
    assert __version__ == written
