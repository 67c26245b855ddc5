"""Functions with few interactions, found by sparse regression; see docs/maths.md, section S."""

from dcmaes.strategies.sparse._collected import Collected
from dcmaes.strategies.sparse._search import is_collecting, next_look
from dcmaes.strategies.sparse._state import SparseState
from dcmaes.strategies.sparse._strategy import Sparse

__all__ = ["Collected", "Sparse", "SparseState", "is_collecting", "next_look"]
