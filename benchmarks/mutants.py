"""Find faults that the tests do not detect: put each into a copy of the tree and run the tests named next to it.

    python benchmarks/mutants.py              # all of mutants.txt, minutes; or: python benchmarks/mutants.py kappa ppi

A fault is located by its text, which occurs once in the package, and tests by their file names, so both may move.
Prints each undetected fault, and exits with 1 if there is one.
"""

import argparse
import compileall
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).parents[1]
LEFT_OUT = shutil.ignore_patterns(".*", "__pycache__", "eval", "out", "*.egg-info")
SECONDS = 300  # for the tests of one fault, which may make a loop endless
PASSED, NOTICED = 0, 1  # pytest's exit codes: every test passed, or one failed


@dataclass(frozen=True)
class Mutant:
    """Hold a fault: `right` becomes `wrong` in the one file that has it; paths are relative to the root."""

    name: str
    right: str
    wrong: str
    path: Path
    tests: tuple[Path, ...]

    @classmethod
    def of(cls, block: str) -> "Mutant":
        """Read a mutant from its lines in mutants.txt."""
        head, *lines = block.strip("\n").split("\n")
        name, _, tests = head.removeprefix("# ").partition(" | ")
        right, wrong = ("\n".join(x[2:] for x in lines if x[0] == sign) for sign in "-+")
        counts = {path: text.count(right) for path, text in package().items()}
        having = [path.relative_to(ROOT) for path, count in counts.items() if count]
        if sum(counts.values()) != 1:
            sys.exit(f"{name}: {right!r} stands {sum(counts.values())} times in the package")
        files = [sorted((ROOT / "tests").rglob(f"test_{test}.py")) for test in tests.split()]
        if not all(files):
            sys.exit(f"{name}: not all of its tests are there: {tests}")
        found = tuple(file.relative_to(ROOT) for group in files for file in group)
        return cls(name, right, wrong, having[0], found)

    def tried(self, tree: Path) -> int:
        """Return pytest's exit code with the fault in a tree, and restore the tree."""
        path = tree / self.path
        text = path.read_text("utf-8")
        path.write_text(text.replace(self.right, self.wrong), "utf-8")
        command = [sys.executable, "-B", "-m", "pytest", "-x", "-p", "no:cacheprovider"]
        try:
            return subprocess.run(
                [*command, *map(str, self.tests)],
                cwd=tree,
                env=os.environ | {"PYTHONPATH": str(tree), "OMP_NUM_THREADS": "1"},
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=SECONDS,
                check=False,
            ).returncode
        except subprocess.TimeoutExpired:
            return NOTICED
        finally:
            path.write_text(text, "utf-8")


@cache
def package() -> dict[Path, str]:
    """Return the text of each file of the package."""
    return {path: path.read_text("utf-8") for path in sorted((ROOT / "gigamind").rglob("*.py"))}


def read_mutants() -> list[Mutant]:
    """Return all of mutants.txt."""
    blocks = (ROOT / "benchmarks" / "mutants.txt").read_text("utf-8").split("\n\n")
    return [Mutant.of(block) for block in blocks]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("words", nargs="*", help="only faults whose name has one of these words")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    given = parser.parse_args()
    chosen = [
        m for m in read_mutants() if not given.words or any(word in m.name for word in given.words)
    ]
    start, unnoticed = time.perf_counter(), 0
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(given.jobs) as pool:
        trees: SimpleQueue[Path] = SimpleQueue()
        for number in range(given.jobs):
            tree = Path(shutil.copytree(ROOT, f"{folder}/{number}", ignore=LEFT_OUT))
            # Else each fault compiles all of it: `-B`, for a fault of the same second and length must be seen.
            compileall.compile_dir(tree / "gigamind", quiet=2)
            trees.put(tree)

        def tried(mutant: Mutant) -> int:
            tree = trees.get()
            try:
                return mutant.tried(tree)
            finally:
                trees.put(tree)

        for mutant, code in zip(chosen, pool.map(tried, chosen), strict=True):
            if code != NOTICED:
                unnoticed += 1
                what = "survives" if code == PASSED else f"no verdict, pytest ended with {code}"
                tests = " ".join(map(str, mutant.tests))
                print(f"{mutant.name} ({mutant.path}): {what}; {tests}", flush=True)
    seconds = time.perf_counter() - start
    print(f"{len(chosen) - unnoticed} of {len(chosen)} faults were noticed, in {seconds:.0f} s.")
    sys.exit(unnoticed > 0)


if __name__ == "__main__":
    main()
