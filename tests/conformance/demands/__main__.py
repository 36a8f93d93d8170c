"""Writes the counts of docs/conformance.md."""

from demands.page import PAGE, counted
from demands.table import SECTIONS

PAGE.write_text(counted(PAGE.read_text("utf-8"), SECTIONS), "utf-8")
