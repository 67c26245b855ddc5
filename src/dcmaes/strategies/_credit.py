"""Who gets the next evaluations: credit for improvements, the rarer they are the longer remembered."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dcmaes._validation import FloatArray, IntArray

# What each improvement leaves of the counts before it (T2).
KEEP = 0.85
# What each converged run of a proposer leaves of the trust in it (T3).
FADE = 0.25
# The smallest share of the one that gains least.
SMALLEST_SHARE = 0.02


@dataclass(frozen=True, eq=False)
class Credit:
    """Improvements that each of several proposers has brought, and evaluations that it has spent.

    Both are forgotten with every improvement, whoever brings it, not with time: where improvements are rare,
    the few that there were count for long.

    An improvement of the usual size counts as one, a tiny one as nothing, a huge one as two. A proposer whose
    runs converge one after the other without any is trusted less and less.

    Attributes
    ----------
    gains, spent : arrays of shape (k,)
    usual : float
        Geometric mean of the sizes of the last improvements; 0 before the first.
    trust : array of shape (k,)
        How far the rate at which each of them improved is believed to go on, in (0, 1].

    Examples
    --------
    >>> credit = Credit.none(2)
    >>> for gain in (0.0, 0.0, 7.0):
    ...     credit = credit.after(1, gain)
    >>> credit.gains, credit.spent.round(2)
    (array([0., 1.]), array([0.  , 2.7]))
    >>> credit.next(np.array([[1.0, 1.0], [10.0, 10.0]]), np.array([4, 4]))
    0
    """

    gains: FloatArray
    spent: FloatArray
    usual: float
    trust: FloatArray

    @staticmethod
    def none(n: int) -> Credit:
        """Return the credit of `n` proposers before anything is evaluated."""
        return Credit(np.zeros(n), np.zeros(n), 0.0, np.ones(n))

    def after(self, who: int, gain: float) -> Credit:
        """Return the credit after an evaluation of a proposer that improved the best value by `gain`."""
        own = np.arange(len(self.gains)) == who
        if gain <= 0:
            return Credit(self.gains, self.spent + own, self.usual, self.trust)
        usual = self.usual or gain
        counts = 2 / (1 + usual / gain)  # (T2)
        # Improvements shrink by orders of magnitude, so their geometric mean follows them.
        usual = float(np.sqrt(usual) * np.sqrt(gain))
        trust = np.where(own, 1.0, self.trust)  # (T3)
        return Credit(KEEP * self.gains + own * counts, KEEP * self.spent + own, usual, trust)

    def after_run(self, who: int) -> Credit:
        """Return the credit after a run of a proposer has converged (T3)."""
        own = np.arange(len(self.gains)) == who
        return Credit(self.gains, self.spent, self.usual, np.where(own, FADE * self.trust, self.trust))

    def next(self, expected: FloatArray, batch: IntArray) -> int:
        """Return who is first to have used up its share of the evaluations with one batch more (T1).

        Parameters
        ----------
        expected : array of shape (2, k)
            Gains and evaluations that count in addition, one pair for each proposer; no gains for one that
            cannot propose now.
        batch : int array of shape (k,)
            How many evaluations each of them asks for at a time.
        """
        can_propose = expected[0] > 0
        rate = self.trust * (self.gains + expected[0]) / (self.spent + expected[1])
        rate = np.where(can_propose, rate, 0.0)
        share = np.maximum(rate / rate.sum(), SMALLEST_SHARE)
        return int(np.where(can_propose, (self.spent + batch) / share, np.inf).argmin())
