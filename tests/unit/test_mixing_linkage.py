"""Which sites the `mixing` strategy takes to belong together."""

import numpy as np
import pytest

from dcmaes.strategies.mixing._linkage import MAX_CLASSES, classes, clusters, distances, information


def planted(blocks, n, n_states, seed):
    """Return solutions in which the sites of a block all follow from one random state."""
    rng = np.random.default_rng(seed)
    x = np.empty((n, sum(map(len, blocks))))
    for block in blocks:
        # Each site has its own names for the states.
        names = np.array([rng.permutation(n_states) for _ in block])
        x[:, block] = names[:, rng.integers(n_states, size=n)].T
    return x


@pytest.mark.parametrize("n_states", [2, 5])
def test_planted_blocks_are_clusters(n_states):
    blocks = [[0, 7, 3], [1, 2], [4, 9, 8, 6], [5]]
    found = clusters(planted(blocks, 40, n_states, seed=1), np.random.default_rng(0))
    sets = [set(cluster.tolist()) for cluster in found]
    for block in blocks:
        assert set(block) in sets
    # Parts of a block are left out, and so is the set of all sites.
    assert [s for s in sets if any(s < set(block) for block in blocks)] == []
    assert set(range(10)) not in sets


def test_noisy_blocks_are_clusters_with_their_parts():
    x = planted([[0, 1, 2], [3, 4, 5]], 200, 2, seed=2)
    flips = np.random.default_rng(3).random(x.shape) < 0.1
    found = clusters(np.where(flips, 1.0 - x, x), np.random.default_rng(0))
    sets = [set(cluster.tolist()) for cluster in found]
    assert {0, 1, 2} in sets
    assert {3, 4, 5} in sets
    assert all({site} in sets for site in range(6))
    assert len(sets) == 2 * 6 - 2
    assert [len(s) for s in sets] == sorted(len(s) for s in sets)


def test_information_by_enumeration():
    x = np.random.default_rng(4).integers(0, 3, (50, 4)).astype(float)
    shared, joint = information(x)
    for i in range(4):
        for j in range(4):
            p = np.array([[np.mean((x[:, i] == a) & (x[:, j] == b)) for b in range(3)] for a in range(3)])
            independent = p.sum(axis=1)[:, None] * p.sum(axis=0)
            entropy = -(p[p > 0] * np.log(p[p > 0])).sum()
            mutual = (p[p > 0] * np.log(p[p > 0] / independent[p > 0])).sum()
            np.testing.assert_allclose([shared[i, j], joint[i, j]], [mutual, entropy], atol=1e-12)


def test_distances_do_not_depend_on_the_names_of_states():
    rng = np.random.default_rng(5)
    x = rng.integers(0, 4, (30, 5)).astype(float)
    renamed = np.array([rng.permutation(4)[column.astype(int)] for column in x.T]).T.astype(float)
    np.testing.assert_allclose(distances(x), distances(renamed), atol=1e-12)


def test_a_site_that_never_changes_is_far_from_all():
    x = np.random.default_rng(6).integers(0, 2, (20, 3)).astype(float)
    x[:, 1] = 1.0
    np.testing.assert_array_equal(distances(x)[1], [1.0, 0.0, 1.0])


def test_many_values_make_a_limited_number_of_classes():
    x = np.random.default_rng(7).normal(size=(500, 2))
    found = classes(x)
    counts = np.bincount(found[:, 0])
    assert len(counts) == MAX_CLASSES
    assert counts.min() >= 500 // MAX_CLASSES - 1
    order = np.argsort(x[:, 0])
    assert (np.diff(found[order, 0]) >= 0).all()
