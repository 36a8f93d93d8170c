"""Find the files that come with the package: judges, prompts, flows, deployments and examples.

They are in `gigamind/_assets/` of a wheel and at the root of a clone.  Other places are ignored, so that a foreign
top-level package named `flows` is never used.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def asset(name: str) -> Path:
    """Return the path of a folder such as `flows`; FileNotFoundError if the installation is broken."""
    for root in (_PACKAGE / "_assets", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise FileNotFoundError(
        f"{name}: not among the files of this installation; install gigamind-eval again"
    )
