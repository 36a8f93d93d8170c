"""Start the service over the example vault with a script that quotes the notes in place of a model, without a key.

    python examples/demo_serve.py [any option of `gigamind serve`]

The script (`fake_model.py` beside this file) answers with the sentence that shares most words with the question, or
abstains, and judges by looking up each sentence. It understands nothing, and the pages say so. For useful answers, run
`gigamind serve --notes DIR --model MODEL`.
"""

import sys
from typing import NoReturn

from fake_model import MockServer, run

from gigamind.assets import asset
from gigamind.cli.main import main


def demo(arguments: list[str]) -> NoReturn:
    """Run the service until Ctrl-C and exit with its exit code."""
    with run(MockServer()) as server:
        model = ["--model", "openai/script;piece=40", "--api-base", server.url]
        notes = ["--notes", f"{asset('examples') / 'vault'}"]
        main(["serve", *notes, *model, "--store-mode", "off", *arguments])


if __name__ == "__main__":
    demo(sys.argv[1:])
