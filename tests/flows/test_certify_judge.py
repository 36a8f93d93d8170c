from pathlib import Path

import pytest
from flow_artifacts import newest_artifact
from flow_files import load_flow
from judged_folders import write_judged_run
from row_files import write_rows

from gigamind.assurance.options import CertifyOptions
from gigamind.records.card import read_card

pytestmark = [pytest.mark.prefect, pytest.mark.whole, pytest.mark.usefixtures("prefect_server")]


@pytest.fixture
def judged(tmp_path):
    """An out folder: four queries, the first one judged otherwise than people say."""
    rows = [
        {"id": f"q{n}", "query": f"질의 {n}", "language": "ko", "answerable": True}
        | {"judged_unanswerable": n > 0, "judgement": None}
        for n in range(4)
    ]
    labels = ({"id": f"q{n}", "unanswerable": n != 1} for n in range(4))
    write_rows(tmp_path / "labels.jsonl", labels)
    return write_judged_run(tmp_path / "run", rows)


def certify(**options):
    return load_flow("certify_judge")(CertifyOptions.model_validate(options), return_state=True)


def test_the_card_is_written_and_published(judged, tmp_path):
    labels, out = tmp_path / "labels.jsonl", tmp_path / "card"
    state = certify(runs=[judged], labels=labels, out=out, lang="ko")
    assert state.is_completed(), state.message
    card = read_card(out)
    # q0 is missed and q1 is a false alarm: two of four are right.
    assert card.scales[0].overall.figures["accuracy"].value == 0.5
    assert state.result()["card"] == card.model_dump(mode="json")
    artifact = newest_artifact("judge-card")
    assert artifact.key == "judge-card"
    assert artifact.data == (out / "judge_card.md").read_text("utf-8")
    assert artifact.data.startswith("# ")
    assert "judges/j.toml" in artifact.description


def test_a_run_that_is_not_there_ends_failed_by_the_meaning_of_its_exit_code(tmp_path):
    state = certify(runs=[tmp_path / "none"], out=tmp_path / "card")
    assert (state.is_failed(), state.name) == (True, "InvalidInput")
    assert str(Path("none", "run.json")) in state.message
    assert not (tmp_path / "card").exists()
