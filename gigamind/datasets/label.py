"""Add human judgements of unjudged hits to the rows of a dataset."""

from collections.abc import Iterator, Mapping, Sequence

from gigamind.datasets.schema import QueryItem


def labelled(
    items: Sequence[QueryItem], gains: Mapping[str, Mapping[str, int]]
) -> Iterator[QueryItem]:
    """Yield the rows with new grades, which override older ones; a relevant note makes a row answerable."""
    for item in items:
        own = gains.get(item.id)
        if own is None:
            yield item
            continue
        grades = {**(item.gains or {}), **own}
        expected = [note for note in item.expected_notes if grades.get(note, 1) > 0]
        expected += [note for note, gain in own.items() if gain > 0 and note not in expected]
        yield item.model_copy(
            update={
                "gains": grades,
                "expected_notes": tuple(expected),
                "answerable": item.answerable or bool(expected),
            }
        )
