"""Imports litellm and instructor, once, late, and tamed: no network, telemetry, `.env`, retries or chatter.

Importing litellm takes seconds and 170 MB; nothing but this module does it, and nothing but a provider that needs it
asks for it.
"""

import logging
import os
import warnings
from functools import cache
from importlib.util import find_spec
from types import ModuleType

_TALKATIVE = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy", "instructor", "httpx")


def check_installed() -> None:
    """See to it, before anything is sent, that what models are asked with is there; nothing is imported.

    Raises:
        ModuleNotFoundError: gigamind was installed without its extra `llm`.
    """
    for name in ("aiohttp", "instructor", "litellm"):
        if find_spec(name) is None:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


@cache
def load_litellm() -> ModuleType:
    """The module litellm, with everything off that acts behind our back."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # "1" does not work
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else it reads a stray .env
    # Its embeddings take `max_retries=0` for none given, and would try three times what we try again ourselves.
    os.environ["DEFAULT_MAX_RETRIES"] = "0"
    _silence()
    import litellm

    litellm.telemetry = False
    litellm.suppress_debug_info = True
    litellm.drop_params = False  # a parameter that a model refuses is dropped by us, and recorded
    litellm.disable_hf_tokenizer_download = True  # its token counter may wait 47 s for a hub
    with warnings.catch_warnings():
        # Its first reply would build pydantic models, which warn of what is none of our business.
        warnings.simplefilter("ignore")
        litellm.ModelResponse()
    return litellm


@cache
def load_instructor() -> ModuleType:
    """The module instructor."""
    _silence()
    import instructor

    return instructor


def _silence() -> None:
    # They log what they send and receive, keys in failing requests included.
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
