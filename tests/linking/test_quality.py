"""The quality bar of suggestions over the example vault, on seeds that no weight was fitted on."""

import sys
from collections import defaultdict
from pathlib import Path

import pytest

from gigamind.datasets.generate_links import generate_links
from gigamind.linking.suggest import LEAST_CONFIDENCE, LinkSuggester, SuggestOptions
from gigamind.metrics.links import LinkedNote, Suggested, reliability, summarise_links
from gigamind.retrieval.cache import Cache
from gigamind.retrieval.embedders import load_short_embedder
from gigamind.retrieval.settings import DEFAULT_EMBEDDER
from gigamind.stats.agreement import expected_calibration_error
from gigamind.vault.identity import Identities
from gigamind.vault.language import note_language
from gigamind.vault.notes import Vault

pytestmark = pytest.mark.whole
EXAMPLES = Path(__file__).parents[2] / "examples" / "vault"
SEEDS = range(42, 50)
EVERY = SuggestOptions(sys.maxsize, min_confidence=0.0, exclude_existing=False, unlikely=True)


@pytest.fixture(scope="module")
def measured(tmp_path_factory):
    """The notes of each language that lost links, with the first five that are suggested in them, and of names alone.

    Removed links say whether a name is right; whether a reader accepts a phrase, they do not.
    """
    found = defaultdict[str, list[LinkedNote]](list)
    embedder, cache = load_short_embedder(DEFAULT_EMBEDDER), Cache(tmp_path_factory.mktemp("cache"))
    for seed in SEEDS:
        folder = tmp_path_factory.mktemp("seed")
        made = generate_links(EXAMPLES, folder / "notes", folder / "links.jsonl", seed=seed)
        vault = Vault.read(folder / "notes")
        suggester = LinkSuggester(vault, Identities(vault.notes), embedder, cache)
        for note in vault.notes:
            rows = [row for row in made.rows if row.source_note == note.path]
            if rows:
                every = suggester.suggest(note, EVERY)
                shown = [one for one in every if one.confidence >= LEAST_CONFIDENCE]
                targets = dict.fromkeys(frozenset(row.expected_links) for row in rows)
                language = note_language(note)
                names, unlikely = (
                    [one for one in some if not one.is_phrase] for some in (shown, every)
                )
                kinds = {"": shown, ", names": names, ", all": unlikely}
                for kind, some in kinds.items():
                    five = tuple(
                        Suggested(one.target, one.confidence, None, is_novel=True, accepted=None)
                        for one in some[:5]
                    )
                    path = f"{seed} {note.path}"
                    found[f"{language}{kind}"].append(
                        LinkedNote(path, language, five, (), tuple(targets))
                    )
    return found


def recall(notes):
    value = summarise_links(notes, 5, seed=42)["recall_at_5"].value
    assert value is not None
    return value


# Of one language alone a bin holds few suggestions, which are off by chance.
@pytest.mark.parametrize(
    ("languages", "most"), [(("ko", "en"), 0.07), (("ko",), 0.13), (("en",), 0.125)]
)
def test_a_confidence_is_about_the_share_that_is_right(measured, languages, most):
    notes = [note for language in languages for note in measured[f"{language}, names"]]
    error = expected_calibration_error(reliability(notes))
    assert error is not None
    assert error <= most


def test_removed_links_are_suggested_again_in_both_languages_alike(measured):
    korean, english = recall(measured["ko"]), recall(measured["en"])
    assert korean >= 0.78
    assert english >= 0.87
    assert min(korean, english) / max(korean, english) >= 0.88


@pytest.mark.parametrize("language", ["ko", "en"])
def test_what_the_default_floor_leaves_out_is_mostly_wrong_and_what_it_shows_mostly_right(
    measured, language
):
    shown_from = SuggestOptions().min_confidence
    bins = reliability(measured[f"{language}, all"])
    below = [one for one in bins if one.high <= shown_from]
    above = [one for one in bins if one.low >= shown_from]
    assert sum(one.outcome.n * one.outcome.value for one in below) <= 0.3 * sum(
        one.outcome.n for one in below
    )
    assert sum(one.outcome.n * one.outcome.value for one in above) >= 0.75 * sum(
        one.outcome.n for one in above
    )
