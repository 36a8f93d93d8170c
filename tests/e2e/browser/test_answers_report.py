"""report.html of the example answers, judged as people judged them, in a real Chromium."""

import re
from dataclasses import replace

import pytest
from selenium.webdriver.common.by import By

from gigamind.release.model import read_run
from gigamind.reports.labels import LABELS
from gigamind.tasks import KINDS

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>window.pwned=1</script><!-- <img src=x onerror=window.pwned=2>"
# Background colours of the light theme, as the page's style sheet gives them.
NAMED = {"supported": "hit", "contradicted": "bad", "not_found": "miss", "unverified": "linked"}
GRADED = {"high": "hit", "medium": "miss", "low": "bad"}


@pytest.fixture(scope="module")
def record(labelled_answers):
    replies = labelled_answers.honest() + labelled_answers.checks()
    return read_run(labelled_answers.run("page", replies, "--checklist"), KINDS)


@pytest.fixture(scope="module")
def forged(labelled_answers):
    """Claims that nothing supports are said to be, by words that stand nowhere."""
    replies = labelled_answers.forging(lambda _claim: "Parrots sing 77 operas.")
    return read_run(labelled_answers.run("forged", replies), KINDS)


def _named(browser, name):
    """The colour of a custom property, as computed styles write it."""
    return browser.execute_script(
        "const probe = document.body.appendChild(document.createElement('i'));"
        "probe.style.background = `var(--${arguments[0]})`;"
        "const found = getComputedStyle(probe).backgroundColor; probe.remove(); return found",
        name,
    )


def _background(browser, element):
    script = "return getComputedStyle(arguments[0]).backgroundColor"
    return browser.execute_script(script, element)


def _texts(parent, selector):
    return [one.text for one in parent.find_elements(By.CSS_SELECTOR, selector)]


def _with_all(record, *verdicts):
    return next(
        item
        for item in record.items
        if item.evaluation and {one.verdict for one in item.evaluation.claims} == set(verdicts)
    )


def test_rows_have_the_badge_of_their_confidence_the_worst_first(show, record):
    def worst_first(item):
        verdicts = {one.verdict for one in item.evaluation.claims}
        share = item.evaluation.correctness
        if share is None:
            share = 0.99 if item.left_out else 2
        return share - ("contradicted" in verdicts)

    browser = show(record)
    rows = browser.find_elements(By.CSS_SELECTOR, ".items tbody tr")
    shown = [_texts(row, ".badge, .was")[0] for row in rows]
    expected = [item.evaluation.confidence for item in sorted(record.items, key=worst_first)]
    assert shown == [str(LABELS[grade or "abstained"]) for grade in expected]
    for grade, colour in GRADED.items():
        badge = browser.find_element(By.CSS_SELECTOR, f".items .badge.{grade}")
        assert _background(browser, badge) == _named(browser, colour)
    colours = {_named(browser, colour) for colour in GRADED.values()}
    assert len(colours) == 3


def test_rows_say_why_each_claim_is_not_supported(show, forged):
    item = _with_all(forged, "supported", "unverified")
    browser = show(forged)
    row = next(
        row
        for row in browser.find_elements(By.CSS_SELECTOR, ".items tbody tr")
        if item.question in row.text
    )
    failed = [one for one in item.evaluation.claims if one.verdict == "unverified"]
    complaints = _texts(row, ".meta")[1:]
    assert len(complaints) == len(failed)
    assert all(str(LABELS[failed[0].doubt]) in text for text in complaints)


@pytest.mark.parametrize("kind", ["supported", "contradicted", "not_found", "unverified"])
def test_a_claim_is_marked_in_the_answer_by_its_verdict_and_colour(
    show, reader, record, forged, kind
):
    shown = forged if kind == "unverified" else record
    item = next(
        item for item in shown.items if any(one.verdict == kind for one in item.evaluation.claims)
    )
    browser = show(shown)
    detail = reader.open(item.question)
    marks = detail.find_elements(By.CSS_SELECTOR, f".note-text mark.{kind}")
    claims = [one for one in item.evaluation.claims if one.verdict == kind]
    assert [mark.text for mark in marks] == [item.answer[one.start : one.end] for one in claims]
    assert _background(browser, marks[0]) == _named(browser, NAMED[kind])
    assert "".join(_texts(detail, ".note-text")) == item.answer


def test_the_quote_is_marked_in_the_text_of_its_note(show, reader, record):
    item = _with_all(record, "supported", "contradicted")
    show(record)
    detail = reader.open(item.question)
    marked = _texts(detail, ".claims blockquote mark")
    assert marked == [one.evidence["quote"] for one in item.evaluation.claims]
    for passage, claim in zip(
        detail.find_elements(By.CSS_SELECTOR, ".claims blockquote"),
        item.evaluation.claims,
        strict=True,
    ):
        note = item.notes[claim.note - 1]
        before = passage.find_element(By.CSS_SELECTOR, "mark ~ span").get_property("textContent")
        assert before.removesuffix("…") in note.text
        assert passage.text.startswith(note.title)


def test_a_quote_that_ends_within_a_word_is_marked_to_its_end(show, record):
    browser = show(record)
    script = "return arguments[0].slice(...toWords(...arguments))"
    cut = [(0, 2), (4, 8), (10, 12), (10, 13), (9, 10)]
    words = [browser.execute_script(script, "연차는 2024년 15일 ", *at) for at in cut]
    assert words == ["연차는", "2024년", "15일", "15일", " "]


def test_a_forged_quote_is_struck_out_and_says_why(show, reader, forged):
    item = _with_all(forged, "unverified")
    show(forged)
    detail = reader.open(item.question)
    claims = len(item.evaluation.claims)
    assert _texts(detail, ".claims s") == ["Parrots sing 77 operas."] * claims
    assert not _texts(detail, ".claims blockquote mark")
    assert _texts(detail, ".claims td:last-child mark") == ["unverified"] * claims
    assert "the quote is not in the note" in detail.text
    issues = _texts(detail, ".issues li")
    assert issues == list(item.evaluation.grounding_issues)


def test_each_claim_shows_its_doors_with_a_sign_and_why_the_last_one_stayed_shut(
    show, reader, forged
):
    item = _with_all(forged, "supported", "unverified")
    browser = show(forged)
    row = reader.open(item.question).find_elements(By.CSS_SELECTOR, ".claims tr")
    shut = next(at for at, one in enumerate(item.evaluation.claims) if one.verdict == "unverified")
    sign = "return getComputedStyle(arguments[0], '::before').content"
    signs = [
        browser.execute_script(sign, one)
        for one in row[shut].find_elements(By.CSS_SELECTOR, ".doors li")
    ]
    assert signs == ['"✓"', '"✕"', '"→"']
    opened = next(at for at, one in enumerate(item.evaluation.claims) if one.verdict == "supported")
    passed = row[opened].find_elements(By.CSS_SELECTOR, ".doors .passed")
    assert passed == row[opened].find_elements(By.CSS_SELECTOR, ".doors li")
    assert len(passed) == 4  # the last one is the guard with the score


def test_what_people_and_the_model_miss_is_told_apart_from_what_is_given(show, reader, record):
    item = next(item for item in record.items if item.id == "a-020")
    show(record)
    detail = reader.open(item.question)
    facts, told = detail.find_elements(By.CSS_SELECTOR, ".left-out")
    left_out, given = (one.rsplit(". ", 1)[1] for one in _texts(facts, "li"))
    assert "vital" in left_out
    assert " 1 " in given
    assert "vital" not in given
    assert _texts(told, "li.missing mark") == ["구역 밖에 반납하면 추가요금 2,000원을 받는다."]


def test_on_a_phone_the_verdict_stands_above_its_claim(show, reader, record):
    item = _with_all(record, "supported", "contradicted")
    show(record, width=390)
    cells = reader.open(item.question).find_elements(By.CSS_SELECTOR, ".claims tr:first-child td")
    assert cells[2].rect["y"] < cells[1].rect["y"]
    assert cells[1].rect["width"] > 300


def test_sources_and_issues_are_those_of_the_evaluation(show, reader, record):
    item = _with_all(record, "supported", "contradicted")
    show(record)
    detail = reader.open(item.question)
    rows = detail.find_elements(By.CSS_SELECTOR, ".sources:not(.checklist, .left-out) li")
    cited = ["cited" in (row.get_attribute("class") or "") for row in rows]
    assert cited == [use.cited for use in item.evaluation.source_coverage]
    assert True in cited
    for row, use in zip(rows, item.evaluation.source_coverage, strict=True):
        assert use.note_title in row.text
        assert use.relevant_claim in row.text
    assert _texts(detail, ".issues li") == list(item.evaluation.grounding_issues)


def test_the_checklist_tells_every_item_with_its_proof(show, reader, record):
    item = _with_all(record, "supported", "contradicted")
    show(record)
    detail = reader.open(item.question)
    rows = detail.find_elements(By.CSS_SELECTOR, ".checklist li")
    assert len(rows) == len(item.quality.items) == 4
    for row, one in zip(rows, item.quality.items, strict=True):
        assert row.text.startswith(f"{one.text} {'yes' if one.yes else 'no'}")
        assert "\n".join(_texts(row, ".meta span")).startswith(one.quote)
    passed = "Checklist passed" if item.quality.passed else "Checklist not passed"
    assert passed in detail.text


def test_without_a_checklist_the_page_says_nothing_of_one(show, forged):
    browser = show(forged)
    assert not browser.find_elements(By.CSS_SELECTOR, "input[value=unpassed], #checklist")


def test_both_runs_stand_side_by_side_with_what_changed(show, reader, record):
    """In the baseline all forty answers passed the checklist, twenty do now; one claim there was not supported."""
    taken = KINDS["answers"].take_snapshot(record)
    item = _with_all(record, "supported", "contradicted")
    items = [
        one.model_copy(
            update={
                "check": one.check.model_copy(
                    update={"passed": True, "yes": dict.fromkeys(one.check.yes, True)}
                ),
                "unsupported": ("Only before.",) if one.id == item.id else one.unsupported,
            }
        )
        for one in taken.items
    ]
    browser = show(record, baseline=taken.model_copy(update={"items": tuple(items)}))
    assert " 50.0 pp" in browser.find_element(By.TAG_NAME, "h1").text
    before, now = reader.open(item.question).find_elements(By.CSS_SELECTOR, ".rankings > div")
    assert "Checklist passed" in before.text
    assert [_texts(side, ".cross")[:1] for side in (before, now)] == [["no longer"], ["new"]]
    assert "Only before." in before.text
    (claim,) = (one for one in item.evaluation.claims if one.verdict == "contradicted")
    assert claim.text in now.text


def test_text_of_others_runs_nothing(show, reader, record):
    item = _with_all(record, "supported", "contradicted")
    claim = item.evaluation.claims[0].model_copy(
        update={"text": HOSTILE, "start": 0, "end": len(HOSTILE), "evidence": None}
    )
    told = item.evaluation.model_copy(
        update={
            "summary": HOSTILE,
            "utility_reason": HOSTILE,
            "grounding_issues": (HOSTILE,),
            "claims": (claim,),
        }
    )
    checked = item.quality.items[0].model_copy(update={"text": HOSTILE, "quote": HOSTILE})
    hostile = item.model_copy(
        update={
            "id": HOSTILE,
            "question": HOSTILE,
            "answer": HOSTILE,
            "evaluation": told,
            "quality": item.quality.model_copy(update={"items": (checked,)}),
            "notes": tuple(
                note.model_copy(update={"title": HOSTILE, "text": HOSTILE}) for note in item.notes
            ),
        }
    )
    show(replace(record, items=[hostile]))
    detail = reader.open(HOSTILE)
    assert _texts(detail, ".note-text") == [HOSTILE]
    assert _texts(detail, ".issues li") == [HOSTILE]
    assert HOSTILE in detail.find_element(By.CSS_SELECTOR, ".checklist").text
    assert reader.has_run_nothing()


def test_the_korean_page_speaks_korean(show, reader, record):
    item = _with_all(record, "supported", "contradicted")
    browser = show(record, lang="ko")
    headline = browser.find_element(By.TAG_NAME, "h1").text
    assert {"40", "73", "19"} <= set(re.findall(r"\d+", headline))
    assert reader.numbers() == [1, 40, 40]
    assert len(set(_texts(browser, ".items .badge"))) == 3
    detail = reader.open(item.question)
    assert len(_texts(detail, "h3")) == 6
    assert len(set(_texts(detail, ".claims td:last-child mark"))) > 1
    assert not re.search("[a-z]{4,} [a-z]{4,}", " ".join(_texts(detail, "h3, .doors, .legend")))
    assert "undefined" not in browser.find_element(By.TAG_NAME, "body").text
