"""`gigamind judge tune`: on answers judged by words, on queries, and on answers judged by a scripted model."""

import json
import shutil
from pathlib import Path

import pytest
from called import ran
from command_line import reached
from faulty_model import running
from judged_folders import write_judged_run
from replies_by_schema import answer_to

from gigamind.assurance.label_file import LabelFile
from gigamind.assurance.labelling import Labelling
from gigamind.assurance.options import LabelOptions
from gigamind.assurance.tuning import _is_kept
from gigamind.datasets.labels import LabelRow
from gigamind.judges.search_qa.by_words import WordsJudgeFile
from gigamind.judges.search_qa.judge import SearchQAJudgeFile
from gigamind.judges.spec import read_judge_file
from gigamind.judges.unanswerable import ThresholdJudge
from gigamind.tasks import TASKS

COUNT = 40
NAMES = [
    f"{first}{last}" for first in "bdfgklmn" for last in ("anur", "elis", "omet", "urak", "ipod")
]
WRONG = 0.3  # threshold for English that accepts claims with half of their words


def right(name):
    return f"Ripe {name} travel north by boats."


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """Answers with a right claim, whose words the note has, and a wrong one, of which it has half; judged in `run`."""
    folder = tmp_path_factory.mktemp("tune")
    with (folder / "answers.jsonl").open("w", encoding="utf-8") as file:
        for number, name in enumerate(NAMES):
            false = f"Ripe {name} attract hungry wasps and boats."
            note = f"Ripe {name} travel north by slow boats every Monday."
            claims = [
                {"text": right(name), "verdict": "supported"},
                {"text": false, "verdict": "not_found"},
            ]
            row = {
                "id": f"a-{number}", "question": "How do fruits travel?",
                "answer": f"{right(name)} {false}", "language": "en",
                "context_notes": [{"title": "Fruits", "text": note}], "labels": {"claims": claims},
            }  # fmt: skip
            file.write(json.dumps(row) + "\n")
    (folder / "loose.toml").write_text(
        f'kind = "words"\nmin_score = {{ ko = 0.6, en = {WRONG} }}\n'
    )
    with pytest.MonkeyPatch.context() as environment:
        environment.chdir(folder)
        evaluated()
    return folder


@pytest.fixture(autouse=True)
def case(home, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shutil.copytree(home, tmp_path, dirs_exist_ok=True)


def evaluated(judge="loose.toml", out="run"):
    ran("eval", "answers", "--dataset", "answers.jsonl", "--judge", judge, "--out", out)


def test_a_wrong_threshold_is_found_and_only_the_kept_half_certifies():
    ended = ran("judge", "tune", "run", "--judge", "loose.toml", "--out", "ours.toml", "--json")
    report = json.loads(ended.stdout)
    assert (report["decision"], report["out"]) == ("adopt", "ours.toml")
    assert (report["before"], report["after"]) == (0.5, 1.0)
    assert 0 < report["low"] <= report["gain"] <= report["high"]
    file = read_judge_file(Path("ours.toml"), WordsJudgeFile)
    assert file.min_score["ko"] == 0.6  # no Korean labels
    assert file.min_score["en"] > 0.5
    assert file.tuned is not None
    ids = {f"a-{number}" for number in range(COUNT)}
    assert set(file.tuned.kept) == {one for one in ids if _is_kept(one)}
    assert set(file.tuned.learned_from) == ids - set(file.tuned.kept)
    assert len(file.tuned.kept) == report["kept"]

    evaluated("ours.toml", "new")
    ended = ran("judge", "certify", "new", "--out", "card", "--json")
    card = json.loads(ended.stdout)
    assert card["labels"]["learned"] == 2 * report["learned"]
    supported = next(scale for scale in card["scales"] if scale["name"] == "supported")
    assert supported["overall"]["items"] == 2 * report["kept"]


def test_a_good_judge_is_kept_and_no_file_is_written(gigamind):
    evaluated("words", "good")
    given = ("judge", "tune", "good", "--judge", "words", "--out", "ours.toml")
    ended = ran(*given, "--json")
    report = json.loads(ended.stdout)
    assert (report["decision"], report["out"], report["gain"]) == ("keep", None, 0.0)
    assert not Path("ours.toml").exists()
    assert gigamind(*given).code == 0


def session(path):
    """Labels of every claim, as the page of `gigamind label` writes them."""
    labelling = Labelling(LabelOptions(run=Path("run"), labels=path, count=COUNT), TASKS)
    for drawable in labelling.drawables:
        for task in drawable.parts[0].tasks:
            if task.kind == "claim":
                row = LabelRow(
                    id=task.id,
                    kind="claim",
                    choice="supported" if "travel" in task.text else "contradicted",
                    content=drawable.parts[0].contents[task.key],
                    annotator="ann",
                    labelled_at="2026-01-01T00:00:00+00:00",
                    reason="" if "travel" in task.text else "No note names wasps.",
                )
                labelling.file.append(row)


def test_bad_input_is_named(gigamind):
    given = ("judge", "tune", "run", "--judge", "loose.toml", "--out", "ours.toml")
    Path("none.jsonl").write_text("", "utf-8")
    assert gigamind(*given, "--labels", "none.jsonl").code == 1
    Path("other.jsonl").write_text('{"id": "other", "correctness": 1}\n', "utf-8")
    ended = gigamind(*given, "--labels", "other.jsonl")
    assert (ended.code, "other" in ended.stderr) == (1, True)
    session(Path("labels.jsonl"))
    plan = LabelFile(
        Path("labels.jsonl"), Labelling(LabelOptions(run=Path("run")), TASKS).plan
    ).plan
    moved = plan.model_copy(update={"dataset_hash": "0" * 64})
    lines = Path("labels.jsonl").read_text("utf-8").splitlines()
    lines[0] = json.dumps({"plan": moved.model_dump(mode="json")})
    Path("moved.jsonl").write_text("\n".join(lines) + "\n", "utf-8")
    assert gigamind(*given, "--labels", "moved.jsonl").code == 1
    one_class = [line.replace('"contradicted"', '"supported"') for line in lines[1:]]
    first = json.dumps({"plan": plan.model_dump(mode="json")})
    Path("one.jsonl").write_text("\n".join((first, *one_class)) + "\n", "utf-8")
    ended = gigamind(*given, "--labels", "one.jsonl")
    assert (ended.code, "10" in ended.stderr) == (1, True)
    assert not Path("ours.toml").exists()
    assert (
        gigamind("judge", "tune", "run", "--judge", "unanswerable_llm", "--out", "o.toml").code == 1
    )
    Path("ours.toml").write_text("kept", "utf-8")
    ended = gigamind(*given)
    assert (ended.code, "ours.toml" in ended.stderr) == (1, True)
    assert Path("ours.toml").read_text("utf-8") == "kept"


@pytest.mark.parametrize(
    ("kind", "field"), [("threshold", "min_score"), ("calibrated", "min_probability")]
)
def test_a_free_judge_of_queries_is_tuned_by_the_scores_of_the_run(tmp_path, kind, field):
    shutil.rmtree("run")
    rows = [
        {"id": f"q{n}", "query": f"question {n}", "language": "en", "answerable": n % 2 == 0}
        | {"judged_unanswerable": False, "judgement": None}
        | {"judges": {kind: {"unanswerable": False, "score": 0.9 if n % 2 == 0 else 0.6}}}
        for n in range(80)
    ]
    write_judged_run(tmp_path / "run", rows)
    ended = ran(
        "judge", "tune", "run", "--judge", f"unanswerable_{kind}", "--out", "ours.toml", "--json"
    )
    report = json.loads(ended.stdout)
    assert report["decision"] == "adopt"
    assert report["changes"][field][1] == 0.75
    if kind == "threshold":
        assert read_judge_file(Path("ours.toml"), ThresholdJudge).min_score == 0.75


def reply(body):
    """A model that finds no claim in the notes, unless people's examples are in its prompt."""
    system, user = (str(message["content"]) for message in body["messages"])
    answer = user.partition("Answer (")[2]
    name = next(name for name in NAMES if right(name) in answer)
    found = {"verdict": "supported", "note": 1, "quote": f"Ripe {name} travel north by slow boats"}
    missing = {"verdict": "not_found", "note": None, "quote": ""}
    claims = [
        {"id": number, "role": "claim", "abstention_quote": ""}
        | (found if number == 1 and '"sentence": ' in system else missing)
        for number in (1, 2)
    ]
    return answer_to(body) | {"claims": claims}


def test_examples_are_adopted_if_they_help_and_never_come_from_the_kept_half(gigamind, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    few = Path("answers.jsonl").read_text("utf-8").splitlines(keepends=True)[:28]
    Path("answers.jsonl").write_text("".join(few), "utf-8")
    shutil.rmtree("run")
    evaluated()
    session(Path("labels.jsonl"))
    Path("llm.toml").write_text(
        'kind = "search_qa"\nprompt = "search_qa/v2"\nsecond_look = "never"\n', "utf-8"
    )
    with running() as server:
        server.respond = reply
        given = ("judge", "tune", "run", "--judge", "llm.toml", "--labels", "labels.jsonl")
        asked = ("--model", "openai/judge", *reached(server), "--out", "ours.toml")
        dry = gigamind(*given, *asked, "--dry-run")
        assert (dry.code, Path("ours.toml").exists()) == (0, False)
        assert server.seen.total <= 3  # which measure the speed of a local model
        assert "USD" in dry.stderr
        ended = gigamind(*given, *asked, "--json")
    assert ended.code == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["decision"] == "adopt"
    file = read_judge_file(Path("ours.toml"), SearchQAJudgeFile)
    assert file.prompt == "search_qa/v3"
    assert file.tuned is not None
    assert {one.id for one in file.examples} <= set(file.tuned.learned_from)
    assert {one.verdict for one in file.examples} == {"supported", "contradicted"}
    assert any(one.reason for one in file.examples)
