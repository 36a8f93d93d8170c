"""The flow `eval-answers` gives what the command gives, and publishes it."""

import json

import pytest
from answer_reply import answer_reply, supported
from flow_artifacts import artifacts_of
from flow_files import load_flow

from gigamind.evaluation.options import validated
from gigamind.evaluation.shards import unfinished_folder
from gigamind.publish.ends import artifact_key
from gigamind.tasks import evaluate
from gigamind.tasks.options import AnswerEvalOptions

pytestmark = [pytest.mark.prefect, pytest.mark.whole, pytest.mark.usefixtures("prefect_server")]
TEXT = "The deploy runs every Friday at three."
REPLY = answer_reply([supported(TEXT)], TEXT)


@pytest.fixture
def make(tmp_path, server):
    rows = [
        {
            "id": item_id,
            "question": f"When does it run, {item_id}?",
            "answer": "It runs every Friday at three.",
            "language": "en",
            "context_notes": [{"title": "Deploy", "text": TEXT}],
        }
        for item_id in ("a", "b")
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")

    def options(**changes):
        given = {
            "dataset": tmp_path / "answers.jsonl",
            "out": tmp_path / "out",
            "model": "openai/judge",
            "api_base": server.url,
            "max_in_flight": 1,
            "model_timeout_s": 60,  # both given: no speed is measured
            "store": tmp_path / "replies",
        }
        return validated(AnswerEvalOptions, given | changes)

    return options


@pytest.fixture
def flow():
    return load_flow("eval_answers")


def test_the_flow_judges_writes_and_publishes(flow, make, server, tmp_path):
    server.script.extend([REPLY, REPLY])
    state = flow(make(), return_state=True)
    assert state.is_completed()
    assert state.result()["summary"]["overall"]["answers"]["correctness"] == 1.0
    assert (tmp_path / "out" / "report.html").is_file()
    assert not unfinished_folder(tmp_path / "out").exists()
    page = artifact_key(make())
    # A slow machine shows its progress, too.
    assert {page, f"{page}-figures"} <= set(artifacts_of(state))


def test_the_release_gate_judges_answers_too(make, server, tmp_path):
    server.script.extend([REPLY, REPLY])
    before = evaluate(make(out=tmp_path / "before", save_snapshot=True))
    state = load_flow("release_gate")(
        make(compare=before.out).model_dump(mode="json"), return_state=True
    )
    assert state.is_completed()
    assert state.result()["release"]["comparison"]["shared"] == 2
    assert server.seen.total == 2  # equal answers keep their verdicts
