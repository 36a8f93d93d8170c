r"""Fit judges/unanswerable_calibrated.toml on vaults of 25 to 5 000 notes in English, German, Spanish and Korean.

    apt-get download gnome-user-docs debian-handbook installation-guide-amd64 brasero-common cheese-common eog \
        evince-common gnome-boxes gnome-clocks gnome-music gnome-terminal-data hitori swell-foop totem-common
    # and for verdicts.py: baobab file-roller gnome-calculator gnome-chess gnome-mahjongg gnome-mines gnome-sudoku
    # gnome-system-monitor lightsoff; each unpacked by dpkg-deb -x into DIR
    .venv/bin/python benchmarks/fit_calibrated.py --xquad XQUAD --share DIR/usr/share --out judge.toml

It fits on halves of four sources; verdicts.py measures on the others.  The sources are the even articles of XQuAD,
the even ids of the examples (each answerable query also without its notes), GNOME's help (the sentence that describes
a page asks for the page; every fourth topic is held out), and paraphrased questions on the even GNOME programs
(paraphrases.jsonl). Documentation fills the vaults: of installed Python packages in English, of Debian in the
language of the help.  Package versions and hashes determine everything; nothing is random.
"""

import argparse
import hashlib
import html
import json
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import calibration
import vaults
from calibration import THRESHOLD, Labelled, fit_cosine, fit_cross, fit_keyword

from gigamind.datasets.jsonl import read_queries
from gigamind.datasets.schema import QueryItem
from gigamind.datasets.write import write_lines, write_rows
from gigamind.judges.load import _toml
from gigamind.judges.unanswerable import _RULES, CalibratedJudgeFile
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.vault.language import KnownLanguage, known_language
from gigamind.vault.notes import notes_hash

ABOUT = """\
Estimates from search signals whether the vault answers a query. Deterministic and free, without a model.
Written by benchmarks/fit_calibrated.py. Each signal adds weight * (value - mean) / scale to the log-odds
of an answer; kappa * ln(size / 100) is subtracted. Size is the number of notes, in [keyword] of those that
share a word with the query. [cross] is for queries in another language than their nearest note.
Below min_probability a query is unanswerable. [*.reliability] is cross-validated by note.

Fitted by benchmarks/fit_calibrated.py on halves of four sources; the other halves only measure. Fitted on: the even
articles of XQuAD (Artetxe et al. 2020), the even topics of GNOME's help, paraphrased questions on the even GNOME
programs (not for [keyword]), and the queries of examples/ whose id has an even SHA-256. The judge recognises whether
the vault covers a topic. A question that a note nearly answers looks answerable to it; use unanswerable_llm.toml for
those.
"""
LOCALES: dict[KnownLanguage, str] = {"en": "en-US", "de": "de-DE", "es": "es-ES", "ko": "ko-KR"}
XQUAD_LANGUAGES: tuple[KnownLanguage, ...] = ("en", "de", "es")
ACROSS: tuple[tuple[KnownLanguage, KnownLanguage], ...] = (
    ("en", "de"),
    ("de", "en"),
    ("es", "en"),
    ("en", "es"),
)
HELP_ACROSS: tuple[tuple[KnownLanguage, KnownLanguage], ...] = (
    ("en", "ko"),
    ("ko", "en"),
    ("en", "de"),
    ("es", "en"),
)
PARAPHRASES = Path(__file__).with_name("paraphrases.jsonl")
PARAPHRASED: tuple[tuple[KnownLanguage, KnownLanguage, int], ...] = (
    ("en", "en", 0),
    ("en", "en", 1000),
    ("ko", "ko", 0),
    ("ko", "ko", 1000),
    ("en", "ko", 0),
    ("ko", "en", 0),
)
_Page = tuple[vaults.Document, str]  # with the sentence that tells what it is about, "" without
_ENOUGH = {"ko": 300, "en": 600, "de": 600, "es": 600}  # characters of a passage of a guide
_SHORTEST = 150  # characters of a page's text


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--xquad", type=Path, required=True)
    parser.add_argument("--share", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    settings = RetrievalSettings()
    labelled: list[LabelledCollection] = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        examples = (vaults.example_queries(folder, size, odd_ids=False) for size in (0, 5000))
        made = collections(arguments.xquad, arguments.share, folder)
        for group, leave_out in ((made, False), (examples, True)):
            for collection in group:
                labelled.append(label(collection, settings, leave_out=leave_out))
                rows = len(labelled[-1].rows)
                print(f"{collection.name}: {rows} queries over {collection.size}")
    write_tables(arguments.out, fit(labelled))


@dataclass(frozen=True, slots=True)
class LabelledCollection:
    """The signals of all usable queries of a collection, and what the judge file says about it."""

    rows: list[Labelled]
    source: dict[str, Any]
    embedder: str | None


def label(
    collection: vaults.Collection, settings: RetrievalSettings, *, leave_out: bool
) -> LabelledCollection:
    name = f"{collection.name}, {collection.size} notes.jsonl".replace(" ", "-").replace(",", "")
    vault_hash = notes_hash(collection.notes)
    with collection.opened(settings) as (vault, queries, retriever):
        rows = calibration.label(retriever, queries, vault_hash, leave_out=leave_out)
        embedder = retriever.semantic.embedder.name if retriever.semantic else None
    answerable = sum(query.item.answerable for query in queries)
    source: dict[str, Any] = {
        "dataset": name,
        "dataset_hash": read_queries(collection.dataset).sha256,
        "notes_hash": vault_hash,
        "notes": len(vault.notes),
        "answerable": answerable,
        "unanswerable": len(queries) - answerable,
        "languages": sorted({query.item.language or "unknown" for query in queries}),
    }
    return LabelledCollection(rows, source, embedder)


def fit(labelled: Sequence[LabelledCollection]) -> CalibratedJudgeFile:
    """Fit the judge; [keyword] without paraphrases, which words hardly recognise (AUC 0.5 to 0.7)."""
    own_words = [one for one in labelled if not one.source["dataset"].startswith("paraphrases")]
    return CalibratedJudgeFile(
        kind="calibrated",
        rules=_RULES,
        min_probability=THRESHOLD,
        embedder=labelled[0].embedder,
        keyword=fit_keyword(_in_one_language(own_words)),
        cosine=fit_cosine(_in_one_language(labelled)),
        cross=fit_cross([row for one in labelled for row in one.rows]),
        fitted_on=tuple(one.source for one in labelled),
    )


def _in_one_language(labelled: Sequence[LabelledCollection]) -> list[Labelled]:
    return [row for one in labelled for row in one.rows if not row.signals.cross_lingual]


def collections(xquad: Path, share: Path, out: Path) -> Iterator[vaults.Collection]:
    """Yield the collections but the examples one after the other, in one folder."""
    even, eighth = slice(0, None, 2), slice(0, None, 8)
    of_half = ((0, eighth), (0, slice(4, None, 8)), (0, slice(2, None, 4)))
    padded = tuple((size, even) for size in (90, 300, 1000, 5000))
    alike = [(one, one, (*of_half, *padded)) for one in XQUAD_LANGUAGES]
    across = [(*pair, ((0, eighth), (0, even), (1000, even))) for pair in ACROSS]
    for notes, queries, sizes in (*alike, *across):
        for size, articles in sizes:
            yield vaults.xquad(xquad, out, size, notes=notes, queries=queries, articles=articles)
    for language in LOCALES:
        for size in (0, 1000):
            yield help_pages(share, out, size, notes=language, queries=language)
    for notes, queries in HELP_ACROSS:
        yield help_pages(share, out, 0, notes=notes, queries=queries)
    for notes, queries, size in PARAPHRASED:
        yield paraphrases(share, out, size, notes=notes, queries=queries)


def write_tables(path: Path, file: CalibratedJudgeFile) -> None:
    """Write a judge file with TOML tables, which reads back equal."""
    fields = file.model_dump(exclude_none=True)
    tables = {name: fields.pop(name) for name in ("keyword", "cosine", "cross") if name in fields}
    lines = [f"# {line}".rstrip() for line in ABOUT.splitlines()]
    lines += [f"{name} = {_toml(value, wrap=True)}" for name, value in fields.items()]
    for name, table in tables.items():
        parts = {f"{name}.{part}": table.pop(part) for part in ("signals", "reliability")}
        for head, rows in {name: table, **parts}.items():
            lines += ["", f"[{head}]", *(f"{key} = {_toml(row)}" for key, row in rows.items())]
    write_lines(path, lines)


def help_pages(
    share: Path,
    out: Path,
    size: int,
    *,
    notes: KnownLanguage,
    queries: KnownLanguage,
    odd: bool = False,
) -> vaults.Collection:
    """Return GNOME's help, one note per page, filled up to `size` with passages of Debian's guides if possible.

    Args:
        odd: the other half of the topics.
    """
    pages, asked = (_described(_pages(share, language), language) for language in (notes, queries))
    both = [name for name in pages if name in asked and vaults.odd(_topic(name)) is odd]
    topics = sorted({_topic(name) for name in both}, key=_order)
    vault = out / "notes"
    shutil.rmtree(vault, ignore_errors=True)
    rows: list[QueryItem] = []
    for name in both:
        held = topics.index(_topic(name)) % vaults.HELD_OUT == 0
        if not held:
            _write(vault / f"{name}.md", pages[name][0])
        rows.append(
            QueryItem(
                id=f"{queries}-{name}",
                query=asked[name][1],
                answerable=not held,
                expected_notes=() if held else (f"{name}.md",),
                language=queries,
            )
        )
    return _filled(f"help {queries} on {notes}", out, rows, share, size=size, notes=notes)


def paraphrases(
    share: Path,
    out: Path,
    size: int,
    *,
    notes: KnownLanguage,
    queries: KnownLanguage,
    odd: bool = False,
) -> vaults.Collection:
    """Return the help of programs, filled like `help_pages`, with questions in other words.

    Of what no page answers, some is about these programs and some about anything else.

    Args:
        odd: the other half of the programs.
    """
    every = [json.loads(line) for line in PARAPHRASES.read_text("utf-8").splitlines()]
    half = [asked for asked in every if vaults.odd(asked["app"] or asked["en"]) is odd]
    chosen = sorted({asked["app"] for asked in half if asked["app"]})
    vault = out / "notes"
    shutil.rmtree(vault, ignore_errors=True)
    for program in chosen:
        for name, (page, _) in _pages(share, notes, program).items():
            _write(vault / program / f"{name}.md", page)
    rows = [
        QueryItem(
            id=f"{queries}-{place}",
            query=asked[queries],
            answerable=bool(asked["pages"]),
            expected_notes=tuple(f"{asked['app']}/{page}.md" for page in asked["pages"]),
            language=queries,
            tags=() if asked["pages"] else ("near-miss" if asked["app"] else "outside",),
        )
        for place, asked in enumerate(half)
    ]
    return _filled(f"paraphrases {queries} on {notes}", out, rows, share, size=size, notes=notes)


def _filled(
    name: str, out: Path, rows: list[QueryItem], share: Path, *, size: int, notes: KnownLanguage
) -> vaults.Collection:
    """Write the queries, and passages of Debian's guides up to `size` notes (0 for none)."""
    vault, dataset = out / "notes", out / "queries.jsonl"
    write_rows(dataset, rows)
    written = len(list(vault.rglob("*.md")))
    passages = _passages(share, notes)[: max(0, size - written)] if size else []
    for place, passage in enumerate(passages):
        _write(vault / f"guides/{place:05}.md", passage)
    return vaults.Collection(name, vault, dataset, written + len(passages))


def _described(pages: Mapping[str, _Page], language: KnownLanguage) -> dict[str, _Page]:
    """Return the pages whose describing sentence is translated."""
    read = {name: known_language(page[1]) for name, page in pages.items() if page[1]}
    languages = {language} if language == "ko" else {language, None}
    return {name: pages[name] for name, own in read.items() if own in languages}


def _pages(share: Path, language: KnownLanguage, program: str = "gnome-help") -> dict[str, _Page]:
    """Return translated pages by name."""
    folder = share / "help" / ("C" if language == "en" else language) / program
    found: dict[str, _Page] = {}
    for path in sorted(folder.glob("*.page")):
        info, _, content = path.read_text("utf-8").partition("</info>")
        about = re.search(r"<desc>(.*?)</desc>", info, re.DOTALL)
        title = re.search(r"<title>(.*?)</title>", content, re.DOTALL)
        if not title:
            continue
        blocks = re.split(r"(?=<(?:p|title|item)[ >])", content.replace(title[0], "", 1))
        text = "\n\n".join(filter(None, map(_plain, blocks)))
        if known_language(text) == language and len(text) >= _SHORTEST:
            query = _plain(about[1]) if about else ""
            found[path.stem] = vaults.Document(_plain(title[1]), text), query
    return found


def _topic(page: str) -> str:
    """Return the topic of a page: pages on one topic begin alike, such as "power-suspend" and "power-lowpower"."""
    return page.split("-", 1)[0]


def _passages(share: Path, language: KnownLanguage) -> list[vaults.Document]:
    """Return passages of Debian's guides in an order by hash."""
    found: dict[str, vaults.Document] = {}
    doc = share / "doc"
    for folder in (
        doc / "debian-handbook/html" / LOCALES[language],
        doc / "installation-guide-amd64" / language,
    ):
        for path in sorted(folder.rglob("*.html")):
            page = path.read_text("utf-8", errors="replace")
            shown = re.sub(r"<(script|style|head)\b.*?</\1>", "", page, flags=re.DOTALL)
            text = ""
            for block in re.split(r"</(?:p|pre|li|h\d)>", shown):
                text += _plain(block) + "\n\n"
                if len(text) >= _ENOUGH[language]:
                    if known_language(text) == language:
                        found.setdefault(text, vaults.Document(path.stem, text))
                    text = ""
    return sorted(found.values(), key=lambda passage: _order(passage.text))


def _write(path: Path, note: vaults.Document) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"# {note.title}\n\n{note.text}\n", "utf-8")


def _plain(markup: str) -> str:
    return " ".join(html.unescape(re.sub(r"<[^>]+>", " ", markup)).split())


def _order(text: str) -> bytes:
    return hashlib.sha256(text.encode()).digest()


if __name__ == "__main__":
    main()
