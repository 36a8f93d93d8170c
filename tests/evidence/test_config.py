import pytest

from gigamind.errors import InputError
from gigamind.evidence.schema import AlignConfig


@pytest.mark.each(
    "settings",
    [
        {"fuzzy_threshold": 0.79}, {"fuzzy_threshold": 1.01}, {"search_threshold": 0.86},
        {"search_threshold": 0.49}, {"fuzzy_threshold": float("nan")}, {"max_quote_chars": 0},
        {"min_fuzzy_chars": -1},
    ],
)  # fmt: skip
def test_settings_beyond_their_limits_are_refused(settings):
    with pytest.raises(InputError):
        AlignConfig(**settings)
