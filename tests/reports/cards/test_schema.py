import pytest
from cards_by_hand import card

from gigamind.errors import InputError
from gigamind.records.card import FILE, read_card
from gigamind.records.folder import write_texts
from gigamind.reports.card import card_files


def test_a_card_that_was_written_can_be_read_from_its_file_and_its_folder(tmp_path):
    made = card()
    write_texts(tmp_path / "card", card_files(made))
    names = sorted(path.name for path in (tmp_path / "card").iterdir())
    assert names == ["judge_card.html", "judge_card.json", "judge_card.md"]
    assert read_card(tmp_path / "card") == made
    assert read_card(tmp_path / "card" / FILE) == made


def test_a_card_from_before_clusters_were_told_can_be_read(tmp_path):
    made = card()
    text = made.model_dump_json().replace(',"clusters":null', "")
    assert "clusters" not in text
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    assert read_card(tmp_path) == made


@pytest.mark.parametrize(
    ("text", "message"),
    [('{"schema_version": "1.0"', "Invalid JSON"), ("{}", "created_at: "), ("[]", "object")],
)
def test_what_is_no_card_is_named(tmp_path, text, message):
    file = tmp_path / FILE
    file.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="gigamind judge certify") as caught:
        read_card(tmp_path)
    assert f"{file}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_card_of_another_version_is_refused(tmp_path):
    text = card().model_dump_json().replace('"schema_version":"1.0"', '"schema_version":"2.0"')
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match="schema_version"):
        read_card(tmp_path)


def test_a_card_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"judge_card\.json: .*"):
        read_card(tmp_path)
    (tmp_path / FILE).write_bytes(b"\xff")
    with pytest.raises(InputError, match="cannot be read"):
        read_card(tmp_path)
