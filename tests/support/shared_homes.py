"""Homes that workers share, and workers with a folder and a cache of their own, which share nothing else."""

import contextlib
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import fsspec
import pytest
from fsspec.implementations.memory import MemoryFileSystem

ROOT = Path(__file__).parents[2]
_START = """
import json, sys
from gigamind.publish import home
from prefect.flows import load_flow_from_entrypoint
home._EVERY_S = 0.1
flow = load_flow_from_entrypoint(sys.argv[1], use_placeholder_flow=False)
flow(json.loads(sys.argv[2]), return_state=True)
"""
_KEYS = {
    "AWS_ACCESS_KEY_ID": "name",
    "AWS_SECRET_ACCESS_KEY": "no-real-secret",
    "AWS_DEFAULT_REGION": "us-east-1",
}


class Breaking(MemoryFileSystem):
    """A file system in memory that goes away after so many more changes."""

    protocol = "breaking"
    store: ClassVar[dict[str, Any]] = {}
    pseudo_dirs: ClassVar[list[str]] = [""]
    left = 10**9

    def _changes(self) -> None:
        if Breaking.left == 0:
            raise ConnectionError("the storage is away")
        Breaking.left -= 1

    def pipe_file(self, *given: Any, **more: Any) -> None:
        self._changes()
        super().pipe_file(*given, **more)

    def put_file(self, *given: Any, **more: Any) -> None:
        self._changes()
        super().put_file(*given, **more)

    def cp_file(self, *given: Any, **more: Any) -> None:
        self._changes()
        super().cp_file(*given, **more)

    def rm_file(self, *given: Any, **more: Any) -> None:
        self._changes()
        super().rm_file(*given, **more)


fsspec.register_implementation("breaking", Breaking, clobber=True)


@contextlib.contextmanager
def empty_home(kind: str, folder: Path) -> Iterator[str]:
    """The URL of an empty home: `memory`, `file`, `breaking`, or `s3` on a server of its own on loopback."""
    if kind == "file":
        yield f"file://{folder / 'home'}"
    elif kind == "s3":
        with _s3() as url:
            yield url
    else:
        kept = fsspec.filesystem(kind)
        kept.store.clear()
        kept.pseudo_dirs[:] = [""]
        Breaking.left = 10**9
        yield f"{kind}://team/home"


@contextlib.contextmanager
def _s3() -> Iterator[str]:
    reason = "needs an S3 server: pip install 'moto[server]' s3fs"
    pytest.importorskip("s3fs", reason=reason)
    moto = pytest.importorskip("moto.server", reason=reason)
    server = moto.ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        with pytest.MonkeyPatch.context() as environment:
            for name, value in {**_KEYS, "AWS_ENDPOINT_URL": f"http://{host}:{port}"}.items():
                environment.setenv(name, value)
            fsspec.filesystem("s3").clear_instance_cache()
            bucket = f"bucket-{port}"
            fsspec.filesystem("s3").mkdir(bucket)
            yield f"s3://{bucket}/team"
    finally:
        server.stop()


def names_in(home: str) -> list[str]:
    """The files in a home."""
    fs, root = fsspec.url_to_fs(home)
    fs.invalidate_cache()
    return sorted(name.removeprefix(f"{root}/") for name in fs.find(root))


@dataclass
class Worker:
    """A machine that runs the deployment `nightly`."""

    folder: Path
    home: str
    allows: str = "api_base=*"

    def __post_init__(self) -> None:
        shutil.copytree(ROOT / "examples", self.folder / "examples")

    @property
    def _environment(self) -> dict[str, str]:
        return {
            "GIGAMIND_HOME": self.home, "GIGAMIND_CACHE_DIR": str(self.folder / "cache"),
            "GIGAMIND_WORKER_ALLOWS": self.allows, "PREFECT__RUNTIME__DEPLOYMENT__NAME": "nightly",
        }  # fmt: skip

    def run(self, flow: str, options: dict[str, Any]) -> Any:
        """The end state of a flow, by `file:function`."""
        from prefect.flows import load_flow_from_entrypoint

        with pytest.MonkeyPatch.context() as patch:
            patch.chdir(self.folder)
            for name, value in self._environment.items():
                patch.setenv(name, value)
            entrypoint = str(ROOT / "flows" / flow)
            loaded = load_flow_from_entrypoint(entrypoint, use_placeholder_flow=False)
            return loaded(options, return_state=True)

    def start(self, flow: str, options: str) -> subprocess.Popen[bytes]:
        """A process that runs a flow, to be killed."""
        command = [sys.executable, "-c", _START, str(ROOT / "flows" / flow), options]
        return subprocess.Popen(
            command,
            cwd=self.folder,
            env={**os.environ, **self._environment},
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )

    @property
    def runs(self) -> list[Path]:
        return sorted((self.folder / "eval" / "out" / "nightly").iterdir())


def wait_until(happened: Callable[[], bool], seconds: float = 90) -> None:
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.1)
