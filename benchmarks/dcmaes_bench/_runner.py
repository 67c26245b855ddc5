"""Run optimizers on rows in parallel: fixed seeds, a cap on time, finished runs never repeated."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import threading
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from dcmaes.problems import Problem
from dcmaes_bench import _results
from dcmaes_bench._domain import Domain
from dcmaes_bench._recorder import Recorder, RunEnded
from dcmaes_bench._registry import Optimizer, optimizers
from dcmaes_bench._results import RunRecord
from dcmaes_bench._rows import Row


@dataclass(frozen=True)
class Job:
    """One run to be made."""

    row: Row
    optimizer: str
    instance: int
    budget: int
    time_limit: float
    logs: Path | None = None

    @property
    def key(self) -> tuple[str, str, int, int]:
        """The key its record will have."""
        return self.optimizer, self.row.label, self.instance, self.budget


def run_once(job: Job) -> RunRecord:
    """Run one optimizer on one instance; instance i uses seed i."""
    log_folder = None if job.logs is None else job.logs / job.row.suite / job.optimizer.replace(" ", "_")
    problem = job.row.problem(job.instance, log_folder)
    chosen = optimizers()[job.optimizer]
    if chosen.package is not None:
        with warnings.catch_warnings():  # what packages warn of while they are imported is not about the run
            warnings.simplefilter("ignore")
            import_module(chosen.package)  # before the clock starts
    recorder = Recorder(problem, job.budget, job.time_limit)
    start = time.perf_counter()
    with _alarm(1.2 * job.time_limit + 1), _single_thread():
        stop = _drive(chosen, recorder, job)
    elapsed = time.perf_counter() - start
    return RunRecord(
        optimizer=job.optimizer,
        problem=job.row.label,
        instance=job.instance,
        dimension=problem.dimension,
        budget=job.budget,
        optimum=_optimum(problem),
        tolerance=problem.tolerance,
        n_evaluations=recorder.n_evaluations,
        n_distinct=recorder.n_distinct,
        best=recorder.best,
        solved_at=recorder.n_evaluations if stop == "target" else None,
        stop=stop,
        own_time=(elapsed - recorder.time_inside) / max(recorder.n_evaluations, 1),
        trace=recorder.trace,
    )


def _optimum(problem: Problem) -> float | None:
    return problem.optimum if problem.optimum is not None else problem.reference


def _single_thread() -> Any:
    """Keep linear algebra to one thread, as far as that goes from within: the runs are the parallelism."""
    if find_spec("threadpoolctl") is None:
        return nullcontext()
    return import_module("threadpoolctl").threadpool_limits(1)


def _drive(chosen: Optimizer, recorder: Recorder, job: Job) -> str:
    """Call the optimizer until the run is over, again with a new seed whenever it returns early."""
    for attempt in range(10**6):
        before = recorder.n_evaluations
        try:
            chosen.run(recorder.domain, recorder, job.budget - before, job.instance + 1_000_003 * attempt)
        except RunEnded as reason:
            return str(reason)
        except Exception:
            # a peer that fails keeps what it had found; the record says how it ended
            return "error: " + traceback.format_exc().strip().splitlines()[-1][:200]
        if recorder.n_evaluations >= job.budget:
            return "budget"
        if recorder.n_evaluations == before:
            return "error: returned without evaluating anything"
    return "error: gave up restarting"


@contextmanager
def _alarm(seconds: float) -> Iterator[None]:
    """Raise `RunEnded` in code that does not come back in time (main thread only, where there are alarms)."""
    in_main = threading.current_thread() is threading.main_thread()
    if not (math.isfinite(seconds) and hasattr(signal, "setitimer") and in_main):
        yield
        return

    def fire(*_: object) -> None:
        raise RunEnded("time")

    before = signal.signal(signal.SIGALRM, fire)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def plan(
    rows: Iterable[Row],
    names: Sequence[str],
    instances: Sequence[int],
    *,
    budget: int | None = None,
    time_limit: float = 600.0,
    seeds_per_pass: int = 5,
    logs: Path | None = None,
) -> list[Job]:
    """List the runs: all rows with the first few seeds, then with the next, so that tables fill evenly."""
    table, jobs = optimizers(), []
    rows = list(rows)
    domains = {row.label: Domain.of(row.problem(0)) for row in rows}
    for first in range(0, len(instances), seeds_per_pass):
        for row in rows:
            for name in names:
                if not table[name].accepts(domains[row.label]):
                    continue
                size = min(row.budget, budget or row.budget)
                some = instances[first : first + seeds_per_pass]
                jobs += [Job(row, name, instance, size, time_limit, logs) for instance in some]
    return jobs


def run_all(
    jobs: Sequence[Job],
    results: Path,
    *,
    workers: int = 2,
    again: bool = False,
    report: Callable[[int, int, RunRecord], None] | None = None,
) -> int:
    """Make the runs that have no record yet (or all, `again`), append each to its file; return how many.

    A record of a problem whose optimum has been corrected since does not count.
    """
    suites = {job.row.suite for job in jobs}
    done = {(suite, *r.key): r.optimum for suite in suites for r in _results.read(results, suite)}
    optimum = cache(lambda row, instance: _optimum(row.problem(instance)))
    left = []
    for job in jobs:
        key = (job.row.suite, *job.key)
        if again or key not in done or done[key] != optimum(job.row, job.instance):
            left.append(job)

    def keep(job: Job, record: RunRecord, n: int) -> None:
        _results.append(_results.path_of(results, job.row.suite, job.optimizer), record)
        if report is not None:
            report(n, len(left), record)

    if workers == 1:
        for n, job in enumerate(left, 1):
            keep(job, run_once(job), n)
        return len(left)
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # the workers are the parallelism; inherited by them
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool:
        _collect(pool, left, workers, keep)
    return len(left)


def _collect(
    pool: Any, left: Sequence[Job], workers: int, keep: Callable[[Job, RunRecord, int], None]
) -> None:
    """Keep the pool busy without queueing everything, so that an interrupt loses only what is running."""
    waiting, running, n = list(reversed(left)), dict[Future[RunRecord], Job](), 0
    while waiting or running:
        while waiting and len(running) < 2 * workers:
            job = waiting.pop()
            running[pool.submit(run_once, job)] = job
        finished, _ = wait(running, return_when=FIRST_COMPLETED)
        for future in finished:
            n += 1
            keep(running.pop(future), future.result(), n)
