"""With continuous sites only, `cma` is the published CMA-ES with diagonal decoding (Akimoto and Hansen 2020).

The equations are transcribed here one after another, with loops and full matrices, and followed for forty
generations. Two details are the library's own and stated in docs/maths.md: the negative weights are shortened
for long steps only, and their sum is bounded as in Hansen's tutorial so that the matrix stays definite.
"""

import numpy as np
import pytest
from alone import Alone
from scipy.special import gamma

from dcmaes import Float, Space
from dcmaes.strategies import Evaluations
from dcmaes.strategies.cma import Cma


class Published:
    """The equations, in the unit box, for a population given with its ranking."""

    def __init__(self, n, population_size, mean, deviation):
        self.n, self.p = n, population_size
        self.m, self.sigma, self.D = np.array(mean), 1.0, np.full(n, deviation)
        self.C = np.eye(n)
        self.ps, self.gs = np.zeros(n), 0.0
        self.pc, self.gc = np.zeros(n), 0.0
        self.pd, self.gd = np.zeros(n), 0.0
        self.root = self.inverse = np.eye(n)
        self.beta = 1.0
        raw = np.array([np.log((self.p + 1) / 2) - np.log(i) for i in range(1, self.p + 1)])
        self.raw_positive = np.array([max(w, 0.0) for w in raw])
        self.raw_negative = np.array([min(w, 0.0) for w in raw])
        self.w = self.raw_positive / self.raw_positive.sum()
        self.mu = 1 / (self.w**2).sum()
        self.cs = (self.mu + 2) / (n + self.mu + 5)
        self.ds = 1 + self.cs + 2 * max(0.0, np.sqrt((self.mu - 1) / (n + 1)) - 1)
        self.c1, self.cmu, self.cc, self.wc = self.rates(n * (n + 1) / 2, definite=True)
        self.d1, self.dmu, self.cd, self.wd = self.rates(n, definite=False)
        self.interval = max(1, int(1 / (n * (self.c1 + self.cmu))))

    def rates(self, n_parameters, definite):
        n, mu, p = self.n, self.mu, self.p
        c1 = 1 / (2 * (n_parameters / n + 1) * (n + 1) ** 0.75 + mu / 2)
        cmu = min((mu + 1 / mu - 2 + p / (2 * (p + 5))) * c1, 1 - c1)
        negative = self.raw_negative
        mu_negative = negative.sum() ** 2 / (negative**2).sum()
        total = min(1 + c1 / cmu, 1 + 2 * mu_negative / (mu + 2))
        if definite:
            total = min(total, (1 - c1 - cmu) / (n * cmu))
        return c1, cmu, np.sqrt(mu * c1 / 2), self.w + total * negative / -negative.sum()

    def shortened(self, weights, z):
        return [w if w >= 0 else w * min(1.0, self.n / (zi @ zi)) for w, zi in zip(weights, z, strict=True)]

    def generation(self, x, t):
        n = self.n
        y = [(xi - self.m) / (self.sigma * self.D) for xi in x]
        z = [self.inverse @ yi for yi in y]
        self.m = np.clip(sum(w * xi for w, xi in zip(self.w, x, strict=True)), 0.0, 1.0)
        mean_y = sum(w * yi for w, yi in zip(self.w, y, strict=True))
        mean_z = sum(w * zi for w, zi in zip(self.w, z, strict=True))
        # Step size.
        self.ps = (1 - self.cs) * self.ps + np.sqrt(self.cs * (2 - self.cs) * self.mu) * mean_z
        self.gs = (1 - self.cs) ** 2 * self.gs + self.cs * (2 - self.cs)
        expected = np.sqrt(2) * gamma((n + 1) / 2) / gamma(n / 2)
        is_open = float(self.ps @ self.ps / self.gs < (2 + 4 / (n + 1)) * n)
        sigma = self.sigma * np.exp(
            self.cs / self.ds * (np.linalg.norm(self.ps) / expected - np.sqrt(self.gs))
        )
        # Paths.
        self.pc = (1 - self.cc) * self.pc + is_open * np.sqrt(self.cc * (2 - self.cc) * self.mu) * mean_y
        self.gc = (1 - self.cc) ** 2 * self.gc + is_open * self.cc * (2 - self.cc)
        self.pd = (1 - self.cd) * self.pd + is_open * np.sqrt(self.cd * (2 - self.cd) * self.mu) * mean_y
        self.gd = (1 - self.cd) ** 2 * self.gd + is_open * self.cd * (2 - self.cd)
        # Scales.
        wd = self.shortened(self.wd, z)
        change = self.d1 * ((self.inverse @ self.pd) ** 2 - self.gd)
        change = change + self.dmu * sum(w * (zi**2 - 1) for w, zi in zip(wd, z, strict=True))
        D = self.D * np.exp(change / (2 * self.beta))
        # Correlation.
        wc = self.shortened(self.wc, z)
        C = self.C + self.c1 * (np.outer(self.pc, self.pc) - self.gc * self.C)
        for w, yi in zip(wc, y, strict=True):
            C = C + self.cmu * w * (np.outer(yi, yi) - self.C)
        if t % self.interval == 0:
            deviation = np.sqrt(np.diag(C))
            C = C / np.outer(deviation, deviation)
            D = D * deviation
            self.pc, self.pd = self.pc / deviation, self.pd / deviation
            values, vectors = np.linalg.eigh(C)
            self.root = vectors @ np.diag(np.sqrt(values)) @ vectors.T
            self.inverse = vectors @ np.diag(1 / np.sqrt(values)) @ vectors.T
            self.beta = max(1.0, np.sqrt(values.max() / values.min()) - 1)
        self.sigma, self.D, self.C = sigma, D, C


def rotated_ellipsoid(n):
    axes = np.linalg.qr(np.random.default_rng(3).normal(size=(n, n)))[0]
    factors = 10 ** np.linspace(0, 1.5, n)
    return lambda x: float(((factors * (axes @ (x - 0.45))) ** 2).sum())


@pytest.mark.parametrize(("n", "population_size"), [(2, 6), (5, 12), (20, 8)])
def test_continuous_search_follows_the_published_equations(n, population_size):
    # Wide bounds and a short first step keep every point inside, where no reflection takes part.
    sites = Space.array([Float(0.0, 1.0)] * n).sites
    strategy, rng = Alone(Cma(population_size=population_size, step_size=0.02)), np.random.default_rng(1)
    state = strategy.init(sites, Evaluations.empty(n), 1000, rng)
    published = Published(n, population_size, np.full(n, 0.5), 0.02)
    objective = rotated_ellipsoid(n)
    assert n < 20 or published.interval > 1  # rarer factorizations are covered too
    for t in range(1, 41):
        x = strategy.sample(state, population_size, rng, None)
        assert ((x > 0.0) & (x < 1.0)).all()
        value = np.array([objective(row) for row in x])
        published.generation(x[np.argsort(value)], t)
        state = strategy.update(state, Evaluations(x, value, np.zeros(population_size)))
        marginals, copula = state.distribution.marginals, state.distribution.copula
        np.testing.assert_allclose(marginals.mean, published.m, rtol=0, atol=1e-10)
        np.testing.assert_allclose(marginals.step_size, published.sigma, rtol=1e-8)
        np.testing.assert_allclose(marginals.scale, published.D, rtol=1e-8)
        np.testing.assert_allclose(copula.correlation, published.C, rtol=0, atol=1e-8)
