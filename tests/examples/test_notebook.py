"""The example notebook and cells of one's own, run by a real kernel of Jupyter."""

import json
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")
pytestmark = [pytest.mark.docs, pytest.mark.timeout(300)]


@pytest.fixture(autouse=True)
def quiet(monkeypatch, tmp_path):
    monkeypatch.setenv("GIGAMIND_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("CI", "1")  # no bar, whether ipywidgets is installed or not
    monkeypatch.setenv("JUPYTER_PLATFORM_DIRS", "1")
    monkeypatch.setenv("IPYTHONDIR", str(tmp_path / "ipython"))
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)


def run(notebook, folder):
    client = nbclient.NotebookClient(
        notebook, kernel_name="python3", resources={"metadata": {"path": str(folder)}}
    )
    return client.execute()


def values(cell):
    return [
        output["data"] for output in cell["outputs"] if output["output_type"] == "execute_result"
    ]


def test_the_example_notebook_runs_without_key_and_shows_its_report():
    done = run(nbformat.read(EXAMPLES / "notebook.ipynb", as_version=4), EXAMPLES)
    cells = [cell for cell in done["cells"] if cell["cell_type"] == "code"]
    shown = [values(cell) for cell in cells]
    assert [len(data) for data in shown] == [1] * 6
    assert shown[1][0]["text/html"].startswith("<iframe sandbox ")
    assert float(shown[0][0]["text/plain"]) == pytest.approx(0.59, abs=0.01)
    streams = [o for cell in cells for o in cell["outputs"] if o["output_type"] != "execute_result"]
    assert streams == []


def test_the_committed_notebook_has_no_outputs():
    notebook = json.loads((EXAMPLES / "notebook.ipynb").read_text("utf-8"))
    assert not any(cell.get("outputs") for cell in notebook["cells"])


SETUP = """
import json, os, signal, threading, time
from pathlib import Path
from answer_reply import ANSWER, PROOF, answer_reply, supported
from faulty_model import running
import gigamind
os.environ["OPENAI_API_KEY"] = "sk-test"
asked = []
def respond(_body):
    asked.append(1)
    if len(asked) == 3:  # two are paid for, the third never ends
        threading.Timer(1, os.kill, [os.getpid(), signal.SIGINT]).start()
        time.sleep(20)
    return answer_reply([supported(PROOF)], PROOF)
context = running()
server = context.__enter__()
server.respond = respond
rows = [json.dumps(ANSWER | {"id": f"a{number}"}) for number in range(4)]
Path("answers.jsonl").write_text("\\n".join(rows), "utf-8")
given = {"model": "openai/judge", "api_base": server.url, "store_mode": "off", "max_in_flight": 1}
"""
KEPT = """
[len(asked), Path("run.unfinished").is_dir(),
 sum(json.loads(row)["evaluation"] is not None for row in open("run/per_item.jsonl"))]
"""
RESUME = """
before = len(asked)
result = gigamind.evaluate_answers("answers.jsonl", out="run", resume="run", **given)
[len(result.items), len(asked) - before, Path("run.unfinished").exists()]
"""


@pytest.mark.parametrize(
    "judged",
    [
        'gigamind.evaluate_answers("answers.jsonl", out="run", **given)',
        'await gigamind.aevaluate_answers("answers.jsonl", out="run", **given)',
    ],
)
def test_an_interrupted_cell_keeps_what_was_paid_for_and_the_next_resumes(
    judged, tmp_path, monkeypatch
):
    support = Path(__file__).parents[1] / "support"
    monkeypatch.setenv("PYTHONPATH", str(support))
    interrupted = nbformat.v4.new_code_cell(judged)
    interrupted["metadata"]["tags"] = ["raises-exception"]
    cells = [nbformat.v4.new_code_cell(text) for text in (SETUP, judged, KEPT, RESUME)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    notebook["cells"][1] = interrupted
    done = run(notebook, tmp_path)
    shown = [values(cell) for cell in done["cells"][2:]]
    found = [json.loads(data[0]["text/plain"].lower()) for data in shown]
    assert found == [[3, True, 2], [4, 2, False]]
