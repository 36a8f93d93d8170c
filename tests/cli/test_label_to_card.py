"""From labels of `gigamind label` to a judge report, and to the corrected figures on the page of the run."""

import json
import shutil
from pathlib import Path

import pytest
from called import ran
from row_files import read_rows, write_rows

from gigamind.assurance.label_items import CHOICES
from gigamind.assurance.labelling import Labelling
from gigamind.assurance.options import LabelOptions
from gigamind.records.card import read_card
from gigamind.tasks import TASKS

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(scope="module")
def examples_run(tmp_path_factory):
    from gigamind.library import evaluate_answers

    out = tmp_path_factory.mktemp("labelled") / "run"
    evaluate_answers(EXAMPLES / "answers.jsonl", notes=EXAMPLES / "vault", judge="words", out=out)
    return out


@pytest.fixture
def run(examples_run, case):
    return shutil.copytree(examples_run, case / "run")


def session(run, **changes):
    options = {"run": run, "labels": run.parent / "labels.jsonl", "count": 30}
    return Labelling(LabelOptions.model_validate(options | changes), TASKS)


def label_all(labelling, annotator="jin", choose=None):
    """Label everything that the session asks for: as the dataset's labels say, or by `choose`."""
    while following := labelling.next(annotator):
        drawable, again = following
        for decided, (_unit, task) in drawable.tasks.items():
            choice = choose(task) if choose else task.verdict or next(iter(CHOICES[task.kind]))
            labelling.label(annotator, decided, choice, again=again)


@pytest.fixture
def certify():
    """Certifies the judge of a run by the labels of a session; the report."""

    def made(labelling, run, card):
        given = ("--labels", labelling.file.path, "--out", card)
        ran("judge", "certify", run, *given)
        return read_card(card)

    return made


def scales_of(card):
    return {scale.name: scale for scale in card.scales}


def change_items(run, change):
    """Change each line of per_item.jsonl in place."""
    file = run / "per_item.jsonl"
    lines = read_rows(file)
    for number, line in enumerate(lines):
        change(number, line)
    write_rows(file, lines)


def test_labels_that_agree_with_the_judge_leave_its_figure(run, certify):
    labelling = session(run)
    label_all(labelling)
    figure = labelling.figure()
    judged = json.loads((run / "summary.json").read_text("utf-8"))["overall"]["answers"]
    assert figure.value == pytest.approx(judged["correctness"], abs=1e-6)
    before = (run / "report.html").read_text("utf-8")
    scales = scales_of(certify(labelling, run, run.parent / "card"))
    assert scales["supported"].overall.figures["accuracy"].value == 1
    assert scales["correctness"].headline.corrected.value == pytest.approx(figure.value)
    assert (run / "report.html").read_text("utf-8") != before


def test_labels_correct_a_judge_that_errs(run):
    labelling = session(run)
    label_all(labelling, choose=lambda task: next(iter(CHOICES[task.kind])))  # all is supported
    assert labelling.figure().value == pytest.approx(1.0)
    assert labelling.progress("jin")["judged"] < 0.9


def test_labels_of_other_answers_are_refused(run, gigamind):
    labelling = session(run)
    label_all(labelling)
    change_items(run, lambda _, line: line.update(question="?"))
    ended = gigamind("judge", "certify", run, "--labels", labelling.file.path, "--out", "card")
    assert ended.code == 1
    assert str(labelling.file.path) in ended.stderr
    again = session(run)
    assert again.progress("jin")["labelled"] == 0
    assert again.progress("jin")["changed"] > 30


def test_the_figure_of_two_runs_is_their_difference(run, tmp_path):
    before = shutil.copytree(run, tmp_path / "before")

    def worse(number, line):
        if number % 2 == 0 and line["evaluation"] and line["evaluation"]["claims"]:
            line["answer"] += " (before)"
            line["evaluation"]["correctness"] = 0.0

    change_items(before, worse)
    labelling = session(run, baseline=before, count=40)
    label_all(labelling)
    found = labelling.progress("jin")
    assert found["difference"]
    assert found["judged"] > 0
    # Equal verdicts on both sides: by the labels, the answers did not change.
    assert labelling.figure().value == pytest.approx(0.0, abs=1e-6)


def test_labels_certify_another_judge_of_the_same_answers_by_the_strata_they_were_drawn_from(
    run, tmp_path, certify
):
    labelling = session(run, count=20)
    label_all(labelling)
    other = shutil.copytree(run, tmp_path / "other")

    def accept(_, line):
        for claim in (line["evaluation"] or {}).get("claims", ()):
            claim["verdict"] = "supported"
            line["evaluation"]["correctness"] = 1.0

    change_items(other, accept)
    own, accepting = (
        scales_of(certify(labelling, folder, tmp_path / f"{folder.name}-card"))[
            "correctness"
        ].headline
        for folder in (run, other)
    )
    assert own.items == 34  # of 40 answers, those with claims
    # The other judge accepts all: the labels correct it to about what they say of the first one.
    assert accepting.judged == 1
    assert accepting.corrected.value == pytest.approx(own.corrected.value, abs=0.15)


def test_labels_that_the_judge_learned_from_certify_nothing(run, certify):
    labelling = session(run)
    label_all(labelling)
    claimed = [one.id for one in labelling.drawables if one.value is not None]
    labelled = [
        name
        for name in claimed
        if labelling.state.labels.get(claimed_at(labelling, name)) is not None
    ]
    learned = labelled[::2]
    told = json.loads((run / "run.json").read_text("utf-8"))
    told["judge"]["learned_from"] = learned
    (run / "run.json").write_text(json.dumps(told), encoding="utf-8")
    card = certify(labelling, run, run.parent / "card")
    assert scales_of(card)["correctness"].overall.items == len(labelled) - len(learned)
    assert card.labels.learned > 0


def claimed_at(labelling, name):
    return next(at for at, one in enumerate(labelling.drawables) if one.id == name)
