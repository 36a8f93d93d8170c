"""One input to one target, in time."""

from time_limit import within

from fuzzing.targets import TARGETS

SECONDS = 5.0  # of the processor; what is read in time takes a hundredth of it


def attempt(name: str, content: bytes) -> None:
    """Raises what the target raises, and `TooSlowError`."""
    with within(SECONDS):
        TARGETS[name].read(content)
