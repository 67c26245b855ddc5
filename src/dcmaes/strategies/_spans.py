"""Sets of places in the memory as few pairs of numbers: what one of several searches was told."""

from __future__ import annotations

from bisect import bisect_right

# From where to where, the end not included; in order, with gaps between them.
Spans = tuple[tuple[int, int], ...]


def with_place(spans: Spans, place: int) -> Spans:
    """Return the set with one more place; a negative one is none.

    >>> with_place(with_place(((0, 3),), 3), 7)
    ((0, 4), (7, 8))
    """
    if place < 0 or holds(spans, place):
        return spans
    i = bisect_right(spans, (place, place))
    first, last = place, place + 1
    before, after = spans[:i], spans[i:]
    if before and before[-1][1] == first:
        first, before = before[-1][0], before[:-1]
    if after and after[0][0] == last:
        last, after = after[0][1], after[1:]
    return (*before, (first, last), *after)


def holds(spans: Spans, place: int) -> bool:
    """Tell whether a place is in the set.

    >>> [holds(((2, 4), (6, 7)), place) for place in range(1, 8)]
    [False, True, True, False, False, True, False]
    """
    i = bisect_right(spans, place, key=lambda span: span[0])
    return i > 0 and place < spans[i - 1][1]
