"""The commands of docs/systems.md on files of other tools, run on such files."""

import json
import re
import shlex
from importlib.util import find_spec
from pathlib import Path

import ir_measures
import pytest
from answer_reply import answer_reply, supported
from command_line import reached
from foreign_files import write_foreign_files

from gigamind.assurance.labelling import Labelling
from gigamind.assurance.options import LabelOptions
from gigamind.tasks import TASKS

DOCS = Path(__file__).parents[2] / "docs" / "systems.md"
LEAVE = "휴가는 팀장에게 신청한다."


def commands():
    section = DOCS.read_text("utf-8").partition("## Files of other tools\n")[2]
    section = section.partition("### Scores beside")[0]  # test_traces.py has these
    blocks = re.findall(r"```sh\n(.*?)```", section, re.DOTALL)
    return [shlex.split(line, comments=True)[1:] for line in "".join(blocks).splitlines() if line]


def rows(path):
    return [json.loads(line) for line in Path(path).read_text("utf-8").splitlines()]


def label_hits(run, labels):
    """Label each unjudged result as partly relevant."""
    labelling = Labelling(LabelOptions(run=run, labels=labels), TASKS)
    while following := labelling.next("jin"):
        for decided, (_unit, task) in following[0].tasks.items():
            choice = "partly" if task.kind == "hit" else "answerable"
            labelling.label("jin", decided, choice, again=following[1])


@pytest.fixture(scope="module")
def documented(tmp_path_factory, gigamind, model_server):
    """The folder in which all commands of the page ran, and how they ended."""
    folder = tmp_path_factory.mktemp("formats")
    write_foreign_files(folder)
    model_server.script.clear()
    with pytest.MonkeyPatch.context() as environment:
        environment.chdir(folder)
        environment.setenv("GIGAMIND_CACHE_DIR", str(folder / "cache"))
        environment.delenv("OPENAI_API_KEY", raising=False)
        ended = []
        for command in commands():
            more = []
            if any(word.endswith(".parquet") for word in command) and not find_spec("pyarrow"):
                continue
            if command[:2] in (["import", "ragas"], ["import", "deepeval"]):
                model_server.script.append(answer_reply([supported(LEAVE)], LEAVE))
                more = reached(model_server)
            elif command[:2] == ["eval", "search"] or "--" in command:
                more = ["--speed-passes", "0"]
                more += [] if "--system" in command else ["--mode", "keyword"]
            elif command[:2] == ["dataset", "label"]:
                label_hits(folder / "runs" / "trec", folder / "hits.jsonl")
            ended.append((command, gigamind(*command, *more)))
    return folder, ended


def test_every_command_of_the_page_ends_well(documented):
    _, ended = documented
    assert [(command, end.stderr) for command, end in ended if end.code] == []
    assert {tuple(command[:2]) for command, _ in ended} == {
        *(("import", kind) for kind in ("trec", "beir", "squad", "ragas", "deepeval", "table")),
        *(("export", kind) for kind in ("trec", "csv", "ragas")),
        ("eval", "search"),
        ("dataset", "label"),
    }


def test_each_format_comes_to_a_report(documented):
    folder, _ = documented
    for name in ("trec", "beir", "korquad", "ragas", "deepeval", "beir-rows"):
        assert (folder / "runs" / name / "report.html").is_file(), name


def test_a_trec_run_has_its_graded_figures_and_its_holes(documented):
    folder, _ = documented
    summary = json.loads((folder / "runs" / "trec" / "summary.json").read_text("utf-8"))
    # d2 (0), d9 (unjudged), d1 (2) against d1, d3: 2 / log2(4) over 2 + 1 / log2(3); query 2 is perfect
    first = 1 / (2 + 1 / 1.584962500721156)
    assert summary["overall"]["search"]["ndcg_at_10"] == pytest.approx((first + 1) / 2)
    assert summary["overall"]["search"]["judged_at_10"] == pytest.approx((2 / 3 + 1) / 2)
    assert summary["counts"]["queries_unanswerable"] == 1
    holes = summary["holes"]
    assert (holes["hits"], holes["unjudged"], holes["worst"][0]["note"]) == (4, 1, "d9")
    assert "d9" in (folder / "runs" / "trec" / "report.html").read_text("utf-8")
    labelled = rows(folder / "trec" / "queries-2.jsonl")[0]
    assert labelled["gains"] == {"d1": 2, "d2": 0, "d3": 1, "d9": 1}
    assert labelled["expected_notes"] == ["d1", "d3", "d9"]


def test_the_places_of_korquad_stand_in_the_notes(documented):
    folder, _ = documented
    known = {row["id"]: row for row in rows(folder / "korquad" / "queries.jsonl")}
    assert known["k3"]["answerable"] is False
    assert not (folder / "runs" / "korquad" / "errors.jsonl").read_text("utf-8")
    run = json.loads((folder / "runs" / "korquad" / "run.json").read_text("utf-8"))
    assert not [told for told in run["warnings"] if "dataset" in told]
    for name, answer in (("k1", "팀장"), ("k2", "roses")):
        [span] = known[name]["expected_spans"]
        note = (folder / "korquad" / "notes" / span["note_path"]).read_text("utf-8")
        units = note.encode("utf-16-le")[2 * span["start"] : 2 * span["end"]]
        assert units.decode("utf-16-le") == span["text"] == answer


def test_documents_of_beir_are_found_by_their_ids(documented):
    folder, ended = documented
    told = next(end for command, end in ended if command[:2] == ["import", "beir"])
    assert all(word in told.stderr for word in ("corpus.jsonl", "gone", "q2"))
    items = {item["id"]: item for item in rows(folder / "runs" / "beir" / "per_item.jsonl")}
    assert items["q2"]["expected_notes"] == ["a%2Fb%3Ac.md"]
    assert items["q2"]["metrics"]["mrr"] == 1.0
    assert items["q1"]["gains"] == {"d1.md": 2, "d2.md": 0}
    assert (folder / "beir" / "notes" / "d4.md").read_text("utf-8").endswith("---\n--- odd ---\n")


def test_tables_open_elsewhere(documented):
    import csv

    folder, _ = documented
    with (folder / "items.csv").open(encoding="utf-8-sig", newline="") as file:
        table = {row["id"]: row for row in csv.DictReader(file)}
    assert table["q2"]["mrr"] == "1.0"
    assert json.loads(table["q2"]["ranking"])[0] == "a%2Fb%3Ac.md"
    sample = rows(folder / "samples.jsonl")[0]
    assert sample["user_input"] == "휴가 신청"
    assert sample["reference_context_ids"] == ["d1.md"]
    assert len(sample["retrieved_contexts"]) == len(sample["retrieved_context_ids"])


def test_an_exported_run_has_the_figures_of_its_report(documented):
    folder, _ = documented
    run = list(ir_measures.read_trec_run(str(folder / "trec-files" / "run.trec")))
    qrels = list(ir_measures.read_trec_qrels(str(folder / "trec-files" / "qrels.trec")))
    names = {"mrr": "RR", "ndcg_at_10": "nDCG@10", "recall_at_5": "R@5", "hit_at_1": "Success@1"}
    measures = {name: ir_measures.parse_measure(theirs) for name, theirs in names.items()}
    theirs = ir_measures.calc_aggregate(measures.values(), qrels, run)
    search = json.loads((folder / "runs" / "beir" / "summary.json").read_text("utf-8"))["overall"][
        "search"
    ]
    assert {n: search[n] for n in names} == pytest.approx(
        {n: theirs[m] for n, m in measures.items()}, abs=1e-12
    )


def test_nothing_is_written_over_and_nothing_half(documented, gigamind, monkeypatch):
    folder, _ = documented
    monkeypatch.chdir(folder)
    again = gigamind("import", "trec", "qrels.txt", "--out", "trec")
    assert (again.code, "--out trec: exists already" in again.stderr) == (1, True)
    (folder / "bad.txt").write_text("1 0 a\n")
    assert gigamind("import", "trec", "bad.txt", "--out", "new").code == 1
    assert not (folder / "new").exists()
    for kind, out in (("csv", "items.csv"), ("trec", "trec-files")):
        ended = gigamind("export", kind, "runs/beir", "--out", out)
        assert (ended.code, f"--out {out}: exists already" in ended.stderr) == (1, True)
    labelled = ("--dataset", "trec/queries.jsonl", "--labels", "hits.jsonl")
    assert gigamind("dataset", "label", *labelled, "--out", "trec/queries-2.jsonl").code == 1
    wrong = gigamind("export", "trec", "runs/ragas", "--out", "other")
    assert (wrong.code, "answers" in wrong.stderr) == (1, True)
