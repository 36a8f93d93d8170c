"""A judge of a team's own (examples/own_judge): estimate, run, resume, report, compare, gate and card, as ours."""

import importlib.metadata
import json
import re
import shutil
import sys
import textwrap
from pathlib import Path

import pytest
from row_files import write_rows

from gigamind import AnswerCase, InputError, judges, load_judge
from gigamind.cli.main import main
from gigamind.metrics import table
from gigamind.metrics.spec import Metric, Text

ROOT = Path(__file__).parents[1]
JUDGE = "examples.own_judge.directness:Directness"
IDS = [f"a{number}" for number in range(12)]
EVALUATE = "eval answers --dataset answers.jsonl --notes vault --cache-dir cache"


def compared(out, metric):
    """What the comparison of a run says of a metric."""
    comparison = json.loads((out / "compare.json").read_text("utf-8"))["comparison"]
    (change,) = (one for one in comparison["metrics"] if one["metric"] == metric)
    return change


@pytest.fixture(autouse=True)
def _of_this_test_alone():
    yield
    table.OWN.clear()


@pytest.fixture
def team(tmp_path):
    """A folder with the team's judge, twelve answers and a vault."""
    (tmp_path / "examples/own_judge").mkdir(parents=True)
    shutil.copy(ROOT / "examples/own_judge/directness.py", tmp_path / "examples/own_judge")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault/leave.md").write_text("Leave is 15 days a year.\n", encoding="utf-8")
    rows = [
        {"id": name, "question": "How many days?", "answer": f"It is 15 days, says line {name}. More follows.",
         "language": "en" if at % 2 else "ko", "context_notes": [{"path": "leave.md"}]}
        for at, name in enumerate(IDS)
    ]  # fmt: skip
    write_rows(tmp_path / "answers.jsonl", rows)
    return tmp_path


@pytest.fixture
def gigamind(team, monkeypatch, capsys):
    """Runs a command line in the team's folder, as a process that knows nothing of its judge."""
    monkeypatch.chdir(team)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)

    def run(line, code=0):
        table.OWN.clear()
        with pytest.raises(SystemExit) as ended:
            main(line.split())
        said = "".join(capsys.readouterr())
        assert (ended.value.code or 0) == code, said
        return said

    return run


def answered(fake, direct):
    """The replies to the answers, in order: whether each begins with what was asked."""
    for name, first in zip(IDS, direct, strict=True):
        quote = f"It is 15 days, says line {name}." if first else ""
        fake.script.append({"reason": "so", "quote": quote, "first": first})


def test_a_judge_of_ones_own_does_all_that_ours_do(gigamind, fake, team):
    common = f"{EVALUATE} --judge {JUDGE} --model openai/m"
    # Both of the following given, no speed is measured.
    asking = (
        f"{common} --api-base {fake.url} --max-in-flight 1 --model-timeout-s 60 --store-mode off"
    )

    assert re.search(r"\b12\b", gigamind(f"{common} --dry-run"))

    answered(fake, [True] * 12)
    gigamind(f"{asking} --out before --max-calls 5", code=3)
    assert len(fake.seen.bodies) == 5
    gigamind(f"{asking} --resume before")
    assert len(fake.seen.bodies) == 12
    answered(fake, [False] * 9 + [True] * 3)
    gates = (ROOT / "deployments/gates.toml").read_text("utf-8")
    gates = gates.replace("judged = [", 'judged = ["answers.direct", ')
    (team / "gates.toml").write_text(gates, "utf-8")
    gated = "--gates gates.toml --phase ga --fail-on-regression"
    output = gigamind(f"{asking} --out after --compare before --lang ko {gated}", code=4)
    assert "바로 답함" in output
    change = compared(team / "after", "answers.direct")
    assert (change["baseline"], change["current"], change["worse"]) == (1.0, 0.25, 9)

    run = json.loads((team / "after/run.json").read_text("utf-8"))
    assert run["judge"]["kind"] == "directness"
    assert run["judge"]["metrics"][0]["ko"] == "바로 답함"
    summary = json.loads((team / "after/summary.json").read_text("utf-8"))
    assert summary["overall"]["answers"] == {"direct": 0.25}
    page = (team / "after/report.html").read_text("utf-8")
    assert "바로 답함" in page
    assert "It is 15 days, says line a11." in page
    first_page = (team / "before/report.html").read_text("utf-8")
    assert "answers that begin with what was asked" in first_page

    # A process that never saw the judge knows its figures from the files, and that a rise of them is for the better.
    assert re.search(r"바로 답함.*75\.0", gigamind(f"compare before after {gated}", code=4))

    write_rows(
        team / "labels.jsonl",
        ({"id": name, "direct": float(at >= 9)} for at, name in enumerate(IDS)),
    )
    gigamind("judge certify after --labels labels.jsonl --out card")
    (scale,) = json.loads((team / "card/judge_card.json").read_text("utf-8"))["scales"]
    assert scale["name"] == "direct"
    assert scale["overall"]["figures"]["accuracy"]["value"] == 1


FREE = """
from gigamind import Metric, OwnJudge, Proof, Text, Verdict

SEEN = []


class Short(OwnJudge):
    kind = "short"
    scales = {"short": "binary"}
    metrics = (Metric.of_judge("short", Text("short", "짧음")),)

    def verdict(self, case, reply):
        assert reply is None
        SEEN.append(case.question)
        proof = self.proof(case, 0, "It is 15 days")
        return Verdict({"short": float(len(case.answer) < 60)}, None, proof=(proof,), text="by length")
"""


def test_a_judge_without_a_prompt_asks_no_model_and_costs_nothing(gigamind, fake, team):
    (team / "short_judge.py").write_text(FREE, "utf-8")
    free = f"{EVALUATE} --judge short_judge:Short"
    assert "12" in gigamind(f"{free} --dry-run")
    gigamind(f"{free} --out before")
    import short_judge

    assert len(short_judge.SEEN) == 12
    lines = (team / "before/per_item.jsonl").read_text("utf-8").splitlines()
    verdict = json.loads(lines[0])["verdict"]
    assert (verdict["scores"], verdict["text"]) == ({"short": 1.0}, "by length")
    assert verdict["proof"] == [{"note": 0, "quote": "It is 15 days", "proven": True}]
    run = json.loads((team / "before/run.json").read_text("utf-8"))
    assert (run["judge"]["kind"], run["judge"]["model"]) == ("short", None)
    assert not (team / "before/attempts.jsonl").exists()
    assert not fake.seen.bodies

    gigamind(f"{free} --out again --compare before")
    assert len(short_judge.SEEN) == 12  # stored verdicts
    assert (team / "again/per_item.jsonl").read_text("utf-8").splitlines()[0].count("by length")
    change = compared(team / "again", "answers.short")
    assert (change["baseline"], change["current"]) == (1.0, 1.0)

    write_rows(team / "labels.jsonl", ({"id": name, "short": 1.0} for name in IDS))
    gigamind("judge certify again --labels labels.jsonl --out card")
    card = json.loads((team / "card/judge_card.json").read_text("utf-8"))
    assert card["scales"][0]["overall"]["figures"]["accuracy"]["value"] == 1


def test_the_judge_of_the_docs_works(team, monkeypatch):
    monkeypatch.chdir(team)
    page = (ROOT / "docs/judges.md").read_text("utf-8")
    code = re.search(r"  ```python\n(.*?)  ```", page, re.DOTALL)[1]
    (team / "documented.py").write_text(textwrap.dedent(code), "utf-8")
    judge = load_judge("documented:Cites")
    cases = [AnswerCase("?", answer, ()) for answer in ("15 days [Note 1].", "15 days.")]
    assert [judge.verdict(case, None).scores for case in cases] == [{"cites": 1.0}, {"cites": 0.0}]


def test_the_fingerprint_of_a_judge_without_a_prompt_covers_its_module(team, monkeypatch):
    monkeypatch.chdir(team)
    for name, source in (("one", FREE), ("two", FREE), ("three", f"LIMIT = 60\n{FREE}")):
        (team / f"{name}.py").write_text(source, "utf-8")
    one, two, three = (
        load_judge(f"{name}:Short").fingerprint("") for name in ("one", "two", "three")
    )
    assert one == two != three


def test_a_team_s_judge_is_loaded_by_name_or_refused_with_what_is_wrong(team, monkeypatch):
    monkeypatch.chdir(team)
    monkeypatch.syspath_prepend(str(ROOT))
    assert load_judge(JUDGE).kind == "directness"
    assert load_judge("search_qa").kind == "search_qa"
    assert load_judge("unanswerable_threshold").kind == "threshold"
    with pytest.raises(InputError, match="directness:Missing"):
        load_judge("examples.own_judge.directness:Missing")
    with pytest.raises(InputError, match="OwnJudge"):
        load_judge("examples.own_judge.directness:Reply")


def test_a_judge_of_the_package_has_the_name_of_its_module(team, monkeypatch):
    monkeypatch.setattr(judges, "__path__", [*judges.__path__, str(team)])
    (team / "shortness.py").write_text(FREE, "utf-8")
    assert load_judge("shortness").kind == "short"


def test_only_judges_of_correctness_are_tested(gigamind, team):
    (team / "short_judge.py").write_text(FREE, "utf-8")
    assert "short_judge:Short: " in gigamind("judge test short_judge:Short", code=1)
    (team / "right_judge.py").write_text(FREE.replace('"short"', '"correctness"'), "utf-8")
    assert "34" in gigamind("judge test right_judge:Short")


def test_what_is_no_judge_file_is_told_what_is_possible(gigamind, team):
    (team / "cites.py").touch()
    search = "eval search --dataset answers.jsonl --notes vault"
    for command, judge in ((EVALUATE, "cites.py"), (search, "cites.py"), (search, "cites:Cites")):
        said = gigamind(f"{command} --judge {judge}", code=1)
        assert f"--judge {judge}: " in said
        assert "MODULE:CLASS" in said


def test_a_figure_may_not_have_the_name_of_one_of_ours():
    with pytest.raises(ValueError, match=r"answers\.utility"):
        table.adopt([Metric.of_judge("utility", Text("mine", "내 것"))])


@pytest.mark.parametrize(
    ("name", "statement", "told"),
    [
        ("leaving", "raise SystemExit(0)", "SystemExit: 0"),
        ("failing", "return {}['missing']", "KeyError: 'missing'"),
    ],
)
def test_a_judge_that_fails_or_exits_is_told_in_a_line_and_ends_no_process(
    gigamind, fake, team, name, statement, told
):
    (team / f"{name}.py").write_text(
        "from examples.own_judge.directness import Directness\n"
        "class Failing(Directness):\n"
        "    def verdict(self, case, reply):\n"
        f"        {statement}\n",
        "utf-8",
    )
    answered(fake, [True] * 12)
    judged = f"{EVALUATE} --judge {name}:Failing --model openai/m --api-base {fake.url}"
    said = gigamind(judged, code=3)
    assert told in said
    assert "Traceback" not in said


def test_an_installed_metric_that_fails_is_told_in_a_line(monkeypatch):
    class Point:
        name, value = "shine", "ours.metrics:shine"

        def load(self):
            sys.exit(0)

    monkeypatch.setattr(table, "entry_points", lambda **_: [Point()])
    with pytest.raises(InputError, match=r"shine: ours\.metrics:shine .*SystemExit: 0"):
        table.register_installed()


def test_an_installed_metric_is_registered(monkeypatch):
    own = Metric("search", None, None, "shine", Text("shine", "빛"))

    class Point:
        def load(self):
            return own

    monkeypatch.setattr(
        table, "entry_points", lambda group: [Point()] if group == "gigamind.metrics" else []
    )
    table.register_installed()
    assert table.metric_of("search.shine") is own
    assert importlib.metadata.entry_points(group="gigamind.metrics") is not None
