"""What an evaluation tells whoever waits for it."""

from typing import Protocol


class Progress(Protocol):
    """Told how far the stages of a run are; never called from two threads at a time."""

    def stage(self, name: str, done: int, total: int) -> None:
        """`done` of `total` pieces of the stage `name` have ended; a new name is a new stage."""
        ...

    def note(self, text: str) -> None:
        """Something to know while it goes on, in a line."""
        ...


class Quiet:
    """Says nothing."""

    def stage(self, name: str, done: int, total: int) -> None:
        del name, done, total

    def note(self, text: str) -> None:
        del text
