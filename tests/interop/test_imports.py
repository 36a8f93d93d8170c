"""What other tools write becomes rows and notes, or is refused with its place and how to mend it."""

import json

import pytest

from gigamind.errors import InputError
from gigamind.interop.collection import note_path, note_text
from gigamind.interop.column_map import read_beir, read_columns
from gigamind.interop.squad import read_squad
from gigamind.interop.trec import read_trec
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault


def refused(read, *arguments):
    with pytest.raises(InputError) as error:
        read(*arguments)
    return str(error.value)


TAGGED = """<top>
<num> Number: 051
<title> Topic: Airbus
 Subsidies
<desc> Description: long
</top>
<topic number="2"><query>mask & virus</query></topic>
"""


@pytest.mark.parametrize(
    "topics",
    [
        TAGGED,
        "051\tAirbus Subsidies\n2\tmask & virus\n",
        '{"_id": "051", "text": "Airbus Subsidies"}\n{"_id": 2, "text": "mask & virus"}\n',
    ],
)
def test_topics_are_read_in_each_of_their_forms(write, topics):
    qrels = write("q", "51 0 d1 1\n51 0 d2 -1\n2 0 my note.md 3\n")
    first, second = read_trec(qrels, write("t", topics)).rows
    assert (first.id, first.query, first.gains) == ("51", "Airbus Subsidies", {"d1": 1, "d2": -1})
    assert (second.query, second.expected_notes) == ("mask & virus", ("my note.md",))


def test_utf_16_is_read_and_another_encoding_is_told(write):
    text = "q 0 휴가 1\n"
    assert read_trec(write("a", text.encode("utf-16")), None).rows[0].expected_notes == ("휴가",)
    assert "b:1: " in refused(read_trec, write("b", text.encode("cp949")), None)


def test_what_is_left_out_of_a_trec_collection_is_counted(write):
    qrels = write("q", "1 0 a 1\n1 0 a 1\n2 0 a 0\n3 0 a 1\n")
    imported = read_trec(qrels, write("t", "1\tone\n2\ttwo\n9\tnine\n"))
    assert [(row.id, row.query, row.answerable) for row in imported.rows] == [
        ("1", "one", True),
        ("2", "two", False),
        ("3", "3", True),
    ]
    assert [warning.values for warning in imported.warnings] == [
        {"n": 1},  # without a relevant document
        {"n": 1, "query": "3"},  # without a text
        {"n": 1},  # without a judgement
    ]


@pytest.mark.parametrize(
    ("qrels", "topics", "message"),
    [
        ("1 0 a 1\n1 a\n", None, "q:2: "), ("1 0 a 1\n1 0 a 2\n", None, "q:2: "),
        ("\n", None, "q: "), ("1 0 a 5000\n", None, 'q:1: field "gains.a": '),
        ("1 0 a 1\n", "x\ty\n", "t: "), ("1 0 a 1\n", "1\ty\n1\tz\n", "t:2: "),
        ("1 0 a 1\n", "1\n", "t:1: "), ("1 0 a 1\n", '{"_id": 1\n', "t:1: "),
    ],
)  # fmt: skip
def test_a_trec_collection_that_cannot_be_used_is_told_with_its_line(write, qrels, topics, message):
    path = write("t", topics) if topics else None
    assert message in refused(read_trec, write("q", qrels), path)


@pytest.fixture
def beir(write, tmp_path):
    def put(**changed):
        files = {
            "corpus": '{"_id": "d", "title": "", "text": "x"}\n',
            "queries": '{"_id": "q", "text": "?"}\n',
            "test": "query-id\tcorpus-id\tscore\nq\td\t1\n",
        } | changed
        write("b/corpus.jsonl", files["corpus"])
        write("b/queries.jsonl", files["queries"])
        write("b/qrels/test.tsv", files["test"])
        return tmp_path / "b"

    return put


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"corpus": "\n"}, "corpus.jsonl: "),
        ({"corpus": '{"_id": "d"}\n' * 2}, "corpus.jsonl:2: "),
        ({"corpus": '{"name": "d"}\n'}, "corpus.jsonl:1: "),
        ({"queries": "[]\n"}, "queries.jsonl:1: "),
        ({"test": "q d 1\n"}, "test.tsv:1: "),
        ({"test": "q\td\t1\nq\td\thigh\n"}, "test.tsv:2: "),
        ({"test": "query-id\tcorpus-id\tscore\n"}, "test.tsv: "),
    ],
)
def test_a_beir_folder_that_cannot_be_used_is_told_with_its_line(beir, changed, message):
    assert message in refused(read_beir, beir(**changed), None)


def test_the_split_is_the_only_file_or_named(beir, write):
    folder = beir()
    assert len(read_beir(folder, None).rows) == 1
    write("b/qrels/dev.tsv", "q\td\t2\n")
    assert read_beir(folder, "dev").rows[0].gains == {"d": 2}
    assert read_beir(folder, None).rows[0].gains == {"d": 1}
    message = refused(read_beir, folder, "train")
    assert "train.tsv" in message
    assert "dev, test" in message


@pytest.mark.parametrize(
    "name", ["d1", "https://x.y/z?a=b", ".hidden", "a%20b", "긴이름" * 90, "CON: x", "end."]
)
def test_any_document_is_found_in_the_vault_by_its_id(tmp_path, name):
    text, start = note_text(name, "", "--- what\nit says")
    (tmp_path / note_path(name)).write_text(text, encoding="utf-8")
    (tmp_path / "other.md").write_text("other", encoding="utf-8")
    found = Identities(Vault.read(tmp_path).notes).resolve(name)
    assert found is not None
    assert found.note.path == note_path(name)
    assert text[start:] == "--- what\nit says\n"


def squad(*paragraphs):
    return json.dumps({"data": [{"title": "T/1", "paragraphs": list(paragraphs)}]})


def asked(name, start=0, text="one", **more):
    answers = [{"text": text, "answer_start": start}]
    return {"id": name, "question": "?", "answers": answers, **more}


def test_a_paragraph_that_stands_twice_is_one_note_and_a_wrong_start_is_mended(write):
    context = "\r\none two one"
    first = {"context": context, "qas": [asked("a", 9), asked("b", 11)]}
    again = {
        "context": context,
        "qas": [asked("c", 2, is_impossible=True), asked("d", 0, "nowhere")],
    }
    imported = read_squad(write("s.json", squad(first, again)))
    [(path, note)] = imported.notes.items()
    spans = {row.id: row.expected_spans for row in imported.rows}
    assert [note[s.start : s.end] for row in "ab" for s in spans[row]] == ["one", "one"]
    assert spans["a"][0].start == spans["b"][0].start == note.rindex("one")
    assert [row.answerable for row in imported.rows] == [True, True, False, True]
    assert (spans["d"], path) == ((), "T%2F1 001.md")
    assert imported.warnings[0].values["place"].endswith("question 2")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"data":\n oops}', "s.json:2: "), ("[1]", "s.json: "), (squad({"qas": []}), '"context"'),
        (squad({"context": "one", "qas": [asked("a"), asked("a")]}), "question 2: "),
        (squad({"context": "one", "qas": [asked("a", None)]}), '"text"'),
        (squad({"context": "one", "qas": [{"id": "a", "answers": []}]}), 'field "query"'),
    ],
)  # fmt: skip
def test_a_file_of_squad_that_cannot_be_used_is_told_with_its_place(write, content, message):
    assert message in refused(read_squad, write("s.json", content))


SAMPLE = {"question": "q", "answer": "a", "contexts": ["c1", "c2"], "ground_truths": ["g"]}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.json", json.dumps([SAMPLE])),
        ("a.json", json.dumps({name: {"0": value} for name, value in SAMPLE.items()})),
        ("a.json", json.dumps({name: [value] for name, value in SAMPLE.items()})),
        ("a.jsonl", json.dumps(SAMPLE)),
        ("a.csv", "\ufeffquestion,answer,contexts\nq,a,\"['c1', 'c2']\"\n"),
        ("a.csv", 'user_input,response,retrieved_contexts\nq,a,"[""c1"", ""c2""]"\n'),
    ],
)
def test_a_test_set_of_ragas_is_read_in_each_of_its_forms(write, name, content):
    [row] = read_columns(write(name, content), {}).rows
    assert (row.id, row.question, row.answer) == ("0001", "q", "a")
    assert [note.text for note in row.context_notes] == ["c1", "c2"]


def test_the_reference_is_judged_by_its_own_contexts(write):
    rows = [
        {"input": "q", "expected_output": "e", "context": ["own"], "retrieval_context": ["found"]},
        {"input": "r", "actual_output": "a", "name": "n"},
    ]
    path = write("g.json", json.dumps(rows))
    imported = read_columns(path, {"answer": "reference"})
    [row] = imported.rows
    assert (row.answer, [note.text for note in row.context_notes]) == ("e", ["own"])
    [warning] = imported.warnings
    assert warning.values == {"n": 1, "total": 2, "field": "reference"}
    other = read_columns(path, {})
    assert (other.rows[0].id, other.rows[0].context_notes) == ("n", ())
    assert other.warnings[1].values == {"n": 1}


def test_deepeval_parts_the_contexts_of_a_cell_by_bars(write):
    path = write("g.csv", "input,actual_output,retrieval_context\nq,a,one|two\n")
    assert [n.text for n in read_columns(path, {}).rows[0].context_notes] == ["one", "two"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", "x", ".csv, .json, .jsonl"), ("a.json", "[]", "a.json: "),
        ("a.json", '{"a": [1], "b": [1, 2]}', "a.json: "),
        ("a.json", '[{"answer": "a"}, {"query": "q", "answer": "a"}]', "row 1: "),
        ("a.csv", "question,answer\nq,a\nq,a,b\n", "a.csv:3: "),
        ("a.jsonl", '{"question": "q"}', "a.jsonl: "),
    ],
)  # fmt: skip
def test_a_test_set_that_cannot_be_used_is_told(write, name, content, message):
    assert message in refused(read_columns, write(name, content), {})
