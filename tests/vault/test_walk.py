import os
import unicodedata

import pytest

from gigamind.errors import NotesError
from gigamind.vault.notes import DEFAULT_EXCLUDES, Vault, walk


def paths(root, exclude=DEFAULT_EXCLUDES):
    return [file.path for file in walk(root, exclude).files]


def test_files_come_in_path_order_whatever_the_order_of_creation(write_vault):
    root = write_vault(
        {"나.md": "", "b/z.md": "", "a.md": "", "b.md": "", "B.md": "", "b-a/x.md": ""}
    )

    assert paths(root) == ["B.md", "a.md", "b-a/x.md", "b.md", "b/z.md", "나.md"]


def test_the_default_patterns_are_those_of_the_specification_but_notes_in_eval_are_notes(
    write_vault,
):
    left_out = [
        ".git/HEAD", "sub/.git/x.md", ".gigamind/cache", "eval/queries.jsonl", "sub/eval/q.jsonl",
        "eval/out/1/run.json", "eval/out/1/per_item.jsonl", "eval/out/1/summary.md",
        "eval/cards/1/judge_card.json", "eval/cards/1/judge_card.md", "a run elsewhere/run.json",
        "a run elsewhere/per_item.jsonl", "a run elsewhere/summary.md", "node_modules/a/README.md",
        ".DS_Store", "sub/.DS_Store", "a.tmp", "sub/.a.md.swp",
    ]  # fmt: skip
    kept = [".gitignore", ".obsidian/app.json", "eval/plan.md", "eval.md", "evaluation/a.md", "tmp"]
    kept = sorted([*kept, "other/eval", "sub/eval/deep/q.md", "x/run.json", "x/summary.md"])
    root = write_vault(dict.fromkeys([*left_out, *kept], ""))

    assert paths(root) == kept


@pytest.mark.parametrize(
    ("pattern", "left_out"),
    [
        ("drafts/", ["a/drafts/x.md", "drafts/b/y.md"]),
        ("drafts", ["a/drafts/x.md", "b/drafts", "drafts/b/y.md"]), ("/drafts", ["drafts/b/y.md"]),
        ("/drafts/", ["drafts/b/y.md"]), ("*.png", ["a/i.png"]),
        ("a/*", ["a/drafts/x.md", "a/i.png"]), ("a/*.md", []), ("a/**/*.md", ["a/drafts/x.md"]),
        ("**/y.md", ["drafts/b/y.md"]),
        ("[ab]", ["a/drafts/x.md", "a/i.png", "b/drafts", "drafts/b/y.md"]), ("", []), ("/", []),
    ],
)  # fmt: skip
def test_a_pattern_leaves_out_what_it_names(write_vault, pattern, left_out):
    everything = ["a/drafts/x.md", "a/i.png", "b/drafts", "drafts/b/y.md", "z.md"]
    root = write_vault(dict.fromkeys(everything, ""))

    assert paths(root, [pattern]) == [path for path in everything if path not in left_out]


def test_a_pattern_in_another_unicode_form_matches(write_vault):
    root = write_vault({"초안/a.md": ""})

    assert paths(root, [unicodedata.normalize("NFD", "초안/")]) == []


def test_links_out_of_the_vault_are_named_and_not_followed(write_vault, tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "outside" / "secret.md").write_text("secret")
    root = write_vault({"a.md": ""})
    (root / "folder").symlink_to(tmp_path / "outside")
    (root / "note.md").symlink_to("../outside/secret.md")

    walked = walk(root)

    assert [file.path for file in walked.files] == ["a.md"]
    assert [warning.values["place"] for warning in walked.warnings] == ["folder", "note.md"]
    vault = Vault.read(root)
    assert ([note.path for note in vault.notes], vault.warnings) == (["a.md"], walked.warnings)


def test_a_folder_beside_the_vault_with_a_longer_name_is_outside(write_vault, tmp_path):
    root = write_vault({"a.md": ""})
    (tmp_path / "vault-2").mkdir()
    (tmp_path / "vault-2" / "b.md").write_text("")
    (root / "b.md").symlink_to(tmp_path / "vault-2" / "b.md")

    assert paths(root) == ["a.md"]


def test_circles_of_links_end(write_vault):
    root = write_vault({"a/x.md": "", "b/y.md": ""})
    (root / "a" / "loop").symlink_to("..")
    (root / "a" / "b").symlink_to("../b")
    (root / "b" / "a").symlink_to("../a")
    (root / "self.md").symlink_to("self.md")

    walked = walk(root)

    assert [file.path for file in walked.files] == ["a/x.md", "b/y.md"]
    named = [warning.partition(":")[0] for warning in walked.warnings]
    assert named == ["a/b", "a/loop", "b/a", "self.md"]


def test_a_link_to_a_file_of_the_vault_is_a_file(write_vault):
    root = write_vault({"a.md": "text"})
    (root / "b.md").symlink_to("a.md")

    walked = walk(root)

    assert [file.path for file in walked.files] == ["a.md", "b.md"]
    assert walked.warnings == ()


def test_a_vault_may_itself_be_given_as_a_link(write_vault, tmp_path):
    root = write_vault({"a.md": ""})
    (tmp_path / "link").symlink_to(root)

    assert paths(tmp_path / "link") == ["a.md"]


def test_a_broken_link_and_a_pipe_are_named(write_vault):
    root = write_vault({"a.md": ""})
    (root / "gone.md").symlink_to("missing.md")
    os.mkfifo(root / "pipe.md")

    walked = walk(root)

    assert [file.path for file in walked.files] == ["a.md"]
    assert [warning.values["place"] for warning in walked.warnings] == ["gone.md", "pipe.md"]


def test_a_name_that_is_no_utf8_is_named_in_escapes(write_vault):
    root = write_vault({"a.md": ""})
    (root / os.fsdecode(b"caf\xe9.md")).touch()

    walked = walk(root)

    assert [file.path for file in walked.files] == ["a.md"]
    assert [warning.values["place"] for warning in walked.warnings] == ["caf\\udce9.md"]


@pytest.mark.parametrize("name", ["missing", "vault/a.md"])
def test_a_root_that_is_no_folder_is_an_error(write_vault, tmp_path, name):
    write_vault({"a.md": ""})

    with pytest.raises(NotesError, match=name):
        walk(tmp_path / name)


def test_a_vault_may_itself_be_named_eval_and_hold_a_run(write_vault):
    files = ["a.md", "i.png", "per_item.jsonl", "run.json"]
    root = write_vault({f"eval/{name}": "" for name in files})
    assert paths(root / "eval") == files
