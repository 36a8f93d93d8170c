"""Finds the files that travel with the package: judges, prompts, flows, deployments and examples.

A wheel carries them under `gigamind/_assets/`, a clone has them at its root.  Nothing else is looked at, so that a
foreign top-level package named `flows` is never picked up.
"""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def asset(name: str) -> Path:
    """Path of a folder such as `flows`.

    Raises:
        FileNotFoundError: the installation is broken.
    """
    for root in (_PACKAGE / "_assets", _PACKAGE.parent):
        if (root / name).is_dir():
            return root / name
    raise FileNotFoundError(
        f"{name}: not among the files of this installation; install gigamind-eval again"
    )
