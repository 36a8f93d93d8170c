"""What of a text that a Korean reader is shown is English."""

import html
import json
import re

HANGUL = re.compile("[가-힣]")
# Four words in a row are a sentence; names of files, options and fields have other signs in them.
SENTENCE = re.compile(r"(?<![\w./@-])[A-Za-z][a-z]*(?:[ ,;:]+[a-z]+){3,}(?![\w/@=])")


def english(text: str) -> list[str]:
    """Return the English sentences in a text; lists of names and commands are none."""
    text = re.sub(r"gigamind(?: [a-z]+)+", "", text)
    return [found for found in SENTENCE.findall(text) if re.search("[a-z] [a-z]", found)]


def shown(page: str) -> str:
    """The texts of a page of HTML, those that its script shows among them."""
    data = re.search(r'<script[^>]*type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)
    table = json.loads(data[1])["words"].values() if data else ()
    words = [form for text in table for form in ([text] if isinstance(text, str) else text)]
    visible = re.sub(r"(?s)<(script|style)\b.*?</\1>", "\n", page)
    return "\n".join([html.unescape(re.sub(r"<[^>]+>", "\n", visible)), *words])
