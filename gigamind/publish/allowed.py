"""What a worker's environment grants to the runs of a deployment: keys from secret blocks, and dangerous options."""

import os
from fnmatch import fnmatchcase
from typing import cast

from pydantic import BaseModel

from gigamind.errors import InputError
from gigamind.publish.ends import deployment_name
from gigamind.systems.settings import BUILTIN, shown_system

_ALLOWS = "GIGAMIND_WORKER_ALLOWS"
_SECRETS = "GIGAMIND_WORKER_SECRETS"
_SENT_TO = ("api_base", "answer_api_base", "embedding_api_base", "qdrant_url", "key_variable")


def load_secrets() -> None:
    """Set the environment variables that the worker takes from secret blocks, such as `OPENAI_API_KEY=openai-key`.

    Several entries are separated by semicolons. Without a deployment, nothing is set.

    Raises:
        InputError: the server has no such block.
    """
    entries = list(filter(None, os.environ.get(_SECRETS, "").split(";")))
    if not entries or deployment_name() is None:
        return
    from prefect.blocks.system import Secret

    for entry in entries:
        name, _equals, block = entry.strip().partition("=")
        try:
            secret = cast("Secret[str]", Secret.load(block))
        except ValueError as error:
            raise InputError(
                "{setting}: the Prefect server has no secret block {block}. Create it on the page Blocks.",
                setting=f"{_SECRETS}={entry}",
                block=block,
            ) from error
        os.environ[name] = secret.get()


def check_allowed(options: BaseModel) -> None:
    """Check that a worker's environment allows the options that send keys to an address or run a program.

    Without a deployment, everything is allowed.

    The variable holds patterns such as `api_base=http://localhost:*`, separated by semicolons.

    Raises:
        InputError: an option is not allowed; the message names the variable, not the value as a pattern.
    """
    if deployment_name() is None:
        return
    given: dict[str, object] = dict(options)
    allows = os.environ.get(_ALLOWS, "")
    patterns = [entry.strip() for entry in allows.split(";")]
    for name, value in given.items():
        if not _is_guarded(name, str(value)) or value is None:
            continue
        if not any(fnmatchcase(f"{name}={value}", pattern) for pattern in patterns):
            raise InputError(
                "{option} {value}: this worker does not allow this value, because it could send keys to another server"
                " or run a program. To allow values that you trust, append a pattern after a semicolon where the worker"
                " starts: {setting}",
                option=name,
                value=shown_system(str(value)),
                setting=f"{_ALLOWS}='{shown_system(allows)};{name}=PATTERN'",
            )


def _is_guarded(name: str, value: str) -> bool:
    if name == "system":
        return value != BUILTIN and not value.startswith("run:")
    if name == "judge":  # MODULE:CLASS runs Python
        return ":" in value and not value.startswith("nli:")
    return name in _SENT_TO
