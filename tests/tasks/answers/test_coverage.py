"""A run with too few verdicts is no result, and says so by its exit code."""

import pytest
from five_answers import GOOD, LEAVE, item

from gigamind.errors import EvaluationError
from gigamind.tasks import evaluate
from gigamind.tasks.options import AnswerEvalOptions

LEAST = AnswerEvalOptions.model_fields["min_coverage"].default


@pytest.fixture
def over(options):
    """Options of a run over answers with these notes each."""

    def make(*notes, **changes):
        items = [
            item(f"a{number}", "연차는 15일이다.", context_notes=[{"text": text}])
            for number, text in enumerate(notes, start=1)
        ]
        asked = [one | {"question": f"{one['id']}. 연차는 며칠?"} for one in items]
        return options(asked, **{"min_coverage": LEAST} | changes)

    return make


def four_of_five(server):
    server.script.extend([GOOD] * 4 + ["no JSON"] * 3)


@pytest.mark.parametrize("accepted", [{}, {"min_coverage": 1.0, "allow_partial": True}])
def test_four_of_five_verdicts_are_enough_by_default_or_where_a_part_is(over, server, accepted):
    four_of_five(server)
    done = evaluate(over(*[LEAVE] * 5, **accepted))
    assert done.summary.llm.coverage == 0.8


def test_fewer_than_asked_for_end_in_an_error_that_says_why_and_the_folder_stands(over, server):
    four_of_five(server)
    given = over(*[LEAVE] * 5, min_coverage=0.81)
    with pytest.raises(EvaluationError) as told:
        evaluate(given)
    assert told.value.exit_code == 3
    assert all(part in str(told.value) for part in ("4 of 5", "--min-coverage", "a5"))
    assert (given.out / "report.html").exists()


def test_what_has_no_note_to_be_judged_by_is_not_missing(over, server):
    server.script.append(GOOD)
    done = evaluate(over(LEAVE, " ", " ", min_coverage=1.0))
    assert (done.summary.llm.items, done.summary.llm.coverage) == (1, 1.0)


def test_a_run_in_which_nothing_could_be_judged_is_an_error(over, server):
    given = over(" ", " ", min_coverage=0.0)
    with pytest.raises(EvaluationError):
        evaluate(given)
    assert server.seen.total == 0
