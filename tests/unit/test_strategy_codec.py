"""States as plain data: written by their fields, read by their type hints."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import pytest

from dcmaes.space import Sites, Space
from dcmaes.strategies._codec import DERIVED, decode, encode
from dcmaes.strategies._evaluations import Rank


@dataclass(frozen=True, eq=False)
class Leaf:
    values: np.ndarray
    best: Rank


@dataclass(frozen=True, eq=False)
class Other:
    n: int


@dataclass(frozen=True, eq=False)
class Tree:
    sites: Sites
    leaf: Leaf | Other | None
    leaves: tuple[Leaf, ...]
    names: tuple[tuple[int, ...], ...]
    n_leaves: int = field(default=-1, metadata=DERIVED)


SITES = Space.binary(2).sites
LEAF = Leaf(np.arange(3.0), Rank(0.0, np.inf))


def there_and_back(tree):
    return decode(Tree, encode(tree), SITES)


def test_everything_comes_back():
    back = there_and_back(Tree(SITES, LEAF, (LEAF, LEAF), ((1, 2), ())))
    assert back.sites is SITES
    assert isinstance(back.leaf, Leaf)
    assert back.leaf.values is LEAF.values
    assert back.leaf.best == Rank(0.0, np.inf)
    assert isinstance(back.leaf.best, Rank)
    assert [type(leaf) for leaf in back.leaves] == [Leaf, Leaf]
    assert back.names == ((1, 2), ())


@pytest.mark.parametrize("leaf", [LEAF, Other(3), None])
def test_the_one_of_several_types_that_was_written_is_read(leaf):
    assert type(there_and_back(Tree(SITES, leaf, (), ())).leaf) is type(leaf)


def test_what_is_written_is_plain_and_leaves_out_sites_and_derived_fields():
    plain = encode(Tree(SITES, None, (), ((1,),), n_leaves=7))
    assert plain.keys() == {"type", "leaf", "leaves", "names"}
    assert plain["names"] == [[1]]
    assert decode(Tree, plain, SITES).n_leaves == -1


def test_a_type_that_is_not_expected_is_not_made():
    plain = encode(Tree(SITES, LEAF, (), ()))
    plain["leaf"]["type"] = "Tree"
    with pytest.raises(KeyError, match="Tree"):
        decode(Tree, plain, SITES)
