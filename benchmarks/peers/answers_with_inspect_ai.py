"""inspect_ai over answers and their notes: a log of samples, each graded by `model_graded_qa`."""

import json
import sys
from pathlib import Path

import inspect_ai
from inspect_ai import Task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.model import ModelOutput, get_model
from inspect_ai.scorer import model_graded_qa
from inspect_ai.solver import Generate, Solver, TaskState, solver

url, dataset, out = sys.argv[1:4]
MODEL = "openai-api/fake/by-schema"


@solver
def given() -> Solver:
    """The answer that is evaluated stands in the dataset."""

    async def solve(state: TaskState, generate: Generate) -> TaskState:
        del generate
        state.output = ModelOutput.from_content("given", state.metadata["answer"])
        return state

    return solve


def sample(row: dict) -> Sample:
    question = "\n\n".join([*row["notes"], row["question"]])
    return Sample(input=question, target=row["answer"], metadata={"answer": row["answer"]})


rows = json.loads(Path(dataset).read_text("utf-8"))
model = get_model(MODEL, base_url=url, api_key="none")
task = Task(
    MemoryDataset([sample(row) for row in rows]),
    solver=given(),
    scorer=model_graded_qa(model=model),
)
[log] = inspect_ai.eval(task, model=model, log_dir=out, display="none", max_connections=16)
if log.status != "success":
    raise SystemExit(str(log.error))
