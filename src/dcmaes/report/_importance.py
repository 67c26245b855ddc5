"""How much each variable matters."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from dcmaes._validation import FloatArray, IntArray, check_integer
from dcmaes.report._drawing import BLUE, add_remark, axes, plot, short_names
from dcmaes.report._run import read_run

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_WORTH_READING = 0.2


@dataclass(frozen=True)
class Importance:
    """What share of the variation of the values each variable is responsible for.

    Attributes
    ----------
    names : tuple of d str
        The variables.
    share : array of shape (d,)
        Nonnegative, sum 1; all zero if nothing can be said.
    explained : float
        Share of the variance of the evaluations that the model predicts without having seen them; NaN if
        there were too few evaluations for a model.
    n_used : int
        How many evaluations the model was made from.
    """

    names: tuple[str, ...]
    share: FloatArray
    explained: float
    n_used: int

    @property
    def order(self) -> IntArray:
        """The variables, most important first, shape (d,)."""
        return np.argsort(-self.share, kind="stable")

    @property
    def remark(self) -> str:
        """How far the shares can be trusted, in one line.

        >>> Importance(("a",), np.ones(1), 0.0, 20).remark
        'The model predicts 0 % of the variance of unseen evaluations: the shares say little.'
        """
        if not self.share.any():
            return f"Too little to go by: {self.n_used} feasible evaluations, or all with the same value."
        predicted = f"The model predicts {100 * self.explained:.0f} % of the variance of unseen evaluations"
        return predicted + (": the shares say little." if self.explained < _WORTH_READING else ".")


def importance_data(result: Any) -> Importance:
    """Return how much each variable matters, between 0 and 1.

    The ranks of the feasible values, turned into normal scores, are modelled by kernel ridge regression: each
    variable gives centred features f_i (polynomials up to degree three of an ordered one, the circle of a
    periodic one, the corners of a simplex for choices), and the kernel exp(g sum_i r_i <f_i, f_i'>) has
    effects of one variable, of pairs and of more. The sharpness g, the ridge and the relevances r are those
    with the smallest leave-one-out error. A variable's share is its total effect (interactions included):
    half the mean square by which the prediction at an evaluated point changes when that variable alone is
    drawn anew from its range, divided by the sum over variables.

    Only the order of the values counts, not their scale; failed and infeasible evaluations are left out. The
    same run gives the same numbers.

    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: 5 * x[0] + x[2], dc.Space.integers(3, 0, 9), budget=60, seed=0)
    >>> importance_data(result).order
    array([0, 2, 1])
    """
    run = read_run(result)
    share, explained, n_used = run.effects
    return Importance(run.names, share, explained, n_used)


@plot
def plot_importance(result: Any, *, limit: int = 20, ax: Axes | None = None) -> Axes:
    """Plot how much each variable matters; `importance_data` says what that means.

    Parameters
    ----------
    limit : int
        How many variables to show at most.

    Examples
    --------
    >>> import dcmaes as dc
    >>> result = dc.minimize(lambda x: x[0] ** 2, dc.Space.integers(2, -5, 5), budget=40, seed=0)
    >>> [label.get_text() for label in plot_importance(result).get_yticklabels()]
    ['x0', 'x1']
    """
    limit = check_integer("limit", limit, low=1)
    data = importance_data(result)
    shown = data.order[:limit]
    ax = axes(ax, 6.0, 1.2 + 0.28 * len(shown))
    bars = ax.barh(np.arange(len(shown)), data.share[shown], color=BLUE)
    ax.bar_label(bars, [f"{100 * s:.1f} %" for s in data.share[shown]], padding=3, fontsize="small")
    ax.set_yticks(np.arange(len(shown)), short_names([data.names[i] for i in shown]))
    ax.invert_yaxis()
    ax.set(xlabel="share of the total effect", xlim=(0, max(float(data.share.max()) * 1.15, 0.1)))
    left_out = len(data.share) - len(shown)
    add_remark(ax, data.remark + (f" {left_out} less important variables not shown." if left_out else ""))
    return ax
