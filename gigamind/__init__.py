"""Evaluates retrieval, answers, evidence and links over a local Markdown vault."""

from gigamind.version import __version__ as __version__
