"""Credit for improvements."""

import numpy as np
import pytest

from dcmaes.strategies._credit import FADE, KEEP, SMALLEST_SHARE, Credit

BATCH = np.array([4, 2, 1])
EXPECTED = np.array([[1.0, 1.0, 1.0], [4.0, 4.0, 4.0]])


def spent_in_all(gains, n=3000):
    """Return the share of evaluations of each proposer if one evaluation in so many of its own is a gain."""
    credit, spent = Credit.none(3), np.zeros(3)
    for _ in range(n):
        who = credit.next(EXPECTED, BATCH)
        spent[who] += 1
        credit = credit.after(who, float(spent[who] % gains[who] == 0))
    return spent / n


def test_one_evaluation_by_hand():
    credit = Credit(np.array([1.0, 2.0]), np.array([10.0, 20.0]), 4.0, np.array([0.5, 0.1]))
    worse = credit.after(0, 0.0)
    assert (worse.gains.tolist(), worse.spent.tolist(), worse.usual) == ([1.0, 2.0], [11.0, 20.0], 4.0)
    better = credit.after(1, 12.0)
    np.testing.assert_allclose(better.gains, [KEEP, 2 * KEEP + 1.5])  # 2 / (1 + 4 / 12)
    np.testing.assert_allclose(better.spent, [10 * KEEP, 20 * KEEP + 1])
    assert better.usual == pytest.approx(np.sqrt(4 * 12))
    assert (worse.trust.tolist(), better.trust.tolist()) == ([0.5, 0.1], [0.5, 1.0])


def test_every_run_that_converges_takes_trust_and_an_improvement_gives_it_back():
    credit = Credit.none(2).after_run(1).after_run(1)
    assert credit.trust.tolist() == [1.0, FADE**2]
    assert credit.after(1, 0.0).trust.tolist() == [1.0, FADE**2]
    assert credit.after(0, 1.0).trust.tolist() == [1.0, FADE**2]
    assert credit.after(1, 1.0).trust.tolist() == [1.0, 1.0]


def test_runs_without_improvements_make_the_share_of_a_proposer_small():
    """Two of equal rates; each run of the first takes 100 evaluations and halves its share."""
    expected, credit, spent = np.array([[1.0, 1.0], [4.0, 4.0]]), Credit.none(2), np.zeros(2)
    while spent[0] < 500:
        who = credit.next(expected, np.ones(2, dtype=np.int64))
        spent[who] += 1
        credit = credit.after(who, 0.0)
        if who == 0 and spent[0] % 100 == 0:
            credit = credit.after_run(0)
    # The fifth run ends when n = sqrt(1 / 4 ** 4) m.
    assert spent[1] / spent[0] == pytest.approx(16, rel=0.1)


def test_equal_gains_are_equal_shares():
    np.testing.assert_allclose(spent_in_all((20, 20, 20)), 1 / 3, atol=0.05)


def test_more_gains_are_larger_shares():
    shares = spent_in_all((10, 40, 1000))
    assert shares[0] > shares[1] > shares[2]
    assert shares[0] > 0.5


def test_nobody_is_left_out_for_good():
    assert (spent_in_all((2, 10**9, 10**9)) > SMALLEST_SHARE / 2).all()


def test_tiny_gains_hardly_count():
    credit = Credit.none(2).after(0, 1.0)
    assert credit.after(1, 1e-6).gains[1] < 1e-5
    assert credit.after(1, 1e9).gains[1] == pytest.approx(2.0)


def test_who_cannot_propose_gets_no_turn():
    expected = np.array([[1.0, 0.0], [4.0, 1.0]])
    assert Credit(np.zeros(2), np.array([1e9, 0.0]), 0.0, np.ones(2)).next(expected, BATCH[:2]) == 0


def test_without_gains_evaluations_are_shared_as_expected():
    expected, credit, spent = np.array([[1.0, 4.0], [4.0, 400.0]]), Credit.none(2), np.zeros(2)
    for _ in range(8000):
        who = credit.next(expected, BATCH[:2])
        spent[who] += 1
        credit = credit.after(who, 0.0)
    # In the long run the rates are 1 / n and 4 / n, and counts in proportion to them: n squared as 4 to 1.
    assert spent[1] / spent[0] == pytest.approx(2.0, abs=0.2)


def test_a_large_batch_waits_for_its_share():
    expected, credit = np.array([[1.0, 0.1], [4.0, 10.0]]), Credit.none(2)
    turns = []
    for _ in range(60):
        who = credit.next(expected, np.array([1, 10]))
        turns.append(who)
        for _ in range((1, 10)[who]):
            credit = credit.after(who, 0.0)
    assert turns.index(1) > 10
