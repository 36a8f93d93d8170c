"""The votes of a panel in report.html of a run of answers, in a real Chromium."""

import json
from dataclasses import replace

import pytest
from faulty_model import running
from reached import reached
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from gigamind.cli.main import main
from gigamind.release.snapshot import read_run
from gigamind.tasks import KINDS
from gigamind.tasks.answers.schema import AnswerVoteReport

pytestmark = pytest.mark.browser

HOSTILE = "</script><script>window.pwned=1</script><img src=x onerror=window.pwned=2>"
LONG = "openrouter/meta-llama/llama-3.3-70b-instruct-with-a-name-that-never-ends"
QUESTION = "When does the deploy run, and who starts it?"
TEXT = "The deploy runs every Friday at three.\n\nMina starts it by hand."
FRIDAY, MINA = TEXT.split("\n\n")
VERDICTS = ("supported", "contradicted", "not_found", "unverified")
SIGNS = {"supported": "✓", "contradicted": "✕", "not_found": "∅", "unverified": "?"}


def _reply(second, utility):
    quote = MINA if second == "supported" else ""
    return {
        "claims": [
            {"id": 1, "verdict": "supported", "note": 1, "quote": FRIDAY},
            {"id": 2, "verdict": second, "note": 1 if quote else None, "quote": quote},
        ],
        "source_coverage": [],
        "grounding_issues": [],
        "omissions": [],
        "answerable": True,
        "answer_note": 1,
        "answer_quote": FRIDAY,
        "utility_reason": "",
        "utility": utility,
        "correctness": 1.0,
        "summary": "",
    }


@pytest.fixture(scope="module")
def record(tmp_path_factory):
    """One answer, judged three times: twice both claims are supported, once the second is not in the notes."""
    folder = tmp_path_factory.mktemp("panel")
    row = {
        "id": "a",
        "question": QUESTION,
        "answer": "The deploy runs every Friday. Mina starts it by hand.",
        "context_notes": [{"title": "Deploys", "text": TEXT}],
        "language": "en",
    }
    (folder / "answers.jsonl").write_text(json.dumps(row), encoding="utf-8")
    judge = 'kind = "search_qa"\nprompt = "search_qa/v2"\ntemperature = 0.1\nrepeats = 3\n'
    (folder / "judge.toml").write_text(judge, encoding="utf-8")
    paths = {
        "dataset": "answers.jsonl",
        "judge": "judge.toml",
        "out": "out",
        "cache-dir": "cache",
    }
    options = [part for name, path in paths.items() for part in (f"--{name}", str(folder / path))]
    with running() as server, pytest.MonkeyPatch.context() as patch:
        patch.delenv("OPENAI_API_KEY", raising=False)
        server.script.extend([
            _reply("supported", 1.0), _reply("not_found", 0.75), _reply("supported", 0.5)
        ])  # fmt: skip
        model = ("--model", "openai/judge", *reached(server), "--max-in-flight", "1")
        with pytest.raises(SystemExit) as ended:
            main(["eval", "answers", *options, *model])
        assert not ended.value.code
        assert not server.script
    return read_run(folder / "out", KINDS)


@pytest.fixture
def voted(record):
    """The record with other votes on its one answer, its evaluation changed as given."""

    def make(*votes, **changes):
        return replace(
            record, items=[record.items[0].model_copy(update={"votes": votes} | changes)]
        )

    return make


def _rows(detail):
    """The cells of the table of votes as people and their aids read them, sign and word."""
    return [
        [cell.get_property("textContent") for cell in row.find_elements(By.CSS_SELECTOR, "th, td")]
        for row in detail.find_elements(By.CSS_SELECTOR, ".votes tr")
    ]


def _styled(browser, element, name, pseudo=None):
    script = "return getComputedStyle(arguments[0], arguments[2])[arguments[1]]"
    return browser.execute_script(script, element, name, pseudo)


def _vote(model, *verdicts, utility=1.0):
    share = verdicts.count("supported") / len(verdicts)
    return AnswerVoteReport(model=model, correctness=share, utility=utility, verdicts=verdicts)


def test_every_seat_stands_under_the_result_of_the_panel(show, reader, record):
    browser = show(record)
    detail = reader.open(QUESTION)
    assert _rows(detail) == [
        ["panel member", "Correctness", "Utility", "Claims"],
        ["whole panel", "1.000", "0.750", "1 supported2 supported"],
        ["openai/judge #1", "1.000", "1.000", "1 supported2 supported"],
        ["openai/judge #2", "0.500", "0.750", "1 supported2 not in the notes"],
        ["openai/judge #3", "1.000", "0.500", "1 supported2 supported"],
    ]
    weights = [
        int(_styled(browser, cell, "fontWeight"))
        for cell in detail.find_elements(By.CSS_SELECTOR, ".votes tbody th")
    ]
    assert weights[0] > 600 > max(weights[1:])


def test_a_claim_on_which_seats_differ_says_how_many_have_it_so(show, reader, record):
    show(record)
    claims = reader.open(QUESTION).find_elements(By.CSS_SELECTOR, ".claims td:last-child")
    assert [claim.text.splitlines() for claim in claims] == [
        ["supported"],
        ["supported", "2 of 3 panel members give this verdict"],
    ]


def test_a_mark_has_the_colour_and_the_sign_of_its_verdict_and_its_word(show, reader, voted):
    told = voted(*(_vote(f"openai/{one}", one, one) for one in VERDICTS))
    browser = show(told)
    detail = reader.open(QUESTION)
    for verdict in VERDICTS:
        marks = detail.find_elements(By.CSS_SELECTOR, f".votes tr:not(.whole) .{verdict}")
        (named,) = detail.find_elements(By.CSS_SELECTOR, f".votes + .legend .{verdict}")
        assert len(marks) == 2
        for mark in (*marks, named):
            assert _styled(browser, mark, "content", "::before") == f'"{SIGNS[verdict]}"'
            assert _styled(browser, mark, "backgroundColor") == _styled(
                browser, named, "backgroundColor"
            )
            assert named.text in mark.get_property("textContent")
    colours = {
        _styled(browser, mark, "backgroundColor")
        for mark in detail.find_elements(By.CSS_SELECTOR, ".votes + .legend mark")
    }
    assert len(colours) == len(VERDICTS)


@pytest.mark.parametrize("lang", ["en", "ko"])
def test_a_seat_without_a_vote_says_why_and_the_panel_that_it_has_no_result(
    show, reader, voted, lang
):
    votes = (
        _vote("openai/a", "supported", "supported"),
        AnswerVoteReport(model="openai/b", code="content_filtered"),
    )
    show(voted(*votes, evaluation=None, outcome="unscored", code="panel_incomplete"), lang=lang)
    told, first, second = _rows(reader.open(QUESTION))[1:]
    assert len(told[1:]) == 1
    assert first[:3] == ["openai/a", "1.000", "1.000"]
    assert second[0] == "openai/b"
    assert len(second) == 2


def test_the_name_of_a_model_runs_nothing(show, reader, voted):
    show(voted(_vote(HOSTILE, *VERDICTS[:2]), AnswerVoteReport(model="b", code=HOSTILE)))
    rows = _rows(reader.open(QUESTION))
    assert [row[0] for row in rows[2:]] == [HOSTILE, "b"]
    assert rows[3][1] == f"no vote: {HOSTILE}"
    assert reader.has_run_nothing()


def test_answers_on_which_seats_differ_can_be_shown_alone(show, reader, record):
    same = tuple(_vote(f"openai/{name}", "supported", "supported") for name in "ab")
    apart = (same[0], same[1].model_copy(update={"utility": 0.75}))
    items = [
        record.items[0].model_copy(update={"id": name, "question": name, "votes": votes})
        for name, votes in (("same", same), ("one vote", same[:1]), ("apart", apart))
    ]
    show(replace(record, items=[*items, record.items[0]]))
    reader.choose("split")
    reader.wait_for(1, 2, 2)
    assert reader.open("apart")


def test_without_a_panel_the_page_says_nothing_of_one(show, reader, voted):
    alone = voted()
    llm = alone.summary.llm.model_copy(update={"panel": None})
    browser = show(replace(alone, summary=alone.summary.model_copy(update={"llm": llm})))
    assert "seats" not in reader.open(QUESTION).text
    assert not browser.find_elements(By.CSS_SELECTOR, ".votes, .alike, input[value=split]")
    assert "panel" not in browser.find_element(By.ID, "cost").get_property("textContent")


def test_an_answer_without_claims_has_no_marks_and_no_column_for_them(show, reader, record, voted):
    told = record.items[0].evaluation.model_copy(
        update={"claims": (), "correctness": None, "confidence": None, "outcome": "no_claims"}
    )
    vote = AnswerVoteReport(model="openai/a", utility=0.25)
    browser = show(voted(vote, evaluation=told))
    assert _rows(reader.open(QUESTION)) == [
        ["panel member", "Correctness", "Utility"],
        ["whole panel", "–", "0.750"],
        ["openai/a", "–", "0.250"],
    ]
    assert not browser.find_elements(By.CSS_SELECTOR, ".votes + .legend mark")


def test_votes_open_by_keyboard_and_what_stands_above_stays_where_it_is(show, record):
    browser = show(record)
    toggle = browser.find_element(By.CSS_SELECTOR, ".toggle")
    before = toggle.rect
    toggle.send_keys(Keys.ENTER)
    assert browser.find_element(By.CSS_SELECTOR, ".votes").is_displayed()
    assert toggle.rect == before


def test_the_votes_are_a_table_to_those_who_listen_on_a_phone_too(show, reader, record):
    browser = show(record, width=400)
    table = reader.open(QUESTION).find_element(By.CSS_SELECTOR, ".votes")
    browser.execute_cdp_cmd("Accessibility.enable", {})
    browser.execute_script("arguments[0].id = 'votes'", table)
    root = browser.execute_cdp_cmd("DOM.getDocument", {})["root"]["nodeId"]
    node = browser.execute_cdp_cmd("DOM.querySelector", {"nodeId": root, "selector": "#votes"})
    found = browser.execute_cdp_cmd("Accessibility.queryAXTree", {"nodeId": node["nodeId"]})
    roles = [one["role"]["value"] for one in found["nodes"] if not one["ignored"]]
    assert (roles.count("table"), roles.count("row"), roles.count("rowheader")) == (1, 5, 4)


def test_many_claims_and_long_names_fit_a_phone(show, reader, voted):
    browser = show(voted(_vote(LONG, *VERDICTS * 6), _vote("b", *VERDICTS * 6)), 400)
    detail = reader.open(QUESTION)
    assert browser.execute_script("return document.documentElement.scrollWidth") == 400
    edges = [
        mark.rect["x"] + mark.rect["width"]
        for mark in detail.find_elements(By.CSS_SELECTOR, ".votes mark")
    ]
    assert len(edges) == 2 + 2 * 24
    assert max(edges) <= 400


def test_marks_have_the_contrast_that_wcag_asks_for(show, reader, record):
    show(record)
    for scheme in ("light", "dark"):
        reader.prefer(scheme)
        assert reader.least_contrast("hit", "bad", "miss", "linked") >= 4.5
