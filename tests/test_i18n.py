"""Messages keep their id and values wherever they go, and every border renders them in its language."""

import json
import pickle
from pathlib import Path

import pytest
from compile_catalogues import compile_catalogues
from pydantic import BaseModel

from gigamind import i18n
from gigamind.i18n import Message, Text, Translator, _, from_json, joined, n_
from gigamind.records.schema import ErrorReport

PO = """
msgid ""
msgstr ""
"Content-Type: text/plain; charset=utf-8\\n"
"Plural-Forms: nplurals=1; plural=0;\\n"

msgid "{file} cannot be read: {reason}"
msgstr "{file}을(를) 읽을 수 없습니다: {reason}"

msgid "no such file"
msgstr "그런 파일이 없음"

msgid "{n} note"
msgid_plural "{n:,} notes"
msgstr[0] "노트 {n:,}건"

msgid "open"
msgstr "열림"

#, fuzzy
msgid "Old words."
msgstr "낡은 말."

msgid "wrong {place}"
msgstr "틀린 {other}"
"""


@pytest.fixture
def korean(tmp_path, monkeypatch):
    po = tmp_path / "ko/LC_MESSAGES/gigamind.po"
    po.parent.mkdir(parents=True)
    po.write_text(PO, "utf-8")
    compile_catalogues(tmp_path)
    monkeypatch.setattr(i18n, "LOCALES", tmp_path)
    return Translator("ko")


UNREADABLE = _("{file} cannot be read: {reason}", file=Path("규정.md"), reason=_("no such file"))


def test_a_message_is_its_english_text():
    assert isinstance(UNREADABLE, str)
    assert UNREADABLE == "규정.md cannot be read: no such file"
    assert type(str(UNREADABLE)) is str


def test_messages_among_the_values_are_translated_and_particles_fit(korean):
    assert korean(UNREADABLE) == "규정.md를 읽을 수 없습니다: 그런 파일이 없음"
    particle = _("{file} cannot be read: {reason}", file="값은(는)", reason="이(가)")
    assert korean(particle) == "값은(는)을 읽을 수 없습니다: 이(가)"  # those of values stay


def test_text_of_others_is_never_translated(korean):
    assert korean("no such file") == "no such file"


def test_counts(korean):
    one, many = (n_("{n} note", "{n:,} notes", n=count) for count in (1, 1234))
    assert (one, many) == ("1 note", "1,234 notes")
    assert (korean(one), korean(many)) == ("노트 1건", "노트 1,234건")


def test_what_has_no_usable_translation_is_english_message_by_message(korean):
    assert korean(_("Old words.")) == "Old words."
    assert korean(_("wrong {place}", place=1)) == "wrong 1"
    assert korean(_("new {reason}", reason=_("no such file"))) == "new 그런 파일이 없음"
    assert Translator("xx")(UNREADABLE) == str(UNREADABLE)


def test_no_full_stop_follows_a_sentence_that_has_ended():
    for fix in (_("Did you mean it?"), _("Do it.")):
        assert _("{problem}. {fix}.", problem=_("Gone."), fix=fix) == f"Gone. {fix}"


def test_joined_parts_are_translated_each(korean):
    assert korean(joined([_("no such file"), "a"], " / ")) == "그런 파일이 없음 / a"
    assert joined([_("no such file"), "a"]) == "no such file; a"


@pytest.mark.parametrize(
    "message", [UNREADABLE, n_("{n} note", "{n:,} notes", n=3), joined([_("open"), "x"])]
)
def test_a_message_survives_pickle_and_json(korean, message):
    assert korean(pickle.loads(pickle.dumps(message))) == korean(message)
    restored = from_json(json.loads(json.dumps(message.as_json())))
    assert restored == message
    assert korean(restored) == korean(message)


@pytest.mark.parametrize(
    "stored",
    [
        {"text": "as it was", "id": "a text of {nobody}", "values": {}},
        {"text": "as it was", "id": "{file} cannot be read: {reason}", "values": {}},
        {"text": "as it was", "id": "{file} cannot be read: {reason}", "values": "x"},
        {"text": "as it was"},
    ],
)
def test_a_file_cannot_bring_templates_of_its_own(korean, stored):
    assert korean(from_json(stored)) == "as it was"


def test_a_model_keeps_the_message_and_its_json_is_the_english():
    class Row(BaseModel):
        text: Text

    row = Row(text=UNREADABLE)
    assert isinstance(row.text, Message)
    assert json.loads(row.model_dump_json()) == {"text": str(UNREADABLE)}


def test_an_error_of_a_file_can_be_read_in_another_language(korean):
    line = ErrorReport(
        kind="item", id="q1", error="InputError", message=UNREADABLE
    ).model_dump_json()
    restored = ErrorReport.model_validate_json(line)
    assert restored.message == UNREADABLE
    assert korean(restored.message) == korean(UNREADABLE)
