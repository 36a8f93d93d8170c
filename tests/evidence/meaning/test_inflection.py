import pytest

from gigamind.evidence.meaning.inflection import same_word

NONE = frozenset[str]()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("day", "days"),
        ("policy", "policies"),
        ("box", "boxes"),
        ("approve", "approved"),
        ("approves", "approving"),
        ("stop", "stopped"),
        ("planned", "plan"),
        ("apply", "applied"),
        ("pay", "paid"),
        ("written", "wrote"),
        ("organise", "organizing"),
        ("behaviour", "behavior"),
        ("cancelled", "canceled"),
        ("recieve", "receive"),
        ("comittee", "committee"),
    ],
)
def test_inflections_spellings_and_typing_errors_are_one_word(one, other):
    assert same_word(one, other, NONE)
    assert same_word(other, one, NONE)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("is", "i"),
        ("new", "news"),
        ("ten", "tens"),
        ("even", "evening"),
        ("need", "ne"),
        ("planed", "planned"),
        ("rating", "ratting"),
        ("filing", "filling"),
        ("car", "cares"),
        ("employer", "employee"),
        ("typical", "atypical"),
        ("princes", "princess"),
        ("desert", "dessert"),
        ("untied", "united"),
        ("retired", "retried"),
        ("contract", "contact"),
        ("million", "billion"),
        ("trial", "trail"),  # five letters
        ("prescribe", "proscribe"),
        ("carton", "cartoon"),  # only consonants are doubled by mistake
    ],
)
def test_other_words_stay_other_words(one, other):
    assert not same_word(one, other, NONE)
    assert not same_word(other, one, NONE)


def test_a_name_is_never_misspelt():
    assert same_word("philip", "phillip", NONE)
    assert not same_word("philip", "phillip", frozenset({"philip"}))
