"""The site of the docs (`make docs`): the Markdown of the repository as it stands, read from its root."""

import re
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

ROOT = Path(__file__).parents[1]

project = "gigamind"
extensions = ["myst_parser"]
root_doc = "README"
source_suffix = {".md": "markdown"}
include_patterns = [
    "*.md",
    "docs/*.md",
    "benchmarks/*.md",
    "deployments/*.md",
    "examples/README.md",
    "judges/README.md",
    "judges/trials/README.md",
    "schemas/README.md",
    "systems/README.md",
]
myst_heading_anchors = 6  # as GitHub makes them, so that a link works there and here
smartquotes = False  # `--` is an option, not a dash
html_theme = "furo"
html_title = "gigamind"
html_copy_source = False
html_show_sphinx = False
html_show_copyright = False
html_additional_pages = {"index": "index.html"}  # the site begins at README.html
templates_path = ["site"]
html_static_path = ["site/static"]
html_css_files = ["site.css"]
KOREAN = ".ko"  # how names of Korean pages end
GENERATED = {  # what the site adds to pages, from files that `make generated` writes
    "docs/reference": "docs/generated/commands.md",
    f"docs/reference{KOREAN}": f"docs/generated/commands{KOREAN}.md",
    "schemas/README": "schemas/index.md",
}


def pages_by_reader(index: str) -> dict[str, list[str]]:
    """Each reader of the table of an index, with the pages for them that are in its language."""
    pages: dict[str, list[str]] = {}
    reader = ""
    for line in (ROOT / index).read_text("utf-8").splitlines():
        row = re.match(r"\| (?:\*\*(.+)\*\*)? ?\| (\[.*?) \|", line)
        if row is None:
            continue
        reader = row[1] or reader
        for name in re.findall(r"\((.+?)\.md\)", row[2]):
            page = (ROOT / "docs" / name).resolve().relative_to(ROOT).as_posix()
            if page.endswith(KOREAN) == index.endswith(f"{KOREAN}.md"):
                pages.setdefault(reader, []).append(page)
    return pages


def add_contents(app: Sphinx, name: str, source: list[str]) -> None:
    """Give the first page, in memory alone, the contents that the sidebar shows: on GitHub a table serves better."""
    if name != root_doc:
        return
    by_reader = pages_by_reader("docs/README.md")
    in_korean = pages_by_reader(f"docs/README{KOREAN}.md").values()
    korean = [f"docs/README{KOREAN}", *(page for pages in in_korean for page in pages)]
    contents = {"한국어": [f"소개 <README{KOREAN}>", *korean], **by_reader}
    shown = {root_doc, f"README{KOREAN}", *korean}
    shown.update(page for pages in by_reader.values() for page in pages)
    contents["the project"] = sorted(app.project.docnames - shown)
    for caption, pages in contents.items():
        lines = ["", "```{toctree}", ":hidden:", f":caption: {caption}", "", *pages, "```", ""]
        source[0] += "\n".join(lines)


def add_generated(_app: Sphinx, name: str, source: list[str]) -> None:
    """Append what is generated from the code, in memory alone, as git ignores it."""
    if name in GENERATED:
        source[0] += f"\n{(ROOT / GENERATED[name]).read_text('utf-8')}"


def set_language(
    _app: Sphinx,
    page: str,
    _template: str,
    context: dict[str, object],
    _tree: nodes.document | None,
) -> None:
    """Tell browsers and readers of screens which pages are Korean."""
    if page.endswith(KOREAN):
        context["language"] = "ko"


def setup(app: Sphinx) -> None:
    """Tell Sphinx of the functions above."""
    app.connect("source-read", add_contents)
    app.connect("source-read", add_generated)
    app.connect("html-page-context", set_language)
