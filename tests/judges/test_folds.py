from fit_calibration import grouped_folds
from hypothesis import given
from hypothesis import strategies as st


def test_rows_of_the_stratum_spread_over_all_folds():
    keys = [{str(row)} for row in range(20)]
    folds = grouped_folds(keys, [row < 4 for row in range(20)], 4)
    assert sorted(folds[:4]) == [0, 1, 2, 3]
    assert sorted(folds) == sorted([0, 1, 2, 3] * 5)


@given(st.lists(st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=3), max_size=20))
def test_no_key_is_ever_in_two_folds(keys: list[frozenset[str]]):
    folds = grouped_folds(keys, [bool(len(own) % 2) for own in keys], 3)
    home: dict[str, int] = {}
    for own, fold in zip(keys, folds, strict=True):
        assert 0 <= fold < 3
        assert {home.setdefault(key, fold) for key in own} == {fold}
