from collections.abc import Sequence

import numpy as np
import pytest

from gigamind.linking.relatedness import Relatedness
from gigamind.linking.suggest import LinkSuggester, SuggestOptions
from gigamind.spans import Span
from gigamind.vault.identity import Identities


class Counting:
    """An embedder whose vector has 1 for rain, 1 for wind, 1 for anything; it keeps what it was given."""

    name = "counting"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_passages(self, texts: Sequence[str]):
        self.texts += texts
        rows = [[("rain" in text) * 1.0, ("wind" in text) * 1.0, 0.01] for text in texts]
        vectors = np.array(rows, dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str):
        return self.embed_passages([text])[0]


NOTES = {
    "sky.md": "---\nlang: en\n---\nAbout rain.",
    "sea.md": "About wind.",
    "t.md": "Rain first: rain over here.\n\nThe sky and the sea.",
}


def test_the_paragraph_is_compared_with_the_beginning_of_the_note(vault_of):
    vault = vault_of(NOTES)
    embedder = Counting()
    note = vault.note("t.md")
    places = [(Span(0, 4), "sky.md"), (Span(0, 4), "sea.md")]
    near, far = Relatedness(vault, embedder, None).cosines(note, places)
    assert near == pytest.approx(1, abs=0.001)
    assert far == pytest.approx(0, abs=0.001)
    assert embedder.texts == [
        "Rain first: rain over here.",
        "sky. About rain.",
        "sea. About wind.",
    ]


def test_a_long_paragraph_is_cut_around_the_anchor_and_a_long_note_at_its_beginning(vault_of):
    vault = vault_of({"long.md": "x" * 500, "t.md": "a" * 300 + "rain" + "b" * 300})
    embedder = Counting()
    Relatedness(vault, embedder, None).cosines(vault.note("t.md"), [(Span(300, 304), "long.md")])
    assert embedder.texts == ["a" * 200 + "rain" + "b" * 200, "long. " + "x" * 400]


def test_nothing_is_embedded_where_nothing_is_named(vault_of):
    vault = vault_of(NOTES)
    embedder = Counting()
    assert Relatedness(vault, embedder, None).cosines(vault.note("sky.md"), []) == []
    assert embedder.texts == []


def test_vectors_are_kept_in_the_cache(vault_of, tmp_path):
    vault = vault_of(NOTES)
    places = [(Span(0, 4), "sky.md")]
    first, again = Counting(), Counting()
    for embedder in (first, again):
        Relatedness(vault, embedder, tmp_path / "e.sqlite").cosines(vault.note("t.md"), places)
    assert len(first.texts) == 2
    assert again.texts == []


def test_suggestions_carry_the_cosine_and_say_so_where_it_is_high(vault_of):
    vault = vault_of({
        "storm.md": "All about rain and wind.",
        "calm.md": "Still.",
        "t.md": "The storm brings rain and wind.\n\nThe calm is here.",
    })  # fmt: skip
    related = Relatedness(vault, Counting(), None)
    suggester = LinkSuggester(vault, Identities(vault.notes), related)
    made = suggester.suggest(vault.note("t.md"), SuggestOptions(min_confidence=0.0))
    by_target = {one.target: one for one in made}
    assert by_target["storm.md"].features.cosine == pytest.approx(1, abs=0.001)
    assert by_target["storm.md"].reason.endswith("paragraph and note are close (cosine 1.00)")
    assert by_target["storm.md"].confidence > 0
    assert {"storm.md", "calm.md"} == set(by_target)
