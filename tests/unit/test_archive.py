"""The archive keeps every evaluation exactly, finds points again, and knows the best."""

from __future__ import annotations

import math

import numpy as np
import pytest

import dcmaes as dc
from dcmaes.run._archive import Archive, Entry, Status
from dcmaes.run._noise import Repeats
from dcmaes.run._rows import RowCodec


def entry(trial_id, value, violation=0.0):
    return Entry(trial_id, value, violation, Status.of(violation), 0, math.nan, 0.0, False)


def add(archive, row, value, violation=0.0):
    archive.append(row, archive.codec.key(row), entry(len(archive), value, violation))


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
    archive = Archive(RowCodec(dc.Space.integers(1, 0, 99).sites))
    assert archive.best is None
    bests = []
    for row, value, violation in [
        (b"\x00", math.nan, math.inf),
        (b"\x01", -5.0, 2.0),
        (b"\x02", 0.0, 1.0),
        (b"\x03", 7.0, 0.0),
        (b"\x04", -9.0, 0.5),
        (b"\x05", 7.0, 0.0),
        (b"\x06", 6.0, 0.0),
    ]:
        add(archive, row, value, violation)
        bests.append(archive.best)
    assert bests == [None, 1, 2, 3, 3, 3, 6]
    assert archive.n_failures == 1
    assert archive.worth(b"\x04") == (-9.0, 0.5)
    assert archive.worth(b"\x07") is None


def test_repeats_are_averaged_and_failures_left_out():
    archive = Archive(RowCodec(dc.Space.integers(1, 0, 99).sites), Repeats())
    for row, value, violation in [
        (b"\x01", 1.0, 0.0),
        (b"\x02", 0.0, 0.0),
        (b"\x02", 5.0, 0.0),
        (b"\x02", math.nan, math.inf),
        (b"\x03", math.nan, math.inf),
    ]:
        add(archive, row, value, violation)
    assert archive.n_points == 3
    assert archive.repeats.worth(b"\x01") == (1.0, 0.0)
    assert archive.repeats.worth(b"\x02") == (2.5, 0.0)
    assert math.isnan(archive.repeats.worth(b"\x03")[0])
    assert (archive.best, archive.repeats.best()) == (1, 0)


def test_columns_and_entries():
    archive = Archive(RowCodec(dc.Space.array([dc.Float(0, 1), dc.Binary()]).sites))
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.random(100), rng.integers(0, 2, 100)])
    for i, row in enumerate(archive.codec.rows(x)):
        kept = Entry(i * 3, x[i, 0], float(i % 2), Status.of(i % 2), i // 7, i / 8, i / 4, i < 5)
        archive.append(row, archive.codec.key(row), kept, f"reason {i}" if i % 5 == 0 else None)
    np.testing.assert_array_equal(archive.points(10, 20), x[10:20])
    np.testing.assert_array_equal(archive.column("value", 30), x[:30, 0])
    np.testing.assert_array_equal(archive.column("id"), np.arange(100) * 3)
    assert archive.entry(17) == (51, x[17, 0], 1.0, Status.INFEASIBLE, 2, 17 / 8, 17 / 4, False)
    assert [archive.reason(i) for i in (0, 1, 5)] == ["reason 0", None, "reason 5"]
    assert archive.best == 2 * int(np.argmin(x[::2, 0]))  # odd ones are infeasible
    assert all(archive.find(archive.codec.key(row)) == i for i, row in enumerate(archive.codec.rows(x)))
