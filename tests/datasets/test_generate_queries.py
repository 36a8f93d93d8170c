from collections.abc import Callable
from pathlib import Path

import pytest

from gigamind.datasets.check import check_queries
from gigamind.datasets.generate_queries import GeneratedQueries, generate_queries, queries
from gigamind.datasets.jsonl import read_queries
from gigamind.errors import InputError
from gigamind.vault.identity import Identities
from gigamind.vault.notes import read_vault

EXAMPLES = Path(__file__).parents[2] / "examples" / "vault"
Ask = Callable[..., GeneratedQueries]


@pytest.fixture
def ask(tmp_path: Path) -> Ask:
    """The rows of a vault of these notes, path -> text."""

    def run(notes: dict[str, str], most: int = 9, *, headers: bool = True) -> GeneratedQueries:
        for path, text in notes.items():
            (tmp_path / path).write_text(text, encoding="utf-8")
        return queries(read_vault(tmp_path), most, include_headers=headers)

    return run


def texts(made: GeneratedQueries) -> list[str]:
    return [row.query for row in made.rows]


def test_a_title_becomes_a_question_in_the_language_of_the_note(ask):
    made = ask(
        {"a.md": "---\ntitle: 결재 규정\n---\n본문이다.", "b.md": "---\ntitle: Leave\n---\nIt is."}
    )
    korean, english = made.rows
    assert korean.query in {
        "결재 규정이 어떻게 되어 있나요?",
        "결재 규정은 무엇인가요?",
        "결재 규정을 알고 싶은데 어디에 정리되어 있나요?",
        "결재 규정에 대해 알려 주세요.",
    }
    assert english.query in {
        "What do we know about Leave?",
        "What should I know about Leave?",
        "Where is Leave written down?",
        "Can you tell me about Leave?",
    }
    assert (korean.language, english.language) == ("ko", "en")
    assert korean.expected_notes == ("a.md",)
    assert korean.answerable
    assert (korean.source, korean.tags, korean.id) == ("generated", ("title",), "g-0001")


def test_headings_are_asked_about_only_when_included_and_never_without_the_title(ask):
    note = {
        "a.md": "---\ntitle: 휴가\n---\n# 휴가\n## 연차\n열흘.\n### 병가\n닷새.\n#### 너무 깊다\n글."
    }
    assert len(ask(note, headers=False).rows) == 1
    title, *rest = texts(ask(note))
    assert title.startswith("휴가")
    assert len(rest) == 2
    for query, heading in zip(rest, ["연차", "병가"], strict=True):
        assert query.startswith(("휴가에서 ", "휴가의 "))
        assert heading in query


@pytest.mark.parametrize(
    ("title", "body", "heading", "expected"),
    [
        *(
            ("휴가", "본문이다.", heading, expected)
            for heading, expected in (
                ("어떻게 도는가", "휴가: 어떻게 도는가?"),
                ("무엇을 바꿨나", "휴가: 무엇을 바꿨나?"),
                ("누가 쓰나요?", "휴가: 누가 쓰나요?"),
                ("카드를 잃어버렸다면", "휴가: 카드를 잃어버렸다면 어떻게 하나요?"),
                ("첫 주가 갈라놓는다", "휴가에서 ‘첫 주가 갈라놓는다’ 부분을 알려 주세요."),
            )
        ),
        ("Leave", "Some text.", "Why", "Leave: why?"),
        ("Leave", "Some text.", "What changed?", "Leave: what changed?"),
        ("Leave", "Some text.", "When it rings", "Leave: what to do when it rings?"),
        ("Leave", "Some text.", "When and where", "Leave: when and where?"),
    ],
)
def test_a_heading_that_is_no_noun_is_asked_as_it_stands(ask, title, body, heading, expected):
    made = ask({"a.md": f"---\ntitle: {title}\n---\n## {heading}\n{body}"})
    assert texts(made)[1] == expected


def test_a_title_that_asks_stays_as_it_is(ask):
    assert texts(ask({"a.md": "---\ntitle: Who does what?\n---\nSome text."})) == ["Who does what?"]


def test_a_first_heading_is_a_better_name_than_a_file_name(ask):
    (query,) = texts(ask({"2025-01-raw_x.md": "# Rain study 🌧️\nSome text."}))
    assert "Rain study" in query
    assert "🌧" not in query


def test_a_question_that_two_notes_give_is_one_row_that_expects_both(ask):
    note = "---\ntitle: 주간 회의\n---\n글."
    (row,) = ask({"a.md": note, "b.md": note}).rows
    assert row.expected_notes == ("a.md", "b.md")


def test_notes_and_sections_without_text_are_left_out(ask):
    made = ask(
        {"a.md": "# Only a heading", "b.md": "---\ntitle: B\n---\n## Empty\n## Full\nSome text."}
    )
    assert made.empty_notes == ("a.md",)
    assert [row.tags for row in made.rows] == [("title",), ("heading",)]
    assert "Full" in made.rows[1].query


@pytest.mark.parametrize(("most", "count"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_a_note_gives_so_many_questions_at_most(ask, most, count):
    note = "---\ntitle: B\n---\n## One\nSome text.\n## Two\nSome text."
    assert len(ask({"a.md": note}, most).rows) == count


def test_the_examples_give_valid_rows_in_several_shapes_and_equal_bytes(tmp_path):
    for name in ("one", "two"):
        generate_queries(EXAMPLES, tmp_path / name, include_headers=True)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    dataset = read_queries(tmp_path / "one")
    vault = read_vault(EXAMPLES)
    checked = check_queries(dataset, vault, Identities(vault.notes))
    assert dataset.warnings == ()
    assert checked.errors == ()
    asked = [item.query for item in dataset.items]
    assert len(set(asked)) == len(asked)
    assert len({query[-8:] for query in asked if query.endswith("요?")}) >= 3
    assert {item.source for item in dataset.items} == {"generated"}


def test_places_and_numbers_that_cannot_be_are_refused(tmp_path):
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / "a.md").write_text("# Only a heading")
    (tmp_path / "taken").write_text("kept")
    vault, out = tmp_path / "vault", tmp_path / "out"
    with pytest.raises(InputError, match="no note has text"):
        generate_queries(vault, out)
    with pytest.raises(InputError, match="--max-per-note 0"):
        generate_queries(vault, out, max_per_note=0)
    with pytest.raises(InputError, match="exists already"):
        generate_queries(vault, tmp_path / "taken")
    with pytest.raises(InputError, match="lies in the vault"):
        generate_queries(vault, vault / "q.jsonl")
    assert not out.exists()
