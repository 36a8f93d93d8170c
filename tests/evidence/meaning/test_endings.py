import pytest

from gigamind.evidence.meaning.inflection import is_case_particle, limits, same_stem


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("휴가를", "휴가"),
        ("휴가는", "휴가가"),
        ("회사가", "회사에서"),  # who pays stays the same
        ("팀장에게", "팀장을"),
        ("회사에서는", "회사는"),
        ("json으로", "json"),
        ("정규직까지는", "정규직까지"),
        ("됩니다", "되며"),
        ("돼요", "됩니다"),
        ("했다", "하였다"),
        ("있음", "있습니다"),
        ("걸려", "걸립니다"),
        ("봤다", "보았다"),
        ("신청", "신청합니다"),
        ("대상이다", "대상입니다"),
        ("해야", "하여야"),
        ("하면", "하면"),
        ("저장하는", "저장한"),
    ],
)
def test_particles_and_endings_without_sense_leave_the_word_as_it_is(one, other):
    assert same_stem(one, other)
    assert same_stem(other, one)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("팀장이", "팀장을"),  # who and whom
        ("서울에서", "서울로"),
        ("정규직만", "정규직"),
        ("금요일까지", "금요일부터"),
        ("여권이나", "여권과"),
        ("해야", "하면"),
        ("한다", "할"),
        ("합니다", "합니까"),
        ("하고", "하거나"),
        ("하지", "한다"),
        ("한다", "된다"),
        ("있다", "없다"),
        ("있다", "이다"),
        ("사고", "사기"),  # accident, fraud
        ("경고", "경기"),
        ("출간", "출감"),
        ("기간", "기감"),
        ("삼", "사"),
        ("일", "인"),
        ("공간", "공"),
        ("정가", "정"),  # 가 follows a vowel
        ("12도", "12"),
        ("김민수", "김민지"),
        ("유급", "무급"),
    ],
)
def test_other_roles_moods_and_stems_are_other_words(one, other):
    assert not same_stem(one, other)
    assert not same_stem(other, one)


def test_a_limiting_particle_is_told_from_the_end_of_a_noun():
    assert limits("정규직만")
    assert limits("3일까지는")
    assert not limits("정규직은")
    assert not limits("휴가")


def test_behind_a_number_a_unit_is_no_particle():
    assert is_case_particle("은")
    assert not is_case_particle("도")
    assert not is_case_particle("만")
    assert not is_case_particle("일")
