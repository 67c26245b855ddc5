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

from dcmaes._html import points_text
from dcmaes._validation import IntArray, check_list, check_number, shown
from dcmaes.pareto import hypervolume, knee
from dcmaes.run._constraints import ConstraintError, Constraints
from dcmaes.run._noise import Noise, Repeats, SeveralRepeats
from dcmaes.run._search import EXCLUDED_DRAWS, OTHER_DRAWS, Candidate, NewPoints, Search
from dcmaes.run._settings import N_ALIKE, PASSING, Settings, Stop, StopReason, are_alike
from dcmaes.run._start import default_start, read_start
from dcmaes.run._trial import Outstanding, Reading, Trial, freeze
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
    repeats : Repeats, SeveralRepeats or None
        The means over repeated evaluations, if they are to be averaged, of one objective or several.
    outstanding : dict of int to Outstanding
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
        self.repeats: Repeats | SeveralRepeats | None = None
        if several is None:
            self.memory = Memory(space.sites)
            self.repeats = Repeats() if is_averaged else None
        else:
            self.memory = Memory(space.sites, len(several), several.limit, is_averaged=is_averaged)
            self.repeats = SeveralRepeats(len(several)) if is_averaged else None
        self.outstanding: dict[int, Outstanding] = {}
        self.queue: deque[Candidate] = deque()
        self.next_id = 0
        self.n_told = 0
        self.n_again = 0
        self.objective_time = 0.0
        self.stop: Stop | None = None
        self.error: BaseException | None = None
        self.traceback: str | None = None
        self._known_volume: tuple[IntArray | None, float] = (None, 0.0)
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
        n_out = sum(not out.is_again for out in self.outstanding.values())
        n_wanted = max(1, self.search.batch_size - n_out) if n is None else n - len(again)
        n_wanted = min(n_wanted, self.room)
        trials = again + self._ask_queued(n_wanted)
        n_missing = n_wanted + len(again) - len(trials)
        if n_missing > 0:
            try:
                found = self.new_points.find(n_missing, 1 if n is None else n_missing, self._is_late)
                trials += [self.attach(candidate) for candidate in found]
            except ConstraintError as error:
                self.halt(StopReason.ERROR.stop(why=str(error)), error)
        if self.search.converged is not None or not self.outstanding:
            self._give_up()
        return trials

    def check_point(self, point: Any) -> Candidate:
        """Return a point of the user as what can be attached, or raise before anything has changed."""
        x = self.space.encode(point)
        (row,) = self.memory.codec.rows(x[np.newaxis])
        candidate = Candidate(row, self.memory.codec.key(row), self.space.decode(x))
        violation = self.constraints.violation(candidate.point)
        if violation > 0.0:
            raise ValueError(f"the point {shown(point)} violates the constraints by {violation:.6g}")
        return candidate

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
        if isinstance(trials, Trial):
            spent = math.nan if seconds is None else _check_seconds(seconds)
            return {self._check_pending(trials): self.settings.read(values)._replace(seconds=spent)}
        ids = [self._check_pending(trial) for trial in check_list("trials", trials, _WANTED_TRIALS)]
        if len(set(ids)) < len(ids):
            raise ValueError("trials must be different from each other, got one of them twice")
        readings = [self.settings.read(value) for value in _as_list("values", values, len(ids))]
        if seconds is not None:
            times = [_check_seconds(spent) for spent in _as_list("seconds", seconds, len(ids))]
            readings = [
                reading._replace(seconds=spent) for reading, spent in zip(readings, times, strict=True)
            ]
        return dict(zip(ids, readings, strict=True))

    def record(self, trial_id: int, reading: Reading, told_at: float) -> None:
        """Record the result of one trial: the only place where evaluations enter a run."""
        out = self.take_back(trial_id)
        if out.is_again:
            self.search.flush()  # what was told before is learned from as it was then
        evaluation = self.evaluation(trial_id, out.key, reading, out.restart, told_at, out.is_again)
        place = self.remember(out.row, out.key, evaluation, reading)
        self.n_told += 1
        if not math.isnan(reading.seconds):
            self.objective_time += reading.seconds
        if not out.is_again:
            self.search.tell(out.row, evaluation.mean, place, n_averaged=evaluation.n_averaged)
        if reading.violation == math.inf:
            self._check_failure(trial_id, reading)
        self._check_stop(evaluation.mean, self._margin(out.key))

    def evaluation(
        self,
        trial_id: int,
        key: bytes,
        reading: Reading,
        restart: int = 0,
        told_at: float = 0.0,
        is_again: bool = False,
        is_given: bool = False,
    ) -> Evaluation:
        """Return what the memory is to keep of a reading; from now on it counts for the mean of its point."""
        value, violation = self.settings.sign * reading.value, reading.violation
        mean, count = Rank(violation, value), 1
        if isinstance(self.repeats, SeveralRepeats):
            if (values := self._signed(reading)) is not None:
                self.repeats.add(key, len(self.memory), values, violation)
        elif self.repeats is not None and violation < math.inf:
            self.repeats.add(key, len(self.memory), value, violation)
        if self.repeats is not None:
            mean, count = self.repeats.mean(key), self.repeats.count(key)
        return Evaluation(
            trial_id, value, violation, restart, reading.seconds, told_at, is_given, is_again, mean, count
        )

    def remember(self, row: bytes, key: bytes, evaluation: Evaluation, reading: Reading) -> int:
        """Add an evaluation to the memory, and return its place there."""
        means = self.repeats.means(key) if isinstance(self.repeats, SeveralRepeats) else None
        return self.memory.append(row, key, evaluation, reading.reason, self._signed(reading), means)

    def _signed(self, reading: Reading) -> tuple[float, ...] | None:
        """Return the values of several objectives, to be minimized; None for a failure, or for one."""
        values, several = reading.values, self.settings.objectives
        if values is None or several is None:
            return None
        return tuple((several.signs * values).tolist())

    def hand_out(self, out: Outstanding) -> None:
        """Remember that a trial is pending."""
        self.outstanding[out.trial.id] = out
        self.memory.hand_out(out.trial.id, out.row, out.key)

    def take_back(self, trial_id: int) -> Outstanding:
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
            or (reason is StopReason.PATIENCE and not self._is_out_of_patience())
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
            (row,) = self.memory.codec.rows(x[np.newaxis])
            candidate = Candidate(row, self.memory.codec.key(row), self.space.decode(x))
            violation = self.constraints.violation(candidate.point)
            known, place = math.nan, -1
            if reading is not None:
                known, violation = self.settings.sign * reading.value, violation + reading.violation
                told = reading._replace(violation=violation)
                evaluation = self.evaluation(self.next_id, candidate.key, told, is_given=True)
                place = self.remember(row, candidate.key, evaluation, told)
                self.next_id += 1
            elif violation > 0.0:
                self.memory.exclude(candidate.key, violation)
                self.memory.add_excluded(row, violation)
            else:
                self.queue.append(candidate)
            values.append(known)
            violations.append(violation)
            places.append(place)
        # The default is a part of the space, not of what is stored of `x0`.
        self.start_violations = violations[: len(self.starts)]
        x = np.array([start.x for start in all_starts]).reshape(-1, self.space.dimension)
        value, total = np.array(values, dtype=np.float64), np.array(violations, dtype=np.float64)
        return Evaluations(x, value, total, row=np.array(places, dtype=np.int64))

    def _ask_queued(self, n: int) -> list[Trial]:
        """Hand out up to `n` starting points."""
        trials: list[Trial] = []
        while self.queue and len(trials) < n:
            candidate = self.queue.popleft()
            is_known = self.memory.find_key(candidate.key) is not None or self.memory.is_out(candidate.key)
            if not (is_known and self.settings.duplicates == "cache"):
                trials.append(self.attach(candidate))
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
            candidate = Candidate(self.memory.row(index), self._key(index), point)
            trials.append(self.attach(candidate, is_again=True))
        return trials

    def _choose_again(self) -> int | None:
        """Return an evaluation of the point to make sure of next; None for a new point instead."""

        def is_out(index: int) -> bool:
            return self.memory.is_out(self._key(index))

        if self.repeats is None:
            return None
        if isinstance(self.repeats, Repeats):
            return self.repeats.choose(self.next_id, self.n_again, is_out)
        front = self.memory.evaluations(self.memory.front)
        return self.repeats.choose(self.next_id, self.n_again, is_out, front)

    def _key(self, index: int) -> bytes:
        return self.memory.codec.key(self.memory.row(index))

    def attach(self, candidate: Candidate, is_again: bool = False) -> Trial:
        """Hand out a point as a new trial."""
        trial = Trial(self.next_id, freeze(candidate.point))
        self.next_id += 1
        restart = self.search.n_restarts
        self.hand_out(Outstanding(trial, candidate.row, candidate.key, restart, is_again))
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
        if out.trial is not trial and not self._is_same_point(out.trial.point, trial.point):
            raise ValueError(f"trial {trial.id} comes from another optimizer: its point is {trial.point!r}")
        return trial.id

    def _is_same_point(self, point: Any, other: Any) -> bool:
        """Compare points, not trials: a trial may have been sent to another process and back."""
        if not self.space.contains(other):
            return False
        return bool(np.array_equal(self.space.encode(point), self.space.encode(other)))

    def _check_best(self) -> None:
        best = self.best()
        self._check_stop(self.rank(best), 0.0 if best is None else self._margin(self._key(best)))

    def _margin(self, key: bytes) -> float:
        """Return by how much a value must be better to be so beyond doubt; NaN if that is not known yet."""
        return float(self.repeats.noise(key).error) if isinstance(self.repeats, Repeats) else 0.0

    def _check_stop(self, latest: Rank, margin: float = 0.0) -> None:
        """Stop if the latest value reaches the target, or if there is nothing left to do."""
        if self.stop is not None:
            return
        sign, target = self.settings.sign, self.settings.target
        if target is not None and latest.violation == 0.0 and latest.value + margin <= sign * target:
            where = _place(self.n_told)
            self.stop = StopReason.TARGET.stop(target=target, value=sign * latest.value, where=where)
        elif self._has_volume():
            where = _place(self.number(int(self.memory.front.max())))
            message = f"target hypervolume {target:g} reached with {self._volume():g} {where}"
            self.stop = Stop(StopReason.TARGET, message)
        elif not self.outstanding and self.new_points.is_exhausted:
            self.stop = self._exhaustion()
        elif self.n_told >= self.settings.budget:
            self.stop = StopReason.BUDGET.stop(budget=self.settings.budget)
        elif self._is_out_of_patience():
            self.stop = self._impatience()
        elif self.search.converged is not None:
            self.stop = StopReason.CONVERGED.stop(why=self.search.converged)

    def _has_volume(self) -> bool:
        """Tell whether the front of several objectives has reached the hypervolume that is the target.

        If repeats are averaged, it must do so when each mean is worse by its standard error.
        """
        target, memory = self.settings.target, self.memory
        if target is None or memory.n_objectives == 1 or not self._volume() >= target:
            return False
        if self.repeats is None or memory.reference is None:
            return True
        errors = np.array([self.repeats.noise(self._key(place)).error for place in memory.front.tolist()])
        doubtful = memory.values_at(memory.front) + errors
        return not np.isnan(doubtful).any() and hypervolume(doubtful, memory.reference) >= target

    def _volume(self) -> float:
        """Return the hypervolume of the front up to the reference; computed again when it has changed."""
        memory = self.memory
        if memory.reference is None:
            return math.nan
        if self._known_volume[0] is not memory.front:
            self._known_volume = memory.front, memory.hypervolume(memory.reference)
        return self._known_volume[1]

    def _check_failure(self, trial_id: int, reading: Reading) -> None:
        """Stop at a failure if `on_error` says so, or if failures look like a mistake in the objective."""
        if self.settings.on_error == "raise":
            why = f"the evaluation of trial {trial_id} failed: {reading.reason}"
            self.halt(StopReason.ERROR.stop(why=why), reading.error, reading.traceback)
        elif self.settings.on_error == "penalize" and self.memory.n_failures == self.n_told >= N_ALIKE:
            n = len(self.memory)
            if are_alike(map(self.memory.reason, range(n - N_ALIKE, n))):
                stop = StopReason.FAILURES.stop(n_told=self.n_told, n=N_ALIKE, reason=reading.reason)
                self.halt(stop, reading.error, reading.traceback)

    def number(self, index: int) -> int:
        """Return the place of an evaluation among those that were told; 0 for one that came with `x0`."""
        return max(index + 1 - (len(self.memory) - self.n_told), 0)

    def _is_out_of_patience(self) -> bool:
        """Tell whether the best point was found `patience` evaluations ago, or before."""
        patience = self.settings.patience
        if patience is None or self.n_told < patience:
            return False
        best = self._latest_gain()
        return self.n_told - (0 if best is None else self.number(best)) >= patience

    def _latest_gain(self) -> int | None:
        """Return the last improvement: the best evaluation, or the last one that enlarged the front."""
        return self.best() if self.settings.objectives is None else self.memory.grown_at

    def _impatience(self) -> Stop:
        best = self.best()
        found = "none of them gave a value"
        grown_at = self.memory.grown_at
        if self.settings.objectives is not None and grown_at is not None:
            n, place = len(self.memory.front), _place(self.number(grown_at))
            volume = "" if self.memory.reference is None else f" of {self._volume():g}"
            were = f"{points_text(n)} {'was' if n == 1 else 'were'} on the front"
            found = f"the hypervolume{volume} has not grown since {were}, {place}"
            found = found if n else f"nothing closer to feasible than {place}"
        elif best is not None:
            violation, value = self.rank(best)
            kind = "better" if violation == 0.0 else "closer to feasible"
            found = f"nothing {kind} than {self.settings.sign * value:g} {_place(self.number(best))}"
        return StopReason.PATIENCE.stop(patience=self.settings.patience, best=found)

    def _give_up(self) -> None:
        """Stop because there is no new point, or no use in one."""
        self._check_stop(self.rank(None))
        if not self.is_over():
            n_draws = EXCLUDED_DRAWS + OTHER_DRAWS
            smallest = self.constraints.smallest_violation
            why = f"no new point satisfied the constraints in {n_draws} draws"
            why += f"; the smallest violation was {smallest:.6g}"
            self.stop = StopReason.ERROR.stop(why=why)

    def _exhaustion(self) -> Stop:
        n_excluded = len(self.memory.excluded)
        remark = f", {n_excluded} of them excluded by constraints" if n_excluded else ""
        if n_excluded and not len(self.memory):
            remark = ": none satisfies the constraints"
        return StopReason.SPACE_EXHAUSTED.stop(size=self.space.size, remark=remark)

    def _is_late(self) -> bool:
        limit = self.settings.time_limit
        return limit is not None and self._sitting() >= limit

    def _sitting(self) -> float:
        return time.perf_counter() - self._started_at


def _place(number: int) -> str:
    return f"at evaluation {number}" if number else "by a starting point"


def _check_seconds(seconds: Any) -> float:
    is_unknown = isinstance(seconds, (float, np.floating)) and math.isnan(seconds)
    return math.nan if is_unknown else check_number("seconds", seconds, low=0.0)


def _as_list(name: str, values: Any, n: int) -> list[Any]:
    if isinstance(values, np.ndarray) and values.ndim == 1:
        values = values.tolist()
    found = check_list(name, values, f"a sequence of {n}, one for each trial")
    if len(found) != n:
        raise ValueError(f"{name} must be a sequence of {n}, one for each trial, got {len(found)}")
    return found
