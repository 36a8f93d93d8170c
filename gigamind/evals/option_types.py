"""Types that several evaluations' options share."""

from typing import Annotated

from pydantic import AfterValidator

from gigamind.datasets.sample import sample_size
from gigamind.errors import InputError


def _check_sample(value: str) -> str:
    try:
        sample_size(value)
    except InputError as error:
        raise ValueError(str(error).removeprefix(f"--sample {value}: ")) from error
    return value


SampleText = Annotated[
    str, AfterValidator(_check_sample)
]  # a count such as "50", or a share such as "0.2"
