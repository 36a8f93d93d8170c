"""Labels of people are matched with the claims of an answer."""

import json

import pytest

from gigamind.datasets.schema import AnswerLabels
from gigamind.tasks.answers.prepare import _unmatched_labels


def labels(text):
    claims = [{"text": text, "verdict": "supported", "note": 1}]
    return AnswerLabels.model_validate_json(json.dumps({"claims": claims}))


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("연차는 **15일**이다. [노트 1]", "연차는 15일이다"),
        ('"Leave" is 15 days.', "leave is 15 days"),
        ("이율은 1.5%다.", "이율은 1.5%다"),
        ("온도는 -3도다!", "온도는  -3도다."),
    ],
)
def test_a_label_is_matched_whatever_marks_stand_around_its_words(claim, label):
    assert _unmatched_labels(claim, labels(label)) == []


@pytest.mark.parametrize(
    ("claim", "label"),
    [
        ("이율은 1.5%다.", "이율은 15%다."),
        ("온도는 -3도다.", "온도는 3도다."),
        ("기간은 3-5일이다.", "기간은 35일이다."),
        ("할인은 15%", "할인은 15"),
    ],
)
def test_a_label_of_another_number_is_not(claim, label):
    assert _unmatched_labels(claim, labels(label)) == [label]
