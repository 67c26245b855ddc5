"""Several objectives: their names and directions, and what an evaluation may give for them."""

from __future__ import annotations

import math
import operator
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from dcmaes._validation import FloatArray, check_array, check_choice, check_list, shown
from dcmaes.run._trial import Reading, read, read_number

# Up to so many objectives the search is known to work well.
MOST_OBJECTIVES = 4
_MOST_NAMES = 100
DIRECTIONS = ("minimize", "maximize")
_WANTED = (
    "the number of objectives, at least 2, a sequence of their names, or a dict of names and directions "
    'such as {"loss": "minimize", "size": "minimize"}'
)


@dataclass(frozen=True)
class Objectives:
    """What several objectives are called, which values of each are good, and up to where they count.

    Attributes
    ----------
    names, directions : tuples of m str
        Each direction is "minimize" or "maximize".
    reference : tuple of m floats, or None
        The worst values that are of interest, in the user's sign; the hypervolume counts up to them.

    >>> objectives = Objectives(("loss", "size"), ("minimize", "maximize"))
    >>> read({"size": 3, "loss": 0.5}, objectives).values
    (0.5, 3.0)
    >>> read((0.5, 3, 7), objectives).reason
    'not 2 values (loss, size) but 3'
    """

    names: tuple[str, ...]
    directions: tuple[str, ...]
    reference: tuple[float, ...] | None = None

    def __len__(self) -> int:
        return len(self.names)

    @property
    def signs(self) -> FloatArray:
        """What values are multiplied by to be minimized, and by which they are turned back, shape (m,)."""
        return np.array([1.0 if direction == "minimize" else -1.0 for direction in self.directions])

    @property
    def limit(self) -> FloatArray | None:
        """The reference in values to be minimized, shape (m,), or None."""
        return None if self.reference is None else self.signs * self.reference

    def read_values(self, told: Any) -> tuple[tuple[float, ...], str]:
        """Return m finite numbers and no reason, or as many NaN and why there are none."""
        nothing = (math.nan,) * len(self)
        listed, reason = self._listed(told)
        if reason:
            return nothing, reason
        numbers = []
        for name, one in zip(self.names, listed, strict=True):
            number, reason = read_number(one)
            if reason:
                return nothing, f"{name} is {reason}"
            numbers.append(number)
        return tuple(numbers), ""

    def _listed(self, told: Any) -> tuple[list[Any], str]:
        """Return what was told of each objective, or why it cannot be told apart."""
        wanted = f"{len(self)} values ({', '.join(self.names)})"
        if isinstance(told, Mapping):
            missing = [name for name in self.names if name not in told]
            unknown = [shown(name) for name in told if name not in self.names]
            if missing or unknown:
                remarks = [f"without {', '.join(missing)}"] * bool(missing)
                remarks += [f"with {', '.join(unknown)}"] * bool(unknown)
                return [], f"not {wanted} but a dict {' and '.join(remarks)}"
            return [told[name] for name in self.names], ""
        if isinstance(told, np.ndarray) and told.ndim == 1:
            told = told.tolist()
        if not isinstance(told, (tuple, list)):
            number, reason = read_number(told)
            return [], f"not {wanted} but {reason or f'one number: {number:g}'}"
        if len(told) != len(self):
            return [], f"not {wanted} but {len(told)}"
        return list(told), ""

    def describe(self, values: FloatArray) -> str:
        """Return values of one point, in the user's sign, in a few words.

        >>> Objectives(("loss", "size"), ("minimize",) * 2).describe(np.array([0.25, 3.0]))
        'loss=0.25, size=3'
        """
        return ", ".join(f"{name}={v:.6g}" for name, v in zip(self.names, values.tolist(), strict=True))

    def to_dict(self) -> dict[str, Any]:
        """Return names, directions and reference as plain data."""
        reference = None if self.reference is None else list(self.reference)
        return {"names": list(self.names), "directions": list(self.directions), "reference": reference}

    @staticmethod
    def from_dict(data: Mapping[str, Any]) -> Objectives:
        """Return what `to_dict` described."""
        reference = data["reference"]
        return Objectives(
            tuple(data["names"]), tuple(data["directions"]), None if reference is None else tuple(reference)
        )


class CheckedObjective:
    """An objective whose values are counted and checked where it is called, also in another process."""

    def __init__(self, objective: Callable[[Any], Any], objectives: Objectives) -> None:
        self._objective = objective
        self._objectives = objectives
        self.takes_trial = getattr(objective, "takes_trial", False)

    def __call__(self, argument: Any) -> Reading:
        return read(self._objective(argument), self._objectives)


def read_objectives(
    objectives: Any, reference: Any, direction: str, taken: tuple[str, ...] = ()
) -> Objectives | None:
    """Return what the arguments `objectives` and `reference` say; None if there is one objective only.

    Parameters
    ----------
    objectives : int, sequence of str, mapping of str to str, Objectives or None
        See `minimize`.
    reference : sequence of m numbers, mapping of names to numbers, or None
        See `minimize`.
    direction : {"minimize", "maximize"}
        The direction of objectives for which none is given.
    taken : tuple of str
        What an objective cannot be called: columns of the history.

    >>> read_objectives(2, None, "minimize")
    Objectives(names=('f0', 'f1'), directions=('minimize', 'minimize'), reference=None)
    """
    if objectives is None:
        if reference is not None:
            raise ValueError(f"reference is for several objectives, got {shown(reference)} and no objectives")
        return None
    if isinstance(objectives, Objectives):
        return objectives
    found = _named(objectives, direction)
    if len(found) < 2:
        raise ValueError(f"objectives must be {_WANTED}; leave it out for one, got {shown(objectives)}")
    for name, one in found.items():
        if name in taken:
            raise ValueError(f"objectives: {name!r} is a column of the history; choose another name")
        check_choice(f"objectives[{name!r}]", one, DIRECTIONS)
    if len(found) > MOST_OBJECTIVES:
        warnings.warn(
            f"{len(found)} objectives: with more than {MOST_OBJECTIVES}, nearly no point dominates another "
            "one, and fronts and hypervolumes say little; add some of them up, or make them constraints",
            UserWarning,
            stacklevel=4,
        )
    names, directions = tuple(found), tuple(found.values())
    return Objectives(names, directions, None if reference is None else read_reference(reference, names))


def _named(objectives: Any, direction: str) -> dict[str, Any]:
    """Return names and directions."""
    if isinstance(objectives, Mapping):
        found = dict(objectives)
    elif isinstance(objectives, (bool, np.bool_)):
        raise TypeError(f"objectives must be {_WANTED}, got {shown(objectives)}")
    else:
        try:
            names: list[Any] = [f"f{i}" for i in range(min(operator.index(objectives), _MOST_NAMES + 1))]
        except TypeError:
            names = check_list("objectives", objectives, _WANTED)
        if len(names) > _MOST_NAMES:
            raise ValueError(f"objectives must be at most {_MOST_NAMES}, got {shown(objectives)}")
        if len(set(map(repr, names))) < len(names):
            raise ValueError(f"objectives must have different names, got {shown(objectives)}")
        found = {name: direction for name in names if isinstance(name, str)}
        if len(found) < len(names):
            raise TypeError(f"objectives must be {_WANTED}, got {shown(objectives)}")
    for name in found:
        if not isinstance(name, str) or not name:
            raise TypeError(f"objectives must have names that are text, got {shown(name)}")
    return found


def read_reference(reference: Any, names: tuple[str, ...]) -> tuple[float, ...]:
    """Return one number for each objective, from a sequence or a mapping, or raise.

    >>> read_reference({"size": 9, "loss": 1}, ("loss", "size"))
    (1.0, 9.0)
    """
    if isinstance(reference, Mapping):
        if set(reference) != set(names):
            raise ValueError(f"reference must have the keys {', '.join(names)}, got {shown(reference)}")
        reference = [reference[name] for name in names]
    return tuple(check_array("reference", reference, shape=(len(names),)).tolist())
