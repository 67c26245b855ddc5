"""Spaces with conditions: by hand, and at random for hypothesis."""

from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import strategies as st

import dcmaes as dc


def estimators() -> dc.Space:
    """Three branches, one of which has branches of its own; all kinds of variables and of conditions."""
    return dc.Space(
        {
            "model": dc.Categorical(["svm", "forest", "linear"]),
            "kernel": dc.Categorical(["linear", "rbf", "poly"], when={"model": "svm"}),
            "gamma": dc.Float(1e-5, 1.0, log=True, when={"kernel": ["rbf", "poly"]}),
            "degree": dc.Integer(2, 5, when={"kernel": "poly"}),
            "offset": dc.Float(-1.0, 1.0, when={"degree": {"low": 3}}),
            "trees": dc.Integer(10, 1000, log=True, when={"model": "forest"}),
            "depth": dc.Ordinal([2, 4, 8, 16], when={"model": "forest"}),
            "bootstrap": dc.Binary(when={"model": "forest", "depth": {"low": 4, "high": 8}}),
            "penalty": dc.Float(0.0, 1.0, step=0.1, when={"model": ["svm", "linear"]}),
            "scale": dc.Binary(),
        }
    )


def nested() -> dc.Space:
    """A finite space of 72 points: flags and numbers under each other, and a variable with two parents."""
    return dc.Space(
        {
            "on": dc.Binary(),
            "how": dc.Categorical(["a", "b", "c"], when={"on": True}),
            "n": dc.Integer(1, 4, when={"how": ["a", "b"]}),
            "m": dc.Integer(0, 2, when={"n": {"low": 2, "high": 3}, "side": True}),
            "side": dc.Binary(),
            "off": dc.Integer(0, 4, when={"on": False}),
            "one": dc.Float(2.5, 2.5, when={"side": True}),
            "free": dc.Integer(0, 1),
        }
    )


def all_coded(space: dc.Space) -> np.ndarray:
    """Return every coded point of a small finite space, also those that differ where sites are inactive."""
    values = [v.site.n_states or 1 for v in space.variables]
    base = np.where(space.sites.is_continuous, space.sites.low, 0.0)
    return np.array(list(product(*map(range, values))), dtype=float) + base


_FINITE = (
    lambda when: dc.Binary(when=when),
    lambda when: dc.Integer(-1, 2, when=when),
    lambda when: dc.Integer(3, 12, step=3, log=True, when=when),
    lambda when: dc.Ordinal([1, 2, 4], when=when),
    lambda when: dc.Categorical(["a", 1, True], when=when),
    lambda when: dc.Float(0.0, 0.4, step=0.2, when=when),
    lambda when: dc.Float(2.5, 2.5, when=when),
)
_ALL = (
    *_FINITE,
    lambda when: dc.Float(-1.0, 1.0, when=when),
    lambda when: dc.Float(1e-3, 10.0, log=True, when=when),
    lambda when: dc.Float(0.0, 1.0, periodic=True, when=when),
)


@st.composite
def conditional_spaces(draw: st.DrawFn, *, finite: bool = False, most: int = 6) -> dc.Space:
    """Draw a space in which variables depend on others that may come before or after them."""
    n = draw(st.integers(2, most))
    order = draw(st.permutations(range(n)))
    made: dict[int, dc.space.Variable] = {}
    for position, site in enumerate(order):
        make = draw(st.sampled_from(_FINITE if finite else _ALL))
        parents = (
            draw(st.lists(st.sampled_from(order[:position]), unique=True, max_size=2)) if position else []
        )
        variable = make({f"v{parent}": _allowed(draw, made[parent]) for parent in parents})
        try:
            dc.Space({f"v{i}": v for i, v in {**made, site: variable}.items()})
        except ValueError:  # what two parents need of a third one exclude each other
            variable = make(None)
        made[site] = variable
    return dc.Space({f"v{site}": made[site] for site in range(n)})


def _allowed(draw: st.DrawFn, parent: dc.space.Variable) -> object:
    """Draw what a parent must be: one of its values, some of them, or a range."""
    site = parent.site
    if site.n_states == 0:
        middle = site.low + 0.3 * (site.high - site.low)
        return draw(
            st.sampled_from([{"low": middle}, {"high": middle}, {"low": site.low, "high": site.high}])
        )
    values = parent.decode(range(site.n_states))
    some = draw(st.lists(st.sampled_from(range(len(values))), min_size=1, unique=True))
    if parent.scale is not None and draw(st.booleans()):
        ends = sorted(values[i] for i in some)
        return {"low": ends[0], "high": ends[-1]}
    return values[some[0]] if len(some) == 1 else [values[i] for i in some]
