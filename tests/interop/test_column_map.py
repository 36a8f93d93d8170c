"""Tables of other tools become answers or queries by their columns, known or named."""

import json
import shlex

import pytest

from gigamind.errors import InputError
from gigamind.interop.column_map import read_beir, read_columns

# As deepeval 4.3 writes them: a conversation of `save_as`, in CSV with its turns as JSON; a test run.
TURNS = [
    {"role": "user", "content": "u1", "retrieval_context": None},
    {"role": "assistant", "content": "a1", "retrieval_context": ["t1", "t2"]},
    {"role": "user", "content": "u2", "retrieval_context": None},
    {"role": "assistant", "content": "a2", "retrieval_context": None},
]
TALK = {"scenario": "s", "turns": TURNS, "context": ["c"], "name": "talk"}
CASE = {
    "name": "test_case_0", "input": "q", "actualOutput": "a", "expectedOutput": "One. Two.",
    "context": ["c"], "retrievalContext": ["r1", "r2"],
}  # fmt: skip
SAID = [
    {"role": "user", "content": "u", "order": 0},
    {"role": "assistant", "content": "a", "order": 1, "retrievalContext": ["t"]},
]
RUN = {
    "testCases": [CASE],
    "conversationalTestCases": [{"name": "talk", "success": True, "turns": SAID}],
    "metricsScores": [{"metric": "Faithfulness", "scores": [1.0]}],
    "runDuration": 0.0,
}
# As ragas 0.4 reads them with MetricAnnotation.from_json.
SAMPLE = {"user_input": "q", "response": "a", "retrieved_contexts": ["c"]}
ANNOTATED = {"metric_input": SAMPLE, "metric_output": 1.0, "prompts": {}, "is_accepted": True}
ANNOTATIONS = {"faithfulness": [ANNOTATED], "relevancy": [ANNOTATED]}


def answers(imported):
    return [
        (row.id, row.question, row.answer, [note.text for note in row.context_notes])
        for row in imported.rows
    ]


@pytest.mark.parametrize("name", ["talks.json", "talks.jsonl", "talks.csv"])
def test_each_answer_of_a_conversation_of_deepeval_is_one(write, name):
    quoted = json.dumps(TURNS).replace('"', '""')
    content = {
        "talks.json": [TALK],
        "talks.jsonl": TALK,
        "talks.csv": f'scenario,turns,context,name\ns,"{quoted}",c,talk\n',
    }[name]
    assert answers(read_columns(write(name, content), {})) == [
        ("talk-2", "u1", "a1", ["t1", "t2"]),
        ("talk-4", "u2", "a2", ["c"]),
    ]


def test_messages_of_ragas_are_a_conversation_too(write):
    said = [{"content": "h", "type": "human"}, {"content": "ai", "type": "ai"}]
    path = write("m.csv", f'user_input,reference\n"{said}",r\n')
    assert answers(read_columns(path, {})) == [("0001", "h", "ai", [])]


def test_a_test_run_of_deepeval_has_its_cases_and_conversations(write):
    imported = read_columns(write("test_run.json", RUN), {})
    assert answers(imported) == [
        ("test_case_0", "q", "a", ["r1", "r2"]),
        ("talk-2", "u", "a", ["t"]),
    ]
    assert [fact.text for fact in imported.rows[0].labels.facts] == ["One.", "Two."]
    assert imported.rows[1].labels is None


def test_a_sample_that_two_metrics_of_ragas_annotate_is_one_answer(write):
    assert answers(read_columns(write("a.json", ANNOTATIONS), {})) == [("0001", "q", "a", ["c"])]


QA = [
    {"qid": "1", "query": "one?", "retrieval_gt": [["d1"]], "generation_gt": ["uno", "eins"]},
    {"qid": "2", "query": "two?", "retrieval_gt": [["d1", "d2"], ["d3"]], "generation_gt": ["due"]},
]
CORPUS = [
    {"doc_id": f"d{at}", "contents": f"text {at}", "metadata": {"page": at}} for at in (1, 2, 3)
]


@pytest.mark.parametrize("suffix", ["parquet", "json"])
def test_autorag_gives_queries_with_groups_or_its_reference_answers(write, suffix):
    qa, corpus = write(f"qa.{suffix}", QA), write(f"corpus.{suffix}", CORPUS)
    imported = read_columns(qa, {}, corpus=corpus)
    first, second = imported.rows
    assert (first.id, first.query, first.expected_notes) == ("1", "one?", ("d1",))
    assert (first.gains, first.expected_all_of) == (None, ())
    assert second.expected_notes == ("d1", "d2", "d3")
    assert second.expected_all_of == (("d1", "d2"), ("d3",))
    assert imported.notes == {f"d{at}.md": f"text {at}\n" for at in (1, 2, 3)}
    given = read_columns(qa, {"answer": "reference"}, corpus=corpus)
    assert answers(given) == [
        ("1", "one?", "uno", ["text 1"]),
        ("2", "two?", "due", ["text 1", "text 2", "text 3"]),
    ]
    assert given.rows[0].context_notes[0].title == "d1"


def test_what_the_corpus_lacks_is_left_out_with_a_warning(write):
    row = {"qid": 1, "query": "?", "retrieval_gt": [["gone"]]}
    imported = read_columns(write("qa.json", [row]), {}, corpus=write("c.json", CORPUS))
    assert (imported.rows[0].id, imported.rows[0].answerable) == ("1", False)
    assert [warning.values["n"] for warning in imported.warnings] == [1, 1]


def test_triples_give_graded_queries_and_a_note_for_each_passage(write):
    rows = [
        {"query": "q", "positive": ["p1"], "negative": ["n1"]},
        {"query": "r", "positive": "p1", "negative": "n2"},
        {"query": "q", "positive": "p2", "negative": "n2"},
    ]
    imported = read_columns(write("t.jsonl", "\n".join(map(json.dumps, rows))), {})
    texts = {path.removesuffix(".md"): text.strip() for path, text in imported.notes.items()}
    found = {
        row.query: {texts[name]: gain for name, gain in row.gains.items()} for row in imported.rows
    }
    assert found == {"q": {"p1": 1, "n1": 0, "p2": 1, "n2": 0}, "r": {"p1": 1, "n2": 0}}
    assert [row.id for row in imported.rows] == ["0001", "0002"]


def test_a_folder_of_mteb_in_parquet_is_read(write):
    documents = [{"_id": "d1", "title": "", "text": "x"}, {"_id": "d2", "title": "T", "text": "y"}]
    write("m/corpus/corpus-00000-of-00001.parquet", documents)
    write("m/queries/queries-00000-of-00001.parquet", [{"_id": "q1", "text": "?"}])
    graded = [
        {"query-id": "q1", "corpus-id": name, "score": score}
        for name, score in (("d1", 1.0), ("d2", 0.0))
    ]
    path = write("m/qrels/test-00000-of-00001.parquet", graded)
    [row] = read_beir(path.parents[1], None).rows
    assert (row.id, row.query, row.gains) == ("q1", "?", {"d1": 1, "d2": 0})


TABLE = [{"Frage": "q", "Antwort": "a", "Quellen": ["c1", "c2"], "Soll": "r", "Nr": 7}]
MAP = {"question": "Frage", "answer": "Antwort", "contexts": "Quellen", "reference": "Soll"}


@pytest.mark.parametrize("suffix", ["parquet", "json", "csv", "tsv"])
def test_columns_of_any_name_are_mapped(write, suffix):
    content = TABLE
    if suffix in {"csv", "tsv"}:
        mark = {"csv": ",", "tsv": "\t"}[suffix]
        cells = ["q", "a", "\"['c1', 'c2']\"", "r", "7"]
        content = f"{mark.join(TABLE[0])}\n{mark.join(cells)}\n"
    path = write(f"t.{suffix}", content)
    imported = read_columns(path, {**MAP, "id": "Nr"})
    assert answers(imported) == [("7", "q", "a", ["c1", "c2"])]
    assert [fact.text for fact in imported.rows[0].labels.facts] == ["r"]
    [query] = read_columns(path, {"question": "Frage", "expected": "Quellen"}).rows
    assert (query.query, query.expected_notes) == ("q", ("c1", "c2"))


@pytest.mark.parametrize(
    ("content", "chosen", "proposed"),
    [
        ("the_prompt,the_answer\nWho?,me\n", {}, "--question the_prompt --answer the_answer"),
        (
            "질문,답변,근거\n며칠인가요?,15일,연차는 15일이다. 팀장에게 신청한다.\n",
            {},
            "--question 질문 --contexts 근거 --answer 답변",
        ),
        ("question,my answer\nq,a\n", {"answer": "me"}, "--question question --answer 'my answer'"),
    ],
)
def test_unknown_columns_are_answered_with_those_of_the_file_and_a_command(
    write, content, chosen, proposed
):
    path = write("t.csv", content)
    with pytest.raises(InputError) as error:
        read_columns(path, chosen)
    message = str(error.value)
    assert all(name in message for name in content.partition("\n")[0].split(","))
    typed = message.partition("gigamind import table ")[2]
    assert shlex.split(typed)[1:] == shlex.split(proposed)


def test_a_damaged_parquet_file_is_refused(tmp_path):
    pytest.importorskip("pyarrow")
    (tmp_path / "t.parquet").write_bytes(b"PAR1 no table")
    with pytest.raises(InputError, match=r"t\.parquet"):
        read_columns(tmp_path / "t.parquet", {})
