"""The attacks and their scenarios: what the files hold, and how wrong ones are refused."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest
from trial_rows import SCENARIO, written

from gigamind.assurance.scenarios import load_attacks
from gigamind.errors import InputError
from gigamind.prompting.fences import flags

ROOT = Path(__file__).parents[2]
ATTACKS = load_attacks()
ON_ANSWERABILITY = [attack for attack in ATTACKS if attack.attacks("unanswerable")]
each_attack = pytest.mark.each("attack", ATTACKS)


def test_there_are_attacks_enough_in_both_languages_and_of_every_family():
    counts = Counter(attack.row.language for attack in ATTACKS)
    assert counts == {"ko": 62, "en": 62, "mixed": 8}
    families = {
        language: {attack.row.family for attack in ATTACKS if attack.row.language == language}
        for language in ("ko", "en")
    }
    assert families["ko"] == families["en"]
    assert len(families["ko"]) == 17


def test_each_kind_of_judge_and_each_place_is_attacked():
    assert len(ON_ANSWERABILITY) == 50
    assert sum(attack.attacks("search_qa") for attack in ATTACKS) == 86
    assert Counter(attack.row.place for attack in ATTACKS) == {
        "note": 69, "answer": 36, "title": 12, "question": 15,
    }  # fmt: skip


NEEDS_ANSWERABLE = {"answerable": False, "unanswerable": True, "unsupported": True, "useful": True}


@each_attack
def test_the_scenario_fits_the_goal_and_judges_read_the_place(attack):
    answerable = attack.scenario.answerable
    assert NEEDS_ANSWERABLE.get(attack.row.goal, answerable) == answerable
    assert attack.attacks("unanswerable") or attack.attacks("search_qa")


def test_ids_of_rows_differ():
    for name in ("attacks", "scenarios", "unit_tests"):
        lines = (ROOT / "judges" / "trials" / f"{name}.jsonl").read_text("utf-8").splitlines()
        assert len({json.loads(line)["id"] for line in lines}) == len(lines)


def test_payloads_differ_and_invisible_characters_are_written_as_escapes():
    assert len({attack.row.payload for attack in ATTACKS}) == 132
    text = (ROOT / "judges" / "trials" / "attacks.jsonl").read_text(encoding="utf-8")
    assert flags(re.sub("[^\u200b-\u206f\U000e0000-\U000e007f]", "", text)) == ()


@each_attack
def test_the_payload_stands_unchanged_in_its_place_and_nowhere_in_the_clean_twin(attack):
    for kind in ("unanswerable", "search_qa"):
        if not attack.attacks(kind):
            continue
        clean, case = attack.clean(kind), attack.attacked(kind)
        places = {
            "note": (clean.notes[0].text, case.notes[0].text),
            "title": (clean.notes[0].title, case.notes[0].title),
            "question": (clean.question, case.question),
            "answer": (clean.answer, case.answer),
        }
        for place, (before, after) in places.items():
            if place == attack.row.place:
                assert after.startswith(before)
                assert after.endswith(attack.row.payload)
                assert attack.row.payload not in before
            else:
                assert before == after
        assert clean.notes[1:] == case.notes[1:]


@each_attack
def test_every_payload_is_flagged_where_flags_are_looked_for(attack):
    assert flags(attack.row.payload) != ()


@each_attack
def test_no_clean_twin_is_flagged(attack):
    for kind in ("unanswerable", "search_qa"):
        case = attack.clean(kind)
        texts = [case.question, case.answer]
        texts += [part for note in case.notes for part in (note.title, note.text)]
        assert [text for text in texts if flags(text)] == []


ATTACK = {
    "id": "a", "family": "override", "language": "en", "place": "note", "goal": "answerable",
    "scenario": "s", "payload": "p",
}  # fmt: skip


def test_a_right_file_is_read(tmp_path):
    (attack,) = load_attacks(written(tmp_path, scenarios=[SCENARIO], attacks=[ATTACK]))
    assert (attack.row.id, attack.scenario.question) == ("a", "q")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"goal": "win"}, r"attacks.jsonl:2: goal: "), ({"id": "B!"}, r"attacks.jsonl:2: id: "),
        ({"payload": ""}, r"attacks.jsonl:2: payload: "), ({"more": 1}, r"attacks.jsonl:2: more: "),
    ],
)  # fmt: skip
def test_a_wrong_row_is_named_with_file_and_line(tmp_path, change, message):
    folder = written(
        tmp_path, scenarios=[SCENARIO], attacks=[ATTACK, ATTACK | {"id": "b"} | change]
    )
    with pytest.raises(InputError, match=message):
        load_attacks(folder)


def test_missing_files_and_scenarios_without_notes_are_refused(tmp_path):
    with pytest.raises(InputError, match=r"scenarios.jsonl:1: notes: "):
        load_attacks(written(tmp_path, scenarios=[SCENARIO | {"notes": []}], attacks=[ATTACK]))
    with pytest.raises(InputError, match=r"none/scenarios\.jsonl"):
        load_attacks(tmp_path / "none")
