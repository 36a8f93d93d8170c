"""Versions of this package and of those that it needs."""

__version__ = "0.1.0"


def build_name(version: str, commit: str | None) -> str:
    """Return a version with the first 12 digits of its commit, if that is known."""
    return f"{version} {(commit or '')[:12]}".strip()


def version_of(package: str) -> str | None:
    """Return the version of an installed package; None if it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slow to import, rarely needed

    try:
        return version(package)
    except PackageNotFoundError:
        return None
