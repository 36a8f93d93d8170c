"""The generated files that git ignores are as tools/generated.sha256 says."""

import shutil
import subprocess
from pathlib import Path

import pytest
from generated import DIGESTS, changes, digests, files, record, recorded, write
from pages import commands
from typed import parsed

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def made():
    return files()


def test_generated_files_have_the_recorded_digests(made):
    changed = changes(recorded(), digests(made))
    if changed:
        pytest.fail(
            "\n".join(
                (
                    f"Not as in {DIGESTS.relative_to(ROOT)}:",
                    *changed,
                    "If this is intended: make schemas reference",
                )
            ),
            pytrace=False,
        )


def test_a_change_names_each_file_that_differs(tmp_path):
    before = {"schemas/a.json": "1", "schemas/b.json": "1", "schemas/c.json": "1"}
    record(before, tmp_path / "digests")
    after = digests({"schemas/a.json": "1", "schemas/b.json": "2", "schemas/d.json": "1"})
    assert changes(recorded(tmp_path / "digests"), after) == [
        "schemas/b.json changed",
        "schemas/c.json removed",
        "schemas/d.json added",
    ]


def test_writing_removes_files_that_are_generated_no_more_and_no_others(tmp_path):
    for name in ("schemas/output/old.schema.json", "schemas/README.md", "docs/page.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).touch()
    write({"docs/generated/commands.md": "가\n"}, tmp_path)
    left = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*.*")}
    assert left == {"schemas/README.md", "docs/page.md", "docs/generated/commands.md"}
    assert (tmp_path / "docs" / "generated" / "commands.md").read_bytes() == "가\n".encode()


@pytest.mark.skipif(
    not (ROOT / ".git").exists() or shutil.which("git") is None, reason="needs a git clone"
)
def test_git_has_none_of_them_and_ignores_all(made):
    def git(*words):
        given = "\n".join(made)
        return subprocess.run(
            ["git", "-C", ROOT, *words], input=given, capture_output=True, text=True, check=True
        ).stdout.splitlines()

    assert set(git("ls-files")).isdisjoint(made)
    assert set(git("check-ignore", "--stdin")) == set(made)


@pytest.mark.parametrize("language", ["", ".ko"])
def test_every_example_of_the_reference_is_taken_by_its_options(made, tmp_path, language):
    page = tmp_path / "commands.md"
    page.write_text(made[f"docs/generated/commands{language}.md"], "utf-8")
    examples = list(commands(page))
    assert len(examples) > 40
    for words in examples:
        parsed(words)
