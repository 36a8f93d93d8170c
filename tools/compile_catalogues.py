"""Compile the catalogues: gigamind.po becomes gigamind.mo and, for the scripts of pages, scripts.json.

Imports Babel alone, as the build hook has nothing else.
"""

import io
import json
import sys
from pathlib import Path

from babel.messages import mofile, pofile
from babel.messages.catalog import Catalog, Message

OF_SCRIPTS = "script"  # the comment of a message that a script or an HTML attribute holds


def compile_catalogues(locales: Path) -> None:
    """Write the compiled files beside each .po below `locales`."""
    for po in locales.glob("*/LC_MESSAGES/*.po"):
        compile_catalogue(po, read_catalogue(po, po.parts[-3]))


def compile_catalogue(po: Path, catalog: Catalog) -> None:
    """Write the compiled files of a catalogue beside its .po."""
    scripts = {forms(m.id)[0]: m.string for m in catalog if is_complete(m) and _is_of_script(m)}
    text = json.dumps(scripts, ensure_ascii=False, indent=0, sort_keys=True)
    po.with_name("scripts.json").write_text(f"{text}\n", "utf-8")
    for message in [m for m in catalog if m.id and not is_complete(m)]:
        catalog.delete(message.id, message.context)  # English is shown for them
    with po.with_suffix(".mo").open("wb") as file:
        mofile.write_mo(file, catalog)


def read_catalogue(po: Path, language: str) -> Catalog:
    """Return the catalogue of a file; an empty one if there is none."""
    source = po.read_bytes() if po.is_file() else b""
    return pofile.read_po(io.BytesIO(source), locale=language)


def forms(text: "str | tuple[str, ...] | list[str]") -> tuple[str, ...]:
    """Return the forms of a text, one unless it counts."""
    return (text,) if isinstance(text, str) else tuple(text)


def is_complete(message: Message) -> bool:
    """Return whether a message has a translation that counts."""
    return bool(message.id and message.string) and all(forms(message.string)) and not message.fuzzy


def _is_of_script(message: Message) -> bool:
    return not message.context and OF_SCRIPTS in message.auto_comments


if __name__ == "__main__":
    compile_catalogues(Path(sys.argv[1]))
