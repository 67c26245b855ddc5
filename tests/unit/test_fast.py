"""Compiled loops: the same numbers as the plain ones, when they are used, and what happens without numba."""

import os
import subprocess
import sys

import numpy as np
import pytest

import dcmaes as dc
from dcmaes._compiled import Loop, ready
from dcmaes.distributions import Ising, _heat_bath
from dcmaes.models import Energy, FeatureMap
from dcmaes.strategies.ising import _search
from dcmaes.strategies.ising._box import Box
from dcmaes.strategies.ising._search import search

LOOPS = [(_search, "_STEP"), (_search, "_WALK_BITS"), (_heat_bath, "_REDRAW")]
SPACES = {
    "bits": dc.Space.binary(24),
    "integers": dc.Space.integers(9, 0, 20),
    "choices": dc.Space({f"x{i}": dc.Categorical(list("abcde")) for i in range(8)}),
    "mixed": dc.Space(
        {
            "on": dc.Binary(),
            "kind": dc.Categorical(list("abc")),
            "n": dc.Integer(0, 9),
            "x": dc.Float(-1, 2),
            "size": dc.Integer(1, 1000, log=True),
            "angle": dc.Float(0, 1, periodic=True),
            "colour": dc.Categorical(list("abcd")),
        }
    ),
}


@pytest.fixture
def use(monkeypatch):
    """Return a function that has all loops compiled, or all plain, from the first round on."""
    pytest.importorskip("numba")
    loops = [(module, name, getattr(module, name)) for module, name in LOOPS]

    def use(version):
        for module, name, loop in loops:
            wanted = loop._load() if version == "compiled" else loop._plain
            monkeypatch.setattr(module, name, Loop(wanted, loop._load, n_plain=10**12))

    return use


def random_energy(rng, n, feature_map, *, has_coupling):
    p, shape = feature_map.n_choices, (n, feature_map.n_features)
    coupling = None
    if has_coupling:
        half = rng.normal(size=(*shape, shape[1]))
        is_pair = feature_map.site[:, None] != feature_map.site
        coupling = (half + half.transpose(0, 2, 1)) * is_pair
    radial = rng.choice([0.0, 0.3, -1.0]) * rng.normal(size=n)
    field, curvature = rng.normal(size=shape), rng.normal(size=(n, shape[1] - p))
    return Energy(p, radial, field, curvature, coupling, rng.normal(size=n))


def rounded(energy):
    """Return an energy with many moves that are equally good."""
    coupling = None if energy.coupling is None else np.rint(energy.coupling)
    parts = (np.rint(part) for part in (energy.radial, energy.field, energy.curvature))
    return Energy(energy.n_choices, *parts, coupling, np.rint(energy.constant))


@pytest.mark.parametrize("has_barrier", [False, True])
@pytest.mark.parametrize("has_coupling", [False, True])
@pytest.mark.parametrize("kind", SPACES)
def test_a_compiled_search_visits_the_same(kind, has_coupling, has_barrier, use):
    sites = SPACES[kind].sites
    for seed in range(40):
        rng = np.random.default_rng(seed)
        n, d = int(rng.integers(1, 6)), sites.dimension
        feature_map = FeatureMap(sites, sites.uniform(rng.random(d)), np.exp(rng.normal(size=d) - 2))
        energy = random_energy(rng, n, feature_map, has_coupling=has_coupling)
        barrier = None
        if has_barrier:
            barrier = random_energy(rng, n, feature_map, has_coupling=rng.random() < 0.7)
        if seed % 4 == 0:
            energy, barrier = rounded(energy), None if barrier is None else rounded(barrier)
        box = Box.around(feature_map, rng.choice([0.5, 2.0, 8.0], n))
        settings = {"n_steps": int(rng.integers(1, 60)), "tenure": int(rng.integers(0, 4))}
        settings["most_changes"] = rng.integers(1, 8, n)
        visited = {}
        for version in ("plain", "compiled"):
            use(version)
            luck = np.random.default_rng(seed)
            visited[version] = search(energy, barrier, feature_map, box, **settings, rng=luck), luck.random()
        (plain, plain_luck), (compiled, compiled_luck) = visited.values()
        # Bytes, so that zeros of either sign are told apart.
        assert plain.features.tobytes() == compiled.features.tobytes()
        assert plain.energy.tobytes() == compiled.energy.tobytes()
        assert plain_luck == compiled_luck


@pytest.mark.parametrize("dimension", [21, 40])
@pytest.mark.parametrize("seed", range(5))
def test_a_compiled_heat_bath_draws_the_same(dimension, seed, use):
    rng = np.random.default_rng(seed)
    half = rng.normal(size=(dimension, dimension)) / dimension
    law = Ising(rng.normal(size=dimension), np.triu(half, 1) + np.triu(half, 1).T)
    runs = []
    for version in ("plain", "compiled"):
        use(version)
        runs.append(law.simulate(100, np.random.default_rng(seed), n_chains=int(1 + 2 ** (seed + 1))))
    assert np.array_equal(runs[0].samples, runs[1].samples)
    assert np.array_equal(runs[0].r_hat, runs[1].r_hat)


def test_a_compiled_sweep_takes_arrays_of_any_layout(use):
    rng = np.random.default_rng(0)
    coupling = np.zeros((20, 20))
    coupling.setflags(write=False)
    states, uniforms = np.asfortranarray(np.zeros((20, 6))), rng.random((6, 20)).T
    use("compiled")
    _heat_bath.sweep(states, uniforms, np.zeros(20), coupling)
    assert np.array_equal(states, uniforms < 0.5)


def function_of(space, seed):
    """Return a function with interactions: a random quadratic of the unit coordinates."""
    d = space.sites.dimension
    rng = np.random.default_rng(seed)
    matrix, target = rng.normal(size=(d, d)), rng.random(d)

    def objective(point):
        z = space.sites.coordinate(space.encode(point)) - target
        return float(z @ matrix @ z)

    return objective


@pytest.mark.parametrize("is_limited", [False, True])
@pytest.mark.parametrize("strategy", ["ising", "auto"])
@pytest.mark.parametrize("kind", SPACES)
def test_compiled_runs_evaluate_the_same_points(kind, strategy, is_limited, use):
    space = SPACES[kind]
    value, limit = function_of(space, 0), function_of(space, 1)

    def objective(point):
        return dc.Outcome(value(point), violation=max(0.0, limit(point)) if is_limited else 0.0)

    histories = []
    for version in ("plain", "compiled"):
        use(version)
        histories.append(dc.minimize(objective, space, budget=100, seed=3, strategy=strategy).history)
    plain, compiled = histories
    assert {record.status for record in plain} == ({"ok", "infeasible"} if is_limited else {"ok"})
    assert [str(point) for point in plain.points] == [str(point) for point in compiled.points]
    assert np.array_equal(plain.values, compiled.values)
    assert np.array_equal(plain.violations, compiled.violations)


def test_a_loop_changes_over_after_enough_rounds():
    loop = Loop(min, lambda: max, n_plain=10)
    assert [loop.version(4) for _ in range(4)] == [min, min, max, max]


def test_the_environment_keeps_loops_plain(monkeypatch):
    loop = Loop(min, lambda: max, n_plain=10)
    monkeypatch.setenv("DCMAES_FAST", "0")
    assert [loop.version(8) for _ in range(3)] == [min, min, min]


def test_a_loop_that_cannot_be_loaded_stays_plain():
    n_tries = 0

    def load():
        nonlocal n_tries
        n_tries += 1
        raise RuntimeError("no locator available")

    loop = Loop(min, load, n_plain=0)
    assert [loop.version(1) for _ in range(3)] == [min, min, min]
    assert n_tries == 1


def test_arrays_that_are_ready_are_not_copied():
    array = np.zeros((2, 3))
    assert ready(array) is array
    array.setflags(write=False)
    assert ready(array).flags.writeable


RUN = """
import dcmaes as dc, sys
from dcmaes.strategies.ising import _search
from dcmaes._compiled import Loop
_search._WALK_BITS = loop = Loop(_search.walk_bits, _search._load_bits, n_plain=100)
run = dc.minimize(
    lambda x: float(x.sum() - 3 * x[0] * x[1]), dc.Space.binary(12), budget=60, seed=0, strategy="ising"
)
print(run.fun, loop.version(0) is _search.walk_bits)
"""


# Without trouble of another kind it is the cache: numba is to use one folder only, which cannot be made.
@pytest.mark.parametrize("trouble", ["", "sys.modules['numba'] = None", "sys.modules['llvmlite'] = None"])
def test_runs_without_numba_or_a_place_for_its_cache_are_quiet(trouble, tmp_path):
    (tmp_path / "file").write_text("")
    numba = {
        "NUMBA_CACHE_DIR": str(tmp_path / "file" / "folder"),
        "NUMBA_CACHE_LOCATOR_CLASSES": "UserProvidedCacheLocator",
    }
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"import sys\n{trouble}\n{RUN}"],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), **numba},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
    value, is_plain = done.stdout.split()
    assert float(value) == -1.0
    # Versions of numba that do not know the second variable find another folder.
    assert is_plain == "True" or not trouble
