"""The servers of examples/, each a team's own in thirty lines, and what a team does with one."""

import contextlib
import json
import subprocess
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from forked import command
from loopback import free_ports, process_at
from prefect_stack import Stack
from told import check_told

EXAMPLES = Path(__file__).parents[2] / "examples"


@contextlib.contextmanager
def serving(script: Path, vault: Path, port: int | None = None) -> Iterator[str]:
    """The address of a server over a vault, until the block ends."""
    port = port or free_ports()[0]
    with process_at(port, script, vault, port) as address:
        yield address


def evaluated_compared_and_gated(
    folder: Path, asked: Sequence[object], gates: str, good: Path, worse: Sequence[Path]
) -> tuple[Path, str, dict[str, Any]]:
    """A release that is equal to the one before passes, and a worse one does not.

    Args:
        asked: the evaluation of a system, but for its address and its folder.
        worse: script and vault of the release that must not go out; `good` has the example vault.

    Returns:
        The out folder and the terminal of the first run, and what the gate said of the worse one.
    """
    (folder / "gates.toml").write_text(gates, "utf-8")
    compared = ("--compare", "first", "--fail-on-regression", "--gates", "gates.toml")

    def run(address: str, out: str, *options: str) -> subprocess.CompletedProcess[str]:
        return command(folder, *asked, "--system", address, "--out", out, *options).completed()

    with serving(good, EXAMPLES / "vault") as address:
        first, equal = run(address, "first"), run(address, "equal", *compared)
    with serving(*worse) as address:
        refused = run(address, "worse", *compared)
    ends = (first, equal, refused)
    assert [end.returncode for end in ends] == [0, 0, 4], [end.stdout + end.stderr for end in ends]
    verdict = json.loads((folder / "worse" / "compare.json").read_text("utf-8"))
    return folder / "first", first.stdout, verdict["gate"]


def out_of_nightly(stack: Stack, run_id: str, address: str, out: str) -> Path:
    """The folder that the nightly deployment wrote of a system, once its flow run has completed."""
    run = stack.ended(run_id)
    assert run["state"]["name"] == "Completed", run["state"]
    assert run["name"].endswith("-nightly · measured")
    check_told(stack, run)
    [folder] = (stack.clone / out).iterdir()
    kept = json.loads((folder / "run.json").read_text("utf-8"))
    assert kept["environment"]["system"]["target"] == address
    return folder
