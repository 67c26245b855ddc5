"""An energy with explicit field and couplings: what a regression predicts, up to a constant."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

import numpy as np

from dcmaes._validation import FloatArray


@dataclass(frozen=True, eq=False)
class Energy:
    """A batch of functions of features, each radial + linear + curved + pairwise (Q2).

        e(phi) = radial * rho(phi) + field . phi + curvature . z^2 + sum over pairs coupling_ij phi_i phi_j

    where z are the numeric features and rho(phi) is the number of choices changed plus the squared length
    of z.

    Attributes
    ----------
    n_choices : int
        Number p of 0/1 features; the q numeric ones follow.
    radial : array of shape (c,)
    field : array of shape (c, p + q)
    curvature : array of shape (c, q)
    coupling : array of shape (c, p + q, p + q), or None
        Symmetric, zero between features of one site; None if there are no pairwise terms.
    constant : array of shape (c,)
        Value at the centre, which `value` leaves out; zeros by default.

    Examples
    --------
    Two {0,1} features that cost 1 each, and a reward of 3 for both:

    >>> coupling = np.array([[[0.0, -3.0], [-3.0, 0.0]]])
    >>> energy = Energy(2, np.zeros(1), np.ones((1, 2)), np.zeros((1, 0)), coupling)
    >>> energy.value(np.array([[1.0, 1.0]]))
    array([-1.])
    """

    n_choices: int
    radial: FloatArray
    field: FloatArray
    curvature: FloatArray
    coupling: FloatArray | None
    constant: FloatArray = dataclasses.field(default_factory=lambda: np.zeros(1))

    def gradient(self, features: FloatArray) -> FloatArray:
        """Return field + coupling phi for one point per function, shape (c, p + q).

        >>> Energy(1, np.zeros(1), np.ones((1, 1)), np.zeros((1, 0)), None).gradient(np.ones((1, 1)))
        array([[1.]])
        """
        if self.coupling is None:
            return self.field
        bent: FloatArray = self.field + np.einsum("cij,cj->ci", self.coupling, features)
        return bent

    def value(self, features: FloatArray) -> FloatArray:
        """Return the energy of one point per function, shape (c,).

        >>> Energy(1, np.ones(1), np.ones((1, 1)), np.zeros((1, 0)), None).value(np.ones((1, 1)))
        array([2.])
        """
        # Each pair appears twice in features . coupling . features: (Q2)
        z = features[:, self.n_choices :]
        rho = features[:, : self.n_choices].sum(axis=1) + (z**2).sum(axis=1)
        linear = (features * (self.field + self.gradient(features))).sum(axis=1) / 2
        total: FloatArray = self.radial * rho + linear + (self.curvature * z**2).sum(axis=1)
        return total

    def values_at(self, features: FloatArray) -> FloatArray:
        """Return the energy of each of some points under each function, shape (n, p + q) to (c, n).

        >>> Energy(1, np.zeros(2), np.ones((2, 1)), np.zeros((2, 0)), None).values_at(np.ones((1, 1)))
        array([[1.],
               [1.]])
        """
        squares = features[:, self.n_choices :] ** 2
        rho = features[:, : self.n_choices].sum(axis=1) + squares.sum(axis=1)
        values: FloatArray = np.outer(self.radial, rho) + self.field @ features.T + self.curvature @ squares.T
        if self.coupling is not None:
            values += ((features @ self.coupling) * features).sum(axis=2) / 2
        return values
