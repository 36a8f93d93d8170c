"""A model of one's own: llama.cpp's server over a GGUF file, on loopback and in this process, through xllamacpp.

An extra: the engine is 100 MB.  It speaks the OpenAI protocol, and turns the JSON schema of a request into a grammar,
so that replies have its shape; numbers may still leave their bounds, which no grammar holds.
"""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from gigamind.errors import InputError

INSTALL_LOCAL: Final = "pip install 'gigamind-eval[local]'"

_MAGIC = b"GGUF"
_LOOPBACK = "127.0.0.1"
# Its threads wait for each other in a loop: one that shares its core with another program holds up all.  With two on
# two busy cores a model wrote 4 tokens/s, with one 23.
_THREADS = max(1, (os.cpu_count() or 1) // 2)
# Whether a request was cancelled is looked at between batches: with llama.cpp's 2 048 tokens, one that nobody waits for
# any more computes on for minutes.
_BATCH_TOKENS = 512
_ERRORS_ONLY = 1


@contextmanager
def serving(
    file: Path, *, port: int = 0, context: int = 8192, slots: int = 1, threads: int | None = None
) -> Generator[str]:
    """The address of a server of that model, up to `/v1`; it ends with the block.

    Args:
        port: 0 for any that is free.
        context: tokens of one request, prompt and reply together.
        slots: requests computed at a time; each takes its share of the processor, and memory for its context.
        threads: that compute; half of the processor's without it.

    Raises:
        InputError: xllamacpp is not installed, the file is no GGUF, the port is taken, or llama.cpp cannot serve it.
    """
    _check_file(file)
    engine = _load_engine()
    try:  # llama.cpp would load the model first, and then say nothing of the port
        socket.create_server((_LOOPBACK, port)).close()
    except OSError as error:
        raise taken_port(port, error) from error
    params = engine.CommonParams()  # its server listens on loopback unless told otherwise
    params.model.path = str(file)
    params.model_alias = {file.stem}
    params.port = port
    params.n_ctx = context * slots  # shared out among the slots
    params.n_parallel = slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads or _THREADS
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.cache_ram_mib = 0  # up to 8 GB of old prompts, which judges never send again
    params.verbosity = _ERRORS_ONLY
    try:
        server = engine.Server(params)
    except RuntimeError as error:
        raise InputError(
            f"{file}: llama.cpp cannot serve it, and says why above: a broken file, a kind of model that it does not"
            f" know, or too little memory for {slots} x {context} tokens (--slots, --context)"
        ) from error
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # which ends it


def taken_port(port: int, error: OSError) -> InputError:
    """Our error for a port that cannot be listened on."""
    why = os.strerror(error.errno) if error.errno else error  # asyncio tells the address once more
    return InputError(
        f"--port {port}: cannot be used ({why}); give another, or 0 for any that is free"
    )


def _check_file(file: Path) -> None:
    try:
        with file.open("rb") as stream:
            magic = stream.read(len(_MAGIC))
    except OSError as error:
        raise InputError(
            f"{file}: the model cannot be read ({error.strerror}); check its path"
        ) from error
    if magic != _MAGIC:
        raise InputError(f"{file} is no GGUF file, the one format that llama.cpp reads")


def _load_engine() -> Any:  # noqa: ANN401  xllamacpp has no types
    try:
        return import_module("xllamacpp")
    except ImportError as error:
        raise InputError(
            f"a model is served by the package xllamacpp (100 MB): {INSTALL_LOCAL} ({error})"
        ) from error
