"""The rules of a run: which points are handed out, what is recorded of them, when it is over."""

from __future__ import annotations

import copy
import math
import time
from collections import deque
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, check_list, shown
from dcmaes.pareto import knee
from dcmaes.run._constraints import ConstraintError, Constraints
from dcmaes.run._history import History
from dcmaes.run._noise import Noise, Repeats
from dcmaes.run._search import Found, NewPoints, Search
from dcmaes.run._settings import (
    PASSING,
    Settings,
    Stop,
    StopReason,
    dead_end,
    failure_stop,
    find_stop,
    is_out_of_patience,
)
from dcmaes.run._start import default_start, read_start
from dcmaes.run._trial import Reading, Trial, check_seconds, freeze, read, read_many
from dcmaes.space import Space
from dcmaes.strategies import Evaluations, Memory, Rank, Strategy
from dcmaes.strategies._evaluations import Evaluation

_WANTED_TRIALS = "a Trial that ask returned, or several of them"


class Run:
    """Everything about a run but threads, time spent and user interface.

    Attributes
    ----------
    memory : Memory
        All evaluations, and what is known of points.
    repeats : Repeats or None
        The means over repeated evaluations, if they are to be averaged.
    outstanding : dict of int to Trial
        Trials out for evaluation by their id, in the order in which they were asked for.
    stop : Stop or None
        Why the run is over; trials still out are recorded also afterwards.
    error : BaseException or None
        The exception behind a stop that user code caused.
    traceback : str or None
        Its traceback as text, which is there also if the exception was raised in another process.
    """

    def __init__(
        self, space: Space, settings: Settings, strategy: Strategy[Any], constraints: Constraints, x0: Any
    ) -> None:
        self.space = space
        self.settings = settings
        self.strategy = strategy
        self.constraints = constraints
        several, is_averaged = settings.objectives, settings.duplicates == "reevaluate"
        if several is None:
            self.memory = Memory(space.sites)
        else:
            self.memory = Memory(space.sites, len(several), several.limit, is_averaged=is_averaged)
        self.repeats = Repeats(self.memory.n_objectives) if is_averaged else None
        self.outstanding: dict[int, Trial] = {}
        self.queue: deque[Found] = deque()
        self.next_id = 0
        self.n_told = 0
        self.n_again = 0
        self.objective_time = 0.0
        self.stop: Stop | None = None
        self.error: BaseException | None = None
        self.traceback: str | None = None
        self._started_at = time.perf_counter()
        self.time_before = 0.0
        self.memory.starts = self._admit(x0)
        rng = np.random.default_rng(settings.seed)
        self.search = Search(strategy, self.memory, settings.budget, rng)
        self.new_points = self._make_new_points()
        self._check_best()

    def _make_new_points(self) -> NewPoints:
        skips_known = self.settings.duplicates == "cache"
        return NewPoints(self.space, self.search, self.memory, self.constraints, skips_known)

    @property
    def history(self) -> History:
        """All evaluations so far, as users see them."""
        return History(self.memory, self.space, self.settings.sign, self.settings.objectives)

    @property
    def elapsed(self) -> float:
        """Seconds since the run began, including earlier sessions."""
        return self.time_before + self._sitting()

    @property
    def room(self) -> int:
        """How many trials may still be handed out."""
        return self.settings.budget - self.n_told - len(self.outstanding)

    def is_asking(self) -> bool:
        """Tell whether there may be something to hand out; if not, asking changes nothing."""
        return self.room > 0 and not self.is_over()

    def ask(self, n: int | None) -> list[Trial]:
        """Hand out trials: starting points first, then points to make sure of, then new points."""
        if not self.is_asking():
            return []
        self.search.flush()
        again = self._ask_again(self.room if n is None else min(n, self.room))
        n_out = sum(not trial.is_again for trial in self.outstanding.values())
        n_wanted = max(1, self.search.batch_size - n_out) if n is None else n - len(again)
        n_wanted = min(n_wanted, self.room)
        trials = again + self._ask_queued(n_wanted)
        n_missing = n_wanted + len(again) - len(trials)
        if n_missing > 0:
            try:
                found = self.new_points.find(n_missing, 1 if n is None else n_missing, self._is_late)
                trials += [self.attach(*one) for one in found]
            except ConstraintError as error:
                self.halt(StopReason.ERROR.stop(why=str(error)), error)
        if self.search.converged is not None or not self.outstanding:
            self._check_stop(None, self.rank(None))
            if not self.is_over():
                self.stop = dead_end(self)
        return trials

    def check_point(self, point: Any) -> Found:
        """Return a point of the user as what can be attached, or raise before anything has changed."""
        found = self._coded(self.space.encode(point))
        violation = self.constraints.violation(found[1])
        if violation > 0.0:
            raise ValueError(f"the point {shown(point)} violates the constraints by {violation:.6g}")
        return found

    def _coded(self, x: FloatArray) -> Found:
        """Return a coded point as what can be attached."""
        (row,) = self.memory.codec.rows(x[np.newaxis])
        return row, self.space.decode(x)

    def copy(self, seed: int) -> Run:
        """Return a run that is where this one is, and goes on by itself with new random numbers."""
        other = copy.copy(self)
        other.settings = replace(self.settings, seed=seed)
        other.constraints = copy.copy(self.constraints)
        other.memory, other.repeats = self.memory.copy(), copy.deepcopy(self.repeats)
        other.outstanding, other.queue = dict(self.outstanding), deque(self.queue)
        other.search = self.search.copy(other.memory, np.random.default_rng(seed))
        other.new_points = other._make_new_points()
        other.new_points.reserve = list(self.new_points.reserve)
        return other

    def match(self, trials: Trial | Sequence[Trial], values: Any, seconds: Any) -> dict[int, Reading]:
        """Return what is told of each trial, by its id, or raise before anything has changed."""
        objectives = self.settings.objectives
        if isinstance(trials, Trial):
            spent = math.nan if seconds is None else check_seconds(seconds)
            return {self._check_pending(trials): read(values, objectives)._replace(seconds=spent)}
        ids = [self._check_pending(trial) for trial in check_list("trials", trials, _WANTED_TRIALS)]
        if len(set(ids)) < len(ids):
            raise ValueError("trials must be different from each other, got one of them twice")
        readings = read_many(values, seconds, len(ids), objectives)
        return dict(zip(ids, readings, strict=True))

    def record(self, trial_id: int, reading: Reading) -> None:
        """Record the result of one trial: the only place where evaluations enter a run."""
        trial = self.take_back(trial_id)
        if trial.is_again:
            self.search.flush()  # what was told before is learned from as it was then
        place, mean, n_averaged = self.remember(trial, reading)
        self.n_told += 1
        if not math.isnan(reading.seconds):
            self.objective_time += reading.seconds
        if not trial.is_again:
            self.search.tell(trial.row, mean, place, n_averaged=n_averaged)
        if reading.violation == math.inf and (stop := failure_stop(self, trial_id, reading)) is not None:
            self.halt(stop, reading.error, reading.traceback)
        self._check_stop(place, mean)

    def remember(self, trial: Trial, reading: Reading, is_given: bool = False) -> tuple[int, Rank, int]:
        """Add what was told of a trial to the memory.

        Return its place there, the mean of its point and of how many evaluations that is.
        """
        several, violation, values, means = self.settings.objectives, reading.violation, None, None
        value = math.nan if several is not None else self.settings.sign * reading.value
        if several is not None and isinstance(reading.value, tuple):
            values = tuple((several.signs * reading.value).tolist())
        mean, count = Rank(violation, value), 1
        if self.repeats is not None:
            key = self.memory.codec.key(trial.row)
            counting = (value,) if several is None and violation < math.inf else values
            if counting is not None:
                self.repeats.add(key, len(self.memory), counting, violation)
            mean, means, count = self.repeats.mean(key), self.repeats.means(key), self.repeats.count(key)
        told = (value, violation, trial.restart, reading.seconds, reading.told_at)
        evaluation = Evaluation(trial.id, *told, is_given, trial.is_again, mean, count)
        return self.memory.append(trial.row, evaluation, reading.reason, values, means), mean, count

    def hand_out(self, trial: Trial) -> None:
        """Remember that a trial is pending."""
        self.outstanding[trial.id] = trial
        self.memory.hand_out(trial.id, trial.row)

    def take_back(self, trial_id: int) -> Trial:
        """Remove a trial from the pending ones, and return it."""
        self.memory.take_back(trial_id)
        return self.outstanding.pop(trial_id)

    def is_over(self) -> bool:
        """Tell whether the run has stopped; reads the clock."""
        if self.stop is None and self._is_late():
            limit, elapsed = self.settings.time_limit, self._sitting()
            self.stop = StopReason.TIME_LIMIT.stop(limit=limit, elapsed=elapsed)
        return self.stop is not None

    def halt(self, stop: Stop, error: BaseException | None = None, traceback: str | None = None) -> None:
        """Stop for a reason from outside; the first reason stays."""
        if self.stop is None:
            self.stop, self.error, self.traceback = stop, error, traceback

    def relimit(self, limits: Mapping[str, Any]) -> None:
        """Continue under other limits (see `LIMITS`): a stop remains if it would also happen under them."""
        target = self.settings.target
        self.settings = replace(self.settings, **limits)
        reason = None if self.stop is None else self.stop.reason
        is_past = (
            reason in PASSING
            or (reason is StopReason.BUDGET and self.n_told < self.settings.budget)
            or (reason is StopReason.TARGET and target != self.settings.target)
            or (reason is StopReason.PATIENCE and not is_out_of_patience(self))
        )
        if is_past:
            self.stop = None
        self._check_best()

    def best(self) -> int | None:
        """Return the index of the best evaluation (the first of the best point, if repeats are averaged).

        With several objectives that is the knee of the front (the last of its point, if repeats are
        averaged); before it has a point, the smallest violation.
        """
        front = self.memory.front
        if len(front):
            values = self.memory.values_at(front)
            order = np.lexsort(values.T[::-1])  # of points alike, the same one as in `Front`
            return int(front[order[knee(values[order])]])
        return self.memory.best if self.repeats is None else self.repeats.best()

    def rank(self, index: int | None) -> Rank:
        """Return violation and value of an evaluation (of its point, if repeats are averaged)."""
        if index is None:
            return Rank(math.inf, math.nan)
        return (
            self.memory.evaluation(index).mean
            if self.repeats is None
            else self.repeats.mean(self._key(index))
        )

    def noise(self) -> Noise | None:
        """Return how noisy the objective is, if repeats are averaged."""
        repeats, best = self.repeats, self.best()
        return None if repeats is None else repeats.noise(None if best is None else self._key(best))

    def message(self, violation: float) -> str:
        """Return why the run stopped in one line, with what the violation of the best point says about it."""
        running = f"still running: {self.n_told} of {self.settings.budget} evaluations told"
        message = running if self.stop is None else self.stop.message
        is_error = self.stop is not None and self.stop.reason in (StopReason.ERROR, StopReason.FAILURES)
        if violation == 0.0 or is_error or not len(self.memory):
            return message
        if violation < math.inf:
            return f"{message}; no feasible point was found, the smallest violation is {violation:.6g}"
        return f"{message}; every evaluation failed, the first one with: {self.memory.reason(0)}"

    def _admit(self, x0: Any) -> Evaluations:
        """Record the starting points with a value, queue the others and the default, and return them all."""
        self.starts = read_start(x0, self.space, self.settings.objectives)
        all_starts = [*self.starts, *default_start(self.space, self.starts)]
        values, violations, places = [], [], []
        for x, reading in all_starts:
            row, point = self._coded(x)
            violation = self.constraints.violation(point)
            known, place = math.nan, -1
            if reading is not None:
                violation += reading.violation
                told = reading._replace(violation=violation, told_at=0.0)
                place, *_ = self.remember(Trial(self.next_id, point, row), told, is_given=True)
                known = self.memory.evaluation(place).value
                self.next_id += 1
            elif violation > 0.0:
                self.memory.exclude(row, violation)
                self.memory.add_excluded(row, violation)
            else:
                self.queue.append((row, point))
            values.append(known)
            violations.append(violation)
            places.append(place)
        # The default is a part of the space, not of what is stored of `x0`.
        self.start_violations = violations[: len(self.starts)]
        x = np.array([start for start, _ in all_starts]).reshape(-1, self.space.dimension)
        value, total = np.array(values, dtype=np.float64), np.array(violations, dtype=np.float64)
        return Evaluations(x, value, total, row=np.array(places, dtype=np.int64))

    def _ask_queued(self, n: int) -> list[Trial]:
        """Hand out up to `n` starting points."""
        trials: list[Trial] = []
        while self.queue and len(trials) < n:
            row, point = self.queue.popleft()
            is_known = self.memory.find_row(row) is not None or self.memory.is_out(row)
            if not (is_known and self.settings.duplicates == "cache"):
                trials.append(self.attach(row, point))
        return trials

    def _ask_again(self, n: int) -> list[Trial]:
        """Hand out up to `n` points that were evaluated before, to make sure of their value."""
        trials: list[Trial] = []
        while not self.queue and len(trials) < n:
            index = self._choose_again()
            if index is None:
                break
            self.n_again += 1
            point = self.space.decode(self.memory.x(index))
            trials.append(self.attach(self.memory.row(index), point, is_again=True))
        return trials

    def _choose_again(self) -> int | None:
        """Return an evaluation of the point to make sure of next; None for a new point instead."""

        def is_out(index: int) -> bool:
            return self.memory.is_out(self.memory.row(index))

        if self.repeats is None:
            return None
        front = None if self.settings.objectives is None else self.memory.evaluations(self.memory.front)
        return self.repeats.choose(self.next_id, self.n_again, is_out, front)

    def _key(self, index: int) -> bytes:
        return self.memory.codec.key(self.memory.row(index))

    def attach(self, row: bytes, point: Any, is_again: bool = False) -> Trial:
        """Hand out a point as a new trial."""
        trial = Trial(self.next_id, freeze(point), row, self.search.n_restarts, is_again)
        self.next_id += 1
        self.hand_out(trial)
        return trial

    def _check_pending(self, trial: Trial) -> int:
        """Return the id of a pending trial of this run, or raise."""
        if not isinstance(trial, Trial):
            raise TypeError(f"trials must be {_WANTED_TRIALS}, got {shown(trial)}")
        out = self.outstanding.get(trial.id)
        if out is None:
            if 0 <= trial.id < self.next_id:
                raise ValueError(f"trial {trial.id} was told already")
            raise ValueError(
                f"trial {trial.id} is unknown: this optimizer has handed out {self.next_id} trials"
            )
        if out is not trial and not self._is_same_point(out.point, trial.point):
            raise ValueError(f"trial {trial.id} comes from another optimizer: its point is {trial.point!r}")
        return trial.id

    def _is_same_point(self, point: Any, other: Any) -> bool:
        """Compare points, not trials: a trial may have been sent to another process and back."""
        if not self.space.contains(other):
            return False
        return bool(np.array_equal(self.space.encode(point), self.space.encode(other)))

    def _check_best(self) -> None:
        best = self.best()
        self._check_stop(best, self.rank(best))

    def _check_stop(self, place: int | None, rank: Rank) -> None:
        """Stop if the evaluation at this place reaches the target, or if there is nothing left to do."""
        if self.stop is None:
            self.stop = find_stop(self, place, rank)

    def error_at(self, index: int) -> Any:
        """Return the standard error of what the point of an evaluation is worth, in each objective.

        It is NaN if it is not known yet, and 0 if repeats are not averaged.
        """
        return 0.0 if self.repeats is None else self.repeats.noise(self._key(index)).error

    def number(self, index: int) -> int:
        """Return the place of an evaluation among those that were told; 0 for one that came with `x0`."""
        return max(index + 1 - (len(self.memory) - self.n_told), 0)

    def _is_late(self) -> bool:
        limit = self.settings.time_limit
        return limit is not None and self._sitting() >= limit

    def _sitting(self) -> float:
        return time.perf_counter() - self._started_at
