"""Run files as people have them: TREC's six columns, JSON lines, and what is wrong with both."""

import math
import random
import unicodedata

import ir_measures
import pytest
from ranked import measure_ranking

from gigamind.errors import InputError
from gigamind.interop.ranking import RankedNote, parse_hits, read_run_file


@pytest.fixture
def run(tmp_path):
    def read(content):
        path = tmp_path / "a.run"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_run_file(path)

    return read


def notes(run, query):
    return [hit.note for hit in run.responses[query].hits]


def test_scores_order_a_trec_run_and_equal_ones_are_ordered_by_name_from_behind(run):
    read = run("1 Q0 a.md 1 2.5 t\n1 Q0 b.md 2 7 t\n1 Q0 d.md 3 2.5 t\n2\tQ0\ta.md\t1\t-3e2\tt\n")
    assert read.responses["1"].hits == (
        RankedNote("b.md", 7.0),
        RankedNote("d.md", 2.5),
        RankedNote("a.md", 2.5),
    )
    assert read.responses["2"].hits == (RankedNote("a.md", -300.0),)


def test_a_note_may_have_spaces_in_its_name(run):
    assert notes(run("1 Q0 howto/Deploy  Guide.md 1 0.5 tag\n"), "1") == ["howto/Deploy  Guide.md"]


def test_ranks_that_are_told_twice_are_counted_and_scores_that_are_none_come_last(run):
    read = run("1 Q0 a.md 1 nan t\n1 Q0 b.md 1 0.1 t\n1 Q0 c.md 1 high t\n1 Q0 d.md 2 0.2 t\n")
    assert notes(read, "1") == ["d.md", "b.md", "c.md", "a.md"]
    assert [math.isnan(hit.base_score) for hit in read.responses["1"].hits[2:]] == [True, True]
    assert read.responses["1"].oddities == {"duplicate_ranks": 2}


def test_a_line_that_cannot_be_read_is_told_and_the_others_count(run):
    read = run("1 Q0 a.md 1 0.5 t\n\nnonsense here\n2 Q0 b.md 1 0.5 t\n")
    assert list(read.responses) == ["1", "2"]
    [problem] = read.problems
    assert problem.values["place"].endswith("a.run:3")
    assert problem.values["columns"] == 2


@pytest.mark.parametrize(
    ("unread", "lines", "is_run"), [(6, 120, True), (6, 119, False), (5, 9, True)]
)
def test_a_run_with_too_many_lines_that_cannot_be_read_is_no_measurement(
    run, unread, lines, is_run
):
    content = "nonsense here\n" * unread
    content += "".join(f"{n} Q0 a.md 1 0.5 t\n" for n in range(lines - unread))
    if is_run:
        assert len(run(content).problems) == unread
    else:
        with pytest.raises(InputError) as error:
            run(content)
        values = error.value.message.values
        assert (values["count"], values["lines"]) == (6, 119)
        assert values["problem"].values["place"].endswith("a.run:1")


def test_json_lines_keep_the_order_of_their_hits_and_take_each_form_of_one(run):
    read = run(
        '{"id": "q", "hits": ["c.md", ["a.md", 2], {"note": "b.md", "score": "3", "text": "so"}]}\n'
        '{"id": 7, "hits": []}\n{"id": "q", "hits": ["x.md"]}\n{"id": "r", "hits": [{"score": 1}]}\n'
        '{"hits": []}\n'
    )
    assert read.responses["q"].hits == (
        RankedNote("c.md"),
        RankedNote("a.md", 2.0),
        RankedNote("b.md", 3.0, "so"),
    )
    assert read.responses["7"].hits == ()
    assert [problem.values["reason"].values for problem in read.problems] == [
        {"id": "q"},
        {"number": 1},
        {"field": "id"},
    ]


@pytest.mark.parametrize(
    ("told", "score"), [(None, None), (2, 2.0), ("0.5", 0.5), ("1e400", math.inf), (10**400, None)]
)
def test_a_score_is_a_number_or_a_number_in_a_string(told, score):
    read = RankedNote.of({"note": "a.md", "score": told}).base_score
    assert read == score or (told == 10**400 and math.isnan(read))


@pytest.mark.parametrize("told", [True, "much", [1], {}])
def test_anything_else_is_no_number(told):
    assert math.isnan(RankedNote.of({"note": "a.md", "score": told}).base_score)


@pytest.mark.parametrize("told", ["a.md", 3, None, {"results": []}])
def test_hits_must_be_a_list(told):
    with pytest.raises(ValueError, match='"hits"'):
        parse_hits(told)


def test_utf_16_with_its_mark_is_read_and_another_encoding_is_told_with_its_line(run):
    text = "1 Q0 휴가.md 1 0.5 t\n"
    assert notes(run(text.encode("utf-16")), "1") == ["휴가.md"]
    assert notes(run(b"\xef\xbb\xbf" + text.encode()), "1") == ["휴가.md"]
    with pytest.raises(InputError, match=r"a\.run:2: .*UTF-8"):
        run(b"1 Q0 a.md 1 0.5 t\n" + text.encode("cp949"))


def test_what_is_no_run_is_refused_with_what_one_looks_like(run, tmp_path):
    with pytest.raises(InputError, match=r"query Q0 note rank score tag.*:1: 3 columns"):
        run("a run file?\n")
    with pytest.raises(InputError, match="query Q0 note rank score tag"):
        run("\n")
    with pytest.raises(InputError, match=r"none\.run"):
        read_run_file(tmp_path / "none.run")


def test_ranking_metrics_of_a_run_are_those_of_ir_measures(run):
    """With ties, which trec_eval breaks by name, and with scores that float32 keeps apart."""
    chance = random.Random(5)
    lines, qrels = [], {}
    for query in map(str, range(60)):
        found = chance.sample(range(100), 12)
        lines += [
            f"{query} Q0 n{note} {rank} {chance.choice([1, 2, 3, 4.5])} t"
            for rank, note in enumerate(found, start=1)
        ]
        qrels[query] = {f"n{note}": 1 for note in chance.sample(range(100), 20)}
    read = run("\n".join(lines))
    scores = {
        query: {hit.note: hit.base_score for hit in ranking.hits}
        for query, ranking in read.responses.items()
    }
    names = {"mrr": "RR", "ndcg_at_10": "nDCG@10", "recall_at_5": "R@5", "hit_at_3": "Success@3"}
    measures = {name: ir_measures.parse_measure(theirs) for name, theirs in names.items()}
    expected = {
        (row.query_id, row.measure): row.value
        for row in ir_measures.iter_calc(measures.values(), qrels, scores)
    }
    for query, gains in qrels.items():
        ours = measure_ranking(notes(read, query), gains, 12)
        for name, measure in measures.items():
            assert ours[name] == pytest.approx(expected[query, measure], abs=1e-12), (query, name)


def test_words_behind_the_sixth_column_and_comments_are_no_part_of_a_name(run):
    read = run("# made by hand\n1 Q0 a b.md 1 0.5 tag with a remark\n1 Q0 2024 05.md 2 0.25 tag\n")
    assert read.responses["1"].hits == (RankedNote("a b.md", 0.5), RankedNote("2024 05.md", 0.25))
    assert read.problems == ()


def test_ids_meet_in_one_unicode_form_and_numbers_are_names(run):
    decomposed = unicodedata.normalize("NFD", "질문")
    assert notes(run(f"{decomposed} Q0 a.md 1 0.5 t\n"), "질문") == ["a.md"]
    assert notes(run(f'{{"id": "{decomposed}", "hits": [12, [13, 0.5]]}}\n'), "질문") == [
        "12",
        "13",
    ]
