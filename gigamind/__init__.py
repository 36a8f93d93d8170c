"""Evaluates retrieval, answers, evidence and links over a local Markdown vault."""

__version__ = "0.1.0"
