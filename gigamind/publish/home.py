"""Share runs, baselines and model replies of deployments through a folder or a URL of fsspec: `GIGAMIND_HOME`.

The code works on local folders, and the home has the same relative paths. What marks several files as complete is
written last and removed first: `run.json` of a run, and the pointer to a baseline.
"""

import os
import shutil
from collections.abc import Generator, Iterable
from contextlib import contextmanager, suppress
from contextvars import copy_context
from datetime import datetime
from pathlib import Path
from threading import Event, Thread
from typing import Any

from gigamind.choices import BASELINES
from gigamind.errors import EvaluationError, GigamindError, InputError
from gigamind.evaluation.options import EvalOptions, ModelRunOptions
from gigamind.evaluation.shards import folders_of, rows_in, unfinished_folder
from gigamind.llm.store import reply_file
from gigamind.prompting.fences import FENCE_KEY
from gigamind.publish.ends import deployment_name, in_run_language
from gigamind.redaction import redacted, without_secrets
from gigamind.release.model import POINTER
from gigamind.reports.run import MOST_RUNS
from gigamind.runs.folders import private_file, whole_folder

RUN, REPLIES = "run.json", Path("replies")
_URL, _UNFINISHED = "GIGAMIND_HOME", "*.unfinished"
_EVERY_S = 10.0  # between two uploads


class Home:
    """The files at a URL; InputError if its protocol is unknown or needs a missing package."""

    def __init__(self, url: str) -> None:
        import fsspec
        from fsspec.implementations.dirfs import DirFileSystem
        from fsspec.implementations.local import LocalFileSystem

        self._shown = f"{_URL}={without_secrets(url)}"
        self._unfinished = dict[Path, dict[Path, int]]()  # its files there, with sizes in bytes
        self._replies = set[Path]()  # that are there
        try:
            opened: Any = fsspec.url_to_fs(url)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        except (ValueError, ImportError) as error:
            raise InputError(
                "{setting} cannot be used: {reason}. Give a folder or a URL such as s3://BUCKET/FOLDER. The worker"
                " needs the package of its file system: s3fs for s3://, gcsfs for gs://, adlfs for abfs://.",
                setting=self._shown,
                reason=str(error),
            ) from error
        fs, root = opened
        fs.invalidate_cache()
        fs = LocalFileSystem(auto_mkdir=True) if isinstance(fs, LocalFileSystem) else fs
        self._fs: Any = DirFileSystem(root, fs)

    @classmethod
    def shared(cls) -> "Home | None":
        """Return the home that the environment names; None without one, or without a deployment."""
        url = os.environ.get(_URL)
        return cls(url) if url and deployment_name() else None

    @contextmanager
    def reached(self, logger: Any = None) -> Generator[None]:  # noqa: ANN401  a logger or its adapter
        """Raise EvaluationError for an error of the file system inside the block; with a logger, log it instead."""
        try:
            yield
        except Exception as error:  # each file system has errors of its own
            known = error if isinstance(error, GigamindError) else None
            problem = known or EvaluationError(
                "{setting}: the shared files cannot be read or written: {reason}",
                setting=self._shown,
                reason=redacted(f"{type(error).__name__}: {error}"),
            )
            if logger is None:
                raise problem from error
            logger.warning(in_run_language(problem.message))

    def found(self, folder: Path) -> dict[Path, int]:
        """Return the files in a folder there, with sizes in bytes."""
        found = self._fs.find(_there(folder), detail=True).items()
        return {Path(name): info.get("size", 0) for name, info in found if "/." not in name}

    def fetch(self, folder: Path) -> None:
        """Fetch the newest runs in a folder that are missing, and its current baselines."""
        found = self.found(folder)
        for run in _runs(found)[-MOST_RUNS:]:
            if not (run / RUN).exists():
                with suppress(FileNotFoundError):  # removed since
                    self._replace(run, found)
        for pointer in (file for file in found if file.name.startswith(POINTER)):
            name: bytes = self._fs.cat_file(_there(pointer))
            baseline = pointer.with_name(Path(name.decode().strip()).name)
            _write(baseline, self._fs.cat_file(_there(baseline)))
            _write(pointer, name)

    def copy(self, places: dict[Path, Path]) -> None:
        """Copy files from there, by their path there."""
        for place in places.values():
            place.parent.mkdir(parents=True, exist_ok=True)
        self._fs.get([*map(_there, places)], [*map(str, places.values())])

    def _replace(self, folder: Path, found: Iterable[Path]) -> None:
        files = [file for file in found if folder in file.parents]
        with whole_folder(folder, replace=True) as aside:
            self.copy({file: aside / file.relative_to(folder) for file in files})

    def put(self, file: Path, content: bytes) -> None:
        """Write a file there, whole or not at all."""
        aside = _there(file.with_name(f".{file.name}"))
        self._fs.pipe_file(aside, content)
        self._fs.mv(aside, _there(file))

    def remove(self, files: Iterable[Path]) -> None:
        """Remove files there, run.json first."""
        for file in sorted(files, key=lambda file: file.name != RUN):
            self._fs.rm_file(_there(file))

    def written(self, file: Path) -> datetime:
        """Return the time of a file there."""
        return self._fs.modified(_there(file))

    def fetch_for(self, options: EvalOptions, home: Path) -> None:
        """Fetch what a run of the deployment with the folder `home` needs."""
        for folder in {BASELINES, options.compare or BASELINES}:
            self.fetch(folder)
        found = self.found(home)
        for file in found:
            for folder in (folder for folder in file.parents if folder.match(_UNFINISHED)):
                self._unfinished.setdefault(folder, {})[file] = found[file]
        for folder in home.glob(_UNFINISHED):
            if folder not in self._unfinished and folder.with_suffix("") / RUN in found:
                # Another worker has finished it.
                shutil.rmtree(folder)
                shutil.rmtree(folder.with_suffix(""), ignore_errors=True)
        for folder, files in self._unfinished.items():
            # They only grow. Those here may have more if this worker was killed before an upload.
            if sum(files.values()) >= sum(file.stat().st_size for file in _files(folder)):
                self._replace(folder, files)
        self.fetch(home)
        if isinstance(options, ModelRunOptions) and options.store_mode != "off":
            self._fetch_replies(options.replies, _keys([*self._unfinished, *_runs(found)[-1:]]))

    def _fetch_replies(self, store: Path, keys: set[str]) -> None:
        """Fetch replies, and the key of fences, without which they are not found."""
        self._replies = {Path(FENCE_KEY), *(reply_file(Path(), key) for key in keys)}
        wanted = [Path(FENCE_KEY), *(name for name in self._replies if not (store / name).exists())]
        replies = self._fs.cat([_there(REPLIES / name) for name in wanted], on_error="return")
        for name in wanted:
            reply = replies[_there(REPLIES / name)]
            if isinstance(reply, FileNotFoundError):
                self._replies.discard(name)
            elif isinstance(reply, Exception):
                raise reply
            else:
                _write(store / name, reply)

    def upload(self, options: EvalOptions, runs: Iterable[Path]) -> None:
        """Upload the replies of runs, and the files of unfinished ones that have grown."""
        if isinstance(options, ModelRunOptions):
            names = {Path(FENCE_KEY), *(reply_file(Path(), key) for key in _keys(runs))}
            new = [name for name in names - self._replies if (options.replies / name).is_file()]
            files = [str(options.replies / name) for name in new]
            self._fs.put(files, [_there(REPLIES / name) for name in new])
            self._replies.update(new)
        for run in (run for run in runs if run.match(_UNFINISHED)):
            sent = self._unfinished.setdefault(run, {})
            # Costs are read after results and written before them, so that no result is there without its cost.
            grown = [file for file in _files(run)[::-1] if sent.get(file) != file.stat().st_size]
            for file, content in [(file, file.read_bytes()) for file in grown][::-1]:
                self.put(file, content)
                sent[file] = len(content)

    def finish(self, options: EvalOptions, home: Path, runs: Iterable[Path]) -> None:
        """Upload runs that have ended, then remove the unfinished ones that are gone here."""
        self.upload(options, [*home.glob(_UNFINISHED), *runs])
        for run in runs:
            files = [file for file in _files(run) if file != run / RUN]
            self._fs.put([*map(str, files)], [*map(_there, files)])
            self.put(run / RUN, (run / RUN).read_bytes())
        for folder in self._unfinished:
            if not folder.exists():
                self.remove(self.found(folder))


@contextmanager
def shared_state(options: EvalOptions, home: Path | None) -> Generator[None]:
    """Fetch what a run of the deployment with this folder needs, and upload what it changes.

    A failed upload is only logged. Raises the errors of `Home` before the block.
    """
    from prefect.logging import get_run_logger

    shared = Home.shared()
    if shared is None or home is None:
        yield
        return
    with shared.reached():
        shared.fetch_for(options, home)
    logger, before, ended = get_run_logger(), _ended(home), Event()

    def upload() -> None:
        while not ended.wait(_EVERY_S):
            with shared.reached(logger), suppress(FileNotFoundError):  # the run has just ended
                shared.upload(options, list(home.glob(_UNFINISHED)))

    thread = Thread(target=copy_context().run, args=(upload,), daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        with shared.reached(logger):
            shared.finish(options, home, [run for run, _at in _ended(home) - before])


def _there(path: Path) -> str:
    return path.absolute().relative_to(Path.cwd()).as_posix()


def _runs(files: Iterable[Path]) -> list[Path]:
    return sorted(file.parent for file in files if file.name == RUN)


def _ended(home: Path) -> set[tuple[Path, int]]:
    """Return the runs that have ended, with their time."""
    runs = [run for run in _runs(home.glob(f"*/{RUN}")) if not unfinished_folder(run).exists()]
    return {(run, (run / RUN).stat().st_mtime_ns) for run in runs}


def _keys(folders: Iterable[Path]) -> set[str]:
    rows = rows_in(own for folder in folders for own in folders_of(folder))
    return {row.key for row in rows if row.key}


def _files(folder: Path) -> list[Path]:
    return sorted(file for file in folder.rglob("*") if file.is_file())


def _write(file: Path, content: bytes) -> None:
    with private_file(file) as aside:
        aside.write_bytes(content)
