r"""Compare the forecast of the free judges' errors (gigamind/tasks/search/free_judges.py) with what then happens.

    .venv/bin/python benchmarks/judge_forecast.py gimp-ko=/usr/share/gimp/2.0/help/ko=ko xquad=/data/xquad

Each manual is a folder of HTML, Mallard or Markdown pages; `=ko` keeps pages with Korean text only.  168 pages with the
lowest hashes take part: one half is the vault, and the headings of the other half, apart from those that it has itself,
are the questions that it cannot answer (near misses, as the pages are of one manual).  The false refusals are those of
the same headings in a vault of all pages that lacks the headings alone.
`=ko=168` takes the next 168 pages.  The first ones of GNOME, GIMP and LibreOffice chose that the folds keep the
headings of their notes: without these, the forecast FAR was up to .22 too low.  The next ones, and the other manuals,
only measure.
`xquad=FOLDER` takes XQuAD English instead (vaults.py): questions by people, a fourth of the articles left out.
The numbers of folds, questions and words were chosen elsewhere.
"""

import argparse
import hashlib
import sys
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import vaults

from gigamind.evaluation.progress import Quiet
from gigamind.retrieval.cache import quiet
from gigamind.retrieval.prepare import open_retriever
from gigamind.tasks.options import SearchEvalOptions
from gigamind.tasks.search import free_judges as judging
from gigamind.tasks.search.free_judges import FreeJudges
from gigamind.tasks.search.prepare import choose_judge
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Note, Vault

PAGES = 168
_SETTINGS = {
    "keyword": {"mode": "keyword"},
    "weighted": {"mode": "hybrid"},  # differs from balanced in the threshold's figures only
    "balanced": {"mode": "hybrid", "fusion": "balanced"},
}
_SKIPPED = {"script", "style", "header", "footer", "aside", "nav", "info"}
_BLOCKS = {"p", "li", "item", "td", "th", "dt", "dd", "pre", "screen", "code", "title"}


class Page(HTMLParser):
    """Read headings, paragraphs, lists and code of one page of a manual as Markdown."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []
        self._open: list[str] = []
        self._head = ""

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        """Open a block."""
        if tag in {"meta", "link", "img", "br", "hr", "input", "base", "col"}:
            return
        kind = dict(attrs).get("class") or ""
        self._open.append("nav" if "nav" in kind else tag)
        if tag == "title" or tag in {"h1", "h2", "h3", "h4", "h5", "h6"}:
            depth = 1 + self._open.count("section") if tag == "title" else int(tag[1])
            self._head = "#" * depth + " "
            self.lines.append(self._head)
        elif tag in _BLOCKS:
            self._head = ""
            self.lines.append("")

    def handle_endtag(self, tag: str) -> None:
        """Close a block, and what was left open in it."""
        if any(name in {tag, "nav"} for name in self._open):
            while self._open and self._open.pop() not in {tag, "nav"}:
                pass

    def handle_data(self, data: str) -> None:
        """Add text to the block."""
        if self.lines and not _SKIPPED.intersection(self._open):
            self.lines[-1] += " ".join(data.split()) + " " if data.strip() else ""


def manual(folder: Path, out: Path, language: str, skip: int = 0) -> tuple[Path, Path]:
    """Write the vault and the pages that it lacks, and return both folders."""
    pages: dict[str, str] = {}
    for file in sorted(p for p in folder.rglob("*") if p.suffix in {".html", ".page", ".md"}):
        text = file.read_text("utf-8", errors="replace")
        if file.suffix != ".md":
            page = Page()
            page.feed(text)
            text = "\n\n".join(line.strip() for line in page.lines if line.strip("# "))
        hangul = sum("가" <= char <= "힣" for char in text)
        if len(text) > 600 and (language != "ko" or hangul > len(text) / 5):
            pages[str(file.relative_to(folder).with_suffix(".md"))] = text
    ordered = sorted(pages, key=lambda name: hashlib.sha256(name.encode()).digest())
    chosen = ordered[skip : skip + PAGES]
    for place, name in enumerate(chosen):
        path = out / ("left" if place < len(chosen) // 2 else "vault") / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(pages[name] + "\n", "utf-8")
    return out / "vault", out / "left"


def headings(notes: Sequence[Note]) -> list[str]:
    """Return the headings that a forecast may ask."""
    return [cut[2] for note in notes for cut in judging._headings(note)]  # noqa: SLF001


def truth(
    options: SearchEvalOptions, notes: Sequence[Note], queries: Sequence[str], cache: Path
) -> Iterator[tuple[str, float]]:
    """Yield the share of the queries that each judge accepts."""
    settings = replace(options.retrieval, cache=cache)
    accepted: dict[str, int] = {}
    with open_retriever(
        Vault(Path(), tuple(notes), ()), Identities(notes), settings, quiet, keeps_index=False
    ) as engine:
        judges = FreeJudges.of(choose_judge(options), engine)
        for query in queries:
            for kind, one in judges.verdicts(query, engine.search(query)).items():
                accepted[kind] = accepted.get(kind, 0) + (not one.unanswerable)
    for kind, count in accepted.items():
        yield kind, count / max(1, len(queries))


def main() -> None:
    """Print a row per vault, mode and judge."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("vaults", nargs="+", metavar="NAME=FOLDER[=ko|=[=SKIP]]")
    parser.add_argument("--modes", nargs="+", choices=_SETTINGS, default=[*_SETTINGS])
    chosen = parser.parse_args()
    for given in chosen.vaults:
        name, folder, language, skip = (*given.split("="), "", "")[:4]
        with tempfile.TemporaryDirectory() as place:
            compare(name, Path(folder), (language, int(skip or 0)), Path(place), chosen.modes)


def compare(
    name: str, folder: Path, part: tuple[str, int], place: Path, modes: Sequence[str]
) -> None:
    """Print the rows of one vault."""
    if name.startswith("xquad"):
        made = vaults.xquad(folder, place, 0)
        notes = Vault.read(made.notes).notes
        strange = [q.query for q in made.queries if not q.answerable]
        known, whole = [q.query for q in made.queries if q.answerable], notes
    else:
        vault, left = manual(folder, place, *part)
        notes = Vault.read(vault).notes
        more = Vault.read(left).notes
        own = set(headings(notes))
        strange = known = [text for text in headings(more) if text not in own]
        whole = sorted((*notes, *more), key=lambda note: note.path)
        whole, _probes = judging._masked(whole, judging._headings)  # noqa: SLF001
    for mode in modes:
        values = {"dataset": "x", "notes": folder, **_SETTINGS[mode]}
        options = SearchEvalOptions.model_validate(values)
        settings = replace(options.retrieval, cache=place / "cache")
        made = judging.forecast(Vault(Path(), notes, ()), settings, choose_judge(options), Quiet())
        if made is None:
            print(f"{name}: {len(notes)} notes have too few headings and sentences")
            return
        far = dict(truth(options, notes, strange, place / "cache"))
        right = dict(truth(options, whole, known, place / "cache"))
        for judge in made.judges:
            kinds = (judge.near_misses, judge.strangers, judge.refused)
            shares = (f"{rate.count / rate.n:.3f}" if rate else "–" for rate in kinds)
            print(
                f"{name} | {made.probes} {len(notes)} {len(strange)} | {mode} | {judge.kind} |",
                " | ".join(shares),
                f"| {far[judge.kind]:.3f} | {1 - right[judge.kind]:.3f} | {made.runtime_ms / 1000:.0f}",
                flush=True,
            )


if __name__ == "__main__":
    sys.exit(main())
