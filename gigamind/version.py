"""The version of the package, and of those that it stands on."""

__version__ = "0.1.0"


def version_of(package: str) -> str | None:
    """The version of an installed package; None where it is not installed."""
    from importlib.metadata import PackageNotFoundError, version  # slow, and seldom asked for

    try:
        return version(package)
    except PackageNotFoundError:
        return None
