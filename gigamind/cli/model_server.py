"""A local model: llama.cpp's server for a GGUF file, on loopback and in this process, through xllamacpp.

Optional, because the engine has 100 MB.  It speaks the OpenAI protocol and turns the JSON schema of a request into a
grammar, so replies have its shape; numbers can still be out of bounds, which no grammar enforces.
"""

import os
import socket
from collections.abc import Generator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from gigamind.errors import InputError, reason_of
from gigamind.i18n import _

INSTALL_LOCAL: Final = "pip install 'gigamind-eval[local]'"

_MAGIC = b"GGUF"
_LOOPBACK = "127.0.0.1"
# Its threads wait for each other in a loop, so one that shares its core with another program delays all.  On two busy
# cores a model wrote 4 tokens/s with two threads and 23 with one.
_THREADS = max(1, (os.cpu_count() or 1) // 2)
# Cancellation is checked between batches: with llama.cpp's 2 048 tokens, an abandoned request runs on for minutes.
_BATCH_TOKENS = 512
_ERRORS_ONLY = 1


@contextmanager
def serving(
    file: Path, *, port: int = 0, context: int = 8192, slots: int = 1, threads: int | None = None
) -> Generator[str]:
    """Yield the address (up to `/v1`) of a server for a model file; the server ends with the block.

    Args:
        port: 0 for any free port.
        context: Tokens of one request, prompt and reply together.
        slots: Concurrent requests; each takes a share of the processor and memory for its context.
        threads: Computing threads; by default half of the processor's.

    Raises:
        InputError: xllamacpp is not installed, the file is not GGUF, the port is taken, or llama.cpp cannot load it.
    """
    _check_file(file)
    engine = _load_engine()
    try:  # llama.cpp would load the model first and then not report the port
        socket.create_server((_LOOPBACK, port)).close()
    except OSError as error:
        raise taken_port(port, error) from error
    params = engine.CommonParams()  # its server listens on loopback by default
    params.model.path = str(file)
    params.model_alias = {file.stem}
    params.port = port
    params.n_ctx = context * slots  # shared by the slots
    params.n_parallel = slots
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads or _THREADS
    params.n_batch = params.n_ubatch = _BATCH_TOKENS
    params.cache_ram_mib = 0  # otherwise up to 8 GB of old prompts, which judges never send again
    params.verbosity = _ERRORS_ONLY
    try:
        server = engine.Server(params)
    except RuntimeError as error:
        raise InputError(
            "{file}: llama.cpp cannot load this model; see the reason above. Possible causes: a damaged file, an"
            " unsupported kind of model, or too little memory for {slots} x {context} tokens (--slots, --context).",
            file=file,
            slots=slots,
            context=context,
        ) from error
    try:
        yield f"{server.listening_address}/v1"
    finally:
        del server  # stops it


def taken_port(port: int, error: OSError) -> InputError:
    """Return the error for a port that cannot be used."""
    # only the reason: asyncio's text repeats the address
    message = _(
        "--port {port}: this port cannot be used: {reason}. Choose another port, or 0 for any free port.",
        port=port,
        reason=reason_of(error),
    )
    return InputError(message)


def _check_file(file: Path) -> None:
    try:
        with file.open("rb") as stream:
            magic = stream.read(len(_MAGIC))
    except OSError as error:
        raise InputError(
            "{file}: the model cannot be read: {reason}. Check the path.",
            file=file,
            reason=reason_of(error),
        ) from error
    if magic != _MAGIC:
        raise InputError("{file}: not a GGUF file, the only format that llama.cpp reads", file=file)


def _load_engine() -> Any:  # noqa: ANN401  xllamacpp has no types
    try:
        return import_module("xllamacpp")
    except ImportError as error:
        raise InputError(
            "to serve a model, install the package xllamacpp (100 MB): {command} ({reason})",
            command=INSTALL_LOCAL,
            reason=str(error),
        ) from error
