"""The flow `eval-search` with a judge that asks a model: the same verdicts and costs as without Prefect."""

import pytest

pytestmark = [pytest.mark.prefect, pytest.mark.whole, pytest.mark.usefixtures("prefect_server")]


@pytest.fixture
def by_model(options, by_its_model, monkeypatch):
    monkeypatch.setenv("GIGAMIND_WORKER_ALLOWS", "api_base=*")
    return lambda **changes: options(**(by_its_model | {"sample": "10"} | changes))


@pytest.mark.parametrize(("changes", "why"), [({"seed": 7}, "seed"), ({"max_calls": 4}, "budget")])
def test_a_deployment_starts_anew_where_its_stopped_run_cannot_be_gone_on_with(
    flow, by_model, tmp_path, monkeypatch, caplog, changes, why
):
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__NAME", "nightly")
    stopped = flow(by_model(max_calls=4), return_state=True)
    assert stopped.is_failed()
    assert flow(by_model(**changes), return_state=True).is_failed() is ("max_calls" in changes)
    kept = sorted(path.suffix for path in (tmp_path / "out").iterdir())
    assert kept[:3] == ["", "", ".abandoned"]
    (told,) = [line for line in caplog.messages if ".abandoned" in line]
    assert why in told
    assert "{" not in told


def test_a_run_that_is_gone_on_with_to_its_end_and_has_too_few_verdicts_is_that_run(
    flow, by_model, tmp_path, monkeypatch
):
    monkeypatch.setenv("PREFECT__RUNTIME__DEPLOYMENT__NAME", "nightly")
    model = "openai/judge;fault=refusal;share=0.6;sid=gone-on"
    assert flow(by_model(model=model, max_calls=4), return_state=True).is_failed()
    state = flow(by_model(model=model), return_state=True)
    assert (state.name, len(list((tmp_path / "out").iterdir()))) == ("EvaluationFailed", 1)
    assert "min_coverage" in state.message
