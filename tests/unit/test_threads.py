"""Own matrices are multiplied by one thread; user code has the threads it had."""

import threading
from typing import ClassVar

import numpy as np
import pytest
import scipy.linalg  # noqa: F401  (loads its BLAS)
from threadpoolctl import ThreadpoolController, threadpool_limits

import dcmaes as dc
from dcmaes._guards import single_thread
from dcmaes.strategies import RandomSearch


def n_threads():
    """Return how many threads each BLAS library uses."""
    return [library["num_threads"] for library in ThreadpoolController().select(user_api="blas").info()]


@pytest.fixture(autouse=True)
def three_threads():
    with threadpool_limits(3, user_api="blas"):
        before = n_threads()
        if set(before) != {3}:
            pytest.skip("the number of threads of this BLAS cannot be set")
        yield before


def test_one_inside_and_as_many_as_before_afterwards(three_threads):
    with single_thread():
        inside = n_threads()
    assert inside == [1] * len(three_threads)
    assert n_threads() == three_threads


def test_nested_blocks_restore_at_the_outermost_end(three_threads):
    with single_thread():
        with single_thread():
            pass
        assert set(n_threads()) == {1}
    assert n_threads() == three_threads


def test_blocks_that_overlap_in_two_threads_restore_the_number(three_threads):
    is_inside, may_leave = threading.Event(), threading.Event()

    def other():
        with single_thread():
            is_inside.set()
            may_leave.wait()

    thread = threading.Thread(target=other)
    with single_thread():
        thread.start()
        is_inside.wait()
    may_leave.set()
    thread.join()
    assert n_threads() == three_threads


def test_an_error_inside_restores(three_threads):
    with pytest.raises(ZeroDivisionError), single_thread():
        1 / 0  # noqa: B018
    assert n_threads() == three_threads


class Watched(RandomSearch):
    """Random search that notes how many threads each of its methods has."""

    seen: ClassVar[dict[str, set[int]]] = {}

    def _note(self, method):
        self.seen.setdefault(method, set()).update(n_threads())

    def init(self, *arguments):
        self._note("init")
        return super().init(*arguments)

    def sample(self, *arguments):
        self._note("sample")
        return super().sample(*arguments)

    def update(self, *arguments):
        self._note("update")
        return super().update(*arguments)

    def summary(self, *arguments):
        self._note("summary")
        return super().summary(*arguments)

    def interactions(self, *arguments):
        self._note("interactions")
        return super().interactions(*arguments)


def test_strategies_have_one_thread_and_user_code_its_own():
    seen = {"objective": set(), "constraint": set(), "callback": set()}

    def objective(x):
        seen["objective"].update(n_threads())
        return float(np.sum(x))

    def constraint(x):
        seen["constraint"].update(n_threads())
        return -1.0

    def callback(optimizer):
        seen["callback"].update(n_threads())

    Watched.seen.clear()
    result = dc.minimize(
        objective,
        dc.Space.binary(8),
        budget=30,
        seed=0,
        strategy=Watched(5),
        constraints=constraint,
        callbacks=callback,
    )
    result.interactions()
    _ = result.distribution
    assert seen == {"objective": {3}, "constraint": {3}, "callback": {3}}
    assert Watched.seen == {name: {1} for name in ("init", "sample", "update", "summary", "interactions")}
