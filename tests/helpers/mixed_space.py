"""A space with variables of every kind, and one of its points."""

from dcmaes import Binary, Categorical, Float, Integer, Ordinal, Space

MIXED = Space(
    {
        "layers": Integer(1, 8),
        "width": Integer(16, 4096, log=True),
        "act": Categorical(["relu", "gelu", "tanh"]),
        "norm": Binary(),
        "batch": Ordinal([16, 32, 64, 128]),
        "hour": Integer(0, 23, periodic=True),
        "lr": Float(1e-5, 1e-1, log=True),
    }
)
POINT = {"layers": 3, "width": 128, "act": "tanh", "norm": True, "batch": 64, "hour": 23, "lr": 1e-3}
