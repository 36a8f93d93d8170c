"""Import litellm and instructor once and late, without network, telemetry, `.env`, retries or log noise.

Importing litellm takes seconds and 170 MB.  Only this module does it, and only for providers that need it.
"""

import logging
import os
import warnings
from functools import cache
from importlib import import_module
from types import ModuleType

_TALKATIVE = (
    *("LiteLLM", "LiteLLM Router", "LiteLLM Proxy"),
    *("instructor", "httpx", "httpx2", "openai", "anthropic"),
)


@cache
def load_litellm() -> ModuleType:
    """Return the module litellm with its automatic actions switched off."""
    os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # "1" does not work
    os.environ.setdefault("LITELLM_MODE", "PRODUCTION")  # else it reads a stray .env
    # Its embeddings treat `max_retries=0` as unset and would retry three times, beside our own retries.
    os.environ["DEFAULT_MAX_RETRIES"] = "0"
    _silence()
    import litellm

    litellm.suppress_debug_info = True
    litellm.drop_params = False  # parameters that a model rejects are dropped here, and recorded
    litellm.disable_hf_tokenizer_download = True  # its token counter can wait 47 s for a hub
    with warnings.catch_warnings():
        # Its first reply builds pydantic models, with warnings that do not concern users.
        warnings.simplefilter("ignore")
        litellm.ModelResponse()
    # A server can send values of any type.
    warnings.filterwarnings("ignore", message="Pydantic serializer warnings")
    return litellm


@cache
def load_instructor() -> ModuleType:
    """Return the module instructor."""
    _silence()
    return import_module("instructor")


def _silence() -> None:
    # They log what they send and receive, including keys in failing requests.
    for name in _TALKATIVE:
        logger = logging.getLogger(name)
        logger.setLevel(logging.CRITICAL + 1)
        logger.propagate = False
