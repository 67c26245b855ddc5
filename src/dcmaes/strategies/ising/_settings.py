"""The settings of the search: numbers that change which points are proposed."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class IsingSettings:
    """What can be set in the search by regression; a part is switched off by `dataclasses.replace`.

    They are compromises over all suites of the benchmark. Where a setting switches a part of the search, the
    row of benchmarks/results/ablation.txt that measures the part is named in brackets; formulas are those of
    docs/maths.md. Numbers that only guard against rounding errors, or limit time and memory, are beside the
    lines that need them.

    Attributes
    ----------
    batch : int
        Points proposed for each refit: few, because every one may teach the next.
    patience, patience_by_feature : int
        A run is over after so many evaluations without improvement, and so many for each feature.
    first_variances : tuple of 7 floats
        Variances of the components before anything is known, in the order of `dcmaes.models.Component`.
    first_barrier_noise : float
        The last of them for the regression on violations, which has to show first that it explains them.
    smallest_choices : float
        Choices may always differ from each other by so much of what they all have in common (the radial
        variance): a state that was never tried is not ruled out because others were bad [untried choices].
    refit_share : float
        Variances are refitted whenever the number of evaluations has grown by this share.
    window : int
        Least number of evaluations in a regression if there are so many; twice this is the largest.
    low_shares : tuple of floats
        The shares of the rises above the best value that may count as low (Q8) [shares of low values].
    first_low_share : int
        The first of them, by its place.
    largest_choice_share : int
        The largest where there are choices: interactions of higher order, which no quadratic has, make values
        that are not low misleading there, and hide cliffs [fewer shares with choices].
    near : float
        Evaluations of at least this nearness say which rises are low.
    close : float
        Evaluations closer than this, in widths and reaches, are at the centre for all the model can see: a
        third of those used may be such [few at the centre].
    large_rise : float
        The multiple of a low rise beyond which values are taken as just that: far away [far values].
    near_enough : float
        Evaluations less near than this are left out if their value is far away [far values].
    far_target : float
        How far above the highest value used such a value counts, in standard deviations [far values].
    first_width : float
        Width of numeric sites at the start of a run, as a fraction of the range.
    width_factor, width_keep : float
        Widths follow this multiple of the root mean square step of the better proposals, with this decay by
        evaluation (Q10).
    width_in_gaps : float
        A lattice is never looked at more closely than this fraction of its spacing [widths below the
        spacing].
    radii : tuple of floats
        How many widths from the centre numeric sites may go, in the proposals of a batch in turn: what is
        near may be known better, but a minimum of which the model is sure may be further away [radii].
    change_limits : tuple of floats
        How many choices the proposals of a batch may change in turn, in units of the reach: some near, some
        far [limits of changes].
    smallest_reach : float
        Least number of choices that the better proposals are taken to change; one more than this is always
        allowed.
    keep : float
        Decay by evaluation of the reach and of the share of ties.
    middle : float
        The part of the range of each number, around its middle, from which the first points of all come
        [first points near the middle].
    restart_shares : tuple of floats
        What share of the best point each restart in turn changes [restarts at the best].
    opening_share : float
        What share of the sites the first points after a restart change.
    low_in_deviations : float
        Under noise no rise counts as low below this multiple of the deviation of one value (Q15).
    doubt_in_errors : float
        Under noise the best point of all is the one whose mean plus so many standard errors is lowest (Q17).
    largest_barrier_noise : float
        The regression on violations is not used while it takes more than this variance for noise [barrier].
    fewest_beyond : int
        Violations are learned from once there are so many.
    largest_excess : float
        The largest violations count as this many times the median (Q20).
    slack : float
        Feasible points that have counted do so until they are predicted to be this far below the limit (Q20).
    farthest_expected : float
        A value is beyond a cliff if it is this many standard deviations above what was expected, after the
        widest gap (Q22) [cliffs].
    coarse : float
        Deviations below this, in those of the low values, are not told apart from it (Q22).
    fewest_on_a_side, share_on_a_side : int, float
        So many values, and this share of them, are on either side of a cliff at least.
    most_misjudged : float
        The most points near the centre whose side is misjudged, as a share of those on the side with fewer
        (Q24) [cliffs].
    sides_by_feature : float
        Sides of points that failed are learned once there are so many values for each feature.
    some_ties, many_ties : float
        The share of ties at which one point of a batch is sent across a plateau, and that at which all but
        one are [plateaus].
    harm_prior, harm_doubt : float
        Probability of a site to do harm before anything is known, and of a value to break the rule that worse
        points are those with a harmful change (Q12).
    risk : float
        Mean risk of a step across a plateau: with 0.7, half of the steps do no harm (Q13).
    trend_quantile : float
        Values above this quantile count as just that in the trend (Q14).
    trend_ridge : float
        Ridge of the trend, in units of one value at either end of the range of a term (Q14).
    trend_patience : float
        The share of its patience after which a run asks the trend [trend].
    trend_pause : int
        Evaluations between two points of the trend.

    Examples
    --------
    >>> from dataclasses import replace
    >>> replace(IsingSettings(), close=0.0).close
    0.0
    """

    batch: int = 4
    patience: int = 40
    patience_by_feature: int = 3
    first_variances: tuple[float, ...] = (1.0, 0.2, 0.2, 0.2, 0.2, 0.1, 0.01)
    first_barrier_noise: float = 0.3
    smallest_choices: float = 0.05
    refit_share: float = 0.08
    window: int = 300
    low_shares: tuple[float, ...] = (0.1, 0.3, 0.6, 0.9)
    first_low_share: int = 1
    largest_choice_share: int = 1
    near: float = 0.3
    close: float = 0.05
    large_rise: float = 30.0
    near_enough: float = 0.01
    far_target: float = 10.0
    first_width: float = 0.2
    width_factor: float = 1.5
    width_keep: float = 0.9
    width_in_gaps: float = 0.4
    radii: tuple[float, ...] = (0.5, 2.0, 4.0, 8.0)
    change_limits: tuple[float, ...] = (0.5, 1.0, 2.0, 2.0)
    smallest_reach: float = 3.0
    keep: float = 0.95
    middle: float = 0.5
    restart_shares: tuple[float, ...] = (0.0, 0.1, 0.3, 1.0)
    opening_share: float = 0.1
    low_in_deviations: float = 4.0
    doubt_in_errors: float = 2.0
    largest_barrier_noise: float = 0.05
    fewest_beyond: int = 4
    largest_excess: float = 5.0
    slack: float = 0.1
    farthest_expected: float = 4.0
    coarse: float = 0.25
    fewest_on_a_side: int = 6
    share_on_a_side: float = 0.1
    most_misjudged: float = 0.6
    sides_by_feature: float = 1.5
    some_ties: float = 0.02
    many_ties: float = 0.3
    harm_prior: float = 0.4
    harm_doubt: float = 0.02
    risk: float = 0.7
    trend_quantile: float = 0.9
    trend_ridge: float = 0.1
    trend_patience: float = 0.5
    trend_pause: int = 32

    @property
    def first_barrier_variances(self) -> tuple[float, ...]:
        """Variances of the regression on violations before anything is known."""
        return (*self.first_variances[:-1], self.first_barrier_noise)


DEFAULT = IsingSettings()
