import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import pearsonr

from gigamind.metrics.grounding import ClaimRow, FactRow, GroundingTable, correlation

# Four claims over three notes, of which 1 and 2 bear on the question: the first rests on note 1 and says so, the second
# rests on note 3 but names note 1, the third is disproved by note 2, the fourth stands nowhere.
CLAIMS = (
    ClaimRow("supported", 1, cited=(1,)), ClaimRow("supported", 3, cited=(1,)),
    ClaimRow("contradicted", 2, cited=(2,)), ClaimRow("not_found", None),
)  # fmt: skip

ACCOUNTS = ("noise_sensitivity", "hallucination", "self_knowledge")


def known(*right):
    rows = zip(CLAIMS, right, strict=True)
    return tuple(ClaimRow(row.standing, row.note, row.cited, correct) for row, correct in rows)


def test_the_figures_of_an_answer_of_four_claims():
    found = GroundingTable(known(True, False, False, True), 3, frozenset({1, 2})).measured()
    assert found == {
        "completeness": 1.0,  # nothing is shown to be left out
        "completeness_vital": None,
        "faithfulness": 2 / 4,
        "contradiction": 1 / 4,
        "source_coverage": 2 / 3,  # notes 1 and 3
        "context_utilisation": 1 / 2,  # note 1 of 1 and 2
        "distraction": 1 / 4,  # the second
        "noise_sensitivity": 1 / 4,  # the second
        "hallucination": 1 / 4,  # the third
        "self_knowledge": 1 / 4,  # the fourth
        "citation_precision": 1 / 3,  # the first of the first three
        "citation_recall": 1 / 2,  # the first of the first two
    }


@pytest.mark.parametrize(
    ("claims", "omissions", "answerable", "expected"),
    [
        (CLAIMS[:1], 2, True, 1 / 3),  # one of three things given
        (CLAIMS, 0, True, 1.0),
        ((), 1, True, 0.0),
        ((), 0, True, 0.0),  # an abstention where the notes answer
        ((), 0, False, None),  # where they do not, nothing was to be given
        ((), 1, False, 0.0),  # what is proven to be left out stands in a note
        (CLAIMS[3:], 0, False, None),
    ],
)
def test_completeness_is_supported_claims_over_those_and_what_is_left_out(
    claims, omissions, answerable, expected
):
    table = GroundingTable(claims, 3, omissions=omissions, answerable=answerable)
    assert table.measured()["completeness"] == expected
    assert table.measured()["completeness_vital"] is None


def test_labelled_facts_are_what_completeness_is_measured_by_where_there_are_any():
    facts = (
        FactRow(given=True, vital=True),
        FactRow(given=False, vital=True),
        FactRow(given=True, vital=False),
    )
    found = GroundingTable(CLAIMS, 3, omissions=9, answerable=True, facts=facts).measured()
    assert (found["completeness"], found["completeness_vital"]) == (2 / 3, 1 / 2)


def test_without_knowing_what_is_right_or_relevant_half_of_the_figures_are_undefined():
    found = GroundingTable(CLAIMS, 3).measured()
    undefined = ("context_utilisation", "distraction", *ACCOUNTS)
    assert [found[name] for name in undefined] == [None] * 5
    assert found["faithfulness"] == 0.5


def test_one_claim_of_unknown_truth_leaves_the_shares_of_right_and_wrong_undefined():
    found = GroundingTable(known(True, False, None, True), 3).measured()
    assert [found[name] for name in ACCOUNTS] == [None] * 3


def test_an_answer_without_claims_has_no_shares_of_claims():
    found = GroundingTable((), 2, frozenset({1})).measured()
    measured = {"source_coverage": 0.0, "context_utilisation": 0.0}
    assert found == dict.fromkeys(found) | measured


def test_nobody_says_what_is_left_out_so_completeness_is_of_labelled_facts_alone():
    facts = (FactRow(given=True, vital=True), FactRow(given=False, vital=False))
    assert GroundingTable(CLAIMS, 3, omissions=None).measured()["completeness"] is None
    found = GroundingTable(CLAIMS, 3, omissions=None, facts=facts).measured()
    assert found["completeness"] == 1 / 2


def test_no_relevant_note_leaves_nothing_to_use():
    found = GroundingTable(CLAIMS, 3, frozenset()).measured()
    assert found["context_utilisation"] is None
    assert found["distraction"] == 2 / 4  # whatever rests on a note rests on noise


def test_an_unverified_claim_is_supported_nowhere():
    found = GroundingTable((ClaimRow("unverified", None, cited=(1,)),), 1).measured()
    named = ("faithfulness", "source_coverage", "citation_precision")
    assert [found[name] for name in named] == [0, 0, 0]


rows = st.builds(
    ClaimRow, st.sampled_from(["supported", "contradicted", "not_found", "unverified"]),
    st.integers(1, 3), st.sets(st.integers(1, 3)).map(tuple), st.booleans(),
)  # fmt: skip


@given(st.lists(rows, min_size=1, max_size=6).map(tuple))
def test_supported_noise_hallucination_and_self_knowledge_account_for_every_claim(claims):
    found = GroundingTable(claims, 3).measured()
    right_and_supported = sum(one.is_supported and one.correct for one in claims) / len(claims)
    assert sum(found[name] for name in ACCOUNTS) + right_and_supported == pytest.approx(1)


@pytest.mark.parametrize(
    ("pairs", "expected"),
    [
        ([(0, 0), (0.5, 0.5), (1, 1)], 1.0), ([(0, 1), (0.5, 0.5), (1, 0)], -1.0),
        ([(0, 0), (0.5, 1), (1, 0)], 0.0), ([(0, 0), (1, 1)], None),
        ([(0.1, 0), (0.1, 0.5), (0.1, 1)], None), ([], None),
    ],
)  # fmt: skip
def test_correlation(pairs, expected):
    assert correlation(pairs) == (expected if expected is None else pytest.approx(expected))


def test_correlation_is_that_of_scipy():
    pairs = [(0.1, 0.9), (0.4, 0.3), (0.8, 0.7), (1.0, 0.2), (0.3, 0.3)]
    assert correlation(pairs) == pytest.approx(pearsonr(*zip(*pairs, strict=True)).statistic)


def test_correlation_refuses_what_is_no_number():
    with pytest.raises(ValueError, match="not a finite number"):
        correlation([(0, 0), (1, 1), (float("nan"), 0)])
