"""Write the generated files that git ignores: JSON Schemas, and the commands that the site adds to docs/reference.md.

`make generated` writes them. `--record` also writes their digests into generated.sha256, in the format of sha256sum. A
test compares these with the code, so that a diff of that file names each schema or reference that changed.
"""

import sys
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path

import reference

import schemas

ROOT = Path(__file__).parents[1]
DIGESTS = Path(__file__).with_suffix(".sha256")
FOLDERS = ("docs/generated", "schemas")
KEPT = {"schemas/README.md"}  # written by hand, and in git


def files() -> dict[str, str]:
    """Return the text of each file, by its path in the repository."""
    texts = {"docs/generated": reference.commands_by_file(), "schemas": schemas.texts()}
    return {
        f"{folder}/{name}": text for folder, named in texts.items() for name, text in named.items()
    }


def digests(texts: Mapping[str, str]) -> dict[str, str]:
    """Return the SHA-256 of each text in UTF-8, by its path."""
    return {path: sha256(text.encode()).hexdigest() for path, text in sorted(texts.items())}


def recorded(file: Path = DIGESTS) -> dict[str, str]:
    """Return the digests in a file, by path; none if there is no file."""
    lines = file.read_text("utf-8").splitlines() if file.exists() else ()
    return {path: digest for digest, path in (line.split("  ", 1) for line in lines)}


def changes(before: Mapping[str, str], after: Mapping[str, str]) -> list[str]:
    """Return one line for each path that was added, removed or changed."""
    kinds = {path: "added" if path not in before else "changed" for path in after}
    kinds = {path: "removed" for path in before if path not in after} | kinds
    return [
        f"{path} {kinds[path]}" for path in sorted(kinds) if before.get(path) != after.get(path)
    ]


def write(texts: Mapping[str, str], root: Path = ROOT) -> None:
    """Write the files, and remove generated ones that are not among them."""
    for folder in FOLDERS:
        for path in (root / folder).rglob("*"):
            if path.is_file() and path.relative_to(root).as_posix() not in {*texts, *KEPT}:
                path.unlink()
    for name, text in texts.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8", newline="\n")


def record(texts: Mapping[str, str], file: Path = DIGESTS) -> None:
    """Write the digests of texts."""
    lines = (f"{digest}  {path}\n" for path, digest in digests(texts).items())
    file.write_text("".join(lines), encoding="utf-8", newline="\n")


if __name__ == "__main__":
    made = files()
    write(made)
    if "--record" in sys.argv[1:]:
        sys.stdout.writelines(f"{line}\n" for line in changes(recorded(), digests(made)))
        record(made)
