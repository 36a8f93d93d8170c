from pathlib import Path

import pytest
from vault_files import write_files

from gigamind.choices import FORMS
from gigamind.datasets.check import check_queries
from gigamind.datasets.generate_queries import QueryForms, _queries, generate_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.errors import InputError
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

EXAMPLES = Path(__file__).parents[2] / "examples" / "vault"


@pytest.fixture
def ask(tmp_path):
    """The rows of a vault of these notes, path -> text."""

    def run(notes, most=9, forms=("title", "heading"), **wanted):
        vault = Vault.read(write_files(tmp_path, notes))
        return _queries(vault, QueryForms(forms, most, **wanted))

    return run


def texts(made):
    return [row.query for row in made.rows]


def test_a_title_becomes_a_question_in_the_language_of_the_note(ask):
    made = ask(
        {"a.md": "---\ntitle: 결재 규정\n---\n본문이다.", "b.md": "---\ntitle: Leave\n---\nIt is."}
    )
    korean, english = made.rows
    assert korean.query in {
        "결재 규정이 어떻게 되어 있나요?", "결재 규정은 무엇인가요?",
        "결재 규정을 알고 싶은데 어디에 정리되어 있나요?", "결재 규정에 대해 알려 주세요.",
    }  # fmt: skip
    assert english.query in {
        "What do we know about Leave?", "What should I know about Leave?",
        "Where is Leave written down?", "Can you tell me about Leave?",
    }  # fmt: skip
    assert (korean.language, english.language) == ("ko", "en")
    assert korean.expected_notes == ("a.md",)
    assert korean.answerable
    tags = ("generated", "form:title")
    assert (korean.source, korean.tags, korean.id) == ("generated", tags, "g-0001")


def test_headings_are_asked_about_only_when_included_and_never_without_the_title(ask):
    note = {
        "a.md": "---\ntitle: 휴가\n---\n# 휴가\n## 연차\n열흘.\n### 병가\n닷새.\n#### 너무 깊다\n글."
    }
    assert len(ask(note, forms=("title",)).rows) == 1
    title, *rest = texts(ask(note))
    assert title.startswith("휴가")
    assert len(rest) == 2
    for query, heading in zip(rest, ["연차", "병가"], strict=True):
        assert query.startswith(("휴가에서 ", "휴가의 "))
        assert heading in query


@pytest.mark.parametrize(
    ("title", "heading", "expected"),
    [
        ("휴가", "어떻게 도는가", "휴가: 어떻게 도는가?"),
        ("휴가", "무엇을 바꿨나", "휴가: 무엇을 바꿨나?"),
        ("휴가", "누가 쓰나요?", "휴가: 누가 쓰나요?"),
        ("휴가", "카드를 잃어버렸다면", "휴가: 카드를 잃어버렸다면 어떻게 하나요?"),
        ("휴가", "첫 주가 갈라놓는다", "휴가에서 ‘첫 주가 갈라놓는다’ 부분을 알려 주세요."),
        ("Leave", "Why", "Leave: why?"),
        ("Leave", "What changed?", "Leave: what changed?"),
        ("Leave", "When it rings", "Leave: what to do when it rings?"),
        ("Leave", "When and where", "Leave: when and where?"),
    ],
)
def test_a_heading_that_is_no_noun_is_asked_as_it_stands(ask, title, heading, expected):
    body = "본문이다." if title == "휴가" else "Some text."
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
    assert [row.tags[1] for row in made.rows] == ["form:title", "form:heading"]
    assert "Full" in made.rows[1].query


@pytest.mark.parametrize(("most", "count"), [(1, 1), (2, 2), (3, 3), (4, 3)])
def test_a_note_gives_so_many_questions_at_most(ask, most, count):
    note = "---\ntitle: B\n---\n## One\nSome text.\n## Two\nSome text."
    assert len(ask({"a.md": note}, most).rows) == count


def test_the_examples_give_valid_rows_in_several_shapes_and_equal_bytes(tmp_path):
    for name in ("one", "two"):
        generate_queries(EXAMPLES, tmp_path / name, QueryForms(FORMS))
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    dataset = read_queries(tmp_path / "one")
    vault = Vault.read(EXAMPLES)
    checked = check_queries(dataset, vault, Identities(vault.notes))
    assert dataset.warnings == ()
    assert (checked.errors, checked.warnings) == ((), ())
    asked = [item.query for item in dataset.items]
    assert len(set(asked)) == len(asked)
    assert len({query[-8:] for query in asked if query.endswith("요?")}) >= 3
    assert {item.source for item in dataset.items} == {"generated"}


def test_places_and_numbers_that_cannot_be_are_refused(tmp_path):
    vault = write_files(tmp_path / "vault", {"a.md": "# Only a heading"})
    (tmp_path / "taken").write_text("kept")
    out = tmp_path / "out"
    titles = QueryForms()
    with pytest.raises(InputError, match="vault: "):
        generate_queries(vault, out, titles)
    with pytest.raises(InputError, match="--max-per-note 0"):
        generate_queries(vault, out, QueryForms(per_note=0))
    with pytest.raises(InputError, match="--limit 0"):
        generate_queries(vault, out, QueryForms(limit=0))
    with pytest.raises(InputError, match=r"--out .*taken"):
        generate_queries(vault, tmp_path / "taken", titles)
    with pytest.raises(InputError, match=r"--out .*q\.jsonl"):
        generate_queries(vault, vault / "q.jsonl", titles)
    assert not out.exists()


@pytest.mark.parametrize(
    ("title", "text", "asked", "quote"),
    [
        ("휴가 규정", "## 연차\n1년에 15일이다.", "연차", "1년에 15일이다."),
        ("Leave rules", "## 2. Sick leave\nTen days.\n\nMore.", "Sick leave", "Ten days."),
    ],
)
def test_a_heading_is_asked_by_its_words_and_labels_where_the_answer_stands(
    title, text, asked, quote, ask
):
    note = f"---\ntitle: {title}\n---\n👋\n\n{text}\n"
    (row,) = ask({"a.md": note}, forms=("heading",)).rows
    assert asked in row.query
    assert title in row.query
    (span,) = row.expected_spans
    assert span.text == quote
    assert span.start == note.index(quote) + 1  # the wave takes two UTF-16 units
    assert row.tags == ("generated", "form:heading")


def test_a_heading_with_the_words_of_the_title_alone_is_not_asked_about(ask):
    note = "---\ntitle: Leave\n---\n## Leave\nThe words of the title alone.\n"
    assert ask({"a.md": note}, forms=("heading",)).rows == ()


@pytest.mark.parametrize(
    ("title", "text", "change", "changed"),
    [
        ("Budget 2024", "In 2025 more.", "year", "Budget 2023"),
        ("Lock v3", "It follows v2 and comes before v4.", "version", "Lock v5"),
        ("Porto office", "We work in Porto. All of Porto is steep.", "name", " office"),
        ("전주 출시", "전주와 군산은 가깝다.", "name", " 출시"),
    ],
)
def test_a_near_miss_has_one_word_that_stands_nowhere_in_the_vault(
    title, text, change, changed, ask
):
    made = ask({"a.md": f"---\ntitle: {title}\n---\n{text}"}, forms=("near-miss",))
    (row,) = made.rows
    assert changed in row.query
    assert title not in row.query
    assert not row.answerable
    assert (row.expected_notes, row.expected_spans) == ((), ())
    assert row.tags == ("generated", "form:near-miss", f"changed:{change}")


def test_a_month_and_a_word_that_also_stands_small_are_no_names_to_change(ask):
    text = "We met in April and in April again. Then came the Board, the Board of the board."
    made = ask({"a.md": f"---\ntitle: April of the Board\n---\n{text}"}, forms=("near-miss",))
    assert made.rows == ()
    (warning,) = made.warnings
    assert (warning.values["form"], warning.values["notes"]) == ("near-miss", 1)


def test_what_only_a_note_that_is_left_out_names_has_no_answer_in_the_copy(ask):
    notes = {f"n{number}.md": f"# Topic {word}\n\n{word} is told here.\n" for number, word in enumerate(
        ("Alpaca", "Beaver", "Civet", "Dingo"))}  # fmt: skip
    made = ask(notes, forms=("title",), leave_out=0.5)
    unanswerable = [row for row in made.rows if not row.answerable]
    assert len(made.left_out) == len(unanswerable) == 2
    assert {row.tags for row in unanswerable} == {("generated", "form:left-out")}
    assert all(not row.expected_notes and not row.expected_spans for row in unanswerable)
    kept = {note for row in made.rows for note in row.expected_notes}
    assert kept == set(notes) - set(made.left_out)
    assert made.by_form["left-out"] == (2, 2)


def test_a_name_that_another_note_has_too_is_not_asked_about_as_left_out(ask):
    notes = {"a.md": "# Alpaca\n\nSee [[Beaver]].\n", "b.md": "# Beaver\n\nSee [[Alpaca]].\n"}
    made = ask(notes, forms=("title",), leave_out=0.5)
    assert [row.answerable for row in made.rows] == [True]
    assert "left-out" in [warning.values.get("form") for warning in made.warnings]


def test_the_copy_lacks_the_notes_that_are_left_out(tmp_path):
    names = ("Alpaca", "Beaver", "Civet")
    notes = {f"{name}.md": f"# {name}\n\nText.\n" for name in names}
    vault = write_files(tmp_path / "vault", notes)
    wanted = QueryForms(("title",), leave_out=0.3)
    made = generate_queries(vault, tmp_path / "q.jsonl", wanted, tmp_path / "copy")
    copied = {file.name for file in (tmp_path / "copy").iterdir()}
    assert copied == notes.keys() - set(made.left_out)
    assert len(made.left_out) == 1
    copy = Vault.read(tmp_path / "copy")
    checked = check_queries(read_queries(tmp_path / "q.jsonl"), copy, Identities(copy.notes))
    assert not checked.errors
    with pytest.raises(InputError, match=r"--leave-out .*--out-notes"):
        generate_queries(vault, tmp_path / "r.jsonl", wanted)


def test_a_limit_is_shared_by_notes_and_forms(ask):
    note = "---\ntitle: B{0}\n---\n## One {0}\nSome text."
    notes = {f"{name}.md": note.format(name) for name in "pqrs"}
    made = ask(notes, forms=("title", "heading"), limit=4)
    assert [count for count, _ in made.by_form.values()] == [2, 2]
    assert len({row.expected_notes for row in made.rows}) == 4


def test_what_five_notes_speak_of_says_nothing_of_one(ask):
    note = "---\ntitle: B{0}\n---\n## See also\nSome text."
    four = {f"{name}.md": note.format(name) for name in "pqrs"}
    assert len(ask(four, forms=("heading",)).rows) == 4
    assert ask({"t.md": note.format("t")}, forms=("heading",)).rows == ()


def test_another_seed_draws_other_questions(ask):
    sections = "\n".join(f"## Term {n}x\nSome text." for n in range(40))
    note = {"a.md": f"---\ntitle: B\n---\n{sections}"}
    one, same, other = (texts(ask(note, 3, ("heading",), seed=seed)) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_a_vault_of_code_says_what_is_missing_and_too_few_are_told(ask, tmp_path):
    made = ask({"a.md": "```\nprint()\n```"}, forms=FORMS, limit=5)
    assert texts(made) == [row.query for row in made.rows if row.tags[1] == "form:title"]
    *forms, limit = made.warnings
    assert [warning.values["form"] for warning in forms] == ["heading", "near-miss"]
    assert limit.values["limit"] == 5
    with pytest.raises(InputError, match=r"\n.*form heading"):
        generate_queries(tmp_path, tmp_path.parent / "out", QueryForms(("heading",)))
