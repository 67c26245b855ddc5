"""Functions with few interactions, found by sparse regression; see docs/maths.md, section S."""

from dcmaes.strategies.sparse._search import next_look
from dcmaes.strategies.sparse._state import SparseState
from dcmaes.strategies.sparse._strategy import Sparse

__all__ = ["Sparse", "SparseState", "next_look"]
