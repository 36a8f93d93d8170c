"""A page of help loads options, and nothing that an evaluation needs."""

import json
import subprocess
import sys

_HEAVY = (
    "instructor", "jinja2", "litellm", "numpy", "prefect", "pyromark", "qdrant_client",
    "qdrant_edge", "rank_bm25", "rapidfuzz", "rich", "scipy", "yaml",
)  # fmt: skip

# Shows the help of every command, and tells after which one a heavy module was there first.
_WALK = f"""
import contextlib, io, json, sys
import click
from gigamind.cli.main import cli

brought, pages = {{}}, []

def walk(group, path):
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        words = [*path, name]
        with contextlib.redirect_stdout(io.StringIO()) as page:
            cli.main([*words, "--help"], standalone_mode=False)
        pages.append((" ".join(words), len(page.getvalue())))
        for module in {_HEAVY!r}:
            if module in sys.modules:
                brought.setdefault(module, " ".join(words))
        if isinstance(command, click.Group):
            walk(command, words)

walk(cli, [])
print(json.dumps([brought, pages]))
"""


def test_no_page_of_help_loads_what_only_a_run_needs() -> None:
    done = subprocess.run(
        [sys.executable, "-c", _WALK], capture_output=True, text=True, check=True, timeout=60
    )
    brought, pages = json.loads(done.stdout)
    commands = dict(pages)
    assert {"eval search", "judge certify", "memory graduate", "dataset check"} <= commands.keys()
    assert min(commands.values()) > 0
    assert brought == {}
