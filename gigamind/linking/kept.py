"""Cache the suggestions of a vault in a file named by the notes, embedder, code and weights that they depend on."""

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
# A change of any line in these packages may change suggestions.
_CODE = ("gigamind", "gigamind.datasets", "gigamind.linking", "gigamind.stats", "gigamind.vault")
_SOURCES = (".py", ".toml")


class RatedCandidate(NamedTuple):
    """A candidate, the probability that a person makes the link, and other places of its name."""

    candidate: Candidate
    confidence: float
    elsewhere: tuple[Span, ...] = ()


class Kept:
    """The cached suggestions of a vault; a `folder` of None disables the cache."""

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

    def get(self, query: str, path: str) -> list[RatedCandidate] | None:
        """Return the cached suggestions of a note; None if there are none for these options."""
        rows = self._rows.get(query, {}).get(path)
        return None if rows is None else [_read(row) for row in rows]

    def put(self, query: str, path: str, suggestions: Iterable[RatedCandidate]) -> None:
        """Cache the suggestions of a note."""
        if self._file is not None:
            self._rows.setdefault(query, {})[path] = [_row(rated) for rated in suggestions]
            self._is_new = True

    def save(self) -> None:
        """Write new entries; an unwritable folder only costs the next run time."""
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
    digest = hashlib.sha256(f"{_code()} {embedding_model}".encode())
    for note in vault.notes:
        path = note.path.encode("utf-8", "surrogatepass")
        digest.update(b"\n%d %b %b" % (len(path), path, note.content_hash.encode()))
    return digest.hexdigest()[:24]


@cache
def _code() -> str:
    digest = hashlib.sha256()
    for package in _CODE:
        for source in sorted(files(package).iterdir(), key=lambda source: source.name):
            if source.name.endswith(_SOURCES) and source.is_file():
                digest.update(hashlib.sha256(source.read_bytes()).digest())
    return digest.hexdigest()


def _row(rated: RatedCandidate) -> list[object]:
    span, features = rated.candidate.span, rated.candidate.features
    known = [getattr(features, field.name) for field in fields(features)]
    is_phrase = isinstance(features, MeantFeatures)
    others = [(other.start, other.end) for other in rated.elsewhere]
    place = [span.start, span.end, rated.candidate.target]
    return [*place, rated.confidence, is_phrase, known, others]


def _read(row: Sequence[Any]) -> RatedCandidate:
    start, end, target, confidence, is_phrase, known, others = row
    kind = MeantFeatures if is_phrase else NamedFeatures
    features = kind(**dict(zip(_NAMES[kind], known, strict=True)))
    elsewhere = tuple(Span(*other) for other in others)
    return RatedCandidate(Candidate(Span(start, end), target, features), confidence, elsewhere)


_NAMES = {kind: [field.name for field in fields(kind)] for kind in (NamedFeatures, MeantFeatures)}
