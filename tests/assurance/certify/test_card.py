"""What makes a card, and what makes none."""

import json

import pytest
from certified import card_of

from gigamind.assurance.scenarios import Share
from gigamind.errors import InputError


def test_labels_that_match_no_item_are_counted_and_named_with_their_lines(run_folder, labels_file):
    rows = [{"id": name, "unanswerable": True} for name in ("u1", *"pqrstuv")]
    with pytest.raises(InputError) as caught:
        card_of(run_folder(), labels=labels_file(rows))
    values = caught.value.message.values
    assert (values["unknown"], values["total"]) == (7, 8)
    first, second, *_others, more = values["items"].values["parts"]
    assert [first.values, second.values] == [{"item": "p", "line": 2}, {"item": "q", "line": 3}]
    assert more.values == {"n": 2}


def test_runs_without_a_judge_or_of_other_tasks_cannot_be_certified(run_folder, tmp_path):
    with pytest.raises(InputError, match=r"plain.*run.json"):
        card_of(run_folder("plain", judge=None))
    with pytest.raises(InputError, match="links"):
        card_of(run_folder("links", task="links"))
    with pytest.raises(InputError, match=r"run\.json: "):
        card_of(tmp_path / "nowhere")


def test_a_broken_line_is_named(run_folder):
    folder = run_folder()
    with (folder / "per_item.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"id": "x", "query"')
    with pytest.raises(InputError, match=r"per_item.jsonl:11: "):
        card_of(folder)
    foreign = run_folder("foreign", items=[{"id": "x"}])
    with pytest.raises(InputError, match=r"jsonl:1: .*query"):
        card_of(foreign)


def trial(path, fingerprint, group, **fields):
    about = {"kind": "search_qa", "fingerprint": fingerprint, "model": "m"}
    overall = {"name": "all", "unscored": 0, **group}
    path.write_text(json.dumps(about | {"overall": overall} | fields), encoding="utf-8")
    return path


def attacks(tmp_path, hits, of, fingerprint="f" * 64):
    fooled = Share.among([True] * hits + [False] * (of - hits)).model_dump()
    group = {"attacks": of, "fooled": fooled, "told": fooled, "unmeasured": 0, "flagged": 0}
    parts = dict.fromkeys(("by_family", "by_language", "by_place", "by_goal", "attacks"), ())
    return trial(tmp_path / "attacks.json", fingerprint, group, **parts)


def test_attacks_are_counted_with_an_interval_that_is_honest_about_none(run_folder, tmp_path):
    card = card_of(run_folder(), attacks=attacks(tmp_path, 0, 40))
    rate = card.attacks.rate
    # by Wilson's formula, 1.96 squared over 40 and the same square
    assert (rate.value, rate.low, rate.high) == (0.0, 0.0, pytest.approx(0.0876, abs=0.0001))
    none = card_of(run_folder("again"), attacks=attacks(tmp_path, 0, 0)).attacks
    assert (none.rate.value, none.attempted) == (None, 0)


def test_attacks_on_another_judge_are_refused(run_folder, tmp_path):
    with pytest.raises(InputError, match="000000000000"):
        card_of(run_folder(), attacks=attacks(tmp_path, 1, 2, fingerprint="0" * 64))
    (tmp_path / "attacks.json").write_text("{}", encoding="utf-8")
    with pytest.raises(InputError, match=r"attacks.json: "):
        card_of(run_folder("again"), attacks=tmp_path / "attacks.json")
    with pytest.raises(InputError, match=r"none.json: "):
        card_of(run_folder("more"), attacks=tmp_path / "none.json")


def test_equal_runs_give_equal_cards(run_folder):
    folder = run_folder()
    assert card_of(folder) == card_of(folder)
    assert card_of(folder, seed=1) != card_of(folder)


def test_a_card_is_valid_for_its_judge_and_model_alone(run_folder):
    card = card_of(run_folder())
    assert card.is_valid_for("f" * 64, "openai/gpt-x")
    assert not card.is_valid_for("f" * 64, "openai/gpt-y")
    assert not card.is_valid_for("0" * 64, "openai/gpt-x")
    assert not card.is_valid_for("f" * 64, None)
