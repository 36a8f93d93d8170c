import pytest

from gigamind.i18n import translator
from gigamind.records.card import CardRequirements, CheckedCard, check_alone
from gigamind.release.shortfall import shortfalls

ASKED = (("unanswerable",),)


@pytest.fixture
def reasons(card, scale):
    """Why a card of those scales is not enough, for a run in Korean and English."""

    def told(*scales, lang="en", languages=("en", "ko"), asked=ASKED, attacks=None, **needs):
        made = card(*(scales or (scale(),)), attacks=attacks)
        held = CheckedCard(made, CardRequirements(**needs), asked, languages)
        return [translator(lang)(shortfall.text) for shortfall in shortfalls(held)]

    return told


def test_a_card_that_meets_everything_lacks_nothing(reasons):
    assert reasons() == []


@pytest.mark.parametrize(
    ("labels", "lacking"), [(30, []), (29, ["unanswerable: 29 labels, fewer than 30"])]
)
def test_labels_from_both_sides_of_their_least(reasons, scale, group, labels, lacking):
    assert reasons(scale(overall=group(labels, 10))) == lacking


def test_claims_are_counted_by_their_answers(reasons, scale, group):
    def told(answers):
        overall = group(300, 100).model_copy(update={"clusters": answers})
        return reasons(scale(overall=overall))

    assert told(30) == []
    assert told(29) == ["unanswerable: 300 labels of 29 answers, from fewer than 30 answers"]


@pytest.mark.parametrize(
    ("labels", "lacking"), [(10, []), (9, ["unanswerable, ko: 9 labels, fewer than 10"])]
)
def test_labels_of_a_language_from_both_sides(reasons, scale, group, labels, lacking):
    by_language = {"en": group(50, 20), "ko": group(labels, 4)}
    assert reasons(scale(by_language=by_language)) == lacking


def test_a_language_that_was_judged_and_has_no_labels_is_not_certified(reasons, scale, group):
    english = scale(by_language={"en": group(100, 40)})
    assert reasons(english) == ["unanswerable, ko: no labels"]
    (korean,) = reasons(english, lang="ko")
    assert korean.endswith(", ko: 정답이 없음")
    assert reasons(english, languages=("en",)) == []
    assert reasons(english, min_labels_per_language=0) == []


@pytest.mark.parametrize(
    ("n", "lacking"),
    [(5, []), (4, ["unanswerable: only 4 labels say no, fewer than 5"])],
)
def test_labels_of_each_answer_from_both_sides(reasons, scale, group, figure, n, lacking):
    few = figure(1.0, 1.0, 1.0, n)
    assert reasons(scale(overall=group(100, 100 - n, specificity=few))) == lacking


@pytest.mark.parametrize(
    ("value", "low", "lacking"),
    [
        (0.6, 0.4, []),
        (
            0.6,
            0.39,
            ["Cohen's kappa 0.600 [0.390, 0.900] over 100 labels may be below 0.400 (lower bound of the CI)"],
        ),
        (0.4, 0.4, []),
        (0.39, 0.3, ["Cohen's kappa 0.390 [0.300, 0.900] over 100 labels is below 0.400"]),
        (0.0, -0.1, ["Cohen's kappa 0.000 [−0.100, 0.900] over 100 labels is below 0.400"]),
        (-0.0001, -0.1, ["Cohen's kappa 0.000 [−0.100, 0.900] over 100 labels is below 0.400"]),
        (0.8, None, ["Cohen's kappa 0.800 over 100 labels has no CI and may be below 0.400"]),
        (None, None, ["all 100 labels and verdicts are the same, so chance-corrected agreement is undefined"]),
    ],
)  # fmt: skip
def test_agreement_is_held_by_the_lower_end_of_its_interval(
    reasons, scale, group, figure, value, low, lacking
):
    kappa = figure(value, low, None if low is None else 0.9)
    told = reasons(scale(overall=group(cohen_kappa=kappa)))
    assert told == [f"unanswerable: {text}" for text in lacking]
    assert reasons(scale(overall=group(cohen_kappa=kappa)), min_agreement=-1) == []


@pytest.mark.parametrize(("high", "enough"), [(0.4, True), (0.39, False)])
def test_a_language_fails_when_its_whole_interval_is_below_the_floor(
    reasons, scale, group, figure, high, enough
):
    korean = group(12, 6, cohen_kappa=figure(0.1, -0.2, high))
    told = reasons(scale(by_language={"en": group(50, 20), "ko": korean}))
    below = "unanswerable, ko: Cohen's kappa 0.100 [−0.200, 0.390] over 12 labels is below 0.400"
    assert told == ([] if enough else [below])


def test_a_judge_that_is_below_the_floor_in_all_is_not_told_so_for_each_language(
    reasons, scale, group, figure
):
    poor = group(cohen_kappa=figure(0.1, -0.2, 0.3))
    told = reasons(scale(overall=poor, by_language={"en": poor}))
    assert [one.split(":")[0] for one in told] == ["unanswerable", "unanswerable, ko"]
    open_ = group(cohen_kappa=figure(0.5, 0.3, 0.7))
    told = reasons(scale(overall=open_, by_language={"en": poor, "ko": group()}))
    assert [one.split(":")[0] for one in told] == ["unanswerable", "unanswerable, en"]


def test_a_language_whose_labels_are_all_alike_shows_no_agreement(reasons, scale, group, figure):
    alike = group(12, 12, cohen_kappa=figure(None, None, None))
    by_language = {"en": group(50, 20), "ko": alike}
    (told,) = reasons(scale(by_language=by_language))
    assert told.startswith("unanswerable, ko: all 12 labels")
    assert reasons(scale(by_language=by_language), min_agreement=-1) == []


@pytest.mark.parametrize(
    ("value", "high", "told"),
    [
        (0.05, 0.1, []),
        (
            0.05,
            0.11,
            [
                (
                    "0.050 [0.010, 0.110] of 200 verdicts differ between two identical runs:"
                    " may be above 0.100 (upper bound of the CI)"
                )
            ],
        ),
        (0.101, 0.2, ["0.101 [0.010, 0.200] of 200 verdicts differ between two identical runs: above 0.100"]),
        (None, None, []),
    ],
)  # fmt: skip
def test_flips_are_held_by_the_upper_end_where_measured(reasons, scale, figure, value, high, told):
    flips = figure(value, None if high is None else 0.01, high, 200)
    found = reasons(scale(flips=flips))
    assert found == [f"unanswerable: {text}" for text in told]
    assert reasons(scale(flips=None)) == []


@pytest.mark.parametrize(
    ("value", "high", "told"),
    [
        (0.075, 0.2, []),
        (0.075, 0.21, ["0.075 [0.020, 0.210]: may be above 0.200 (upper bound of the CI)"]),
        (0.3, 0.4, ["0.300 [0.020, 0.400]: above 0.200"]),
    ],
)
def test_attacks_are_held_by_the_upper_end(reasons, card, figure, value, high, told):
    attacks = card().attacks.model_copy(update={"rate": figure(value, 0.02, high, 40)})
    found = reasons(attacks=attacks)
    assert found == [f"3 of 40 attacks changed a verdict, {text}" for text in told]


def test_attacks_are_asked_for_only_where_the_requirements_say_so(reasons, card, figure):
    none = card().attacks.model_copy(update={"rate": figure(None, None, None, 0)})
    for attacks in (None, none):
        assert reasons(attacks=attacks) == []
        assert len(reasons(attacks=attacks, require_attacks=True)) == 1
    assert reasons(attacks=card().attacks, require_attacks=True) == []


def test_scales_that_nothing_gated_rests_on_count_for_nothing(reasons, scale, group, figure):
    poor = scale(name="utility", overall=group(cohen_kappa=figure(0.0, -0.1, 0.1)))
    assert reasons(scale(), poor) == []
    assert len(reasons(scale(), poor, asked=(*ASKED, ("utility",)))) == 1
    assert reasons(scale(), asked=(*ASKED, ("utility",))) == ["utility: no labels"]


def test_of_two_scales_of_one_thing_those_with_labels_enough_count(reasons, scale, group, figure):
    claims = (("correctness", "supported"),)
    good, few = scale(name="supported"), scale(name="correctness", overall=group(3, 1))
    poor = scale(name="correctness", overall=group(cohen_kappa=figure(0.0, -0.1, 0.1)))
    assert reasons(good, asked=claims) == []
    assert reasons(few, good, asked=claims) == []
    assert reasons(few, asked=claims) == ["correctness: 3 labels, fewer than 30"]
    assert len(reasons(poor, good, asked=claims)) == 1
    assert reasons(scale(), asked=claims) == ["correctness: no labels"]


def test_a_graded_scale_is_held_by_its_quadratic_kappa_and_has_no_classes(
    reasons, scale, group, figure
):
    def graded(low):
        overall = group(positive=None).model_copy(
            update={"figures": {"quadratic_kappa": figure(0.5, low, 0.6)}}
        )
        return scale(name="utility", kind="graded", overall=overall, by_language={})

    asked = {"asked": (("utility",),), "languages": ()}
    assert reasons(graded(0.4), **asked) == []
    (told,) = reasons(graded(0.39), **asked)
    assert told.startswith("utility: quadratic kappa 0.500 [0.390, 0.600] over 100 labels may be")


def test_a_card_alone_is_held_to_the_scales_and_languages_it_has_labels_for(
    card, scale, group, figure
):
    low = figure(0.5, 0.1, 0.9)
    held = check_alone(card(scale(), scale(name="supported", overall=group(cohen_kappa=low))))
    assert (held.required_scales, held.languages) == (
        (("unanswerable",), ("supported",)),
        ("en", "ko"),
    )
    weakest, kappa = held.weakest()
    assert (weakest.name, kappa) == ("supported", low)
