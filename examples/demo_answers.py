"""Judge the example answers with a model that accepts too much, to show refused claims and omissions.

    python examples/demo_answers.py [--lang ko] [--out DIR] [any other option of `gigamind eval answers`]

A script (`CREDULOUS` of scripted_judges.py) replies over HTTP on loopback, without key or network.
The run and its page warn about it.
"""

import sys
from typing import Any, NoReturn

from fake_model import MockServer, run
from scripted_judges import CREDULOUS, read_labelled_answers

from gigamind.assets import asset
from gigamind.cli.main import main


def demo(arguments: list[str]) -> NoReturn:
    """Run the evaluation and exit with its exit code."""
    answers = read_labelled_answers(None, None).answers

    def respond(body: dict[str, Any]) -> dict[str, Any]:
        prompt = str(body["messages"][-1]["content"])
        about = next((answer for answer in answers if answer.case.question in prompt), answers[0])
        return CREDULOUS.respond(about, body["response_format"], prompt)

    examples = asset("examples")
    with run(MockServer()) as server:
        server.respond = respond
        paths = ["--dataset", f"{examples / 'answers.jsonl'}", "--notes", f"{examples / 'vault'}"]
        model = ["--model", "openai/scripted", "--api-base", server.url, "--store-mode", "off"]
        limits = ["--max-in-flight", "16", "--model-timeout-s", "60"]  # skips the speed measurement
        main(["eval", "answers", *paths, *model, *limits, *arguments])


if __name__ == "__main__":
    demo(sys.argv[1:])
