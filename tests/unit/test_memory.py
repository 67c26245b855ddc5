"""The memory keeps every evaluation exactly, finds points again, and knows the best, as a plain list does."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import dcmaes as dc
from dcmaes.strategies import Evaluations, Memory, Rank
from dcmaes.strategies._evaluations import Evaluation, RowCodec
from dcmaes.strategies._memory import MOST_RECALLED


def add(memory, x, value, violation=0.0, *, mean=None, count=1, is_again=False):
    """Add an evaluation of a point with one coordinate."""
    (row,) = memory.codec.rows(np.array([[float(x)]]))
    mean = Rank(violation, value) if mean is None else mean
    one = Evaluation(len(memory), value, violation, 0, math.nan, 0.0, False, is_again, mean, count)
    return memory.append(row, one)


def line():
    return Memory(dc.Space.integers(1, 0, 99).sites)


@pytest.mark.parametrize(
    ("variables", "dtype"),
    [
        ([dc.Binary(), dc.Integer(0, 255)], np.uint8),
        ([dc.Integer(0, 256)], np.uint16),
        ([dc.Integer(-50_000, 50_000)], np.uint32),
        ([dc.Integer(0, 2**40)], np.int64),
        ([dc.Integer(0, 1), dc.Float(0, 1)], np.float64),
    ],
)
def test_rows_are_kept_in_the_smallest_type_and_come_back_exactly(variables, dtype):
    sites = dc.Space.array(variables).sites
    codec = RowCodec(sites)
    assert codec.dtype == dtype
    ends = np.array([np.zeros(len(variables)), np.where(sites.n_states > 0, sites.n_states - 1, 1)])
    x = np.concatenate([ends, sites.uniform(np.random.default_rng(0).random((50, len(variables))))])
    np.testing.assert_array_equal(codec.coded(codec.rows(x)), x)


def test_equal_points_have_equal_keys_and_others_do_not():
    codec = RowCodec(dc.Space.array([dc.Float(-1, 1)] * 5).sites)
    rows = codec.rows(np.array([[0.0] * 5, [-0.0] * 5, [0.0, 0.0, 0.0, 0.0, 1e-300]]))
    keys = [codec.key(row) for row in rows]
    assert keys[0] == keys[1] != keys[2]
    assert len(keys[0]) == 16
    assert RowCodec(dc.Space.binary(16).sites).key(b"\x00" * 16) == b"\x00" * 16


def test_best_is_feasible_before_infeasible_and_the_first_of_equals():
    memory, bests = line(), []
    assert memory.best is None
    for x, value, violation in [
        (0, math.nan, math.inf),
        (1, -5.0, 2.0),
        (2, 0.0, 1.0),
        (3, 7.0, 0.0),
        (4, -9.0, 0.5),
        (5, 7.0, 0.0),
        (6, 6.0, 0.0),
    ]:
        add(memory, x, value, violation)
        bests.append(memory.best)
    assert bests == [None, 1, 2, 3, 3, 3, 6]
    assert memory.n_failures == 1
    assert memory.has_violations
    assert memory.rank(np.array([4.0])) == Rank(0.5, -9.0)
    assert memory.rank(np.array([0.0])) == Rank(math.inf, math.inf)
    assert memory.rank(np.array([7.0])) is None


def test_columns_and_evaluations():
    memory = Memory(dc.Space.array([dc.Float(0, 1), dc.Binary()]).sites)
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.random(100), rng.integers(0, 2, 100)])
    for i, row in enumerate(memory.codec.rows(x)):
        mean = Rank(i % 2, x[i, 0])
        kept = Evaluation(i * 3, x[i, 0], float(i % 2), i // 7, i / 8, i / 4, i < 5, False, mean, 1)
        memory.append(row, kept, f"reason {i}" if i % 5 == 0 else None)
    np.testing.assert_array_equal(memory.points(10, 20), x[10:20])
    np.testing.assert_array_equal(memory.column("value", 30), x[:30, 0])
    np.testing.assert_array_equal(memory.column("id"), np.arange(100) * 3)
    assert memory.evaluation(17) == (51, x[17, 0], 1.0, 2, 17 / 8, 17 / 4, False, False, (1.0, x[17, 0]), 1)
    assert [memory.reason(i) for i in (0, 1, 5)] == ["reason 0", None, "reason 5"]
    assert memory.best == 2 * int(np.argmin(x[::2, 0]))  # odd ones are infeasible
    assert [memory.find(row) for row in x] == list(range(100))
    some = np.array([3, 4, 5, 9, 2, 3])
    np.testing.assert_array_equal(memory.evaluations(some).x, x[some])
    np.testing.assert_array_equal(memory.evaluations(some).violation, some % 2)


def test_what_is_told_gets_its_places_and_repeats_keep_theirs():
    memory = line()
    x, is_repeat = np.array([[3.0], [4.0], [3.0], [9.0]]), np.array([False, False, True, True])
    told = memory.tell(Evaluations(x, np.arange(4.0), np.zeros(4), is_repeat))
    assert told.row.tolist() == [0, 1, 0, -1]
    assert len(memory) == 2


def test_points_are_known_while_they_are_out():
    memory = line()
    add(memory, 4, 1.0)
    for trial in range(2):
        memory.hand_out(trial, bytes([5]))
    memory.exclude(bytes([6]), 1.5)
    asked = np.array([[4.0], [5.0], [6.0], [7.0]])
    assert memory.contains(asked).tolist() == [True, True, True, False]
    assert memory.rank(np.array([6.0])) == Rank(1.5, math.inf)
    assert memory.pending.tolist() == [[5.0], [5.0]]
    memory.take_back(0)
    assert memory.contains(asked).tolist() == [True, True, True, False]
    memory.take_back(1)
    assert memory.contains(asked).tolist() == [True, False, True, False]


def test_noise_by_hand():
    """Values 3 and 7 at one point, 1, 1 and 4 at another: squares 4 + 4 and 1 + 1 + 4, three degrees."""
    memory = line()
    for x, mean, count in [(0, 3.0, 1), (1, 1.0, 1), (0, 5.0, 2), (1, 1.0, 2), (1, 2.0, 3)]:
        add(memory, x, 0.0, mean=Rank(0.0, mean), count=count)
    assert memory.deviation == pytest.approx(math.sqrt(14 / 3))
    add(memory, 1, math.nan, math.inf, mean=Rank(0.0, 2.0), count=3)  # a failure says nothing of values
    assert memory.deviation == pytest.approx(math.sqrt(14 / 3))
    assert memory.recall(10).row.tolist() == [2, 5]


class Plain:
    """The same as a list of what was told: (x, violation, value, place, is_again)."""

    def __init__(self):
        self.told, self.seen, self.is_noisy = [], {}, False

    def mean(self, x, value):
        values = [*self.seen.get(x, []), value]
        self.is_noisy |= len(set(values)) > 1
        self.seen[x] = values
        return sum(values) / len(values), len(values)

    def counting(self):
        if not self.is_noisy:
            return [one for one in self.told if not one[4]]
        last = {one[0]: one for one in self.told}
        return [one for one in self.told if one[3] < 0 or last[one[0]] is one]

    def recall(self, most):
        told = self.counting()
        if len(told) <= most:
            return told
        best = sorted(told, key=lambda one: one[1:3])[: most // 4]
        return [one for one in told if one in best or one in told[-(most // 2) :]]


@settings(max_examples=500)
@given(
    st.booleans(),
    st.lists(
        st.tuples(st.integers(0, 20), st.sampled_from([0.0, 1.0, 2.0, 4.0]), st.integers(0, 9)), max_size=60
    ),
    st.integers(1, 12),
)
def test_it_equals_a_list(averages, events, n):
    """Evaluations of few points, again and again, between points that are excluded."""
    memory, plain, most = line(), Plain(), 4 * n
    for x, value, kind in events:
        if kind == 0:
            memory.add_excluded(bytes([x + 50]), value + 1.0)
            plain.told.append((x + 50, value + 1.0, math.inf, -1 - len(plain.told), False))
            continue
        violation = 1.0 if kind == 1 and not averages else 0.0
        mean, count = plain.mean(x, value) if averages else (value, 1)
        is_again = averages and count > 1 and kind < 5
        place = add(memory, x, value, violation, mean=Rank(violation, mean), count=count, is_again=is_again)
        plain.told.append((x, violation, mean, place, is_again))
        assert memory.is_noisy == plain.is_noisy
        ranked = sorted((one for one in plain.counting() if one[3] >= 0), key=lambda one: one[1:3])
        assert memory.leaders(n).tolist() == [one[3] for one in ranked[:n]]
        assert len(memory.recall(most)) <= most
    told, expected = memory.recall(most), plain.recall(most)
    assert told.x[:, 0].tolist() == [one[0] for one in expected]
    assert told.violation.tolist() == [one[1] for one in expected]
    assert told.row.tolist() == [max(one[3], -1) for one in expected]
    for x in range(21):
        first = next((one[3] for one in plain.told if one[0] == x), None)
        assert memory.find(np.array([float(x)])) == first


def test_a_snapshot_does_not_grow():
    memory = line()
    add(memory, 3, 1.0)
    memory.add_excluded(bytes([60]), 1.0)
    then = memory.snapshot()
    add(memory, 4, 0.0)
    memory.add_excluded(bytes([61]), 1.0)
    assert (len(then), len(memory)) == (1, 2)
    assert then.recall(10).x[:, 0].tolist() == [3.0, 60.0]
    assert memory.recall(10).x[:, 0].tolist() == [3.0, 60.0, 4.0, 61.0]
    assert then.find(np.array([4.0])) is None
    assert (then.best, memory.best) == (0, 1)


def test_what_is_excluded_comes_back():
    memory, again = line(), line()
    for one in (memory, again):
        add(one, 3, 1.0)
    memory.exclude(bytes([60]), 1.0)
    memory.exclude(bytes([61]), 2.0)
    memory.add_excluded(bytes([60]), 1.0)
    again.restore_excluded(memory.excluded_to_dict())
    assert again.excluded == memory.excluded
    assert again.has_violations
    assert again.recall(10).x.tolist() == memory.recall(10).x.tolist() == [[3.0], [60.0]]


def test_excluded_points_do_not_pile_up():
    memory = line()
    for i in range(3 * MOST_RECALLED):
        memory.add_excluded(bytes([i % 100]), 1.0 + i)
    told = memory.recall(4 * MOST_RECALLED)
    assert told.violation.tolist() == [1.0 + i for i in range(2 * MOST_RECALLED, 3 * MOST_RECALLED)]
