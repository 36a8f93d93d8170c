"""The judge of kind `nli`: which passages of the notes it compares with a claim, and what its guard refuses."""

import asyncio
from dataclasses import replace
from pathlib import Path

import pytest
from tiny_nli import write_tiny_nli

from gigamind.errors import InputError, LlmError
from gigamind.judges.load import OF_ANSWERS, load_any_judge, load_judge
from gigamind.judges.protocol import AnswerCase, Asking
from gigamind.llm.store import Store
from gigamind.prompting.fences import Source

# The logits of entailment, neutral and contradiction are the sums of the words of passage and claim.
ROWS = {
    "weekend": (4.0, 0.0, 0.0), "roses": (4.0, 0.0, 0.0), "장미가": (4.0, 0.0, 0.0),
    "depot": (0.0, 0.0, 4.0), "guess": (0.5, 0.0, 0.0), "짐작": (0.5, 0.0, 0.0),
}  # fmt: skip
OFFICE = Source(
    "Office", "The office is closed on Saturdays and Sundays.\n\nCars stand behind the depot.\n"
)
GARDEN = Source(
    "Garden", "# Beds\n\nRoses stand near 12 gates.\nAnna Berg waters the tulips every morning.\n"
)
JUDGE = 'kind = "nli"\nmodel = "tiny"\n'


@pytest.fixture
def judge(tmp_path):
    """A judge with a tiny model, and other fields of its file."""

    def load(text="", rows=None, **config):
        folder = tmp_path / "tiny"
        write_tiny_nli(folder, rows or ROWS, **config)
        file = tmp_path / "judge.toml"
        file.write_text(JUDGE + text, "utf-8")
        return load_judge(file, kinds=OF_ANSWERS)

    return load


def judged(judge, answer, *notes, asking=None):
    case = AnswerCase("What about it?", answer, notes or (OFFICE, GARDEN))
    verdict = asyncio.run(judge.judge(case, asking or Asking({}, "q", b"")))
    return verdict.detail


def claim_of(judge, answer, *notes):
    (claim,) = judged(judge, answer, *notes).claims
    return claim


@pytest.mark.parametrize(
    ("answer", "verdict", "doubt"),
    [
        ("Nobody works at the weekend.", "supported", None),  # no word of the note
        ("Roses stand near 12 gates.", "supported", None),
        ("Roses stand near 13 gates.", "contradicted", "contradiction"),
        ("Carla Holm waters the roses every morning.", "not_found", "new_name"),
        ("Roses do not stand near 12 gates.", "contradicted", "contradiction"),
        ("Cars stand behind the depot.", "contradicted", "not_entailed"),
        ("Anna Berg waters the tulips.", "not_found", "not_entailed"),
        ("장미가 문 12개 가까이에 있다.", "supported", None),  # in another language than the note
        ("장미가 문 13개 가까이에 있다.", "contradicted", "contradiction"),
    ],
)  # fmt: skip
def test_a_passage_proves_a_claim_if_the_model_says_so_and_the_guard_does_not_refuse(
    judge, answer, verdict, doubt
):
    claim = claim_of(judge(), answer)
    assert (claim.verdict, claim.doubt) == (verdict, doubt)


def test_a_claim_shows_its_score_and_the_passage_that_decided(judge):
    claim = claim_of(judge(), "Roses stand near 12 gates.")
    # 8 for the word in passage and claim, and the number 54.6 / (54.6 + 2) of one word alone is not it.
    assert claim.score == pytest.approx(1 / (1 + 2 * 2.718281828**-8), abs=1e-6)
    assert claim.evidence["quote"] == "Roses stand near 12 gates."
    assert claim.note == 2
    assert claim_of(judge(), "Roses stand near 13 gates.").score is None  # the model is not asked


def test_each_language_has_its_threshold(judge):
    texts = ("It is a guess.", "그것은 짐작 이다.")
    score = pytest.approx(2.718281828**0.5 / (2.718281828**0.5 + 2), abs=1e-6)  # 0.452

    def verdicts(text):
        claims = [claim_of(judge(text), answer, Source("Birds", FILLER)) for answer in texts]
        assert [claim.score for claim in claims] == [score, score]
        return [claim.verdict for claim in claims]

    assert verdicts("") == ["not_found", "not_found"]
    assert verdicts("[thresholds]\nko = 0.45\nen = 0.46") == ["not_found", "supported"]
    assert verdicts("[thresholds]\nko = 0.46\nen = 0.45") == ["supported", "not_found"]


def test_a_model_with_two_labels_never_contradicts(judge):
    rows = {"weekend": (4.0, 0.0), "depot": (0.0, 4.0)}
    two = judge(rows=rows, labels=("entailment", "not_entailment"))
    assert claim_of(two, "Nobody works at the weekend.").verdict == "supported"
    assert claim_of(two, "Cars stand behind the depot.").verdict == "not_found"


FILLER = "Birds sing softly while rivers run slowly past the old stone mill."


@pytest.mark.parametrize(
    "note",
    [
        " ".join([*[FILLER] * 10, "The office rests on the weekend.", *[FILLER] * 10]),
        "\n\n".join([*[FILLER] * 10, "The office rests on the weekend."]),
        " and ".join([*[FILLER.rstrip(".")] * 10, "weekend"]),  # one sentence of 130 words
    ],
)
@pytest.mark.parametrize("tokens", [40, 100])
def test_every_part_of_a_long_note_is_read(judge, note, tokens):
    ours = judge(f"max_tokens = {tokens}")
    assert claim_of(ours, "Nobody works.", Source("Long", note)).verdict == "supported"
    without = Source("Long", note.replace("weekend", "hill"))
    claim = claim_of(ours, "Nobody works.", without)
    assert (claim.verdict, claim.doubt) == ("not_found", "not_entailed")


def test_a_word_that_is_longer_than_the_model_reads_is_cut(judge):
    note = Source("Long", f"{'-'.join('x' * 200)} weekend")
    assert claim_of(judge("max_tokens = 40"), "Nobody works.", note).verdict == "not_found"


def test_no_pair_is_longer_than_the_model_reads(judge):
    short = judge("max_tokens = 40")
    lengths = []

    class Session:
        """Counts the tokens of each pair."""

        def __getattr__(self, name):
            return getattr(short.model._session, name)

        def run(self, names, inputs):
            lengths.extend(inputs["attention_mask"].sum(axis=1).tolist())
            return short.model._session.run(names, inputs)

    counting = replace(short, model=replace(short.model, _session=Session()))
    long = Source("A long title of a note", f"# A heading\n\n{' '.join([FILLER] * 40)}")
    judged(counting, f"Nobody works. {FILLER} Rivers run past the mill.", long, OFFICE)
    assert len(lengths) > 10
    assert max(lengths) <= 40


def test_a_claim_that_is_too_long_for_the_model_says_so(judge):
    claim = claim_of(judge("max_tokens = 40"), f"Roses and {'lilies and ' * 20} tulips grow.")
    assert (claim.verdict, claim.doubt, claim.score) == ("not_found", "too_long", None)


def test_an_answer_with_too_many_claims_is_not_judged(judge):
    few = judge("max_claims = 2")
    assert judged(few, "Roses grow. Cars stand.").correctness is not None
    with pytest.raises(LlmError) as raised:
        judged(few, "Roses grow. Cars stand. Birds sing.")
    assert raised.value.code == "context_too_long"


@pytest.mark.parametrize(
    "answer", ["", "   ", "No information is given in the notes.", "Thank you!"]
)
def test_an_answer_without_claims_has_no_score(judge, answer):
    assert judged(judge(), answer).correctness is None


def test_an_answer_without_context_is_not_judged(judge):
    assert judged(judge(), "Roses grow.", Source("Empty", " \n")) is None


def test_what_the_model_computed_is_stored(judge, tmp_path):
    ours = judge()
    answer = "Nobody works at the weekend. Roses stand near 12 gates."

    def asking(mode="readwrite", **more):
        return Asking({}, "q", b"", store=Store(tmp_path / "store", mode), **more)

    first = judged(ours, answer, asking=asking())
    without = replace(ours, model=replace(ours.model, _session=None))
    assert judged(without, answer, asking=asking()) == first
    assert judged(without, answer, asking=asking("replay")) == first
    with pytest.raises(AttributeError):
        judged(without, answer, asking=asking(fresh=True))
    with pytest.raises(AttributeError):  # another model
        judged(
            replace(ours, model=replace(without.model, fingerprint="x")), answer, asking=asking()
        )
    with pytest.raises(LlmError) as raised:
        judged(ours, "Cars stand behind the depot.", asking=asking("replay"))
    assert raised.value.code == "cassette_miss"


def test_the_fingerprint_is_that_of_model_and_fields_not_of_the_folder(judge, tmp_path):
    ours = judge()
    same = load_judge(Path(f"nli:{tmp_path / 'tiny'}"), kinds=OF_ANSWERS)
    assert same.fingerprint("") == ours.fingerprint("")
    assert load_any_judge(f"nli:{tmp_path / 'tiny'}").kind == "nli"
    others = [judge("[thresholds]\nko = 0.4"), judge(scale=2.0)]
    assert len({one.fingerprint("") for one in (ours, *others)}) == 3


def test_a_judge_without_a_model_is_refused(tmp_path):
    with pytest.raises(InputError, match="nli:FOLDER"):
        load_judge("nli", kinds=OF_ANSWERS)
    with pytest.raises(InputError, match="owner/name"):
        load_judge(f"nli:{tmp_path / 'missing'}", kinds=OF_ANSWERS)


def test_the_model_of_a_judge_file_is_found_beside_it(judge, tmp_path, monkeypatch):
    monkeypatch.chdir("/")
    assert judge().model.labels
    monkeypatch.chdir(tmp_path)
    assert load_judge("nli:tiny", kinds=OF_ANSWERS).fingerprint("") == judge().fingerprint("")
