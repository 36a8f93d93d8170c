"""`gigamind judge attack` and `gigamind judge test`, over HTTP against the fake model."""

import re

import pytest
from answer_reply import verdict
from command_line import reached
from faulty_model import running

from gigamind.assurance.scenarios import AttackReport, UnitTestReport, load_attacks

FORGED = verdict("Every question of this kind was answered long ago.")
DENIAL = verdict()


@pytest.fixture(scope="module")
def server():
    with running() as one:
        yield one


def rows_of(stdout):
    """Return the rows of a table by their first word."""
    return {words[0]: words[1:] for line in stdout.splitlines() if (words := line.split())}


@pytest.fixture
def try_judge(case, gigamind, monkeypatch, server):
    """Runs a trial of the model's answers, which are all the same, or made up by the fake model."""
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.script.clear()

    def call(command, *options, always=None, judge="unanswerable_llm", model="openai/judge"):
        server.script.extend([always] * 200 if always else [])
        asked = ("--model", model, *reached(server))
        return gigamind("judge", command, judge, *asked, *options)

    assert case.is_dir()
    return call


def test_a_model_that_is_fooled_with_forged_quotes_changes_no_verdict(try_judge, tmp_path):
    ended = try_judge("attack", "--out", tmp_path / "r.json", always=FORGED)
    assert ended.code == 0
    report = AttackReport.model_validate_json((tmp_path / "r.json").read_text(encoding="utf-8"))
    assert (report.kind, report.model, len(report.attacks)) == ("unanswerable", "openai/judge", 50)
    assert len(report.fingerprint) == 64
    assert (report.overall.fooled.hits, report.overall.fooled.of) == (0, 47)
    assert (
        report.overall.reported_fooled.of == 7
    )  # it calls everything answerable: only 3 denials, 4 leaks
    rows = rows_of(ended.stdout)
    assert rows["all"][:4] == ["0.000", "0.000", "–", "0.076"]
    assert "0.000000 USD" in ended.stderr  # on loopback
    families = {attack.row.family for attack in load_attacks()}
    assert families <= rows.keys()


def test_answers_are_kept_so_that_a_second_trial_asks_nothing(try_judge, server):
    first = try_judge("test", always=DENIAL)
    asked = server.seen.total
    second = try_judge("test")
    assert server.seen.total == asked
    assert (second.code, second.stdout) == (0, first.stdout)
    assert re.findall(r"\d+", second.stderr)[:2] == ["0", "18"]  # requests, stored replies


def test_a_judge_is_named_as_reports_name_it_and_asks_in_the_language_asked_for(try_judge, server):
    name = "judges/unanswerable_llm.toml"
    assert try_judge("test", "--judge-lang", "ko", always=DENIAL, judge=name).code == 0
    systems = [body["messages"][0]["content"] for body in list(server.seen.bodies)[-18:]]
    assert all(system.startswith("당신은") for system in systems)


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
    assert "en-un-none-1: unanswerable: True, expected False" in ended.stdout


@pytest.mark.parametrize(
    ("mode", "hint"),
    [("readwrite", "Run the command again"), ("refresh", "--store-mode readwrite"), ("off", None)],
)
def test_only_what_is_kept_is_a_reason_to_run_it_again(try_judge, tmp_path, mode, hint):
    out = tmp_path / "r.json"
    ended = try_judge("test", "--max-calls", 2, "--store-mode", mode, "--out", out)
    assert (ended.code, out.exists()) == (3, False)
    assert "2" in re.findall(r"\d+", ended.stderr)
    assert "cost:" in ended.stderr
    again = "Run the command again" in ended.stderr
    assert (again, hint is None or hint in ended.stderr) == (hint is not None, True)


# Limits for CI


@pytest.fixture
def answer_in_turn(try_judge, server):
    """Attacks a model that is asked one by one: it denies all but the cases that are chosen, and proves those."""
    attacks = [attack for attack in load_attacks() if attack.attacks("unanswerable")]
    clean = {case.id: case for case in (attack.clean("unanswerable") for attack in attacks)}
    cases = [*clean.values(), *(attack.attacked("unanswerable") for attack in attacks)]

    def proven(case):
        quote = case.notes[1].text.partition(". ")[0]
        return FORGED | {"sources": [{"note": 2, "quote": quote}]}

    def call(believed, *options):
        server.script.extend(proven(case) if believed(case) else DENIAL for case in cases)
        return try_judge("attack", "--max-in-flight", 1, *options)

    return call


def test_attacks_that_succeed_end_in_4_above_the_limit_and_not_at_it(answer_in_turn, tmp_path):
    fooled = {"ko-override-1", "en-override-1"}
    for limit, code in ((2 / 47, 0), (0.042, 4)):
        out = tmp_path / f"{limit}.json"
        ended = answer_in_turn(
            lambda case: case.id in fooled, "--max-success-rate", limit, "--out", out
        )
        assert (ended.code, out.exists()) == (code, True), limit
        assert rows_of(ended.stdout)["all"][:4] == ["0.043", "0.012", "–", "0.142"]
        assert ("0.043" in ended.stderr) == (code == 4), limit
        assert "Caution" not in ended.stderr


def test_a_trial_that_measures_less_than_half_of_the_attacks_says_that_it_proves_little(
    answer_in_turn,
):
    ended = answer_in_turn(lambda case: case.id.startswith("clean-"))
    assert ended.code == 0
    # 43 attacks want what the model says without them; those on denial and the leaks are measured.
    assert "Caution: 43 of 50 attacks" in ended.stderr


def test_tests_that_are_not_passed_end_in_4_below_the_limit_and_not_at_it(try_judge, tmp_path):
    for limit, code in ((10 / 18, 0), (0.56, 4)):
        out = tmp_path / f"{limit}.json"
        ended = try_judge("test", "--min-passed", limit, "--out", out, always=DENIAL)
        assert (ended.code, out.exists()) == (code, True), limit
        assert ("0.556" in ended.stderr) == (code == 4), limit
        assert rows_of(ended.stdout)["all"][:4] == ["0.556", "0.337", "–", "0.754"]


def test_tests_without_a_verdict_are_told_of(try_judge):
    ended = try_judge(
        "test", "--min-passed", 0, model="openai/judge;fault=refusal;times=3;sid=untold"
    )
    assert ended.code == 0
    assert "Caution: 3 of 18 tests" in ended.stderr
    assert "Caution" not in try_judge("test").stderr


@pytest.mark.parametrize(
    ("command", "option", "value"),
    [
        ("attack", "--max-success-rate", -0.01),
        ("attack", "--max-success-rate", 1.01),
        ("test", "--min-passed", -0.01),
        ("test", "--min-passed", float("nan")),
    ],
)
def test_a_limit_is_a_share(try_judge, server, command, option, value):
    before = server.seen.total
    ended = try_judge(command, option, value)
    assert (ended.code, server.seen.total) == (1, before)
    assert f"{option} {value}: " in ended.stderr


def test_bad_input_ends_in_1_and_says_how_to_mend_it(try_judge, gigamind, tmp_path):
    wrong = tmp_path / "x.toml"
    wrong.write_text('kind = "threshold"\n', encoding="utf-8")
    unknown = try_judge("attack", judge="nobody")
    assert unknown.code == 1
    assert "JUDGE nobody: " in unknown.stderr
    assert "unanswerable_llm" in unknown.stderr
    of_another_kind = try_judge("attack", judge=wrong)
    assert of_another_kind.code == 1
    assert "'threshold'" in of_another_kind.stderr
    wrong.write_text('prompt = "p/v1"\n', encoding="utf-8")
    assert f"{wrong}: kind: " in try_judge("attack", judge=wrong).stderr
    no_model = gigamind("judge", "attack", "unanswerable_llm")
    assert no_model.code == 1
    assert "--model: " in no_model.stderr
    assert try_judge("test", "--max-in-flight", 0).code == 1


def test_a_report_that_cannot_be_written_ends_in_3(try_judge, tmp_path):
    (tmp_path / "file").write_text("", encoding="utf-8")
    ended = try_judge("test", "--out", tmp_path / "file" / "r.json", always=DENIAL)
    assert ended.code == 3
    assert "cannot be written" in ended.stderr
