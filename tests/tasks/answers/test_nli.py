"""Runs of the judge of kind `nli`: no request and no cost, resumed, compared, certified and attacked as others."""

import json
from pathlib import Path

import pytest
from out_files import items_of
from stopping import Stopping
from tiny_nli import write_tiny_nli

from gigamind.cli.main import main
from gigamind.i18n import translator
from gigamind.judges.search_qa import by_nli as judge_module
from gigamind.release.shortfall import METRIC
from gigamind.reports.labels import LABELS
from gigamind.tasks import evaluate

ROOT = Path(__file__).parents[3]


@pytest.fixture
def tiny(tmp_path):
    """A model that finds a claim entailed that has 연차는 in the passage or the claim."""
    return write_tiny_nli(tmp_path / "tiny", {"연차는": (4.0, 0.0, 0.0), "장미는": (0.0, 0.0, 9.0)})


@pytest.fixture
def by_nli(options, tiny):
    return lambda **changes: options(**({"model": None, "judge": f"nli:{tiny}"} | changes))


def verdicts(found):
    return {
        name: [(claim["verdict"], claim["doubt"]) for claim in line["evaluation"]["claims"]]
        for name, line in found.items()
        if line["evaluation"]
    }


def test_each_claim_is_judged_without_a_request(by_nli, server):
    run = evaluate(by_nli())
    found = items_of(run.out)
    assert verdicts(found) == {
        "good": [("supported", None)],
        "mixed": [("supported", None), ("not_found", "not_entailed")],
        "forged": [("contradicted", "contradiction")],
        "silent": [],
    }
    judged = [line["evaluation"] for line in found.values() if line["evaluation"]]
    scores = [claim.get("score") for one in judged for claim in one["claims"]]
    assert [score is None for score in scores] == [False, False, False, True]
    assert run.summary.overall.answers["utility"] is run.summary.llm is None
    assert not server.seen.bodies
    assert not (run.out / "attempts.jsonl").exists()
    recorded = json.loads((run.out / "run.json").read_text("utf-8"))
    assert (recorded["judge"]["kind"], recorded["judge"]["model"]) == ("nli", None)
    assert {"onnxruntime", "tokenizers"} <= recorded["environment"]["packages"].keys()


@pytest.fixture
def runs(monkeypatch):
    """The number of pairs of each run of the model, of judges that are loaded from here on."""
    counts = []
    opened = judge_module._session

    class Session:
        def __init__(self, folder):
            self._session = opened(folder)

        def __getattr__(self, name):
            return getattr(self._session, name)

        def run(self, names, inputs):
            counts.append(len(inputs["input_ids"]))
            return self._session.run(names, inputs)

    monkeypatch.setattr(judge_module, "_session", Session)
    return counts


def test_a_stopped_run_is_resumed_and_the_model_does_not_run_again(by_nli, runs):
    whole = evaluate(by_nli(store_mode="off"))
    all_runs, runs[:] = len(runs), []
    stopped = by_nli(store_mode="off")
    assert evaluate(stopped, Stopping("Judging", 2)).summary.status == "interrupted"
    before = len(runs)
    resumed = evaluate(by_nli(store_mode="off", resume=stopped.out, out=None))
    assert 0 < before == all_runs == len(runs)
    assert verdicts(items_of(resumed.out)) == verdicts(items_of(whole.out))


def test_another_run_takes_what_is_stored(by_nli, runs):
    first = evaluate(by_nli())
    computed = len(runs)
    second = evaluate(by_nli())
    assert computed == len(runs) > 0
    assert verdicts(items_of(first.out)) == verdicts(items_of(second.out))
    refreshed = by_nli(store_mode="refresh")
    evaluate(refreshed)
    assert len(runs) == 2 * computed


def test_the_judge_is_attacked_and_tested_without_a_model(tiny, tmp_path, capsys):
    for command in ("attack", "test"):
        out = tmp_path / f"{command}.json"
        with pytest.raises(SystemExit) as ended:
            main(["judge", command, f"nli:{tiny}", "--out", str(out)])
        assert not ended.value.code, capsys.readouterr()
        report = json.loads(out.read_text("utf-8"))
        assert (report["kind"], report["model"]) == ("search_qa", "")
        assert not report["overall"]["unscored"]
    attacks = json.loads((tmp_path / "attack.json").read_text("utf-8"))
    assert "leak" not in {attack["goal"] for attack in attacks["attacks"]}


def test_a_gate_asks_for_a_judge_report(by_nli, tmp_path):
    first = evaluate(by_nli())

    def status(**changes):
        run = evaluate(by_nli(compare=first.out, **changes))
        return next(rule.status for rule in run.verdict.gate.rules if rule.metric == METRIC)

    assert status() == "warned"
    policy = tmp_path / "gates.toml"
    text = (ROOT / "deployments/gates.toml").read_text("utf-8")
    policy.write_text(text.replace('cards = "warn"', 'cards = "require"'), "utf-8")
    assert status(gates=policy) == "failed"


def test_the_reports_say_how_claims_are_judged(by_nli):
    page = (evaluate(by_nli(lang="ko")).out / "report.html").read_text("utf-8")
    assert translator("ko")(LABELS["entailed"]) in page
    assert translator("ko")(LABELS["not_entailed"]) in page
