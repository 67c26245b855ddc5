"""Sets of places as spans equal plain sets."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from dcmaes.strategies._evaluations import holds, with_place


@given(st.lists(st.integers(-1, 30)))
def test_spans_equal_a_set(places):
    spans = ()
    for place in places:
        spans = with_place(spans, place)
    expected = {place for place in places if place >= 0}
    assert {place for place in range(-1, 32) if holds(spans, place)} == expected
    assert all(one[1] < other[0] for one, other in pairwise(spans))
