"""Sites: states, unit coordinates, folding and stochastic rounding."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dcmaes.space import (
    CATEGORY,
    CONTINUOUS,
    LATTICE,
    Binary,
    Categorical,
    Float,
    Integer,
    Ordinal,
    Sites,
    Space,
)


def make(*specs):
    """Sites from (kind, n_states, low, high, flags) rows; flags may have "p" (periodic) and "l" (log)."""
    kind, n_states, low, high, flags = zip(*specs, strict=True)
    return Sites(kind, n_states, ["p" in f for f in flags], ["l" in f for f in flags], low, high)


def lattice(n, flags=""):
    return (LATTICE, n, 0, n - 1, flags)


def log_lattice(low, n):
    return (LATTICE, n, low, low + n - 1, "l")


def category(n):
    return (CATEGORY, n, 0, n - 1, "")


def interval(low, high, flags=""):
    return (CONTINUOUS, 0, low, high, flags)


MIXED = make(
    lattice(5),
    interval(-2.0, 6.0),
    log_lattice(1, 100),
    category(7),
    lattice(8, "p"),
    interval(1e-5, 1e-1, "l"),
    interval(0.0, 360.0, "p"),
    lattice(1),
    interval(3.5, 3.5),
    lattice(2),
    log_lattice(1000, 5),
)

lattices = st.one_of(
    st.integers(1, 2**53).map(lattice),
    st.integers(1, 2**53).map(lambda n: lattice(n, "p")),
    st.builds(log_lattice, st.integers(1, 2**62), st.integers(1, 2**40)),
    st.builds(log_lattice, st.integers(1, 10), st.integers(1, 10**9)),
    st.integers(1, 12).map(lattice),
    st.integers(1, 12).map(lambda n: lattice(n, "p")),
)
unit = st.floats(0.0, 1.0, exclude_max=True)


class TestCoordinate:
    def test_by_hand(self):
        x = np.array([1, 0.0, 9, 4, 2, 1e-3, 90.0, 0, 3.5, 1, 0])
        expected = [0.25, 0.25, math.log(10) / math.log(100), 4, 0.25, 0.5, 0.25, 0, 0, 1, 0]
        np.testing.assert_allclose(MIXED.coordinate(x), expected, rtol=1e-15)

    def test_both_bounds_of_a_periodic_interval_are_one_point(self):
        sites = make(interval(-1.0, 1.0, "p"))
        assert sites.coordinate(np.array([[-1.0], [1.0]])).tolist() == [[0.0], [0.0]]

    def test_leading_axes(self):
        x = MIXED.uniform(np.random.default_rng(0).random((4, 3, MIXED.dimension)))
        u = MIXED.coordinate(x)
        assert u.shape == x.shape
        assert np.array_equal(u[2, 1], MIXED.coordinate(x[2, 1]))

    def test_ends_are_zero_and_one(self):
        sites = make(lattice(10**9), log_lattice(3, 10**9), interval(-1e300, 1e300), interval(1e-8, 7.7, "l"))
        first = np.where(sites.kind == LATTICE, 0.0, sites.low)
        last = np.where(sites.kind == LATTICE, sites.n_states - 1.0, sites.high)
        assert sites.coordinate(first).tolist() == [0.0] * 4
        assert sites.coordinate(last).tolist() == [1.0] * 4
        assert np.array_equal(sites.from_coordinate(np.ones(4), np.zeros(4)), last)


class TestRounding:
    @settings(max_examples=500)
    @given(st.data(), lattices, unit)
    def test_coordinate_of_a_state_gives_the_state(self, data, spec, uniform):
        sites = make(spec)
        state = data.draw(st.integers(0, spec[1] - 1) | st.integers(max(0, spec[1] - 9), spec[1] - 1))
        x = np.array([float(state)])
        assert sites.from_coordinate(sites.coordinate(x), np.array([uniform])) == x

    @pytest.mark.parametrize(
        "spec",
        [
            lattice(10_000),
            lattice(9_999, "p"),
            log_lattice(1, 10_000),
            log_lattice(7, 9_999),
            log_lattice(2**60, 500),
        ],
    )
    def test_every_state_of_small_lattices(self, spec):
        sites = make(spec)
        x = np.arange(float(spec[1]))[:, None]
        u = sites.coordinate(x)
        for uniform in (0.0, 0.5, np.nextafter(1.0, 0.0)):
            assert np.array_equal(sites.from_coordinate(u, np.full_like(u, uniform)), x)

    def test_many_states_of_a_large_log_lattice(self):
        sites = make(log_lattice(1, 10**9))
        x = np.random.default_rng(1).integers(0, 10**9, size=(100_000, 1)).astype(float)
        u = sites.coordinate(x)
        assert np.array_equal(sites.from_coordinate(u, np.zeros_like(u)), x)

    @pytest.mark.parametrize("spec", [lattice(5), lattice(2), log_lattice(1, 9), log_lattice(20, 50)])
    def test_mean_coordinate_is_kept(self, spec):
        sites = make(spec)
        # Equidistant uniforms integrate a step function to within one part in their number.
        uniforms = ((np.arange(4000) + 0.5) / 4000)[:, None]
        for u in np.linspace(0.0, 1.0, 37):
            x = sites.from_coordinate(np.full_like(uniforms, u), uniforms)
            assert len(np.unique(x)) <= 2
            assert sites.coordinate(x).mean() == pytest.approx(u, abs=1e-3)

    def test_periodic_lattice_rounds_across_the_seam(self):
        sites = make(lattice(4, "p"))
        u = np.array([[0.9], [0.9], [-0.05], [-0.05], [1.3]])
        uniforms = np.array([[0.59], [0.61], [0.79], [0.81], [0.9]])
        assert sites.from_coordinate(u, uniforms).ravel().tolist() == [0, 3, 0, 3, 1]

    def test_periodic_interval_never_gives_its_upper_bound(self):
        sites = make(interval(1e6, 1e6 + 1.0, "p"), interval(1e6, 1e6 + 1.0))
        # So close below 1 that the value rounds to the upper bound.
        u = np.full(2, np.nextafter(1.0, 0.0))
        assert sites.from_coordinate(u, np.zeros(2)).tolist() == [1e6, 1e6 + 1.0]
        assert sites.uniform(u).tolist() == [1e6, 1e6 + 1.0]

    def test_category_takes_its_index(self):
        sites = make(category(200), lattice(3))
        assert sites.from_coordinate(np.array([137.0, 0.5]), np.zeros(2)).tolist() == [137, 1]

    @given(st.lists(st.floats(-50, 50), min_size=MIXED.dimension, max_size=MIXED.dimension), unit)
    def test_result_is_a_coded_point(self, u, uniform):
        u = np.where(MIXED.is_numeric, u, 3.0)
        x = MIXED.from_coordinate(u, np.full(MIXED.dimension, uniform))
        discrete = MIXED.kind != CONTINUOUS
        assert np.array_equal(x[discrete], np.rint(x[discrete]))
        assert ((x >= 0) & (x < MIXED.n_states))[discrete].all()
        assert ((x >= MIXED.low) & (x <= MIXED.high))[~discrete].all()

    def test_mixed_sites_are_rounded_as_if_alone(self):
        rng = np.random.default_rng(2)
        u, uniforms = rng.normal(0.5, 1.0, (50, MIXED.dimension)), rng.random((50, MIXED.dimension))
        together = MIXED.from_coordinate(u, uniforms)
        for i in range(MIXED.dimension):
            fields = (MIXED.kind, MIXED.n_states, MIXED.periodic, MIXED.log, MIXED.low, MIXED.high)
            alone = Sites(*(field[i : i + 1] for field in fields))
            np.testing.assert_allclose(
                alone.from_coordinate(u[:, i : i + 1], uniforms[:, i : i + 1]),
                together[:, i : i + 1],
                rtol=1e-14,
            )


class TestFold:
    def test_state_minus_one_mirrors_to_zero_and_the_state_after_the_last_to_the_last(self):
        sites = make(lattice(5), lattice(2), log_lattice(4, 5), log_lattice(1, 1000))
        first, last = np.zeros(4), np.ones(4)
        np.testing.assert_allclose(sites.fold(first - sites.spacing(first)), first, atol=1e-15)
        np.testing.assert_allclose(sites.fold(last + sites.spacing(last)), last, atol=1e-15)

    def test_mirrors_are_half_a_spacing_beyond_the_end_states(self):
        sites = make(lattice(5), log_lattice(1, 1000))
        first, last = np.zeros(2), np.ones(2)
        np.testing.assert_allclose(sites.fold(first - sites.spacing(first) - 0.2), first + 0.2, rtol=1e-14)
        np.testing.assert_allclose(sites.fold(last + sites.spacing(last) + 0.2), last - 0.2, rtol=1e-14)

    def test_within_half_a_spacing_the_end_state_is_kept(self):
        sites = make(lattice(5))
        assert sites.fold(np.array([[-0.1], [-0.125], [1.1]])).tolist() == [[0.0], [0.0], [1.0]]

    def test_intervals_reflect_at_their_bounds(self):
        sites = make(interval(-2.0, 6.0))
        u = np.array([[-0.25], [1.25], [2.25], [-3.75]])
        np.testing.assert_allclose(sites.fold(u), [[0.25], [0.75], [0.25], [0.25]], rtol=1e-15)

    def test_periodic_sites_wrap(self):
        sites = make(lattice(4, "p"), interval(0.0, 1.0, "p"))
        u = np.array([[-0.25, -0.25], [1.0, 1.0], [5.75, 5.75], [-1e-20, -1e-20]])
        assert sites.fold(u).tolist() == [[0.75, 0.75], [0.0, 0.0], [0.75, 0.75], [0.0, 0.0]]

    def test_single_values_go_to_zero_and_categories_stay(self):
        sites = make(lattice(1), interval(2.0, 2.0), lattice(1, "p"), log_lattice(5, 1), category(4))
        assert sites.fold(np.full(5, 3.0)).tolist() == [0, 0, 0, 0, 3]

    @settings(max_examples=300)
    @given(
        st.one_of(lattices, st.just(interval(-2.0, 6.0)), st.just(interval(1.0, 9.0, "pl"))),
        st.floats(-1e6, 1e6),
    )
    def test_lands_inside_and_stays(self, spec, u):
        sites = make(spec)
        once = sites.fold(np.array([u]))
        assert 0.0 <= once[0] <= 1.0
        assert np.array_equal(sites.fold(once), once)

    def test_argument_is_not_changed(self):
        u = np.full(MIXED.dimension, -0.3)
        MIXED.fold(u)
        MIXED.from_coordinate(u, np.full(MIXED.dimension, 0.5))
        assert (u == -0.3).all()


class TestSpacing:
    def test_by_hand(self):
        gap = MIXED.spacing(np.full(MIXED.dimension, 0.0))
        expected = [1 / 4, 0, math.log(2) / math.log(100), 1, 1 / 8, 0, 0, 0, 0, 1]
        np.testing.assert_allclose(gap[:10], expected, rtol=1e-14)

    @pytest.mark.parametrize("spec", [lattice(7), lattice(7, "p"), log_lattice(1, 9), log_lattice(50, 20)])
    def test_leads_from_each_state_to_the_next(self, spec):
        sites = make(spec)
        u = sites.coordinate(np.arange(float(spec[1]))[:, None])
        gap = sites.spacing(u)
        np.testing.assert_allclose(u[:-1] + gap[:-1], u[1:], rtol=1e-13)
        assert gap[-1] == pytest.approx(gap[-2])

    def test_gap_of_two_neighbours_holds_between_them(self):
        sites = make(log_lattice(1, 9))
        u = sites.coordinate(np.array([[3.0], [4.0]]))
        assert sites.spacing(u.mean(axis=0)) == sites.spacing(u[0])


class TestUniform:
    def test_every_state_has_the_same_share(self):
        sites = make(lattice(5), category(4), lattice(2, "p"))
        grid = np.repeat((np.arange(2000) + 0.5)[:, None] / 2000, 3, axis=1)
        x = sites.uniform(grid)
        for i, n in enumerate([5, 4, 2]):
            assert np.bincount(x[:, i].astype(int)).tolist() == [2000 // n] * n

    def test_log_lattice_shares_are_those_of_the_values_that_round_to_a_state(self):
        sites = make(log_lattice(1, 8))
        grid = ((np.arange(100_000) + 0.5) / 100_000)[:, None]
        share = np.bincount(sites.uniform(grid)[:, 0].astype(int)) / 100_000
        value = np.arange(1, 9)
        expected = np.log((value + 0.5) / (value - 0.5)) / math.log(8.5 / 0.5)
        np.testing.assert_allclose(share, expected, atol=1e-4)

    def test_intervals(self):
        sites = make(interval(-2.0, 6.0), interval(1e-4, 1.0, "l"))
        np.testing.assert_allclose(sites.uniform(np.array([0.25, 0.25])), [0.0, 1e-3], rtol=1e-14)

    def test_largest_uniform_stays_inside(self):
        x = MIXED.uniform(np.full(MIXED.dimension, np.nextafter(1.0, 0.0)))
        discrete = MIXED.kind != CONTINUOUS
        assert np.array_equal(x[discrete], MIXED.n_states[discrete] - 1.0)
        assert (x <= MIXED.high)[~discrete].all()


class TestObject:
    def test_fields_are_read_only_copies(self):
        low = np.zeros(1)
        sites = Sites([LATTICE], [3], [False], [False], low, [2.0])
        low[0] = 9.0
        assert sites.low[0] == 0.0
        with pytest.raises(ValueError, match="read-only"):
            sites.low[0] = 1.0

    def test_equality_and_hash(self):
        assert make(lattice(3), category(2)) == make(lattice(3), category(2))
        assert hash(make(lattice(3))) == hash(make(lattice(3)))
        assert make(lattice(3)) != make(lattice(4))
        assert make(lattice(3)) != make(category(3))
        assert make(lattice(3)) != "sites"

    def test_shapes_must_agree(self):
        with pytest.raises(ValueError, match=r"n_states must have shape \(1,\).*got \(2,\)"):
            Sites([LATTICE], [3, 4], [False], [False], [0.0], [2.0])


def test_sites_answer_for_every_kind_of_variable():
    """Each question by its definition, for variables at the limits of every answer."""
    rows = {
        # variable: lattice, category, continuous, numeric, free, choice, line, short
        Binary(): "lattice numeric free choice short",
        Integer(5, 5): "lattice numeric short",
        Integer(0, 1): "lattice numeric free choice short",
        Integer(0, 2): "lattice numeric free line short",
        Integer(0, 3): "lattice numeric free line short",
        Integer(0, 4): "lattice numeric free line",
        Float(0, 1, step=1): "lattice numeric free choice short",
        Float(0, 1, step=0.1): "lattice numeric free line",
        Ordinal(["s", "m", "l"]): "lattice numeric free line short",
        Categorical(["only"]): "category short",
        Categorical(["a", "b"]): "category free choice short",
        Categorical(range(9)): "category free choice short",
        Float(2, 2): "continuous numeric",
        Float(2, 3): "continuous numeric free line",
    }
    sites = Space({str(i): variable for i, variable in enumerate(rows)}).sites
    for question in ("lattice", "category", "continuous", "numeric", "free", "choice", "line", "short"):
        answer = getattr(sites, f"is_{question}")
        assert answer.tolist() == [question in words.split() for words in rows.values()], question
        assert not answer.flags.writeable
