"""Promotion as a flow: how it ends, and what its log warns of; which run is taken: tests/tasks/test_promotion.py."""

import pytest
from flow_files import load_flow

from gigamind.release.model import read_baseline
from gigamind.tasks import KINDS, evaluate
from gigamind.tasks.promotion import PromoteOptions

pytestmark = [pytest.mark.prefect, pytest.mark.whole]


@pytest.mark.usefixtures("prefect_server")
def test_a_baseline_at_its_worst_is_a_warning_and_a_sample_is_none_unless_it_is_named(
    options, tmp_path, caplog
):
    flow = load_flow("promote")
    home, folder = tmp_path / "home", tmp_path / "baselines"

    evaluate(options(out=home / "whole"))  # the default threshold finds nothing unanswerable
    state = flow(PromoteOptions(run=home, folder=folder), return_state=True)
    assert state.is_completed(), state.message
    (told,) = [line for line in caplog.messages if "--unanswerable-mode" in line]
    assert told.count("F1 (unanswerable), wrongly answered (FAR)") == 1

    evaluate(options(out=home / "trial", sample="10"))
    before = read_baseline(folder, KINDS)
    state = flow(PromoteOptions(run=home, folder=folder), return_state=True)
    assert (state.is_failed(), state.name) == (True, "InvalidInput")
    assert "10" in state.message
    assert read_baseline(folder, KINDS) == before

    named = flow(PromoteOptions(run=home / "trial", folder=folder), return_state=True)
    assert named.is_completed(), named.message
    assert (
        read_baseline(folder, KINDS) != before
    )  # their files have one name, if both ran in one second
