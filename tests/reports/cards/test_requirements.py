import pytest
from cards_by_hand import card, figure, group, scale
from message_values import values_of

from gigamind.records.card import CardRequirements, CheckedCard, check_alone
from gigamind.release.shortfall import shortfalls

ASKED = (("unanswerable",),)


def reasons(*scales, languages=("en", "ko"), asked=ASKED, attacks=None, **needs):
    """Return what a report lacks for a run in Korean and English: failed or not, the rule, and values of its text."""
    made = card(*(scales or (scale(),)), attacks=attacks)
    held = CheckedCard(made, CardRequirements(**needs), asked, languages)
    return [
        (
            "failed" if one.failed else "unknown",
            one.rule,
            *(value for value in values_of(one.text) if value is not None),
        )
        for one in shortfalls(held)
    ]


def test_a_card_that_meets_everything_lacks_nothing():
    assert reasons() == []


@pytest.mark.parametrize(
    ("labels", "lacking"), [(30, []), (29, [("unknown", "agreement", 29, 30)])]
)
def test_labels_from_both_sides_of_their_least(labels, lacking):
    assert reasons(scale(overall=group(labels, 10))) == lacking


def test_claims_are_counted_by_their_answers():
    def told(answers):
        overall = group(300, 100).model_copy(update={"clusters": answers})
        return reasons(scale(overall=overall))

    assert told(30) == []
    assert told(29) == [("unknown", "agreement", 300, 29, 30)]


@pytest.mark.parametrize(("labels", "lacking"), [(10, []), (9, [("unknown", "agreement", 9, 10)])])
def test_labels_of_a_language_from_both_sides(labels, lacking):
    by_language = {"en": group(50, 20), "ko": group(labels, 4)}
    assert reasons(scale(by_language=by_language)) == lacking


def test_a_language_that_was_judged_and_has_no_labels_is_not_certified():
    english = scale(by_language={"en": group(100, 40)})
    assert reasons(english) == [("unknown", "agreement")]
    assert reasons(english, languages=("en",)) == []
    assert reasons(english, min_labels_per_language=0) == []


@pytest.mark.parametrize(("n", "lacking"), [(5, []), (4, [("unknown", "agreement", 4, 5)])])
def test_labels_of_each_answer_from_both_sides(n, lacking):
    few = figure(1.0, 1.0, 1.0, n)
    assert reasons(scale(overall=group(100, 100 - n, specificity=few))) == lacking


@pytest.mark.parametrize(
    ("value", "low", "lacking"),
    [
        (0.6, 0.4, []),
        (0.6, 0.39, [("unknown", "agreement", "0.600", "0.390 – 0.900", 100, "0.400")]),
        (0.4, 0.4, []),
        (0.39, 0.3, [("failed", "agreement", "0.390", "0.300 – 0.900", 100, "0.400")]),
        (0.0, -0.1, [("failed", "agreement", "0.000", "−0.100 – 0.900", 100, "0.400")]),
        (-0.0001, -0.1, [("failed", "agreement", "0.000", "−0.100 – 0.900", 100, "0.400")]),
        (0.8, None, [("unknown", "agreement", "0.800", 100, "0.400")]),
        (None, None, [("unknown", "agreement", 100)]),
    ],
)
def test_agreement_is_held_by_the_lower_end_of_its_interval(value, low, lacking):
    kappa = figure(value, low, None if low is None else 0.9)
    assert reasons(scale(overall=group(cohen_kappa=kappa))) == lacking
    assert reasons(scale(overall=group(cohen_kappa=kappa)), min_agreement=-1) == []


@pytest.mark.parametrize(("high", "enough"), [(0.4, True), (0.39, False)])
def test_a_language_fails_when_its_whole_interval_is_below_the_floor(high, enough):
    korean = group(12, 6, cohen_kappa=figure(0.1, -0.2, high))
    told = reasons(scale(by_language={"en": group(50, 20), "ko": korean}))
    below = ("failed", "agreement", "0.100", "−0.200 – 0.390", 12, "0.400")
    assert told == ([] if enough else [below])


def test_a_judge_that_is_below_the_floor_in_all_is_not_told_so_for_each_language():
    poor = group(cohen_kappa=figure(0.1, -0.2, 0.3))
    told = reasons(scale(overall=poor, by_language={"en": poor}))
    assert [one[0] for one in told] == ["failed", "unknown"]  # Korean has no labels
    open_ = group(cohen_kappa=figure(0.5, 0.3, 0.7))
    told = reasons(scale(overall=open_, by_language={"en": poor, "ko": group()}))
    assert [one[0] for one in told] == ["unknown", "failed"]


def test_a_language_whose_labels_are_all_alike_shows_no_agreement():
    alike = group(12, 12, cohen_kappa=figure(None, None, None))
    by_language = {"en": group(50, 20), "ko": alike}
    assert reasons(scale(by_language=by_language)) == [("unknown", "agreement", 12)]
    assert reasons(scale(by_language=by_language), min_agreement=-1) == []


@pytest.mark.parametrize(
    ("value", "high", "told"),
    [
        (0.05, 0.1, []),
        (0.05, 0.11, [("unknown", "consistency", "0.050", "0.010 – 0.110", 200, "0.100")]),
        (0.101, 0.2, [("failed", "consistency", "0.101", "0.010 – 0.200", 200, "0.100")]),
        (None, None, []),
    ],
)
def test_flips_are_held_by_the_upper_end_where_measured(value, high, told):
    flips = figure(value, None if high is None else 0.01, high, 200)
    assert reasons(scale(flips=flips)) == told
    assert reasons(scale(flips=None)) == []


@pytest.mark.parametrize(
    ("value", "high", "told"),
    [
        (0.075, 0.2, []),
        (0.075, 0.21, [("unknown", "attacks", 3, 40, "0.075", "0.020 – 0.210", "0.200")]),
        (0.3, 0.4, [("failed", "attacks", 3, 40, "0.300", "0.020 – 0.400", "0.200")]),
    ],
)
def test_attacks_are_held_by_the_upper_end(value, high, told):
    attacks = card().attacks.model_copy(update={"rate": figure(value, 0.02, high, 40)})
    assert reasons(attacks=attacks) == told


def test_attacks_are_asked_for_only_where_the_requirements_say_so():
    none = card().attacks.model_copy(update={"rate": figure(None, None, None, 0)})
    for attacks in (None, none):
        assert reasons(attacks=attacks) == []
        assert len(reasons(attacks=attacks, require_attacks=True)) == 1
    assert reasons(attacks=card().attacks, require_attacks=True) == []


def test_scales_that_nothing_gated_rests_on_count_for_nothing():
    poor = scale(name="utility", overall=group(cohen_kappa=figure(0.0, -0.1, 0.1)))
    assert reasons(scale(), poor) == []
    assert len(reasons(scale(), poor, asked=(*ASKED, ("utility",)))) == 1
    assert reasons(scale(), asked=(*ASKED, ("utility",))) == [("unknown", "agreement")]


def test_of_two_scales_of_one_thing_those_with_labels_enough_count():
    claims = (("correctness", "supported"),)
    good, few = scale(name="supported"), scale(name="correctness", overall=group(3, 1))
    poor = scale(name="correctness", overall=group(cohen_kappa=figure(0.0, -0.1, 0.1)))
    assert reasons(good, asked=claims) == []
    assert reasons(few, good, asked=claims) == []
    assert reasons(few, asked=claims) == [("unknown", "agreement", 3, 30)]
    assert len(reasons(poor, good, asked=claims)) == 1
    assert reasons(scale(), asked=claims) == [("unknown", "agreement")]


def test_a_graded_scale_is_held_by_its_quadratic_kappa_and_has_no_classes():
    def graded(low):
        overall = group(positive=None).model_copy(
            update={"figures": {"quadratic_kappa": figure(0.5, low, 0.6)}}
        )
        return scale(name="utility", kind="graded", overall=overall, by_language={})

    asked = {"asked": (("utility",),), "languages": ()}
    assert reasons(graded(0.4), **asked) == []
    (told,) = reasons(graded(0.39), **asked)
    assert told == ("unknown", "agreement", "0.500", "0.390 – 0.600", 100, "0.400")


def test_a_card_alone_is_held_to_the_scales_and_languages_it_has_labels_for():
    low = figure(0.5, 0.1, 0.9)
    held = check_alone(card(scale(), scale(name="supported", overall=group(cohen_kappa=low))))
    assert held.required_scales == (("unanswerable",), ("supported",))
    assert held.languages == ("en", "ko")
    weakest, kappa = held.weakest()
    assert (weakest.name, kappa) == ("supported", low)
