"""Writes docs/conformance.md."""

from demands.model import TESTS
from demands.page import page
from demands.table import SECTIONS

(TESTS.parent / "docs" / "conformance.md").write_text(page(SECTIONS), "utf-8")
