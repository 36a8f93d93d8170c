import hashlib
import math
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from fit_calibration import Labelled, auc, label
from fitted_on import collection
from hypothesis import given
from hypothesis import strategies as st

from gigamind.assets import asset
from gigamind.datasets.check import CheckedQuery, check_queries
from gigamind.datasets.jsonl import read_queries
from gigamind.errors import InputError
from gigamind.judges.load import write_judge_file
from gigamind.judges.unanswerable import (
    CalibratedJudge,
    CalibratedJudgeFile,
    FreeVerdict,
    _Coefficient,
    _KeywordCalibration,
    _VectorCalibration,
)
from gigamind.retrieval.hit import Signals
from gigamind.retrieval.prepare import open_retriever
from gigamind.retrieval.settings import RetrievalSettings
from gigamind.retrieval.signals import signals_of
from gigamind.vault.identity import Identities
from gigamind.vault.notes import Vault

SHIPPED = asset("judges") / "unanswerable_calibrated.toml"

# What the examples' vault says nothing of, five questions each.
ELSEWHERE = {
    "ko": (
        "광합성은 식물의 어느 부분에서 일어나?", "월드컵에서 우승을 가장 많이 한 나라는?",
        "피아노 건반은 모두 몇 개야?", "고래는 왜 포유류로 분류되나요",
        "셰익스피어가 쓴 비극 네 편의 제목",
    ),
    "en": (
        "Which composer wrote the opera The Magic Flute?",
        "Who painted the ceiling of the Sistine Chapel?",
        "What is the boiling point of liquid nitrogen?",
        "How many chambers does the heart of a frog have?",
        "Why did the Roman Empire fall in the west?",
    ),
}  # fmt: skip
SIGNALS = Signals(
    matched=True, notes=100, candidates=99, cross_lingual=False, bm25_top=8.0, peak=3.0,
    note_coverage=0.5, word_coverage=0.75, cosine_top=0.6, cosine_lead=0.2, agreement=1.0,
    nearest_coverage=0.5,
)  # fmt: skip
RELIABILITY = {"queries": 40, "auc": 0.9}


def judge_file(weight: float = 2.0) -> CalibratedJudgeFile:
    """Keyword mode looks at word coverage alone, the others at the cosine alone; 99 candidates change nothing."""
    return CalibratedJudgeFile(
        kind="calibrated",
        rules=3,
        min_probability=0.5,
        embedder="ours@1",
        keyword=_KeywordCalibration(
            intercept=0.5,
            kappa=1.0,
            signals={"word_coverage": _Coefficient(mean=0.5, scale=0.5, weight=weight)},
            reliability=RELIABILITY,
        ),
        cosine=_VectorCalibration(
            intercept=0.0,
            kappa=1.0,
            signals={"cosine_top": _Coefficient(mean=0.6, scale=0.1, weight=1.0)},
            reliability=RELIABILITY,
        ),
        cross=_VectorCalibration(
            intercept=2.0,
            kappa=0.5,
            signals={"cosine_top": _Coefficient(mean=0.6, scale=0.1, weight=1.0)},
            reliability=RELIABILITY,
        ),
        fitted_on=(collection(30, "ko"),),
    )


def probability(odds: float) -> float:
    return 1 / (1 + math.exp(-odds))


@pytest.fixture
def loaded(tmp_path: Path) -> Callable[..., CalibratedJudge]:
    """The judge of a file, for a run with this embedder."""

    def load(embedder: str | None = None, /, **changes: object) -> CalibratedJudge:
        path = tmp_path / "judge.toml"
        write_judge_file(path, judge_file().model_copy(update=changes))
        return CalibratedJudge.load(path, embedder)

    return load


def test_the_log_odds_add_up_the_standardised_signals(loaded):
    verdict = loaded().verdict(SIGNALS)
    assert verdict.score == pytest.approx(probability(0.5 + 2 * (0.75 - 0.5) / 0.5))
    assert not verdict.unanswerable


@pytest.mark.parametrize(
    ("candidates", "odds"),
    # The log-odds of 99 candidates less ln of how many times as many there are.
    [(99, 1.5), (9_999, 1.5 - math.log(100)), (0, 1.5 + math.log(100))],
)
def test_the_more_notes_share_a_word_the_less_the_signals_say(loaded, candidates: int, odds: float):
    verdict = loaded().verdict(replace(SIGNALS, candidates=candidates))
    assert verdict.score == pytest.approx(probability(odds))


@pytest.mark.parametrize(("notes", "odds"), [(100, 0.0), (10_000, -math.log(100))])
@pytest.mark.parametrize("candidates", [0, 99])
def test_with_vectors_all_notes_count_however_few_share_a_word(loaded, notes, candidates, odds):
    signals = replace(SIGNALS, notes=notes, candidates=candidates)
    assert loaded("ours@1").verdict(signals).score == pytest.approx(probability(odds))


def test_across_languages_another_table_decides_and_the_verdict_says_so(loaded):
    across = replace(SIGNALS, cross_lingual=True, notes=400, candidates=3)
    verdict = loaded("ours@1").verdict(across)
    assert verdict.score == pytest.approx(probability(2.0 - 0.5 * math.log(4)))
    assert verdict.across_languages
    verdict = loaded("ours@1", cross=None).verdict(across)
    # The cosine table: 0 - ln(400 / 100).
    assert verdict.score == pytest.approx(1 / (1 + 4))
    assert verdict.across_languages


@pytest.mark.parametrize(
    ("word_coverage", "unanswerable"), [(0.375, False), (0.376, False), (0.374, True)]
)
def test_below_the_threshold_a_query_is_unanswerable(
    loaded, word_coverage: float, unanswerable: bool
):
    # 0.5 + 2 * (0.375 - 0.5) / 0.5 = 0: a probability of exactly one half.
    verdict = loaded().verdict(replace(SIGNALS, word_coverage=word_coverage))
    assert verdict.unanswerable is unanswerable


def test_what_finds_nothing_is_unanswerable_whatever_the_threshold(loaded):
    judge = loaded(min_probability=0.0)
    nothing = replace(SIGNALS, matched=False)
    assert judge.verdict(nothing) == FreeVerdict(
        unanswerable=True, score=0.0, across_languages=False
    )
    assert not judge.verdict(SIGNALS).unanswerable


@pytest.mark.parametrize(("weight", "expected"), [(1e9, 1.0), (-1e9, 0.0)])
def test_extreme_log_odds_overflow_nothing(loaded, weight: float, expected: float):
    judge = loaded(keyword=judge_file(weight).keyword)
    assert judge.verdict(SIGNALS).score == expected


def test_cosines_count_only_for_the_embedder_that_was_fitted(loaded):
    ours, other, none = (loaded(embedder) for embedder in ("ours@1", "ours@2", None))
    assert ours.verdict(SIGNALS).score == 0.5
    assert (ours.warnings, none.warnings) == ((), ())
    assert [judge.with_vectors for judge in (ours, other, none)] == [True, False, False]
    assert re.search(r"ours@1.*ours@2", other.warnings[0])
    assert len({ours.fingerprint, other.fingerprint}) == 2
    assert other.fingerprint == none.fingerprint


def test_a_file_without_cosines_says_so_to_a_run_with_vectors(loaded):
    judge = loaded("ours@1", cosine=None, cross=None, embedder=None)
    assert not judge.with_vectors
    assert judge.warnings[0].values["embedder"] == "ours@1"


def test_signals_of_keyword_mode_cannot_pass_for_cosines(loaded):
    with pytest.raises(ValueError, match="cosine_top"):
        loaded("ours@1").verdict(replace(SIGNALS, cosine_top=None))


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("min_probability = 0.5", "min_probability = 1.5", "min_probability"), ("scale = 0.5", "scale = 0", "scale"),
        ("weight = 2.0", "weight = nan", "weight"), ("word_coverage", "cosine_top", "keyword.signals.cosine_top"),
        ('kind = "calibrated"', 'kind = "llm"', "kind"), ("kappa = 1.0", "kappa = -1.0", "keyword.kappa"),
        ('embedder = "ours@1"', "", r"embedder.*\[cosine\]"),
        ("rules = 3", "", "rules"), ("rules = 3", "rules = 2", "rules"),
    ],
)  # fmt: skip
def test_a_judge_file_that_cannot_be_is_refused_by_field(tmp_path, old, new, told):
    path = tmp_path / "judge.toml"
    write_judge_file(path, judge_file())
    path.write_text(path.read_text("utf-8").replace(old, new, 1), "utf-8")
    with pytest.raises(InputError, match=told) as refused:
        CalibratedJudge.load(path, None)
    assert str(path) in str(refused.value)


_floats = st.floats(allow_nan=False, allow_infinity=False)
_texts = st.text(st.characters(exclude_categories=("Cs",)))


@given(_floats, _floats, _texts, st.lists(_texts, max_size=3))
def test_a_written_judge_file_reads_back_equal(
    tmp_path_factory, intercept, mean, dataset, languages
):
    file = judge_file()
    signals = {"peak": _Coefficient(mean=mean, scale=5e-324, weight=1e300)}
    keyword = file.keyword.model_copy(update={"intercept": intercept, "signals": signals})
    source = file.fitted_on[0] | {"dataset": dataset, "languages": languages}
    file = file.model_copy(update={"keyword": keyword, "fitted_on": (source, source)})
    path = tmp_path_factory.mktemp("judge") / "judge.toml"
    write_judge_file(path, file)
    assert CalibratedJudge.load(path, None).file == file


def held_back(query: CheckedQuery) -> bool:
    """The half of the examples that the shipped judge was not fitted on, as its file says."""
    return int(hashlib.sha256(query.item.id.encode()).hexdigest(), 16) % 2 == 1


@pytest.fixture(scope="module", params=["hybrid", "keyword"])
def judged(
    request: pytest.FixtureRequest, examples_cache: Path
) -> dict[str, tuple[list[Labelled], list[FreeVerdict], list[FreeVerdict]]]:
    """By language: rows of the held-back examples, their verdicts, and those on questions of elsewhere."""
    vault = Vault.read(asset("examples") / "vault")
    identities = Identities(vault.notes)
    dataset = read_queries(asset("examples") / "queries.jsonl")
    queries = [q for q in check_queries(dataset, vault, identities).usable if held_back(q)]
    settings = RetrievalSettings(mode=request.param, cache=examples_cache)
    found = {}
    with open_retriever(vault, identities, settings, lambda *_: None) as retriever:
        leg = retriever.semantic
        judge = CalibratedJudge.load(SHIPPED, leg.embedder.name if leg else None)
        assert not judge.warnings
        for language, questions in ELSEWHERE.items():
            own = [q for q in queries if q.item.answerable and q.item.language == language]
            rows = label(retriever, own, leave_out=True)
            verdicts = [judge.verdict(row.signals) for row in rows]
            away = [judge.verdict(signals_of(retriever, q)) for q in questions]
            found[language] = (rows, verdicts, away)
    return found


@pytest.mark.parametrize("language", ["ko", "en"])
def test_the_shipped_judge_catches_what_the_vault_says_nothing_of(judged, language: str):
    _, _, away = judged[language]
    assert [verdict.unanswerable for verdict in away] == [True] * 5


@pytest.mark.parametrize(("language", "floor"), [("ko", 0.68), ("en", 0.64)])
def test_the_shipped_judge_notices_that_a_note_was_left_out(judged, language: str, floor: float):
    # Half of these questions share no word with their note, and other notes come close: no easy data.
    rows, verdicts, _ = judged[language]
    chances = [verdict.score for verdict in verdicts]
    reached = auc(chances, [row.answerable for row in rows])
    assert reached is not None
    assert reached >= floor
    caught = sum(v.unanswerable for r, v in zip(rows, verdicts, strict=True) if not r.answerable)
    assert (
        caught / (len(rows) / 2) >= 0.6
    )  # both errors weigh alike: more would refuse more answerable ones
