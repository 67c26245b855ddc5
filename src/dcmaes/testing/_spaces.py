"""Spaces of every kind and of awkward shapes."""

from __future__ import annotations

from dcmaes.space import Binary, Categorical, Float, Integer, Ordinal, Space


def conformance_spaces() -> dict[str, Space]:
    """Return the spaces on which the conformance suite runs, by name.

    >>> sorted(conformance_spaces())[:3]
    ['all_kinds', 'array_steps', 'binary']
    """
    return {**_of_one_kind(), **_of_several_kinds(), **_with_conditions()}


def _of_one_kind() -> dict[str, Space]:
    """Return spaces whose variables are all alike."""
    return {
        "binary": Space.binary(12),
        "one_binary": Space.binary(1),
        "integers": Space.integers(5, -50, 50),
        "huge_integers": Space.integers(2, -(10**9), 10**9),
        "log_integers": Space.integers(3, 1, 10**6, log=True),
        "ordinal": Space({"batch": Ordinal([16, 32, 64]), "size": Ordinal(["s", "m", "l", "xl"])}),
        "categorical": Space(
            {"a": Categorical(["x", "y", "z"]), "b": Categorical(range(200)), "c": Categorical(["one"])}
        ),
        "continuous": Space.array([Float(-5.0, 5.0)] * 4),
        "log_continuous": Space.array([Float(1e-8, 1e2, log=True), Float(-1e300, 1e-300)]),
        "one_continuous": Space.array([Float(0.0, 1.0)]),
    }


def _of_several_kinds() -> dict[str, Space]:
    """Return spaces of several kinds of variables, circles, steps and single values among them."""
    return {
        "periodic": Space.array([Integer(0, 23, periodic=True), Float(0.0, 360.0, periodic=True)]),
        "lattices": Space.array(
            [Integer(0, 23, periodic=True), Integer(7, 7), Binary(), Integer(1, 900, log=True)]
        ),
        "steps": Space(
            {
                "batch": Integer(32, 512, step=32),
                "dropout": Float(0.0, 0.9, step=0.05),
                "width": Integer(64, 1024, step=64, log=True),
                "angle": Float(0.0, 360.0, step=15.0, periodic=True),
            }
        ),
        "array_steps": Space.array([Integer(-9, 9, step=3), Float(0.0, 1.0, step=0.125), Float(0.0, 1.0)]),
        "single_values": Space.array([Integer(7, 7), Float(2.5, 2.5), Integer(0, 1), Float(0.0, 1.0)]),
        "one_point": Space.integers(2, 3, 3),
        "all_kinds": Space(
            {
                "layers": Integer(1, 8),
                "width": Integer(16, 4096, log=True),
                "act": Categorical(["relu", "gelu", "tanh"]),
                "norm": Binary(),
                "batch": Ordinal([16, 32, 64, 128]),
                "hour": Integer(0, 23, periodic=True),
                "lr": Float(1e-5, 1e-1, log=True),
                "phase": Float(0.0, 6.283, periodic=True),
                "only": Categorical(["this"]),
            }
        ),
    }


def _with_conditions() -> dict[str, Space]:
    """Return spaces in which some variables are active only with certain values of others."""
    return {
        "conditional": Space(
            {
                "model": Categorical(["svm", "forest", "linear"]),
                "kernel": Categorical(["linear", "rbf", "poly"], when={"model": "svm"}),
                "gamma": Float(1e-5, 1.0, log=True, when={"kernel": ["rbf", "poly"]}),
                "degree": Integer(2, 5, when={"kernel": "poly"}),
                "trees": Integer(10, 1000, log=True, when={"model": "forest"}),
                "depth": Ordinal([2, 4, 8, 16], when={"model": "forest"}),
                "bootstrap": Binary(when={"model": "forest", "depth": {"low": 4}}),
                "scale": Binary(),
            }
        ),
        "conditional_flags": Space(
            {f"f{i}": Binary(when={f"f{(i - 1) // 2}": i % 2 == 0} if i else None) for i in range(7)}
        ),
        "conditional_numbers": Space(
            {
                "n": Integer(0, 4),
                "x": Float(-1.0, 1.0, when={"n": {"low": 1}}),
                "y": Float(0.0, 1.0, when={"x": {"high": 0.5}}),
                "m": Integer(-9, 9, when={"n": [3, 4]}),
            }
        ),
    }
