<<<<<<< HEAD
"""Judge the example answers with a scripted model that supports every claim, and show what gigamind rejects.

    python examples/demo_answers.py [--lang ko] [--out DIR] [any other option of `gigamind eval answers`]

`CREDULOUS` of `gigamind.assurance.deceptive_judges` replies over HTTP on loopback, without key or network. The run and
its page warn that no real model judged.
=======
"""Judge the example answers with a model that accepts too much, to show refused claims and omissions.

    python examples/demo_answers.py [--lang ko] [--out DIR] [any other option of `gigamind eval answers`]

A script (`CREDULOUS` of `gigamind.assurance.deceptive_judges`) replies over HTTP on loopback, without key or network.
The run and its page warn about it.
>>>>>>> main
"""

import sys
from typing import Any, NoReturn

from gigamind.assets import asset
from gigamind.assurance.deceptive_judges import CREDULOUS, read_labelled_answers
from gigamind.cli.main import main
from gigamind.llm.fake import running
from gigamind.llm.ledger import SCRIPTED


def demo(arguments: list[str]) -> NoReturn:
<<<<<<< HEAD
    """Run the evaluation, and exit with its exit code."""
=======
    """Run the evaluation and exit with its exit code."""
>>>>>>> main
    answers = read_labelled_answers(None, None).answers

    def respond(body: dict[str, Any]) -> dict[str, Any]:
        prompt = str(body["messages"][-1]["content"])
<<<<<<< HEAD
        # Test pairs of the second look belong to no answer; the reply is the same for each answer.
        about = next((one for one in answers if one.case.question in prompt), answers[0])
=======
        # The test pairs of the second check belong to no answer; their reply does not depend on it.
        about = next((answer for answer in answers if answer.case.question in prompt), answers[0])
>>>>>>> main
        return CREDULOUS.respond(about, body["response_format"], prompt)

    examples = asset("examples")
    with running() as server:
        server.respond, server.fingerprint = respond, SCRIPTED
        paths = ["--dataset", f"{examples / 'answers.jsonl'}", "--notes", f"{examples / 'vault'}"]
        model = ["--model", "openai/scripted", "--api-base", server.url, "--store-mode", "off"]
        limits = ["--max-in-flight", "16", "--model-timeout-s", "60"]  # skips the speed measurement
        main(["eval", "answers", *paths, *model, *limits, *arguments])


if __name__ == "__main__":
    demo(sys.argv[1:])
