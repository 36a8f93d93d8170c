"""Types that several evaluations' options share."""

import re
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


def without_secrets(address: str) -> str:
    """An address as a report may show it: without user, password and query, where keys stand."""
    host = re.sub(r"(?<=//)[^/?#]*@", "***@", address)
    return re.sub(r"\?.*", "?***", host, flags=re.DOTALL)
