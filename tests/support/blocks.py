"""Blocks of documents, for assertions."""

import html
import re

from gigamind.i18n import translator
from gigamind.reports.document import Section
from gigamind.reports.html import render_html

HOSTILE = "</script><script>window.pwned=1</script><!-- <img src=x onerror=pwned()> & \"' a|b `x` ```\n# h \u202e"


def section(document, name):
    """The section with that id."""
    return next(b for b in document.blocks if isinstance(b, Section) and b.id == name)


def find(blocks, kind):
    """The first block of a type, also in sections; None if there is none."""
    for block in blocks:
        inner = find(block.blocks, kind) if isinstance(block, Section) else None
        if isinstance(block, kind) or inner:
            return inner or block
    return None


def harmless(document, lang):
    """The HTML of a document that shows HOSTILE: in its language, without foreign markup, loading nothing."""
    page = render_html(document, translator(lang))
    assert f'<html lang="{lang}">' in page
    assert page.count("<script") == 2  # data and code of the page
    assert page.count("</style>") == 1
    assert "<img" not in page
    assert "<!--" not in page.removeprefix("<!doctype html>")
    assert "\u202e" not in page.partition("<script")[0]
    assert "default-src 'none'; script-src 'sha256-" in html.unescape(page)
    addresses = re.findall(r'(?:src|href)="([^"]*)"', page)
    assert all(address.startswith(("#", "data:")) for address in addresses)
    return page
