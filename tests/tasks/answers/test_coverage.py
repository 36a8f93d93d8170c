"""A run with too few verdicts is no result, and says so by its exit code."""

import pytest
from answer_reply import answer_reply, supported
from row_files import write_rows

from gigamind.errors import EvaluationError
from gigamind.evaluation.options import validated
from gigamind.tasks import evaluate
from gigamind.tasks.options import AnswerEvalOptions

NOTE = "연차는 입사 첫해에 15일을 준다."
GOOD = answer_reply([supported(NOTE)], NOTE)


@pytest.fixture
def options(tmp_path, server):
    """Options of a run over answers with these notes each, asked about one after the other."""

    def make(*notes, **changes):
        rows = (
            {
                "id": f"a{number}",
                "question": f"{number}. 연차는 며칠?",
                "answer": "연차는 15일이다.",
                "context_notes": [{"text": text}],
            }
            for number, text in enumerate(notes, start=1)
        )
        given = {
            "dataset": write_rows(tmp_path / "answers.jsonl", rows),
            "out": tmp_path / "out",
            "model": "openai/judge",
            "api_base": server.url,
            "cache_dir": tmp_path / "cache",
            "max_in_flight": 1,
            "model_timeout_s": 60,  # both given: no speed is measured
        }
        return validated(AnswerEvalOptions, given | changes)

    return make


def four_of_five(server):
    server.script.extend([GOOD] * 4 + ["no JSON"] * 3)


@pytest.mark.parametrize("accepted", [{}, {"min_coverage": 1.0, "allow_partial": True}])
def test_four_of_five_verdicts_are_enough_by_default_or_where_a_part_is(options, server, accepted):
    four_of_five(server)
    done = evaluate(options(*[NOTE] * 5, **accepted))
    assert done.summary.llm.coverage == 0.8


def test_fewer_than_asked_for_end_in_an_error_that_says_why_and_the_folder_stands(options, server):
    four_of_five(server)
    given = options(*[NOTE] * 5, min_coverage=0.81)
    with pytest.raises(EvaluationError) as told:
        evaluate(given)
    assert told.value.exit_code == 3
    assert all(part in str(told.value) for part in ("4 of 5", "--min-coverage", "a5"))
    assert (given.out / "report.html").exists()


def test_what_has_no_note_to_be_judged_by_is_not_missing(options, server):
    server.script.append(GOOD)
    done = evaluate(options(NOTE, " ", " ", min_coverage=1.0))
    assert (done.summary.llm.items, done.summary.llm.coverage) == (1, 1.0)


def test_a_run_in_which_nothing_could_be_judged_is_an_error(options, server):
    given = options(" ", " ", min_coverage=0.0)
    with pytest.raises(EvaluationError):
        evaluate(given)
    assert server.seen.total == 0
