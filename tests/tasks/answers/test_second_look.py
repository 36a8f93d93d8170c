"""Second looks over real HTTP: what a run asks for them, books and writes."""

import pytest
from answer_reply import answer_reply, supported
from out_files import items_of, rows_of, summary_of
from second_looks import is_second_look, looks

from gigamind.tasks import evaluate

LEAVE = "연차는 입사 첫해에 15일을 준다."
SECOND = "openai/second"


def rows(*answers):
    return [
        {"id": f"a{number}", "question": "연차는 며칠?", "answer": answer, "language": "ko",
         "context_notes": [{"title": "휴가", "text": LEAVE}]}
        for number, answer in enumerate(answers, start=1)
    ]  # fmt: skip


def asked(options, server, items, says=lambda said: "fifteen" in said, **changes):
    """The summary, the lines by id and the attempts of a run whose model proves each claim by the one sentence."""
    whole = answer_reply([supported(LEAVE)], LEAVE)

    def respond(body):
        text = str(body["messages"][-1]["content"])
        return looks(text, says, passage=LEAVE) if is_second_look(text) else whole

    server.respond = respond
    out = evaluate(options(items, **changes)).out
    return summary_of(out), items_of(out), rows_of(out, "attempts.jsonl")


def test_a_model_is_asked_once_more_about_an_answer_that_has_doubts(options, server):
    items = rows("New hires get fifteen days.", "연차는 15일을 준다.", "They get leave each year.")
    summary, lines, attempts = asked(options, server, items, lambda said: "fifteen" in said)
    assert len(attempts) == server.seen.total == 5  # three answers, two looks
    assert summary["looked_at"] == 2
    assert summary["second_looks"] == [
        {"model": "openai/judge", "language": "ko",
         "canaries": [2, 0], "canary_interval": [0.0, pytest.approx(0.6576, abs=1e-4)], "believed": True}
    ]  # fmt: skip
    claims = {name: line["evaluation"]["claims"][0] for name, line in lines.items()}
    assert {name: (one["verdict"], one["doubt"], one["said"]) for name, one in claims.items()} == {
        "a1": ("supported", None, True),
        "a2": ("supported", None, None),
        "a3": ("unverified", "not_confirmed", False),
    }
    assert claims["a1"]["source"] == {"heading": "", "text": LEAVE}
    assert summary["doubts"] == {"not_confirmed": 1}


def test_a_model_that_accepts_canaries_in_a_run_is_believed_about_no_answer(options, server):
    """Of the second note it confirms whatever is asked; the first answer alone would be confirmed."""
    items = [*rows("New hires get fifteen days."), *rows(*["New staff get fifteen days."] * 4)]
    items = [one | {"id": f"b{number}"} for number, one in enumerate(items)]
    for one in items[1:]:
        one["context_notes"] = [{"title": "사원 휴가", "text": LEAVE}]
    says = lambda said: "fifteen" in said or "사원" in said  # noqa: E731
    summary, lines, _attempts = asked(options, server, items, says)
    (look,) = summary["second_looks"]
    assert (look["canaries"], look["believed"]) == ([5, 4], False)
    first = lines["b0"]["evaluation"]
    assert (first["second_look"]["canaries"], first["second_look"]["believed"]) == ([1, 0], True)
    (claim,) = first["claims"]
    assert claim["verdict"] == "unverified"
    assert claim["note"] is None
    assert claim["doubt"] == "not_looked_at"
    assert (first["correctness"], first["utility"], first["confidence"]) == (0.0, 0.4, "low")
    assert (first["completeness"], lines["b0"]["metrics"]["correctness"]) == (0.0, 0.0)
    assert len(first["grounding_issues"]) == 1
    assert summary["verdicts"] == {"unverified": 5}


def test_another_model_may_look_and_is_booked_by_its_name(options, server, tmp_path):
    judge = tmp_path / "judge.toml"
    judge.write_text(
        f'kind = "search_qa"\nprompt = "search_qa/v2"\nsecond_model = "{SECOND}"\n',
        encoding="utf-8",
    )
    prices = tmp_path / "two.toml"
    prices.write_text(
        "".join(
            f'[models."{name}"]\nprompt = 1\ncompletion = 2\n' for name in ("openai/judge", SECOND)
        )
    )
    items = rows("New hires get fifteen days.")
    summary, _, attempts = asked(options, server, items, judge=judge, prices=prices)
    assert [row["model"] for row in attempts].count(SECOND) == 1
    assert summary["second_looks"][0]["model"] == SECOND
    assert set(summary["llm"]["by_role"]) == {"judge: openai/judge", f"judge: {SECOND}"}
