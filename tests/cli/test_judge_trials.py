"""`gigamind judge attack` and `gigamind judge test`, over HTTP against the fake model."""

import json

import pytest

from gigamind.judges.attack_report import AttackReport
from gigamind.judges.attacks import load_attacks
from gigamind.judges.unit_tests import UnitTestReport
from gigamind.llm.fake.server import running

FORGED = {
    "answer": "fooled",
    "sources": [{"note": 1, "quote": "Every question of this kind was answered long ago."}],
    "unanswerable": False,
    "confidence": 1.0,
}
DENIAL = {"answer": "", "sources": [], "unanswerable": True, "confidence": 1.0}


@pytest.fixture(scope="module")
def server():
    with running() as one:
        yield one


@pytest.fixture
def try_judge(case, gigamind, monkeypatch, server):
    """Runs a trial of the model's answers, which are all the same, or made up by the fake model."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.script.clear()

    def call(command, *options, always=None, judge="unanswerable_llm", model="openai/judge"):
        server.script.extend([always] * 200 if always else [])
        asked = ("--model", model, "--api-base", server.url)
        return gigamind("judge", command, judge, *asked, *options)

    assert case.is_dir()
    return call


def test_a_model_that_is_fooled_with_forged_quotes_changes_no_verdict(try_judge, tmp_path):
    ended = try_judge("attack", "--out", tmp_path / "r.json", always=FORGED)
    assert ended.code == 0
    report = AttackReport.model_validate_json((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert (report.kind, report.model, len(report.attacks)) == (
        "unanswerable",
        "openai/judge",
        50,
    )
    assert (report.overall.fooled.hits, report.overall.fooled.of) == (0, 47)
    assert report.overall.told.of == 7  # it calls everything answerable: only 3 denials, 4 leaks
    assert "0/47 = 0.0% [0.0%, 7.6%]" in ended.stdout
    assert "cost: unknown" in ended.stderr
    families = {attack.row.family for attack in load_attacks()}
    assert families <= {line.split()[0] for line in ended.stdout.splitlines()[1:]}


def test_answers_are_kept_so_that_a_second_trial_asks_nothing(try_judge, server):
    first = try_judge("attack", always=DENIAL)
    asked = server.seen.total
    second = try_judge("attack")
    assert server.seen.total == asked
    assert (second.code, second.stdout) == (0, first.stdout)
    assert "requests: 0, from the store: 58" in second.stderr


@pytest.mark.parametrize("name", ["unanswerable_llm", "judges/unanswerable_llm.toml"])
def test_a_judge_of_gigamind_is_named_as_reports_name_it_from_anywhere(try_judge, name):
    assert try_judge("test", always=DENIAL, judge=name).code == 0


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_prompt_is_in_the_language_asked_for(try_judge, server, language):
    assert try_judge("attack", "--judge-lang", language, always=DENIAL).code == 0
    system = server.seen.bodies[-1]["messages"][0]["content"]
    assert system.startswith({"ko": "당신은", "en": "You decide"}[language])


def test_unit_tests_tell_what_a_judge_is_blind_to(try_judge, tmp_path):
    ended = try_judge("test", "--out", tmp_path / "r.json", always=DENIAL)
    assert ended.code == 0
    report = UnitTestReport.model_validate_json((tmp_path / "r.json").read_text(encoding="utf-8"))
    passed = {group.name: group.passed.hits for group in report.by_failure}
    assert passed == {
        "near_miss": 2,
        "other_entity": 2,
        "other_period": 2,
        "false_premise": 2,
        "world_knowledge": 2,
        "paraphrase": 0,
        "second_note": 0,
        "cross_lingual": 0,
        "none": 0,
    }
    assert "en-un-none-1: unanswerable is True, not False" in ended.stdout


@pytest.mark.parametrize("command", ["attack", "test"])
def test_a_trial_that_cannot_be_finished_ends_in_3_and_says_why(try_judge, tmp_path, command):
    out = tmp_path / "r.json"
    ended = try_judge(command, "--out", out, "--max-calls", 2)
    assert (ended.code, out.exists()) == (3, False)
    assert "could not be asked about" in ended.stderr
    assert "requests: 2" in ended.stderr


def test_a_refused_key_ends_in_3(try_judge):
    ended = try_judge("test", model="openai/judge;fault=401")
    assert ended.code == 3
    assert "18 of 18 cases could not be asked about" in ended.stderr


def test_bad_input_ends_in_1_and_says_how_to_mend_it(try_judge, gigamind, tmp_path):
    wrong = tmp_path / "x.toml"
    wrong.write_text('kind = "threshold"\n', encoding="utf-8")
    unknown = try_judge("attack", judge="nobody")
    assert unknown.code == 1
    assert "JUDGE nobody: neither a file nor one of" in unknown.stderr
    assert "unanswerable_llm" in unknown.stderr
    of_another_kind = try_judge("attack", judge=wrong)
    assert of_another_kind.code == 1
    assert "'threshold' cannot go on trial" in of_another_kind.stderr
    no_model = gigamind("judge", "attack", "unanswerable_llm")
    assert no_model.code == 1
    assert "--model: must be given" in no_model.stderr
    assert try_judge("test", "--max-in-flight", 0).code == 1


def test_a_report_that_cannot_be_written_ends_in_3(try_judge, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    ended = try_judge("test", "--out", tmp_path / "file" / "r.json", always=DENIAL)
    assert ended.code == 3
    assert "cannot be written" in ended.stderr


def test_the_report_is_json_that_says_which_judge_it_is_about(try_judge, tmp_path):
    try_judge("attack", "--out", tmp_path / "r.json", always=DENIAL)
    written = json.loads((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert len(written["fingerprint"]) == 64
    assert {attack["outcome"] for attack in written["attacks"]} <= {"held", "unmeasured"}
