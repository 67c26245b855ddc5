"""What every strategy must do, as tests to inherit, and spaces of every kind and of awkward shapes."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import numpy as np
import pytest

from dcmaes._validation import FloatArray
from dcmaes.optimizer import Optimizer, StopReason
from dcmaes.space import Binary, Categorical, Float, Integer, Ordinal, Sites, Space
from dcmaes.store._restoring import dumps, loads
from dcmaes.strategies import Evaluations, Memory, Strategy

BUDGET = 500
States = list[tuple[Any, Memory]]


class StrategyConformance:
    """Tests that any strategy must pass: inherit, and say how to make one.

    The tests drive the strategy over spaces of every kind and tell it everything that may be told: nothing,
    failures, infeasible points, points it never sampled, huge values, equal values.

    Examples
    --------
    In a test file, run with pytest:

    >>> from dcmaes.strategies import RandomSearch
    >>> class TestRandomSearch(StrategyConformance):
    ...     def make_strategy(self):
    ...         return RandomSearch()
    """

    def make_strategy(self) -> Strategy[Any]:
        """Return a strategy with the options to be tested."""
        raise NotImplementedError(
            "a conformance test must say how to make its strategy: override make_strategy"
        )

    def spaces(self) -> Mapping[str, Space]:
        """Return the spaces to test on, by name: `conformance_spaces()`. Override it for others."""
        return conformance_spaces()

    def supports(self, space: Space) -> bool:
        """Tell whether the strategy handles such a space; by default every one. Override it if not."""
        return True

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run what takes a space on each that the strategy supports."""
        if "space" in metafunc.fixturenames:
            chosen = {name: space for name, space in self.spaces().items() if self.supports(space)}
            metafunc.parametrize("space", list(chosen.values()), ids=list(chosen))

    @pytest.fixture
    def states(self, space: Space) -> States:
        """States of the strategy, which are frozen, each with a memory that a test may add to."""
        make_case: Callable[[], StrategyConformance] = type(self)
        return [(state, memory.copy()) for state, memory in _reached(make_case, space)]

    @pytest.fixture
    def strategy(self) -> Strategy[Any]:
        """The strategy."""
        return self.make_strategy()

    # What a strategy object is.

    def test_equal_options_make_equal_strategies(self, strategy: Strategy[Any]) -> None:
        """Options are plain data and rebuild the strategy."""
        options = dict(strategy.options())
        assert json.loads(json.dumps(options)) == options
        assert dict(type(strategy)(**options).options()) == options
        assert strategy.name
        assert isinstance(strategy.name, str)

    def test_state_is_frozen(self, strategy: Strategy[Any], space: Space) -> None:
        """The state is a frozen dataclass."""
        state, _ = _start(strategy, space)
        assert dataclasses.is_dataclass(state)
        field = dataclasses.fields(state)[0].name
        with pytest.raises(dataclasses.FrozenInstanceError):
            setattr(state, field, None)

    def test_other_spaces_are_refused(self, strategy: Strategy[Any]) -> None:
        """A space that the strategy is not made for raises ValueError when it starts, not later."""
        for space in self.spaces().values():
            if not self.supports(space):
                with pytest.raises(ValueError, match=r"\S"):
                    _start(strategy, space)

    # Sampling.

    def test_samples_lie_in_the_space(self, strategy: Strategy[Any], space: Space, states: States) -> None:
        """Samples of any number have the right shape and type and decode to points, also after updates."""
        rng = np.random.default_rng(1)
        for state, memory in states:
            assert strategy.batch_size(state) >= 1
            for n in (1, 7, 64):
                x = strategy.sample(state, n, rng, memory)
                assert x.shape == (n, space.dimension)
                assert x.dtype == np.float64
                assert all(space.contains(point) for point in space.decode_many(x))

    def test_same_generator_gives_same_samples(self, strategy: Strategy[Any], states: States) -> None:
        """Randomness comes from the generator alone, and the state is not used up by sampling."""
        for state, memory in states:
            before = dumps(strategy.state_to_dict(state))
            draws = [strategy.sample(state, 5, np.random.default_rng(3), memory) for _ in range(2)]
            np.testing.assert_array_equal(draws[0], draws[1])
            assert dumps(strategy.state_to_dict(state)) == before

    def test_first_samples_are_spread_out(self, strategy: Strategy[Any], space: Space) -> None:
        """Without a hint where to start, no variable with several values is stuck at one."""
        sites = space.sites
        state, memory = _start(strategy, space)
        x = strategy.sample(state, 400, np.random.default_rng(5), memory)
        assert (np.ptp(x, axis=0) > 0.0)[sites.is_free].all()

    # Updates.

    def test_update_changes_no_argument(self, strategy: Strategy[Any], space: Space, states: States) -> None:
        """An update returns a new state; the old one and what was told stay as they are."""
        for state, memory in states:
            told = memory.tell(_random_told(space, strategy.batch_size(state), seed=4))
            copies = told.x.copy(), told.value.copy(), told.violation.copy()
            before = dumps(strategy.state_to_dict(state))
            first, second = (strategy.update(state, told, memory) for _ in range(2))
            assert dumps(strategy.state_to_dict(state)) == before
            assert dumps(strategy.state_to_dict(first)) == dumps(strategy.state_to_dict(second))
            for array, copy in zip((told.x, told.value, told.violation), copies, strict=True):
                np.testing.assert_array_equal(array, copy)

    def test_update_takes_read_only_arrays(self, strategy: Strategy[Any], space: Space) -> None:
        """What is told need not be writeable."""
        state, memory = _start(strategy, space)
        told = memory.tell(_random_told(space, 2 * strategy.batch_size(state), seed=4))
        for array in (told.x, told.value, told.violation):
            array.flags.writeable = False
        self._check_alive(strategy, space, strategy.update(state, told, memory), memory)

    @pytest.mark.parametrize("portion", [0, 1, 3, 100])
    def test_any_number_may_be_told(self, strategy: Strategy[Any], space: Space, portion: int) -> None:
        """No, few and many evaluations at once, of points that were never sampled."""
        state, memory = _start(strategy, space)
        for seed in range(6):
            state = strategy.update(state, memory.tell(_random_told(space, portion, seed)), memory)
        self._check_alive(strategy, space, state, memory)

    @pytest.mark.parametrize(
        "case", ["failures", "excluded", "infeasible", "equal", "huge", "tiny", "mixed", "repeats"]
    )
    def test_any_value_may_be_told(self, strategy: Strategy[Any], space: Space, case: str) -> None:
        """Generations of failures, of infeasible points, of extreme values."""
        state, memory = _start(strategy, space)
        for seed in range(8):
            told = _random_told(space, strategy.batch_size(state), seed)
            state = strategy.update(state, memory.tell(_spoil(told, case, seed)), memory)
            if strategy.convergence(state, memory) is not None:
                fresh = strategy.restart(state, np.random.default_rng(seed), memory)
                state = state if fresh is None else fresh
        self._check_alive(strategy, space, state, memory)

    def test_inactive_sites_make_no_difference(self, strategy: Strategy[Any], space: Space) -> None:
        """Whatever states inactive sites of the points told have, the same is learned."""
        sites, rng = space.sites, np.random.default_rng(6)
        told = _random_told(space, 3 * strategy.batch_size(_start(strategy, space)[0]), seed=6)
        other = np.where(sites.active(told.x), told.x, sites.uniform(rng.random(told.x.shape)))
        learned = []
        for x in (told.x, other):
            state, memory = _start(strategy, space)
            state = strategy.update(state, memory.tell(dataclasses.replace(told, x=x)), memory)
            learned.append(dumps(strategy.state_to_dict(state)))
        assert learned[0] == learned[1]

    @pytest.mark.parametrize("with_values", [True, False])
    def test_starting_points(self, strategy: Strategy[Any], space: Space, with_values: bool) -> None:
        """Starting points may come with values, without, or be infeasible."""
        start = _random_told(space, 3, seed=8)
        if not with_values:
            start = dataclasses.replace(start, value=np.full(3, np.nan))
        start = dataclasses.replace(start, violation=np.array([0.0, 0.0, 1.5]))
        memory = Memory(space.sites)
        memory.starts = memory.tell(start) if with_values else start
        state = strategy.init(space.sites, memory, BUDGET, np.random.default_rng(0))
        self._check_alive(strategy, space, state, memory)

    def test_restart(self, strategy: Strategy[Any], space: Space, states: States) -> None:
        """A restart returns a state that can be continued, or None."""
        for state, memory in states:
            fresh = strategy.restart(state, np.random.default_rng(2), memory)
            if fresh is not None:
                assert strategy.convergence(fresh, memory) is None or space.size == 1
                self._check_alive(strategy, space, fresh, memory)

    # What can be shown and kept of a state.

    def test_round_trip(self, strategy: Strategy[Any], space: Space, states: States) -> None:
        """A state rebuilt from plain data continues exactly like the original."""
        for state, memory in states:
            data = loads(dumps(strategy.state_to_dict(state)))
            again = strategy.state_from_dict(data, space.sites)
            assert dumps(strategy.state_to_dict(again)) == dumps(strategy.state_to_dict(state))
            for seed in range(3):
                draws = [strategy.sample(s, 4, np.random.default_rng(seed), memory) for s in (state, again)]
                np.testing.assert_array_equal(draws[0], draws[1])
                told = memory.tell(_random_told(space, strategy.batch_size(state), seed))
                state, again = (strategy.update(s, told, memory) for s in (state, again))
            assert dumps(strategy.state_to_dict(again)) == dumps(strategy.state_to_dict(state))

    def test_summary(self, strategy: Strategy[Any], space: Space, states: States) -> None:
        """Shapes and ranges of what is shown of the distribution."""
        sites, d = space.sites, space.dimension
        for state, memory in states:
            summary = strategy.summary(state, memory)
            assert summary.mean.shape == summary.deviation.shape == (d,)
            np.testing.assert_array_equal(np.isfinite(summary.mean), sites.is_numeric)
            np.testing.assert_array_equal(np.isfinite(summary.deviation), sites.is_numeric)
            assert (summary.deviation[sites.is_numeric] >= 0.0).all()
            assert len(summary.probabilities) == d
            for p, n_states in zip(summary.probabilities, sites.n_states, strict=True):
                assert len(p) in (0, n_states)
                assert len(p) == 0 or ((p >= 0.0).all() and abs(p.sum() - 1.0) < 1e-9)
            if summary.correlation is not None:
                _check_square(summary.correlation, d, diagonal=1.0)
                assert (np.abs(summary.correlation) <= 1.0 + 1e-9).all()
            assert np.isfinite(summary.step_size)
            assert summary.step_size >= 0.0

    def test_interactions(self, strategy: Strategy[Any], space: Space, states: States) -> None:
        """Strengths of pairs are finite, symmetric, not negative, and zero on the diagonal."""
        for state, memory in states:
            strength = strategy.interactions(state, memory)
            _check_square(strength, space.dimension, diagonal=0.0)
            assert (strength >= 0.0).all()

    # In the optimizer.

    def test_whole_runs(self, space: Space) -> None:
        """A run through the optimizer ends for a reason, and is the same when it is repeated."""
        runs = [self._run(space) for _ in range(2)]
        assert runs[0] == runs[1]

    def test_out_of_order_tells(self, space: Space) -> None:
        """Asking ahead, telling late and backwards loses nothing."""
        optimizer = Optimizer(space, budget=60, seed=1, strategy=self.make_strategy())
        held = []
        while optimizer.should_stop() is None:
            held += optimizer.ask(3)
            if len(held) > 9 or optimizer.n_evaluations + len(held) == 60 or not optimizer.ask(1):
                held = list(optimizer.pending)[::-1]
                optimizer.tell(held, [float(trial.id % 7) for trial in held])
                held = []
        assert not optimizer.pending
        assert len(optimizer.history) == optimizer.n_evaluations

    def _run(self, space: Space) -> list[Any]:
        optimizer = Optimizer(space, budget=60, seed=2, strategy=self.make_strategy())
        while optimizer.should_stop() is None:
            trials = optimizer.ask()
            optimizer.tell(trials, _values(space.encode_many([trial.point for trial in trials]), space.sites))
        assert optimizer.should_stop() in (
            StopReason.BUDGET,
            StopReason.SPACE_EXHAUSTED,
            StopReason.CONVERGED,
        )
        return [(record.id, repr(record.point), record.value) for record in optimizer.history]

    def _check_alive(self, strategy: Strategy[Any], space: Space, state: Any, memory: Memory) -> None:
        """A state still samples points of the space, shows itself, and can be updated."""
        assert strategy.batch_size(state) >= 1
        x = strategy.sample(state, 8, np.random.default_rng(0), memory)
        assert all(space.contains(point) for point in space.decode_many(x))
        assert np.isfinite(strategy.summary(state, memory).mean[space.sites.is_numeric]).all()
        assert np.isfinite(strategy.interactions(state, memory)).all()
        told = memory.tell(_random_told(space, strategy.batch_size(state), seed=9))
        strategy.sample(strategy.update(state, told, memory), 2, np.random.default_rng(0), memory)


def _start(strategy: Strategy[Any], space: Space) -> tuple[Any, Memory]:
    memory = Memory(space.sites)
    return strategy.init(space.sites, memory, BUDGET, np.random.default_rng(0)), memory


@cache
def _reached(make_case: Callable[[], StrategyConformance], space: Space) -> States:
    """Return a first state, one in the middle of a generation, and one after several generations.

    Each comes with a memory of its own. They are made once for all tests.
    """
    strategy = make_case().make_strategy()
    state, memory = _start(strategy, space)
    reached = [(state, memory.copy())]
    rng = np.random.default_rng(7)
    for n_updates in range(13):
        state = _updated(strategy, state, strategy.batch_size(state), rng, memory)
        if n_updates == 0:
            state = _updated(strategy, state, 1, rng, memory)
            reached.append((state, memory.copy()))
    return [*reached, (state, memory)]


def _updated(strategy: Strategy[Any], state: Any, n: int, rng: np.random.Generator, memory: Memory) -> Any:
    """Return the state after some of its samples."""
    x = strategy.sample(state, n, rng, memory)
    told = memory.tell(Evaluations(x, _values(x, memory.sites), np.zeros(n)))
    return strategy.update(state, told, memory)


def _values(x: FloatArray, sites: Sites) -> FloatArray:
    """A plain function of coded points: squares of the coordinates, with products of neighbours."""
    u = sites.coordinate(x)
    value: FloatArray = (u**2).sum(axis=-1) + (u[..., 1:] * u[..., :-1]).sum(axis=-1)
    return value


def _random_told(space: Space, n: int, seed: int) -> Evaluations:
    rng = np.random.default_rng(seed)
    x = space.sites.uniform(rng.random((n, space.dimension)))
    return Evaluations(x, rng.normal(size=n), np.zeros(n))


def _spoil(told: Evaluations, case: str, seed: int) -> Evaluations:
    rng = np.random.default_rng(seed)
    n = len(told)
    nothing, value = np.full(n, np.nan), told.value
    failed = np.where(rng.random(n) < 0.5, np.inf, 0.0)
    spoiled = {
        "failures": (nothing, np.full(n, np.inf)),
        "excluded": (nothing, rng.random(n) + 0.1),
        "infeasible": (value, rng.random(n) + 0.1),
        "equal": (np.zeros(n), np.zeros(n)),
        "huge": (value * 1e300, np.zeros(n)),
        "tiny": (value * 1e-300, np.zeros(n)),
        "mixed": (np.where(np.isinf(failed), np.nan, value), failed),
        "repeats": (value, np.zeros(n)),
    }
    return Evaluations(told.x, *spoiled[case], np.full(n, case == "repeats"))


def _check_square(matrix: FloatArray, d: int, diagonal: float) -> None:
    assert matrix.shape == (d, d)
    assert np.isfinite(matrix).all()
    np.testing.assert_allclose(matrix, matrix.T, rtol=0.0, atol=1e-12)
    np.testing.assert_allclose(np.diag(matrix), diagonal, rtol=0.0, atol=1e-9)


def conformance_spaces() -> dict[str, Space]:
    """Return the spaces on which the conformance suite runs, by name.

    >>> sorted(conformance_spaces())[:3]
    ['all_kinds', 'array_steps', 'binary']
    """
    return {**_of_one_kind(), **_of_several_kinds(), **_with_conditions()}


def _of_one_kind() -> dict[str, Space]:
    """Return spaces whose variables are all alike."""
    return {
        "binary": Space.binary(12),
        "one_binary": Space.binary(1),
        "integers": Space.integers(5, -50, 50),
        "huge_integers": Space.integers(2, -(10**9), 10**9),
        "log_integers": Space.integers(3, 1, 10**6, log=True),
        "ordinal": Space({"batch": Ordinal([16, 32, 64]), "size": Ordinal(["s", "m", "l", "xl"])}),
        "categorical": Space(
            {"a": Categorical(["x", "y", "z"]), "b": Categorical(range(200)), "c": Categorical(["one"])}
        ),
        "continuous": Space.array([Float(-5.0, 5.0)] * 4),
        "log_continuous": Space.array([Float(1e-8, 1e2, log=True), Float(-1e300, 1e-300)]),
        "one_continuous": Space.array([Float(0.0, 1.0)]),
    }


def _of_several_kinds() -> dict[str, Space]:
    """Return spaces of several kinds of variables, circles, steps and single values among them."""
    return {
        "periodic": Space.array([Integer(0, 23, periodic=True), Float(0.0, 360.0, periodic=True)]),
        "lattices": Space.array(
            [Integer(0, 23, periodic=True), Integer(7, 7), Binary(), Integer(1, 900, log=True)]
        ),
        "steps": Space(
            {
                "batch": Integer(32, 512, step=32),
                "dropout": Float(0.0, 0.9, step=0.05),
                "width": Integer(64, 1024, step=64, log=True),
                "angle": Float(0.0, 360.0, step=15.0, periodic=True),
            }
        ),
        "array_steps": Space.array([Integer(-9, 9, step=3), Float(0.0, 1.0, step=0.125), Float(0.0, 1.0)]),
        "single_values": Space.array([Integer(7, 7), Float(2.5, 2.5), Integer(0, 1), Float(0.0, 1.0)]),
        "one_point": Space.integers(2, 3, 3),
        "all_kinds": Space(
            {
                "layers": Integer(1, 8),
                "width": Integer(16, 4096, log=True),
                "act": Categorical(["relu", "gelu", "tanh"]),
                "norm": Binary(),
                "batch": Ordinal([16, 32, 64, 128]),
                "hour": Integer(0, 23, periodic=True),
                "lr": Float(1e-5, 1e-1, log=True),
                "phase": Float(0.0, 6.283, periodic=True),
                "only": Categorical(["this"]),
            }
        ),
    }


def _with_conditions() -> dict[str, Space]:
    """Return spaces in which some variables are active only with certain values of others."""
    return {
        "conditional": Space(
            {
                "model": Categorical(["svm", "forest", "linear"]),
                "kernel": Categorical(["linear", "rbf", "poly"], when={"model": "svm"}),
                "gamma": Float(1e-5, 1.0, log=True, when={"kernel": ["rbf", "poly"]}),
                "degree": Integer(2, 5, when={"kernel": "poly"}),
                "trees": Integer(10, 1000, log=True, when={"model": "forest"}),
                "depth": Ordinal([2, 4, 8, 16], when={"model": "forest"}),
                "bootstrap": Binary(when={"model": "forest", "depth": {"low": 4}}),
                "scale": Binary(),
            }
        ),
        "conditional_flags": Space(
            {f"f{i}": Binary(when={f"f{(i - 1) // 2}": i % 2 == 0} if i else None) for i in range(7)}
        ),
        "conditional_numbers": Space(
            {
                "n": Integer(0, 4),
                "x": Float(-1.0, 1.0, when={"n": {"low": 1}}),
                "y": Float(0.0, 1.0, when={"x": {"high": 0.5}}),
                "m": Integer(-9, 9, when={"n": [3, 4]}),
            }
        ),
    }
