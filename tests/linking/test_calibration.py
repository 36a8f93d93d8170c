"""How a vault links, and what a score is worth in it: told by links that are hidden from it."""

from dataclasses import replace
from math import exp, log
from random import Random

import pytest
from link_features import MEANT, PLAIN

from gigamind.linking.features import Candidate
from gigamind.linking.habits import (
    Calibration,
    Scored,
    fit_models,
    hidden_links,
    load_weights,
    logistic,
)
from gigamind.linking.suggest import LinkSuggester, SuggestOptions
from gigamind.spans import Span
from gigamind.vault.identity import Identities

TARGETS = [f"t{number:02}" for number in range(20)]


def numbers_of(vault, suggest):
    return Calibration.fitted(hidden(vault), suggest)


def hidden(vault):
    return hidden_links(vault, Identities(vault.notes))


def linking(vault_of, linked):
    """A vault whose notes link to these targets: name of a note -> names of targets."""
    notes = {f"{name}.md": "x" for name in TARGETS}
    for name, targets in linked.items():
        notes[f"{name}.md"] = "\n".join(f"See [[{target}]]." for target in targets)
    return vault_of(notes)


def all_linked(vault_of, count=20):
    return linking(vault_of, {f"n{number:02}": TARGETS[:6] for number in range(count)})


def steepness(curve):
    """Where a link is as likely as not."""
    return curve(0.5) - curve(-0.5)


def lacking(note):
    """The targets that a note does not link to."""
    linked = {link.target for link in note.document.links}
    return [target for target in TARGETS if target not in linked]


def suggesting(score):
    """Suggests whatever is not linked; `score` gives the log odds by note and target."""
    return lambda note: [Scored(score(note.path, of), f"{of}.md") for of in lacking(note)]


def is_linked(target):
    return target < "t06"


def hits(note):
    """Suggests nothing but links that were hidden from `all_linked`."""
    return [one for one in suggesting(lambda *_: 0.0)(note) if is_linked(one.target)]


def misses(note):
    """Suggests none of them."""
    return [one for one in suggesting(lambda *_: 0.0)(note) if not is_linked(one.target)]


def test_without_links_the_shipped_numbers_hold_and_people_would_accept_more(vault_of):
    found = numbers_of(vault_of({"a.md": "b", "b.md": "a"}), suggesting(lambda *_: 0.0))
    assert (found.names.low, found.names.high) == (1.0, 1.0)
    assert found.suggestions == 0 < found.names.offset


def test_without_links_phrases_are_less_sure_the_more_notes_they_may_mean(vault_of):
    def none(*_):
        return []

    def odds(count):
        vault = vault_of({f"{number:02}.md": "x" for number in range(count)})
        found = Calibration.fitted(hidden(vault), none, none, notes=count)
        assert found.names.offset == 2
        return found.phrases.offset

    assert odds(3) == odds(6) == 2
    assert odds(12) == pytest.approx(2 - log(2))
    assert odds(24) == pytest.approx(2 - log(4))


def test_a_high_score_of_a_phrase_says_little_where_no_link_is_known(vault_of):
    found = Calibration.fitted(
        hidden(vault_of({"a.md": "x"})), lambda _: [], lambda *_: [], notes=1
    )
    unlikely, likely = ((found.phrases(at) - 2) / at for at in (-5.0, 5.0))
    assert unlikely == pytest.approx(1.0, abs=0.01)
    assert likely == pytest.approx(0.25, abs=0.01)
    assert found.names(5.0) == pytest.approx(7.0)


def test_one_link_changes_little_of_what_holds_without_any(vaults_of):
    def of(count):
        best = suggesting(lambda *_: 0.0)
        return numbers_of(all_linked(vaults_of, count), lambda note: best(note)[:5]).names.offset

    assert of(0) == 2
    assert of(1) == pytest.approx(2, abs=1)
    assert of(0) > of(1) > max(of(2), of(20))


def test_links_are_hidden_but_nothing_else(vault_of):
    text = "# [[t00]]\n\n[[t01]] and [[t02|two]]; ![[t03]] [[nowhere]] [x](https://example.org)\n"
    notes = {f"{name}.md": "x" for name in TARGETS} | {f"n{n:02}.md": text for n in range(20)}
    seen = []
    numbers_of(vault_of(notes), lambda note: seen.append(note) or [Scored(0.0, "t01.md")])
    assert {note.text for note in seen} == {
        text.replace("[[t01]]", "t01"),
        text.replace("[[t02|two]]", "two"),
        text.replace("[[t01]]", "t01").replace("[[t02|two]]", "two"),
    }
    assert {note.path for note in seen} <= {f"n{n:02}.md" for n in range(20)}
    assert all(len(note.document.links) < 6 for note in seen)  # read anew


def test_scores_that_are_wrong_way_round_do_not_turn_the_order(vault_of):
    # What was hidden gets the lowest score, everything else the highest.
    found = numbers_of(all_linked(vault_of), suggesting(lambda _, t: -3.0 if t < "t06" else 3.0))
    assert min(found.names.low, found.names.high) > 0
    assert found.names(1.0) > found.names(-1.0)


def test_a_vault_that_links_what_is_suggested_makes_it_surer_than_one_that_does_not(vault_of):
    vault = all_linked(vault_of)
    right, wrong = (numbers_of(vault, suggest).names(0.0) for suggest in (hits, misses))
    assert logistic(right) > 0.4
    assert logistic(wrong) < 0.05


def test_names_and_phrases_have_numbers_of_their_own(vault_of):
    told = []

    def phrases(note, calibration):
        told.append(calibration)
        return misses(note)

    vault = all_linked(vault_of)
    alone = numbers_of(vault, hits)
    both = Calibration.fitted(hidden(vault), hits, phrases, notes=40)
    assert (both.names, both.suggestions) == (alone.names, alone.suggestions)
    assert both.names(0.0) > 0.0 > both.phrases(0.0) + 1
    assert set(told) == {alone}  # which tell what phrases give way to


def test_the_scores_of_phrases_may_tell_more_than_those_of_names(vault_of):
    def sorted_out(note):  # what is a link has the higher score
        return suggesting(lambda _, target: 1.0 if target < "t06" else -1.0)(note)

    def alike(note):
        return suggesting(lambda _, target: 1.0 if int(target[1:]) % 2 else -1.0)(note)

    vault = all_linked(vault_of)
    found = Calibration.fitted(hidden(vault), alike, lambda note, _: sorted_out(note), notes=40)
    assert steepness(found.phrases) > steepness(found.names) + 0.5


def reading(of):
    """Each target that a note does not link to, at a place of its own; `of` gives its features."""
    return lambda note: [
        [Candidate(Span(3 * place, 3 * place + 3), f"{target}.md", of(target))]
        for place, target in enumerate(lacking(note))
    ]


@pytest.mark.parametrize("plain", [PLAIN, MEANT], ids=["names", "phrases"])
def test_a_vault_weighs_more_what_tells_its_links_from_the_rest(vault_of, plain):
    def told_by(target):
        return replace(plain, linked_back=is_linked(target), centrality=0.5)

    def of(models):
        return models.of(plain).weights

    shipped, found = load_weights(), fit_models(hidden(all_linked(vault_of, 40)), reading(told_by))
    assert of(found)["linked_back"] > of(shipped)["linked_back"] + 0.2
    others = set(of(shipped)) - {"linked_back"}
    assert {name: of(found)[name] for name in others} == pytest.approx(
        {name: of(shipped)[name] for name in others}, abs=0.6
    )
    other = MEANT if plain is PLAIN else PLAIN
    assert found.of(other) == shipped.of(other)  # it was told nothing of these


def test_no_weight_of_a_vault_is_negative(vault_of):
    def against(target):  # the shipped weights take this for a sign of a link
        sign = not is_linked(target)
        return replace(PLAIN, linked_back=sign, spelled_as_name=sign)

    found = fit_models(hidden(all_linked(vault_of, 40)), reading(against))
    assert min(found.names.weights.values()) == found.names.weights["linked_back"] == 0.0
    assert found.names.weights["spelled_as_name"] < load_weights().names.weights["spelled_as_name"]


def test_few_links_hardly_change_a_weight_and_none_change_nothing(vaults_of):
    def told_by(target):
        return replace(PLAIN, linked_back=is_linked(target))

    shipped = load_weights().names
    few = fit_models(hidden(linking(vaults_of, {"n": TARGETS[:3]})), reading(told_by))
    assert few.names.weights == pytest.approx(shipped.weights, abs=0.3)
    none = fit_models(hidden(vaults_of({"a.md": "b", "b.md": "a"})), reading(told_by))
    assert none.names == shipped


def test_of_the_places_of_a_target_the_likeliest_counts_and_a_name_before_any_phrase(vault_of):
    vault = all_linked(vault_of, 40)
    likely = replace(MEANT, name_cosine=1.0, beginning_cosine=1.0, lead=1.0)

    def twice(note):
        return [
            [Candidate(Span(0, 3), f"{target}.md", features)]
            for target in lacking(note)
            for features in (likely, PLAIN, replace(PLAIN, linked_back=is_linked(target)))
        ]

    found = fit_models(hidden(vault), twice)
    alone = fit_models(hidden(vault), reading(lambda t: replace(PLAIN, linked_back=is_linked(t))))
    assert found == alone


NAMES = (
    "Gate", "Threshold", "Response time", "Improvement", "게이트", "임계값", "응답 시간", "개선",
)  # fmt: skip


def sure_of_a_name(vault_of, *, every: bool) -> tuple[float, float]:
    """In a vault whose notes link every other name they say, or but one each: what a name of even odds is worth, and
    how sure a name is that all of them leave plain."""
    notes = {f"{name}.md": "x" for name in NAMES}
    for number in range(21):
        notes[f"n{number:02}.md"] = "\n\n".join(
            f"On [[{name}]] today." if every or number % 7 == place else f"On {name} today."
            for place, name in enumerate(NAMES[1:])
        )
    notes["t.md"] = "On Gate today."
    vault = vault_of(notes)
    suggester = LinkSuggester(vault, Identities(vault.notes))
    (one,) = suggester.suggest(vault.note("t.md"), SuggestOptions(min_confidence=0, unlikely=True))
    assert one.target == "Gate.md"
    return logistic(suggester.habits.calibration.names(0.0)), one.confidence


@pytest.fixture
def vaults_of(vault_of, tmp_path):
    """As `vault_of`, for more than one vault."""

    def write(notes):
        for path in sorted((tmp_path / "vault").rglob("*.md")):
            path.unlink()
        return vault_of(notes)

    return write


def test_a_vault_that_links_every_name_makes_a_name_surer_than_one_that_links_few(vaults_of):
    always, surely = sure_of_a_name(vaults_of, every=True)
    seldom, less_surely = sure_of_a_name(vaults_of, every=False)
    assert seldom < 0.27 < always
    assert less_surely < surely


def test_where_the_truth_is_known_the_confidence_is_near_to_it(vault_of):
    """30 % of the links that should be are missing, and the truth is another than the shipped numbers think."""
    random = Random(7)
    scores, missing, linked = {}, set(), {}
    for name in (f"n{number:03}" for number in range(150)):
        linked[name] = []
        for target in TARGETS:
            score = scores[f"{name}.md", target] = random.gauss(-0.5, 2)
            if random.random() < 1 / (1 + exp(-(0.5 * score - 1.5))):
                if random.random() < 0.3:
                    missing.add((f"{name}.md", target))
                else:
                    linked[name].append(target)
    vault = linking(vault_of, linked)
    found = numbers_of(vault, suggesting(lambda path, target: scores[path, target]))
    left = [
        (scores[note.path, target], (note.path, target) in missing)
        for note in vault.notes
        if note.path.startswith("n")
        for target in lacking(note)
    ]
    assert calibration_error(found.names, left) <= 0.05
    assert calibration_error(lambda odds: odds, left) > 0.25
    assert steepness(found.names) < 0.8


def calibration_error(curve, suggestions):
    """Mean distance of confidence and share that is right, in ten bins of confidence."""
    bins = {}
    for score, is_missing in suggestions:
        confidence = logistic(curve(score))
        bins.setdefault(int(10 * confidence), []).append((confidence, is_missing))
    apart = (
        abs(sum(confidence for confidence, _ in one) - sum(hit for _, hit in one))
        for one in bins.values()
    )
    return sum(apart) / len(suggestions)
