"""Links without a common word: what a phrase means is told by names and beginnings of notes."""

from collections.abc import Sequence
from random import Random

import numpy as np
import pytest

from gigamind.linking.features import MeantFeatures
from gigamind.linking.meaning import _MEANT, Meanings, _beginning
from gigamind.linking.suggest import LinkSuggester, SuggestOptions
from gigamind.retrieval.embedders import load_embedder, load_short_embedder
from gigamind.vault.identity import Identities

WORDS = ("rain", "wind", "snow")


class Counting:
    """An embedder whose vector counts three words; it keeps what it was given."""

    name = "counting"

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_passages(self, texts: Sequence[str]):
        self.texts += texts
        rows = [[float(text.lower().count(word)) for word in WORDS] + [0.01] for text in texts]
        vectors = np.array(rows, dtype=np.float32)
        return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)

    def embed_query(self, text: str):
        return self.embed_passages([text])[0]


@pytest.fixture
def meanings_of(vault_of):
    def build(notes, names, embedder=None, cache=None) -> Meanings:
        return Meanings(vault_of(notes).notes, names, embedder or Counting(), cache)

    return build


def test_a_phrase_means_the_note_whose_name_or_beginning_is_nearest(meanings_of):
    notes = {"a.md": "Of wind.", "b.md": "Other.", "c.md": "# Other\n\nAbout *snow*."}
    meanings = meanings_of(notes, {"a.md": ("a", "rain"), "b.md": ("b",), "c.md": ("c",)})
    rain, snow = meanings.nearest("the rain"), meanings.nearest("snow")
    assert rain[0].note == "a.md"
    assert (rain[0].name, rain[0].passage) == ("rain", "rain")
    assert rain[0].cosine == rain[0].name_cosine == pytest.approx(1, abs=1e-3)
    assert (snow[0].note, snow[0].passage) == ("c.md", "c. About snow.")


def test_what_is_nearly_as_near_as_the_nearest_is_meant_too_and_each_leads_by_what_the_next_lacks(
    meanings_of,
):
    notes = {f"{name}.md": f"# {name}\n" for name in ("rain", "rain wind rain", "wind rain")}
    names = {path: (path.removesuffix(".md"),) for path in notes}
    # As nothing but a title stands in them, both cosines are equal: 1, 2/√5 and 1/√2, whose sum is 0.59 from the first.
    first, second = meanings_of(notes, names).nearest("rain")
    assert (first.note, second.note) == ("rain.md", "rain wind rain.md")
    assert first.lead == pytest.approx(2 * (1 - 0.8**0.5), abs=1e-3)
    assert second.lead == pytest.approx(2 * (0.8**0.5 - 0.5**0.5), abs=1e-3)


def test_of_many_notes_the_nearest_come_and_equal_ones_in_the_order_of_the_vault(meanings_of):
    notes = {f"{number:02}.md": "rain" for number in range(20)}
    names = {path: ("rain" if path >= "10.md" else "wind",) for path in notes}
    found = meanings_of(notes, names).nearest("rain")
    assert [one.note for one in found] == [f"{number}.md" for number in range(10, 10 + _MEANT)]


def test_the_beginning_is_the_first_paragraph_of_prose_without_marks(vault_of):
    text = "---\ntitle: T\n---\n# Head\n\n```\ncode\n```\n\n**Bold** [words](x.md) [[here]]\nof two lines\n"
    vault = vault_of({"a.md": text, "b.md": "# Only\n"})
    assert _beginning(vault.note("a.md")) == "T. Bold words here of two lines"
    assert _beginning(vault.note("b.md")) == "b"


def test_phrases_are_embedded_once_and_kept_in_the_cache(meanings_of, tmp_path):
    first, again = Counting(), Counting()
    for embedder in (first, again):
        meanings = meanings_of({"a.md": "x."}, {"a.md": ("a",)}, embedder, tmp_path / "e.sqlite")
        meanings.prepare(["rain", "rain", "wind"])
        meanings.nearest("rain")
    assert sorted(first.texts) == ["a", "a. x.", "rain", "wind"]
    assert again.texts == []


SEED_EXAMPLE = {
    "projects/gigamind.md": (
        "# GigaMind\n\n우리 팀의 RAG 시스템은 벡터 검색으로 문서를 찾는다.\n\n앞으로 지식 그래프를 붙인다.\n"
    ),
    "RAG 아키텍처.md": "# RAG 아키텍처\n\n검색 증강 생성 시스템을 이루는 부분과 그 사이의 흐름.\n",
    "LanceDB 통합.md": "# LanceDB 통합\n\n임베딩 벡터를 저장하고 가까운 것을 검색하는 데이터베이스를 붙였다.\n",
    "Knowledge Graph 설계.md": "# Knowledge Graph 설계\n\nHow entities and relations of notes are stored.\n",
    "휴게실.md": "# 휴게실\n\n커피와 간식은 매주 월요일에 채운다.\n",
    "회의록.md": "# 회의록\n\n3월 첫째 주에 나눈 이야기.\n",
}


@pytest.fixture(scope="module")
def embedder():
    return load_short_embedder("use-multilingual")


def suggested(vault, path: str, embedder, options: SuggestOptions | None = None):
    suggester = LinkSuggester(vault, Identities(vault.notes), embedder)
    return suggester.suggest(vault.note(path), options or SuggestOptions())


def test_the_example_of_the_seed_gives_its_three_links(vault_of, embedder):
    found = suggested(vault_of(SEED_EXAMPLE), "projects/gigamind.md", embedder)
    assert {(one.anchor, one.target) for one in found} >= {
        ("RAG 시스템", "RAG 아키텍처.md"),
        ("벡터 검색", "LanceDB 통합.md"),
        ("지식 그래프", "Knowledge Graph 설계.md"),
    }
    assert {one.anchor for one in found if one.confidence >= 0.5} == {"RAG 시스템", "지식 그래프"}


def ordinary(count: int, seed: int) -> dict[str, str]:
    """Notes about rooms, tools and dates, which link the titles of others."""
    chosen = Random(seed)
    kinds = ("점검 기록", "사용 안내", "Checklist", "구매 목록", "Review notes", "교육 자료")
    titles = [f"{kinds[number % len(kinds)]} {number}" for number in range(count)]
    notes = {}
    for title in titles:
        others = chosen.sample([other for other in titles if other != title], 3)
        linked = ". ".join(f"[[{other}]]에서 확인한다" for other in others[:2])
        notes[f"notes/{title}.md"] = (
            f"# {title}\n\n담당자는 매주 창고의 의자와 전등을 살핀다. {linked}.\n\n"
            f"The team meets in room {len(title)} and buys paper, see {others[2]}.\n"
        )
    return notes


@pytest.mark.parametrize(("count", "seed"), [(14, 1), (94, 1)])
def test_links_on_titles_say_nothing_about_phrases(vault_of, embedder, count, seed):
    vault = vault_of({**SEED_EXAMPLE, **ordinary(count, seed)})
    options = SuggestOptions(max_suggestions=10, min_confidence=0.5)
    suggester = LinkSuggester(vault, Identities(vault.notes), embedder)
    found = suggester.suggest(vault.note("projects/gigamind.md"), options)
    assert {(one.anchor, one.target) for one in found} >= {
        ("RAG 시스템", "RAG 아키텍처.md"),
        ("지식 그래프", "Knowledge Graph 설계.md"),
    }
    assert (
        suggester.habits.calibration.suggestions >= 10 > suggester.habits.calibration.phrase_links
    )


@pytest.mark.parametrize(
    "text",
    ["`{}`", "\n\n```\n{}\n```\n\n", "\n\n| Option | Effect |\n|---|---|\n| `--all` | {} |", "보기 > {} > 전체"],
)  # fmt: skip
def test_no_phrase_is_linked_where_no_sentence_is(vault_of, embedder, text):
    note = SEED_EXAMPLE["projects/gigamind.md"].replace("지식 그래프를", text.format("지식 그래프"))
    found = suggested(
        vault_of({**SEED_EXAMPLE, "projects/gigamind.md": note}), "projects/gigamind.md", embedder
    )
    assert "Knowledge Graph 설계.md" not in [one.target for one in found]


def test_a_link_without_a_common_word_says_by_which_passage(vault_of, embedder):
    notes = {
        "Paid time off.md": "Being away from work is approved by the team lead.",
        "Security audit.md": "Access to servers is reviewed each quarter.",
        "t.md": "Everybody gets twenty vacation days.",
    }
    first, *_ = suggested(vault_of(notes), "t.md", embedder)
    assert (first.anchor, first.target) == ("vacation days", "Paid time off.md")
    assert isinstance(first.features, MeantFeatures)
    assert first.features.overlap == 0
    assert first.features.passage[:20] in first.reason


def test_vectors_in_batches_are_those_one_by_one(embedder):
    texts = ["휴가 정책", "a", "the vacation policy of the team", "x" * 300]
    alone = load_embedder("use-multilingual").embed_passages(texts)
    np.testing.assert_allclose(embedder.embed_passages(texts), alone, atol=1e-5)
