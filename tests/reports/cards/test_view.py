import pytest

from gigamind.i18n import _, translator
from gigamind.records.card import JudgeCard
from gigamind.records.judged import SecondLookReport
from gigamind.reports.cards.cautions import _cautions, cautions
from gigamind.reports.cards.page import render_card, render_card_page
from gigamind.reports.cards.view import scale_view

HOSTILE = "</style><script>window.pwned=1</script> | `a` **b**\n# c"
ENGLISH = translator("en")


def told(made):
    return cautions(made, ENGLISH)


def test_the_headline_tells_agreement_with_its_interval_and_kappa(card):
    made = card()
    assert scale_view(made, made.scales[0], ENGLISH).headline == (
        "80 of 100 verdicts match the label (accuracy 0.800, 95% CI 0.700 – 0.900); Cohen's kappa 0.600"
    )


def test_the_headline_of_a_graded_scale_tells_its_kappa(card, scale, group, figure):
    figures = {"quadratic_kappa": figure(0.71, 0.6, 0.8), "mean_absolute_error": figure(0.125)}
    graded = scale(name="utility", kind="graded", overall=group(60, None, **figures))
    view = scale_view(card(graded), graded, ENGLISH)
    assert view.headline == (
        "utility: quadratic kappa 0.710 (95% CI 0.600 – 0.800) over 60 labels, mean absolute error 0.125"
    )
    assert view.misses[0].verdict == "0.000"


def test_a_card_with_labels_enough_and_everything_measured_has_no_cautions(card):
    assert told(card()) == []


@pytest.mark.parametrize(("positive", "warned"), [(30, False), (29, True), (70, False), (71, True)])
def test_fewer_than_thirty_labels_of_a_class_are_few(card, scale, group, positive, warned):
    made = card(scale(overall=group(100, positive)))
    assert any("below 30" in caution for caution in told(made)) is warned


def test_no_miss_seen_is_no_proof_that_there_is_none(card, scale, group, figure):
    made = card(scale(overall=group(100, 40, sensitivity=figure(1.0, 1.0, 1.0, 40))))
    (caution,) = told(made)
    assert "40 labels of unanswerable = yes" in caution
    assert "7.5%" in caution


def test_what_was_not_measured_is_said(card, scale, group, figure):
    kappa = figure(None, None, None, 100)
    labels = card().labels.model_copy(update={"source": "dataset", "unscored": 7})
    one_language = {"en": group(100, 40)}
    made = card(
        scale(overall=group(100, 40, cohen_kappa=kappa), by_language=one_language, flips=None),
        labels=labels,
        attacks=None,
        runs=("only",),
    )
    values = [caution.values for caution in _cautions(made)]
    assert values == [
        {"scale": "unanswerable"},
        {"unscored": 7, "count": 100},
        {},  # the labels are the dataset's
        {"language": "ko"},
        {},  # one run
        {},  # no attacks
    ]


@pytest.fixture
def claims(scale, group, figure):
    """A scale of 100 claims, 40 of them labelled yes, of so many answers."""

    def make(answers, **figures):
        behind = {"clusters": answers}
        found = {name: one.model_copy(update=behind) for name, one in group().figures.items()}
        overall = group(100, 40, **found | figures).model_copy(update=behind)
        headline = scale().headline
        headline = headline.model_copy(
            update={
                "clusters": 90,
                "labelled": headline.labelled.model_copy(update=behind),
                "corrected": headline.corrected.model_copy(update=behind),
            }
        )
        flips = figure(0.05, 0.02, 0.08, 200).model_copy(update=behind)
        return scale(name="supported", overall=overall, headline=headline, flips=flips)

    return make


@pytest.mark.parametrize(("answers", "warned"), [(30, 0), (29, 2)])
def test_claims_of_fewer_than_thirty_answers_are_few(card, claims, answers, warned):
    found = told(card(claims(answers)))
    assert len(found) == warned
    assert all("only 29 answers" in caution for caution in found)
    assert any("60 labels for supported claims = no" in caution for caution in found) is bool(
        warned
    )


def test_claims_of_one_answer_have_no_interval(card, claims, figure):
    lone = figure(0.8, None, None, 100).model_copy(update={"clusters": 1})
    made = card(claims(1, accuracy=lone, sensitivity=lone, specificity=lone))
    assert "supported claims = yes" in told(made)[0]
    assert "(accuracy 0.800, 95% CI –)" in scale_view(made, made.scales[0], ENGLISH).headline


def test_no_miss_seen_among_claims_is_told_by_their_answers(card, claims, figure):
    right = figure(1.0, 1.0, 1.0, 40).model_copy(update={"clusters": 30})
    (caution,) = told(card(claims(30, sensitivity=right)))
    assert "40 labels of supported claims = yes from 30 answers" in caution
    assert "10.0%" in caution


def test_the_answers_behind_an_interval_are_told(card, claims):
    made = card(claims(30))
    for text in (render_card(made), render_card_page(made)):
        assert "N = 200 (30 answers), 2 runs" in text
        assert "labels only, N = 100 (30 answers)" in text
        assert "verdicts only, 300 items of 90 answers" in text
    assert "| sensitivity | 0.800 | 0.700 – 0.900 | 100 (30 answers) |" in render_card(made)
    assert "| 100 (답변 30건) |" in render_card(made, "ko")


def test_items_that_stand_alone_are_said_to_be_of_no_answers(card):
    assert "answers" not in render_card(card())
    assert "답변 3" not in render_card(card(), "ko")


def test_a_judge_without_a_model_is_not_asked_for_repetitions_or_attacks(card):
    judge = card().judge.model_copy(update={"model": None, "kind": "threshold", "languages": ()})
    assert told(card(judge=judge, attacks=None, runs=("only",))) == []


def test_the_markdown_holds_every_figure_and_section(card):
    text = render_card(card())
    assert "| sensitivity | 0.800 | 0.700 – 0.900 | 100 | 0.800 (0.700 – 0.900) |" in text
    assert "| corrected (PPI++) | 0.320 | 0.250 – 0.390 |" in text
    assert "| 0.9 – 1.0 | 0.950 | 0.750 | 0.500 – 0.900 | 20 |" in text
    assert "0.8 – 0.9" not in text  # a bin without items
    assert "(95% CI 0.020 – 0.080, N = 200, 2 runs)" in text
    assert "7.5% (95% CI 2.6% – 19.9%)" in text
    assert "1. **배포는 언제?** (`q1`): label yes, verdict no, stated confidence 0.970" in text
    assert "- fingerprint: `" + "f" * 64 + "`" in text


def test_sections_without_content_are_left_out(card, scale):
    made = card(scale(headline=None, flips=None, misses=(), missed=0), attacks=None)
    for page in (render_card(made), render_card_page(made)):
        for title in ("Corrected mean", "Test-retest consistency", "Attacks"):
            assert title not in page
        assert "No verdict is far from its label." in page


def test_an_unknown_figure_is_a_dash(card, scale, group, figure):
    unknown = group(100, 100, specificity=figure(None, None, None, 0))
    text = render_card(card(scale(overall=unknown, by_language={"en": unknown})))
    assert "| specificity | – | – | 0 | – |" in text


def test_figures_below_0_have_a_minus_that_is_no_dash(card, scale, group, figure):
    below = group(100, 40, cohen_kappa=figure(-0.1, -0.3, 0.1))
    text = render_card(card(scale(overall=below)))
    assert "| Cohen's kappa | −0.100 | −0.300 – 0.100 | 100 |" in text


def hostile(card, scale):
    miss = scale().misses[0].model_copy(update={"question": HOSTILE, "quotes": (HOSTILE,)})
    judge = card().judge.model_copy(update={"file": HOSTILE})
    return card(scale(misses=(miss,)), judge=judge, runs=(HOSTILE,))


def test_texts_of_others_stay_text_on_the_page(card, scale):
    page = render_card_page(hostile(card, scale))
    assert "<script" not in page
    assert page.count("</style>") == 1
    assert "&lt;script&gt;window.pwned=1" in page


def test_texts_of_others_stay_text_in_the_markdown(card, scale):
    text = render_card(hostile(card, scale))
    assert "\n# c" not in text
    assert "\\<script\\>" in text
    assert "\\*\\*b\\*\\*" in text


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_the_page_runs_no_script_and_says_its_language(card, lang):
    page = render_card_page(card(), lang)
    assert f'<html lang="{lang}">' in page
    assert "default-src 'none'; style-src 'sha256-" in page.replace("&#39;", "'")
    assert translator(lang)(_("Calibration")) in page
    assert "style=" not in page


def test_the_diagram_draws_the_bins_that_have_items(card):
    page = render_card_page(card())
    assert page.count('class="dot"') == 1
    assert '<circle class="dot" cx="95.0" cy="25.0"' in page


def test_how_the_second_look_tells_its_pairs_apart_is_told_in_both_languages(card):
    looks = [
        SecondLookReport(
            model="x/a", language="ko", stated=(12, 11), unstated=(12, 12), believed=True
        ),
        SecondLookReport(
            model="x/b", language="en", stated=(12, 12), unstated=(12, 2), believed=False
        ),
    ]
    made = card(second_looks=tuple(looks))
    text, korean, page = render_card(made), render_card(made, "ko"), render_card_page(made)
    assert "## Second check" in text
    for told in (text.replace("\\", ""), page):
        assert "x/a solved 23 of 24 Korean test pairs and is accepted" in told
        assert "x/b solved only 14 of 24 English test pairs and is not accepted" in told
    assert "한국어 시험 문항 24개 중 23개" in korean
    assert JudgeCard.model_validate_json(made.model_dump_json()) == made
    assert "Second check" not in render_card(card()) + render_card_page(card())


def test_what_liars_get_away_with_is_told_beside_what_people_say(card, liars):
    made = card(liars=liars)
    text, korean = render_card(made), render_card(made, "ko")
    assert "## Deceptive judges" in text
    assert "1 of the 4 claims" in text
    assert "3 answers without labels or notes" in text
    assert (
        "| judge | correctness | unsupported but accepted | hidden claims | utility | no verdict |"
    ) in text
    assert "| gives the human verdicts | 0.750 | 0 / 1 | 0 / 4 | 0.500 | 0 |" in text
    assert "| quotes the same line for every claim | 1.000 | 1 / 1 | 0 / 4 | 0.500 | 0 |" in text
    assert r"| new\|one | – | 0 / 1 | 4 / 4 | 0.500 | 0 |" in text
    assert "| 모든 주장에 같은 줄을 인용함 | 1.000 | 1 / 1 | 0 / 4 | 0.500 | 0 |" in korean
    page = render_card_page(made)
    assert 'id="liars-title"' in page
    assert '<tr><th scope="row">new|one</th><td class="number">–</td>' in page
    assert "liars-title" not in render_card_page(card())
    assert "Deceptive judges" not in render_card(card())


def test_a_judge_of_answers_that_no_liar_was_put_in_the_place_of_says_so(card, liars):
    of_answers = card().judge.model_copy(update={"kind": "search_qa"})
    assert len(told(card(judge=of_answers))) == 1
    assert told(card(judge=of_answers, liars=liars)) == []
    assert told(card()) == []
