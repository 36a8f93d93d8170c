import math

import pytest

from gigamind.interop.ranking import RankedNote, Ranking
from gigamind.systems.protocol import settle
from gigamind.vault.identity import Found

A, B, C = (RankedNote(name, score) for name, score in (("a.md", 0.9), ("b.md", 0.5), ("c.md", 0.1)))


def settled(*hits, topk=3, known=("a.md", "b.md", "c.md"), **told):
    return settle(Ranking(hits, told), topk, lambda name: Found(name) if name in known else None)


def test_a_ranking_without_fault_is_left_as_it_is():
    assert settled(A, B, C) == Ranking((A, B, C), {})


@pytest.mark.parametrize(
    ("hits", "oddity"),
    [
        ((A, B, A, C), "repeated_notes"), ((A, RankedNote("gone.md", 0.6), B), "unknown_notes"),
        ((A, RankedNote("b.md", math.nan), C), "bad_scores"),
        ((A, RankedNote("b.md", -math.inf), C), "bad_scores"), ((B, A, C), "rising_scores"),
        ((A, RankedNote("b.md", 0.9), C), "tied_scores"), ((A, B), "fewer_hits"),
    ],
)  # fmt: skip
def test_each_oddity_is_counted(hits, oddity):
    assert settled(*hits).oddities == {oddity: 1}


def test_what_the_system_itself_told_is_kept():
    assert settled(A, B, C, asked_again=2).oddities == {"asked_again": 2}


def test_the_first_place_of_a_note_counts_and_an_unknown_one_keeps_its_place():
    hits = settled(A, RankedNote("gone.md"), A, B, topk=3).hits
    assert [hit.note for hit in hits] == ["a.md", "gone.md", "b.md"]


def test_what_stands_behind_the_ranking_is_not_looked_at():
    assert settled(A, B, A, RankedNote("gone.md"), topk=2) == Ranking((A, B), {})


def test_names_of_one_note_are_one_note():
    ranking = settle(Ranking((RankedNote("A"), RankedNote("a.md"))), 2, lambda _: Found("a.md"))
    assert ranking == Ranking((RankedNote("a.md"),), {"repeated_notes": 1, "fewer_hits": 1})


def test_a_name_that_only_folds_to_a_note_is_counted_and_kept():
    ranking = settle(Ranking((RankedNote("A B"),)), 1, lambda _: Found("a-b.md", is_folded=True))
    assert ranking == Ranking((RankedNote("a-b.md", written="A B"),), {"folded_names": 1})
