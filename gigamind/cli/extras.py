"""What an installation without all extras is told where one is missing (pyproject.toml names what each is for)."""

_EXTRAS = {
    "fastembed": ("fastembed",),
    "llm": ("aiohttp", "instructor", "litellm", "openai"),
    "prefect": ("prefect", "sqlalchemy"),
    "qdrant": ("qdrant_client",),
    "service": ("fastapi", "prometheus_client", "starlette", "uvicorn"),
}


def extra_of(error: Exception) -> str | None:
    """What to install, in one line, where the error is that a module of an extra is not there; None otherwise."""
    name = error.name if isinstance(error, ModuleNotFoundError) else None
    missing = (name or "").partition(".")[0]
    for extra, modules in _EXTRAS.items():
        if missing in modules:
            return (
                f"this needs the package {missing}, which is not installed:"
                f" pip install 'gigamind-eval[{extra}]', or [all]; in a clone: make all"
            )
    return None
