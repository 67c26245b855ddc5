"""Cheap constraints: functions of the point or text, looked at before a point is ever handed out.

Text is read by a small parser, and never executed as code.
"""

from __future__ import annotations

import ast
import math
import operator
import warnings
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Any

from dcmaes._validation import check_list, shown, suggestion
from dcmaes.run._trial import describe, read, thaw
from dcmaes.space import Space

# A function of the point, or text such as "a + 2*b <= 10".
Constraint = Callable[[Any], Any] | str
Number = Callable[[Mapping[str, Any]], Any]
Violation = Callable[[Mapping[str, Any]], float]

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
}
_FUNCTIONS: dict[str, Callable[..., Any]] = {"abs": abs, "min": min, "max": max}
_NEGATED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.LtE: ast.Gt,
    ast.Gt: ast.LtE,
    ast.GtE: ast.Lt,
    ast.Lt: ast.GtE,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
}
# What a strict inequality is violated by at equality.
_SMALLEST = 1e-9
_MAX_POWER = 8
_MAX_LENGTH = 2000


class ConstraintError(ValueError):
    """A constraint raised, or returned no number."""


class Constraints:
    """All constraints of a run.

    Parameters
    ----------
    constraints : callable, str, sequence of these, or None
        Functions that take a point, of which a positive value (or True) is a violation, or conditions as
        text such as "a + 2*b <= 10".
    space : Space
        The variables.
    is_strict : bool
        Whether a constraint that fails raises; otherwise the point counts as excluded, with one warning.

    Attributes
    ----------
    functions : tuple of callables
        One for each constraint.
    smallest_violation : float
        The smallest one that was seen; infinite if there was none.
    """

    def __init__(
        self, constraints: Constraint | Iterable[Constraint] | None, space: Space, is_strict: bool
    ) -> None:
        self.functions = _as_tuple(constraints, space)
        self._is_strict = is_strict
        self._has_warned = False
        self.smallest_violation = math.inf

    def violation(self, point: Any) -> float:
        """Return the total violation of a point: the sum of the positive values, infinite if one failed."""
        total = 0.0
        for constraint in self.functions:
            total += max(self._evaluate(constraint, point), 0.0)
        if total > 0.0:
            self.smallest_violation = min(self.smallest_violation, total)
        return total

    def _evaluate(self, constraint: Callable[[Any], Any], point: Any) -> float:
        error: Exception | None = None
        try:
            reading = read(constraint(thaw(point)))
            reason = reading.reason
        except Exception as raised:
            error, reason = raised, describe(raised)
        if reason is None:
            return float(reading.value)
        name = getattr(constraint, "__name__", repr(constraint))
        message = f"constraint {name} failed at {point!r}: {reason}"
        if self._is_strict:
            raise ConstraintError(message) from error
        if not self._has_warned:
            self._has_warned = True
            warnings.warn(f"{message}; such points count as excluded", RuntimeWarning, stacklevel=2)
        return math.inf


def _as_tuple(
    constraints: Constraint | Iterable[Constraint] | None, space: Space
) -> tuple[Callable[[Any], Any], ...]:
    if constraints is None:
        return ()
    wanted = 'functions of a point or text such as "a + 2*b <= 10"'
    is_one = isinstance(constraints, str) or callable(constraints)
    given = [constraints] if is_one else check_list("constraints", constraints, wanted)
    return tuple(_read(f"constraints[{i}]", one, wanted, space) for i, one in enumerate(given))


def _read(name: str, constraint: Any, wanted: str, space: Space) -> Callable[[Any], Any]:
    if isinstance(constraint, str):
        try:
            return Expression(constraint, space)
        except ValueError as error:
            raise ValueError(f"{name}: {error}") from None
    if not callable(constraint):
        raise TypeError(f"{name}: constraints must be {wanted}, got {shown(constraint)}")
    function: Callable[[Any], Any] = constraint
    return function


class _InactiveError(LookupError):
    """A variable that a point has no value for."""


class Expression:
    """A condition on a point, such as ``"a + 2*b <= 10"`` or ``"act == 'relu' or layers < 4"``.

    Calling it gives by how much the condition is violated: 0 where it holds. Numbers, text, names of
    variables, ``+ - * / // % **``, ``abs``, ``min``, ``max``, comparisons, ``and``, ``or`` and ``not`` are
    all there is. A comparison with a variable that is inactive in the point holds, and so does its opposite.

    Parameters
    ----------
    text : str
        The condition.
    space : Space
        The variables; they must have names.

    Examples
    --------
    >>> import dcmaes as dc
    >>> space = dc.Space({"a": dc.Integer(0, 9), "b": dc.Integer(0, 9)})
    >>> constraint = Expression("a + 2*b <= 10", space)
    >>> constraint({"a": 4, "b": 5}), constraint({"a": 0, "b": 5})
    (4.0, 0.0)
    """

    def __init__(self, text: str, space: Space) -> None:
        self.text = text
        self.__name__ = repr(text)
        if not space.is_named:
            raise ValueError(
                f"{shown(text)} needs variables with names; for points that are arrays, give a function"
            )
        if len(text) > _MAX_LENGTH:
            raise ValueError(f"a constraint may have {_MAX_LENGTH} characters, got {len(text)}")
        try:
            tree = _parsed(text)
            names = [str(name) for name in space.names]
            self._violation = _Parser(text, names).condition(tree, is_negated=False)
        except RecursionError:
            raise ValueError(f"{shown(text)} is nested too deeply") from None

    def __call__(self, point: Mapping[str, Any]) -> float:
        """Return the violation at a point."""
        return self._violation(point)

    def __repr__(self) -> str:
        return f"Expression({self.text!r})"


def _parsed(text: str) -> ast.expr:
    """Return the syntax tree of an expression."""
    try:
        return ast.parse(text.strip(), mode="eval").body
    # A null character is a ValueError in some versions of Python.
    except (SyntaxError, MemoryError, ValueError) as error:
        raise ValueError(f"{shown(text)} is no expression: {error}") from None


class _Parser:
    def __init__(self, text: str, names: Collection[str]) -> None:
        self._text = text
        self._names = names

    def condition(self, node: ast.expr, is_negated: bool) -> Violation:
        if isinstance(node, ast.BoolOp):
            parts = [self.condition(value, is_negated) for value in node.values]
            is_and = isinstance(node.op, ast.And) is not is_negated
            join: Callable[[Iterable[float]], float] = sum if is_and else min
            return lambda p: join(part(p) for part in parts)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.condition(node.operand, not is_negated)
        if isinstance(node, ast.Compare):
            return self._comparisons(node, is_negated)
        if isinstance(node, ast.Name):
            return self._flag(node, is_negated)
        raise ValueError(f"{self._text!r} must be a comparison such as 'a + 2*b <= 10'")

    def _flag(self, node: ast.Name, is_negated: bool) -> Violation:
        flag = self.number(node)

        def violation(point: Mapping[str, Any]) -> float:
            try:
                return float(bool(flag(point)) is is_negated)
            except _InactiveError:
                return 0.0

        return violation

    def _comparisons(self, node: ast.Compare, is_negated: bool) -> Violation:
        sides = [self.number(side) for side in (node.left, *node.comparators)]
        parts = []
        for left, kind, right in zip(sides[:-1], node.ops, sides[1:], strict=True):
            if type(kind) not in _NEGATED:
                raise ValueError(f"{self._text!r} may compare with <=, <, >=, >, == and != only")
            parts.append(_comparison(left, _NEGATED[type(kind)] if is_negated else type(kind), right))
        if is_negated:
            return lambda p: min(part(p) for part in parts)
        return lambda p: sum(part(p) for part in parts)

    def number(self, node: ast.expr) -> Number:
        if isinstance(node, ast.Constant) and isinstance(node.value, (bool, int, float, str)):
            value = node.value
            return lambda p: value
        if isinstance(node, ast.Name):
            return self._variable(node.id)
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            inner = self.number(node.operand)
            return (lambda p: -inner(p)) if isinstance(node.op, ast.USub) else inner
        if isinstance(node, ast.BinOp):
            return self._operation(node)
        if isinstance(node, ast.Call):
            return self._call(node)
        shown = ast.get_source_segment(self._text.strip(), node) or type(node).__name__
        raise ValueError(f"{self._text!r} may not contain {shown!r}")

    def _variable(self, name: str) -> Number:
        if name in ("true", "false"):
            return lambda p: name == "true"
        if name not in self._names:
            known = ", ".join(self._names)
            hint = suggestion(name, self._names)
            raise ValueError(f"{self._text!r} has the unknown name {name!r} (variables: {known}){hint}")

        def value(point: Mapping[str, Any]) -> Any:
            if name not in point:
                raise _InactiveError(name)
            return point[name]

        return value

    def _operation(self, node: ast.BinOp) -> Number:
        left, right = self.number(node.left), self.number(node.right)
        if isinstance(node.op, ast.Pow):
            # Bounded, so that no expression takes for ever.
            power = node.right.value if isinstance(node.right, ast.Constant) else None
            if type(power) is not int or not 0 <= power <= _MAX_POWER:
                raise ValueError(f"{self._text!r} may have whole powers from 0 to {_MAX_POWER} only")
            return lambda p: float(_as_number(left(p))) ** power
        if type(node.op) not in _BINARY:
            raise ValueError(f"{self._text!r} may calculate with + - * / // % ** only")
        operation = _BINARY[type(node.op)]
        return lambda p: operation(_as_number(left(p)), _as_number(right(p)))

    def _call(self, node: ast.Call) -> Number:
        name = node.func.id if isinstance(node.func, ast.Name) else None
        if name not in _FUNCTIONS or node.keywords or not node.args:
            raise ValueError(f"{self._text!r} may call {', '.join(_FUNCTIONS)} only")
        function = _FUNCTIONS[name]
        arguments = [self.number(argument) for argument in node.args]
        if name == "abs" and len(arguments) != 1:
            raise ValueError(f"{self._text!r}: abs takes one argument")
        if len(arguments) == 1 and name != "abs":
            raise ValueError(f"{self._text!r}: {name} takes two arguments or more")
        return lambda p: function(*(_as_number(argument(p)) for argument in arguments))


def _comparison(left: Number, kind: type[ast.cmpop], right: Number) -> Violation:
    def violation(point: Mapping[str, Any]) -> float:
        try:
            a, b = left(point), right(point)
        except _InactiveError:
            return 0.0
        if kind in (ast.Eq, ast.NotEq):
            is_same = a == b
            if kind is ast.NotEq:
                return float(is_same)
            is_text = isinstance(a, str) or isinstance(b, str)
            return float(not is_same) if is_text else float(abs(_as_number(a) - _as_number(b)))
        excess = float(_as_number(a) - _as_number(b))
        if kind in (ast.GtE, ast.Gt):
            excess = -excess
        is_strict = kind in (ast.Lt, ast.Gt)
        if math.isnan(excess):
            return excess
        return max(excess, _SMALLEST) if is_strict and excess >= 0.0 else max(excess, 0.0)

    return violation


def _as_number(value: Any) -> Any:
    if not isinstance(value, (bool, int, float)):
        raise ValueError(f"{value!r} is no number")
    return value
