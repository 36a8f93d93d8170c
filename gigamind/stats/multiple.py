"""p-values of several metrics looked at together."""

from collections.abc import Sequence


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Adjusted p-values, in the order given: below 0.05, at most 5 % of such families hold even one false alarm.

    Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.  A
    metric without a test (None) stays None and does not count.

    Raises:
        ValueError: a p-value is not in [0, 1].
    """
    family = {place: p for place, p in enumerate(p_values) if p is not None}
    if not all(0 <= p <= 1 for p in family.values()):
        raise ValueError(f"p-values are in [0, 1], not {list(family.values())}")
    adjusted: list[float | None] = [None] * len(p_values)
    largest = 0.0
    for rank, (place, p) in enumerate(sorted(family.items(), key=lambda entry: entry[1])):
        largest = max(largest, min(1.0, (len(family) - rank) * p))
        adjusted[place] = largest
    return adjusted
