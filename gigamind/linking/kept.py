"""What was suggested in a vault, for later runs over the same: a file in the cache folder, named by all it hangs on.

That is the path and the content of every note, the embedder, and the code and weights by which links are suggested: an
edited note makes another file.  One that is damaged, cut short or of another layout is as good as none.
"""

import contextlib
import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import astuple, fields
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

from gigamind.checksum import seal, unsealed
from gigamind.linking.features import Candidate, MeantFeatures, NamedFeatures
from gigamind.linking.habits import Calibration, Curve, Habits
from gigamind.linking.ranking import Models
from gigamind.retrieval.cache import touch
from gigamind.runs.folders import private_file
from gigamind.spans import Span
from gigamind.vault.notes import Vault

_LAYOUT = b"links 2"
# Any other line of these gives other suggestions, for all one can know.
_CODE = ("gigamind", "gigamind.datasets", "gigamind.linking", "gigamind.stats", "gigamind.vault")
_SOURCES = (".py", ".toml")


class Sure(NamedTuple):
    """A candidate, how likely a person would make the link, and the other places of its name."""

    candidate: Candidate
    confidence: float
    elsewhere: tuple[Span, ...] = ()


class Kept:
    """What is kept of one vault.

    Args:
        folder: of all such files; None keeps nothing.
        embedding_model: the embedder's full name.
    """

    def __init__(self, folder: Path | None, vault: Vault, embedding_model: str | None) -> None:
        self.habits: Habits | None = None
        self._rows: dict[str, dict[str, Any]] = {}
        self._file = folder and folder / f"{_name(vault, embedding_model)}.links"
        self._is_new = False
        if self._file is None:
            return
        with contextlib.suppress(OSError, ValueError):
            written = json.loads(bytes(unsealed(self._file.read_bytes(), _LAYOUT)))
            names, phrases, suggestions = written["calibration"]
            calibration = Calibration(Curve(*names), Curve(*phrases), suggestions)
            self.habits = Habits(Models.model_validate(written["models"]), calibration)
            self._rows = written["rows"]
            touch(self._file)

    def get(self, asked: str, path: str) -> list[Sure] | None:
        """The suggestions of a note, as `put` was given them; None: nobody asked for them in this way."""
        rows = self._rows.get(asked, {}).get(path)
        return None if rows is None else [_read(row) for row in rows]

    def put(self, asked: str, path: str, suggestions: Iterable[Sure]) -> None:
        """Keep those of a note."""
        if self._file is not None:
            self._rows.setdefault(asked, {})[path] = [_row(sure) for sure in suggestions]
            self._is_new = True

    def save(self) -> None:
        """Write what is new; a folder that cannot be written costs the next run its time, and nothing else."""
        if self._file is None or self.habits is None or not self._is_new:
            return
        written = {
            "models": self.habits.models.model_dump(),
            "calibration": astuple(self.habits.calibration),
            "rows": self._rows,
        }
        content = json.dumps(written, ensure_ascii=False).encode("utf-8", "surrogatepass")
        with contextlib.suppress(OSError), private_file(self._file) as aside:
            aside.write_bytes(seal(content, _LAYOUT) + content)
            self._is_new = False


def _name(vault: Vault, embedding_model: str | None) -> str:
    """Name of all that suggestions hang on, 24 hexadecimal digits."""
    digest = hashlib.sha256(f"{_code()} {embedding_model}".encode())
    for note in vault.notes:
        path = note.path.encode("utf-8", "surrogatepass")
        digest.update(b"\n%d %b %b" % (len(path), path, note.content_hash.encode()))
    return digest.hexdigest()[:24]


@cache
def _code() -> str:
    digest = hashlib.sha256()
    for room in _CODE:
        for source in sorted(files(room).iterdir(), key=lambda source: source.name):
            if source.name.endswith(_SOURCES) and source.is_file():
                digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()


def _row(sure: Sure) -> list[object]:
    span, features = sure.candidate.span, sure.candidate.features
    known = [getattr(features, field.name) for field in fields(features)]
    is_phrase = isinstance(features, MeantFeatures)
    others = [(other.start, other.end) for other in sure.elsewhere]
    return [span.start, span.end, sure.candidate.target, sure.confidence, is_phrase, known, others]


def _read(row: Sequence[Any]) -> Sure:
    start, end, target, confidence, is_phrase, known, others = row
    kind = MeantFeatures if is_phrase else NamedFeatures
    features = kind(**dict(zip(_NAMES[kind], known, strict=True)))
    elsewhere = tuple(Span(*other) for other in others)
    return Sure(Candidate(Span(start, end), target, features), confidence, elsewhere)


_NAMES = {kind: [field.name for field in fields(kind)] for kind in (NamedFeatures, MeantFeatures)}
