from itertools import product

import numpy as np
import pytest

from dcmaes.distributions._table import (
    check_pmf,
    cumulate,
    difference_subsets,
    entropy,
    enumerate_states,
    locate,
    sample_table,
    sum_subsets,
    sum_supersets,
)


@pytest.mark.parametrize("dimension", [1, 2, 3, 5])
def test_subset_sums_by_definition(dimension):
    table = np.random.default_rng(dimension).normal(size=(2,) * dimension)
    below, above = np.zeros_like(table), np.zeros_like(table)
    for outer, inner in product(np.ndindex(table.shape), repeat=2):
        if all(a >= b for a, b in zip(outer, inner, strict=True)):
            below[outer] += table[inner]
            above[inner] += table[outer]
    np.testing.assert_allclose(sum_subsets(table), below, atol=1e-13)
    np.testing.assert_allclose(sum_supersets(table), above, atol=1e-13)
    np.testing.assert_allclose(difference_subsets(below), table, atol=1e-13)


def test_transforms_leave_their_argument_alone_and_take_any_layout():
    table = np.arange(8.0).reshape(2, 2, 2)
    turned = table.transpose(2, 0, 1)
    for transform in (sum_subsets, difference_subsets, sum_supersets):
        np.testing.assert_array_equal(transform(turned), transform(turned.copy()))
    np.testing.assert_array_equal(table, np.arange(8.0).reshape(2, 2, 2))


@pytest.mark.parametrize("shape", [(2,), (2, 2, 2), (2,) * 6, (3, 2, 5)])
def test_states_are_in_the_order_of_tables(shape):
    states = enumerate_states(shape)
    assert states.dtype == np.int64
    np.testing.assert_array_equal(states, list(np.ndindex(*shape)))
    index, inside = locate(states.astype(float), shape)
    assert inside.all()
    np.testing.assert_array_equal(index, np.arange(len(states)))


def test_sampling_covers_exactly_the_cells_with_mass():
    cumulative = cumulate(np.array([0.0, 0.25, 0.0, 0.75, 0.0]))
    uniforms = np.array([0.0, 0.25 - 1e-12, 0.25, 1.0 - 2.0**-53])
    np.testing.assert_array_equal(sample_table(cumulative, uniforms), [1, 1, 3, 3])


def test_sums_within_rounding_are_rescaled():
    table = check_pmf("p", [0.3, 0.7 + 1e-9])
    assert table.sum() == pytest.approx(1.0, abs=1e-15)
    with pytest.raises(ValueError, match=r"p must sum to 1, got a sum of 1\.0000001"):
        check_pmf("p", [0.3, 0.7 + 1e-7])


def test_entropy_counts_zeros_as_nothing():
    assert entropy(np.array([0.0, 1.0])) == 0.0
    assert entropy(np.full(8, 0.125)) == pytest.approx(3 * np.log(2))
