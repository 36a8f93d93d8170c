"""Compiled templates of the page."""

import sys

from jinja2 import Environment

from gigamind.reports import html


def test_compiled_templates_are_kept_where_and_if_compiled_modules_are(tmp_path, monkeypatch):
    monkeypatch.setattr(html, "__file__", str(tmp_path / "html.py"))
    folder = tmp_path / "__pycache__"
    html._environment.__wrapped__().get_template("page.html.jinja")
    assert not folder.exists()
    folder.mkdir()
    for is_off, kept in ((True, 0), (False, 1)):
        monkeypatch.setattr(sys, "dont_write_bytecode", is_off)
        html._environment.__wrapped__().get_template("page.html.jinja")
        assert len(list(folder.iterdir())) == kept
    monkeypatch.setattr(Environment, "_compile", None)
    html._environment.__wrapped__().get_template("page.html.jinja")
