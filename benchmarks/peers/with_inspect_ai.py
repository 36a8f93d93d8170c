"""inspect_ai: one eval with a sample a question, `eval_retry` for a run that was killed; no re-ask of its own."""

import tempfile
import time

import inspect_ai
from exchange import Job, Verdict, prompt, tell
from inspect_ai import Task, task
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.log import EvalLog, list_eval_logs, read_eval_log
from inspect_ai.model import GenerateConfig, ResponseSchema, get_model
from inspect_ai.scorer import Score, Scorer, Target, accuracy, scorer
from inspect_ai.solver import TaskState, generate
from inspect_ai.util import json_schema
from pydantic import ValidationError

job = Job()
folder = str(job.folder or tempfile.mkdtemp())
limits = {"max_connections": job.in_flight, "max_samples": job.in_flight}


@scorer(metrics=[accuracy()])
def readable() -> Scorer:
    """1 for an answer that has the reply's shape."""

    async def score(state: TaskState, _target: Target) -> Score:
        try:
            Verdict.model_validate_json(state.output.completion)
        except ValidationError:
            return Score(value=0)
        return Score(value=1)

    return score


@task
def verdicts(first: str = "", calls: int = 0) -> Task:
    """One sample a question."""
    samples = [Sample(input=prompt(f"{first}질문 {number}"), target="") for number in range(calls)]
    return Task(
        dataset=MemoryDataset(samples),
        solver=generate(),
        scorer=readable(),
        config=GenerateConfig(
            response_schema=ResponseSchema(
                name="verdict", json_schema=json_schema(Verdict), strict=True
            )
        ),
    )


def run(first: str, calls: int) -> EvalLog:
    """The log of an eval, or of the rest of one that was killed."""
    options = {"log_dir": folder, "display": "none", **limits}
    logs = list_eval_logs(folder)
    if job.folder and logs:
        return inspect_ai.eval_retry(read_eval_log(logs[0]), **options)[0]
    model = get_model(f"openai-api/fake/{job.model}", base_url=job.url, api_key="none")
    return inspect_ai.eval(verdicts(first, calls), model=model, **options)[0]


def main() -> None:
    if job.warm:
        run("warm ", job.warm)
    wall, cpu = time.perf_counter(), time.process_time()
    log = run("", job.calls)
    figures = {"wall_s": time.perf_counter() - wall, "cpu_s": time.process_time() - cpu}
    scored = [sample.scores["readable"].as_int() for sample in log.samples or [] if sample.scores]
    used = log.stats.model_usage.values()
    paid = sum(usage.input_tokens + 2 * usage.output_tokens for usage in used)
    tell("inspect_ai", {"lost": job.calls - sum(scored), **figures}, paid)


if __name__ == "__main__":  # eval_retry loads this file again
    main()
