"""The judge report: its verdict, warnings, table and sections, in all renderers."""

import pytest
from blocks import HOSTILE, harmless
from cards_by_hand import card, figure, group, scale
from rich.console import Console

from gigamind.i18n import translator
from gigamind.reports import document as doc
from gigamind.reports.card import card_document
from gigamind.reports.html import render_html
from gigamind.reports.markdown import render_markdown
from gigamind.reports.terminal import show

ENGLISH = translator("en")


def document(made, out=None):
    return card_document(made, out)


def block(made, kind, section=""):
    """Return the first block of a kind; of the section with this ID, if given."""
    blocks = document(made).blocks
    if section:
        (found,) = (b for b in blocks if isinstance(b, doc.Section) and b.id == section)
        blocks = found.blocks
    return next((b for b in blocks if isinstance(b, kind)), None)


def warnings(made):
    """Return the values of all warnings: those of the first screen, then the others."""
    found = [b for b in document(made).blocks if isinstance(b, doc.Bullets)]
    found += [
        inner
        for b in document(made).blocks
        if isinstance(b, doc.Section) and b.id == "warnings"
        for inner in b.blocks
    ]
    return [text.values for bullets in found for text in bullets.items]


def rows(table):
    return {row[0]: row[1:] for row in table.rows}


# Verdict


@pytest.mark.parametrize(
    ("value", "low", "state"),
    [(0.6, 0.5, "passed"), (0.6, 0.3, "inconclusive"), (0.3, 0.1, "failed")],
)
def test_the_verdict_follows_the_kappa_and_all_media_print_it(value, low, state):
    made = card(scale(overall=group(cohen_kappa=figure(value, low, 0.9))))
    page = document(made)
    assert page.verdict.state == state
    console = Console(width=200, soft_wrap=True)
    with console.capture() as printed:
        show(page, console, ENGLISH)
    sentence = ENGLISH(page.headline)
    assert f"{value:.3f}" in sentence
    assert printed.get().startswith(sentence)
    assert f"<h1>{sentence}</h1>".replace("'", "&#39;") in render_html(page, ENGLISH)
    assert f"**{sentence}**" in render_markdown(page, ENGLISH)


def test_the_verdict_names_the_worst_of_several_requirements():
    low = scale(name="supported", overall=group(cohen_kappa=figure(0.3, 0.1, 0.39)))
    made = card(scale(overall=group(29, 10)), low)
    assert document(made).headline.values["reason"].values["what"] == "supported claims"
    ((state, _text),) = block(made, doc.Conditions).items
    assert state == "inconclusive"


def test_attacks_above_the_limit_fail():
    attacks = card().attacks.model_copy(update={"rate": figure(0.3, 0.25, 0.4, 40)})
    assert document(card(attacks=attacks)).verdict.state == "failed"


def test_items_without_a_verdict_are_no_evidence():
    labels = card().labels.model_copy(update={"unscored": 7})
    (lead, _no_release) = document(card(labels=labels)).verdict.leads
    assert lead.values["labels"].values["n"] == 93
    assert lead.values["languages"] == ["English", "Korean"]
    (lead, _no_release) = document(card(scale(by_language={}))).verdict.leads
    assert lead.values["languages"] == "none"


def test_a_report_without_any_verdict_has_no_table():
    made = card(scale(overall=group(0, 0), flips=None, misses=(), missed=0), attacks=None)
    assert document(made).verdict.state == "inconclusive"
    assert block(made, doc.Table) is None


def test_the_next_step_fits_the_verdict(tmp_path):
    def commands(made):
        steps = next((b for b in document(made, tmp_path).blocks if isinstance(b, doc.Steps)), None)
        return [step.command for step in steps.items]

    assert commands(card()) == [f"gigamind compare BASELINE RUN --judge-card {tmp_path}"]
    few = card(scale(overall=group(29, 10)))
    bad = card(scale(overall=group(cohen_kappa=figure(0.3, 0.1, 0.39))))
    assert commands(few) == commands(bad) == [""]
    labels = [
        block(card(scale(overall=group(29, 10), **changes)), doc.Steps).items[0].label
        for changes in ({}, {"headline": None})
    ]
    assert labels[0] != labels[1]  # where all judged items have a label, more items are needed


# Requirements


def test_the_table_shows_each_requirement_with_its_limit():
    found = [tuple(row) for row in block(card(), doc.Table).rows]
    values = [(row[1], row[2], row[3], row[4], row[5].state) for row in found]
    assert values == [
        (doc.Proportion(0.6), doc.Interval(0.7, 0.9), doc.Count(100), "≥ 0.400", "passed"),
        (doc.Proportion(0.05), doc.Interval(0.02, 0.08), doc.Count(200), "≤ 0.100", "passed"),
        (doc.Proportion(0.075), doc.Interval(0.026, 0.199), doc.Count(40), "≤ 0.200", "passed"),
    ]


def test_the_worst_scale_comes_first():
    graded = {"quadratic_kappa": figure(0.3, 0.1, 0.5), "mean_absolute_error": figure(0.1)}
    utility = group(60, None).model_copy(update={"figures": graded, "bins": ()})
    made = card(scale(), scale(name="utility", kind="graded", overall=utility, by_language={}))
    first, second, *_others = block(made, doc.Table).rows
    assert (first[0].values["scale"], first[-1].state) == ("utility", "failed")
    assert (second[0].values["scale"], second[-1].state) == ("unanswerable", "passed")


def test_requirements_that_were_not_measured_have_no_row():
    assert len(list(block(card(scale(flips=None), attacks=None), doc.Table).rows)) == 1


# Warnings


def test_a_report_with_enough_labels_and_measurements_has_no_warnings():
    assert warnings(card()) == []


@pytest.mark.parametrize(
    ("yes", "no", "few"), [(30, 70, []), (29, 71, [29]), (70, 30, []), (71, 29, [29])]
)
def test_few_labels_of_a_class_are_a_warning(yes, no, few):
    overall = group(
        100, yes, sensitivity=figure(0.8, 0.7, 0.9, yes), specificity=figure(0.8, 0.7, 0.9, no)
    )
    assert [
        values["labels"].values["n"] for values in warnings(card(scale(overall=overall)))
    ] == few


def test_labels_that_are_few_in_all_are_said_once():
    overall = group(29, 10, sensitivity=figure(0.8, 0.7, 0.9, 10))
    made = card(scale(overall=overall))
    assert warnings(made) == []
    assert document(made).verdict.state == "inconclusive"


def test_what_was_not_measured_is_a_warning():
    labels = card().labels.model_copy(update={"source": "dataset", "unscored": 7})
    made = card(
        scale(by_language={"en": group(100, 40)}, flips=None),
        labels=labels,
        attacks=None,
        runs=("only",),
    )
    assert warnings(made) == [
        {"unscored": 7, "count": 100},
        {},  # the labels are the dataset's
        {"language": "Korean"},
        {},  # no attacks
        {},  # one run
    ]
    assert len(block(made, doc.Bullets).items) == 3


def test_a_judge_without_a_model_needs_no_repetitions_or_attacks():
    judge = card().judge.model_copy(update={"model": None, "kind": "threshold", "languages": ()})
    assert warnings(card(judge=judge, attacks=None, runs=("only",))) == []


# Claims of answers


def claims(answers, **figures):
    """A scale of 100 claims, 40 of them labelled yes, of so many answers."""
    behind = {"clusters": answers}
    found = {name: one.model_copy(update=behind) for name, one in group().figures.items()}
    overall = group(100, 40, **found | figures).model_copy(update=behind)
    flips = figure(0.05, 0.02, 0.08, 200).model_copy(update=behind)
    return scale(name="supported", overall=overall, flips=flips)


def test_the_number_of_answers_is_in_the_table():
    kappa, flips, attacks = block(card(claims(30)), doc.Table).rows
    assert (kappa[3], kappa[4]) == (doc.Count(100), doc.Count(30))
    assert (flips[3], flips[4]) == (doc.Count(200), doc.Count(30))
    assert attacks[4] == doc.Count(None)
    assert len(block(card(), doc.Table).columns) == 6


def test_few_answers_of_a_class_are_a_warning():
    few = figure(1.0, 1.0, 1.0, 40).model_copy(update={"clusters": 12})
    (values,) = warnings(card(claims(30, sensitivity=few)))
    assert values["labels"].values["clusters"] == 12  # of answers, not of claims


# Sections


def test_every_metric_of_a_scale_is_in_its_section():
    made = card()
    metrics, by_language = (
        b for b in document(made).only("scale-1").blocks[-1].blocks if isinstance(b, doc.Table)
    )
    sensitivity = rows(metrics)["sensitivity"]
    assert sensitivity[:3] == (doc.Proportion(0.8), doc.Interval(0.7, 0.9), doc.Count(100))
    assert [group.title for group in by_language.groups] == ["English", "Korean"]


def test_the_corrected_mean_has_its_own_section():
    judged, labelled, corrected = block(card(), doc.Table, "means").rows
    assert judged[1:] == (doc.Proportion(0.4), doc.Interval(None, None), doc.Count(300))
    assert labelled[1:] == (doc.Proportion(0.3), doc.Interval(0.2, 0.4), doc.Count(100))
    assert corrected[1:] == (doc.Proportion(0.32), doc.Interval(0.25, 0.39), doc.Count(100))
    assert block(card(), doc.Prose, "means").text.values["weights"][0].values["value"] == "0.50"


def test_sections_without_content_are_left_out():
    made = card(scale(headline=None, misses=(), missed=0))
    sections = [b.id for b in document(made).blocks if isinstance(b, doc.Section)]
    assert sections == ["scale-1", "run"]
    assert block(made, doc.Examples) is None


def test_the_largest_errors_are_shown_with_their_share():
    shown = block(card(), doc.Examples)
    (item,) = shown.items
    assert (item.id, item.title, shown.of) == ("q1", "배포는 언제?", 30)
    miss, stated = (part.values for part in item.what.values["parts"])
    assert (miss["label"], miss["verdict"], stated["confidence"]) == ("yes", "no", "0.970")
    assert [line.text for line in item.sides[0].lines] == ["매주 금요일"]
    assert block(card(), doc.Examples, "scale-1") is None  # all are on the first screen
    miss = scale().misses[0].model_copy(update={"confidence": None, "quotes": ()})
    many = card(scale(misses=(miss,) * 4))
    assert len(block(many, doc.Examples).items) == 3
    assert len(block(many, doc.Examples, "scale-1").items) == 4
    assert "confidence" not in block(many, doc.Examples).items[0].what.values


def test_the_judge_is_in_the_details():
    facts = dict(block(card(), doc.Facts, "run").rows)
    assert facts["judge fingerprint"].text == "f" * 64
    assert facts["runs"] == "run-1, run-2"


# Renderers


def test_numbers_below_0_have_a_typographic_minus_and_nothing_is_minus_zero():
    overall = group(cohen_kappa=figure(-0.1, -0.3, 0.1), brier=figure(-0.0, -0.0004, 0.0004))
    text = render_markdown(document(card(scale(overall=overall))), ENGLISH)
    assert "| −0.100 | −0.300 – 0.100 | 100 |" in text
    assert "| 0.000 | 0.000 – 0.000 | 100 |" in text


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_third_party_texts_stay_texts(lang):
    miss = scale().misses[0].model_copy(update={"question": HOSTILE, "quotes": (HOSTILE,)})
    judge = card().judge.model_copy(update={"file": HOSTILE})
    made = document(card(scale(name=HOSTILE, misses=(miss,)), judge=judge, runs=(HOSTILE,)))
    page, text = harmless(made, lang), render_markdown(made, ENGLISH)
    assert "&lt;script&gt;window.pwned=1" in page
    assert "\n# h" not in text
    assert "\\<script\\>" in text
