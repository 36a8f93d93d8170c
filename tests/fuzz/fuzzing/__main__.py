"""Tries targets for minutes: `python -m fuzzing [TARGET ...] --minutes 10`.

By hypothesis; or by atheris where it is installed, one target at a time, guided by what of the package was reached.  An
input that breaks a target is written to tests/fuzz/found/TARGET/, which the ordinary suite tries again.
"""

import argparse
import hashlib
import sys
import tempfile
import time
from pathlib import Path

import hypothesis
from hypothesis import HealthCheck, Phase

from fuzzing.inputs import dictionary, inputs

FOUND = Path(__file__).parents[1] / "found"
_BATCH = 500  # examples between two looks at the clock


def by_hypothesis(name: str, ends: float) -> int:
    """How many inputs were tried until then, the last of them the smallest that breaks the target."""
    from fuzzing.trying import TARGETS, attempt

    tried = 0
    last = b""

    @hypothesis.settings(
        max_examples=_BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @hypothesis.given(inputs(TARGETS[name].seeds))
    def batch(content: bytes) -> None:
        nonlocal tried, last
        tried, last = tried + 1, content
        attempt(name, content)

    while time.monotonic() < ends:
        try:
            batch()
        except BaseException:
            keep(name, last)
            raise
    return tried


def by_atheris(name: str, seconds: float) -> None:
    """Ends the process: with 0, or with the traceback of what broke the target."""
    import atheris

    with atheris.instrument_imports(include=["gigamind"]):
        from fuzzing.trying import TARGETS, attempt

    def one(content: bytes) -> None:
        try:
            attempt(name, content)
        except BaseException:
            keep(name, content)
            raise

    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder, "corpus")
        corpus.mkdir()
        for number, seed in enumerate(TARGETS[name].seeds):
            (corpus / str(number)).write_bytes(seed)
        words = Path(folder, "words")
        words.write_text(
            "".join(f'"{_quoted(word)}"\n' for word in dictionary(TARGETS[name].seeds))
        )
        options = [f"-max_total_time={seconds:.0f}", f"-dict={words}", "-max_len=60000"]
        options += ["-timeout=60", "-rss_limit_mb=0", "-verbosity=1"]
        atheris.Setup([sys.argv[0], *options, str(corpus)], one)
        atheris.Fuzz()


def _quoted(word: bytes) -> str:
    return "".join(f"\\x{byte:02x}" for byte in word[:64]) or "\\x20"


def keep(name: str, content: bytes) -> None:
    """Write what breaks a target, where the ordinary suite finds it."""
    path = FOUND / name / hashlib.sha256(content).hexdigest()[:8]
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    print(f"{name}: {path} breaks it", file=sys.stderr, flush=True)


def main() -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzzing", description=__doc__)
    parser.add_argument("targets", nargs="+", metavar="TARGET", help="see targets.py")
    parser.add_argument("--minutes", type=float, default=10.0, help="for each target")
    parser.add_argument("--engine", choices=("hypothesis", "atheris"), default="hypothesis")
    given = parser.parse_args()
    for name in given.targets:
        print(name, flush=True)
        if given.engine == "atheris":
            by_atheris(name, 60 * given.minutes)
        began = time.monotonic()
        tried = by_hypothesis(name, began + 60 * given.minutes)
        print(
            f"{name}: {tried} inputs in {time.monotonic() - began:.0f} s, none breaks it",
            flush=True,
        )


if __name__ == "__main__":
    main()
