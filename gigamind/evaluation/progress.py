"""What an evaluation tells whoever waits for it."""

from typing import Protocol, runtime_checkable


class Progress(Protocol):
    """Told how far the stages of a run are; never called from two threads at a time."""

    def stage(self, name: str, done: int, total: int) -> None:
        """`done` of `total` pieces of the stage `name` have ended; a new name is a new stage."""
        ...


@runtime_checkable
class Narrator(Progress, Protocol):
    """One that is told in words, too, why it takes so long."""

    def tell(self, line: str) -> None:
        """What holds from now on, such as the speed of a server."""
        ...

    def trouble(self, text: str) -> None:
        """What is the matter with the stage of now, in a few words; empty when all goes well."""
        ...


class Quiet:
    """Says nothing."""

    def stage(self, name: str, done: int, total: int) -> None:
        del name, done, total
