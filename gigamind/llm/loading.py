"""Imports litellm and instructor, once, late, and tamed: no network, telemetry, `.env`, retries or chatter.

Importing litellm takes seconds and 170 MB; nothing but this module does it.  What it spends on a call for others'
sake is spared ours alone: a program that calls litellm beside us finds it as it was.
"""

import logging
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager
from functools import cache
from types import ModuleType
from typing import Any

_TALKATIVE = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "instructor", "httpx")
_OWN_HANDLER = "EXPERIMENTAL_OPENAI_BASE_LLM_HTTP_HANDLER"
# Of the 74 providers that speak OpenAI's protocol: those that litellm's own handler knows not or sends more to.
_CLIENT_ONLY = frozenset({"aiml", "docker_model_runner", "litellm_proxy", "xinference"})


@cache
def load_litellm() -> ModuleType:
    """The module litellm, with everything off that acts behind our back."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # "1" does not work
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else it reads a stray .env
    # Its own HTTP handler for OpenAI's protocol too, not OpenAI's client, which takes a third of the CPU of a call.
    os.environ.setdefault(_OWN_HANDLER, "True")
    _silence()
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = False  # a parameter that a model refuses is dropped by us, and recorded
    litellm.disable_hf_tokenizer_download = True  # its token counter may wait 47 s for a hub
    # What the OpenAI client gets for `max_retries=0`: else it tries each request three times behind our back.
    litellm.DEFAULT_MAX_RETRIES = 0  # pyright: ignore[reportPrivateImportUsage]
    _send_once()
    _count_nothing(litellm)
    with warnings.catch_warnings():
        # Its first reply would build pydantic models, which warn of what is none of our business.
        warnings.simplefilter("ignore")
        litellm.ModelResponse()
    return litellm


@contextmanager
def alone() -> Generator[None]:
    """Spare the calls within what litellm does for others: a log row behind each, a second try, a cost of its own."""
    from litellm._internal_context import is_internal_call

    before = is_internal_call.set(True)
    try:
        yield
    finally:
        is_internal_call.reset(before)


def choose_handler(provider: str) -> None:
    """Go back to OpenAI's client, in the whole process, for a provider that needs it."""
    if provider in _CLIENT_ONLY:
        os.environ[_OWN_HANDLER] = "False"


@cache
def load_instructor() -> ModuleType:
    """The module instructor."""
    _silence()
    import instructor

    _look_once()
    return instructor


# These three change what is private, in versions that are pinned to the digit: a test of each fails should it change.


def _send_once() -> None:
    """Raise where litellm's handler sends a request again on a new connection: the first may have been answered."""
    from litellm._internal_context import is_internal_call
    from litellm.llms.custom_httpx.http_handler import AsyncHTTPHandler

    handlers: Any = AsyncHTTPHandler
    send_again = handlers.single_connection_post_request

    async def refuse(handler: object, *given: Any, **named: Any) -> Any:  # noqa: ANN401
        broken = sys.exception()
        if broken is None or not is_internal_call.get():
            return await send_again(handler, *given, **named)
        raise broken

    handlers.single_connection_post_request = refuse


def _count_nothing(litellm: ModuleType) -> None:
    """Leave out what litellm hangs on each reply: a cost, which we count ourselves, and headers."""
    from litellm._internal_context import is_internal_call

    describe = litellm.utils.update_response_metadata

    def describe_others(*given: Any, **named: Any) -> None:  # noqa: ANN401
        if not is_internal_call.get():
            describe(*given, **named)

    litellm.utils.update_response_metadata = describe_others


def _look_once() -> None:
    """Let instructor look a class of replies through once for validators that it cannot run, not five times a call."""
    from instructor.v2.core import patch
    from instructor.v2.validation import async_validators

    users: tuple[Any, ...] = (async_validators, patch)
    look = cache(async_validators.reject_async_validators)
    for user in users:
        user.reject_async_validators = look


def _silence() -> None:
    # They log what they send and receive, keys in failing requests included.
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
