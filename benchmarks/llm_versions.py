"""Check whether the tests of the model layer pass with other versions of its dependencies.

    python benchmarks/llm_versions.py --folder /tmp/versions              # minutes; downloads 50 MB, once

Each version is installed alone, without dependencies, into a folder that comes first on the path.
"""

import argparse
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).parents[1]
VERSIONS = ("litellm==1.102.4", "litellm==1.109.1", "instructor")  # without a number: the newest
FOUND = "import importlib.metadata as m, {name} as p; print(m.version('{name}'), p.__file__)"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", type=Path, required=True, help="for the packages; kept")
    parser.add_argument("--version", action="append", metavar="NAME==VERSION")
    parser.add_argument("tests", nargs="*", default=["tests/llm"])
    arguments = parser.parse_args()
    failed = [
        version
        for version in arguments.version or VERSIONS
        if not passes(version, arguments.folder / version, arguments.tests)
    ]
    sys.exit(f"the tests fail with {', '.join(failed)}" if failed else 0)


def passes(requirement: str, folder: Path, tests: Sequence[str]) -> bool:
    install(requirement, folder)
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), str(ROOT)])}
    name = requirement.partition("==")[0]
    found = run(["-c", FOUND.format(name=name)], environment).stdout.split()
    if not found[1].startswith(str(folder)):
        raise SystemExit(f"{name} comes from {found[1]}, not from {folder}")
    tested = run(["-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *tests], environment)
    last = tested.stdout.strip().splitlines()
    print(f"{name} {found[0]}: {'passed' if tested.returncode == 0 else 'FAILED'}", flush=True)
    if tested.returncode:
        print("\n".join(last[-30:]), flush=True)
    return tested.returncode == 0


def install(requirement: str, folder: Path) -> None:
    if folder.exists():
        return
    pip = ("-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-deps")
    done = run([*pip, "--target", str(folder), requirement], dict(os.environ))
    if done.returncode:
        raise SystemExit(done.stderr)


def run(arguments: Sequence[str], environment: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


if __name__ == "__main__":
    main()
