"""Has the example answers judged by a model that believes too much: what it is not believed, and what was left out.

    python examples/demo_answers.py [--lang ko] [--out DIR] [any other option of `gigamind eval answers`]

No model is asked: a script (`CREDULOUS` of `gigamind.assurance.deceptive_judges`) plays back replies over HTTP on loopback,
without a key or a network, and the run and its page warn of it.
"""

import sys
from typing import Any, NoReturn

from gigamind.assets import asset
from gigamind.assurance.deceptive_judges import CREDULOUS, read_labelled_answers
from gigamind.cli.main import main
from gigamind.llm.fake import running
from gigamind.llm.ledger import SCRIPTED


def demo(arguments: list[str]) -> NoReturn:
    """Run the evaluation, and leave with its exit code."""
    answers = read_labelled_answers(None, None).answers

    def respond(body: dict[str, Any]) -> dict[str, Any]:
        prompt = str(body["messages"][-1]["content"])
        # Pairs that a second look is tried with belong to no answer, and are said alike whichever it is.
        about = next((one for one in answers if one.case.question in prompt), answers[0])
        return CREDULOUS.respond(about, body["response_format"], prompt)

    examples = asset("examples")
    with running() as server:
        server.respond, server.fingerprint = respond, SCRIPTED
        paths = ["--dataset", f"{examples / 'answers.jsonl'}", "--notes", f"{examples / 'vault'}"]
        model = ["--model", "openai/scripted", "--api-base", server.url, "--store-mode", "off"]
        limits = ["--max-in-flight", "16", "--model-timeout-s", "60"]  # so no speed is measured
        main(["eval", "answers", *paths, *model, *limits, *arguments])


if __name__ == "__main__":
    demo(sys.argv[1:])
