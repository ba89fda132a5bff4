"""``distnb.random``: generators of random numbers by global index."""

# Made by tools/make_stub.py from the functions themselves.

from typing import Any

from distnb.client.array.distarray import DistArray
from distnb.client.session.session import Session

class Generator:
    """Makes arrays of random numbers, with the methods of ``numpy.random.Generator``."""

    def __init__(self, seed: int, session: Session | None = None) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def beta(self, a: Any, b: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw floats from a beta distribution."""

    def binomial(
        self, n: Any, p: Any, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw numbers of successes among ``n`` trials."""

    def bytes(self, length: int) -> bytes:
        """Return random bytes, in the notebook."""

    def chisquare(self, df: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw floats from a chi-square distribution."""

    def choice(
        self,
        a: Any,
        size: Any = None,
        replace: bool = True,
        p: Any = None,
        axis: int = 0,
        shuffle: bool = True,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Choose among the numbers below ``a``, or among an array's slices along an axis."""

    def dirichlet(self, alpha: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw vectors of positive numbers with sum 1: gamma numbers over their sum."""

    def exponential(
        self, scale: Any = 1.0, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw floats from an exponential distribution with mean ``scale``."""

    def f(
        self, dfnum: Any, dfden: Any, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw floats from an F distribution."""

    def gamma(
        self, shape: Any, scale: Any = 1.0, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw floats from a gamma distribution."""

    def geometric(self, p: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw numbers of trials up to the first success."""

    def gumbel(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats from a Gumbel distribution."""

    def hypergeometric(
        self,
        ngood: Any,
        nbad: Any,
        nsample: Any,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw numbers of good ones in samples without replacement."""

    def integers(
        self,
        low: Any,
        high: Any = None,
        size: Any = None,
        dtype: Any = ...,
        endpoint: bool = False,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw integers from [low, high), or [low, high] with ``endpoint``."""

    def laplace(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats from a Laplace distribution."""

    def logistic(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats from a logistic distribution."""

    def lognormal(
        self,
        mean: Any = 0.0,
        sigma: Any = 1.0,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats whose logarithms are normal."""

    def logseries(self, p: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw integers from a logarithmic series distribution."""

    def multinomial(
        self, n: Any, pvals: Any, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw how often each category occurs in ``n`` trials: binomial numbers of those left."""

    def multivariate_hypergeometric(
        self,
        colors: Any,
        nsample: int,
        size: Any = None,
        method: str = "marginals",
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw how many of each color are in a sample without replacement."""

    def multivariate_normal(
        self,
        mean: Any,
        cov: Any,
        size: Any = None,
        check_valid: str = "warn",
        tol: float = 1e-08,
        *,
        method: str = "svd",
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw normal vectors: standard ones times a root of the covariance (of the notebook)."""

    def negative_binomial(
        self, n: Any, p: Any, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw numbers of failures before ``n`` successes."""

    def noncentral_chisquare(
        self, df: Any, nonc: Any, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw floats from a noncentral chi-square distribution."""

    def noncentral_f(
        self,
        dfnum: Any,
        dfden: Any,
        nonc: Any,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats from a noncentral F distribution."""

    def normal(
        self,
        loc: Any = 0.0,
        scale: Any = 1.0,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats from a normal distribution."""

    def pareto(self, a: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw floats from a Pareto II distribution."""

    def permutation(self, x: Any, axis: int = 0, *, dist: Any = None, grid: Any = None) -> Any:
        """Return the numbers below ``x`` in random order, or an array's slices along an axis."""

    def permuted(self, x: Any, *, axis: Any = None, out: DistArray | None = None) -> Any:
        """Bring each lane along an axis into an order of its own; without an axis, all elements."""

    def poisson(
        self, lam: Any = 1.0, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw integers from a Poisson distribution."""

    def power(self, a: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw floats in [0, 1] from a power distribution."""

    def random(
        self,
        size: Any = None,
        dtype: Any = ...,
        out: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats uniformly from [0, 1)."""

    def rayleigh(
        self, scale: Any = 1.0, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw floats from a Rayleigh distribution."""

    def shuffle(self, x: DistArray, axis: int = 0) -> None:
        """Bring an array's slices along an axis into random order, in place."""

    def spawn(self, n_children: int) -> list[Generator]:
        """Return generators whose numbers have nothing to do with each other's."""

    def standard_cauchy(self, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw floats from the standard Cauchy distribution."""

    def standard_exponential(
        self,
        size: Any = None,
        dtype: Any = ...,
        method: str = "zig",
        out: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats from the exponential distribution with mean 1; by inversion."""

    def standard_gamma(
        self,
        shape: Any,
        size: Any = None,
        dtype: Any = ...,
        out: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats from the gamma distribution with scale 1."""

    def standard_normal(
        self,
        size: Any = None,
        dtype: Any = ...,
        out: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats from the standard normal distribution."""

    def standard_t(self, df: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw floats from Student's t distribution."""

    def triangular(
        self,
        left: Any,
        mode: Any,
        right: Any,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats from a triangular distribution."""

    def uniform(
        self,
        low: Any = 0.0,
        high: Any = 1.0,
        size: Any = None,
        *,
        dist: Any = None,
        grid: Any = None,
    ) -> Any:
        """Draw floats uniformly from [low, high)."""

    def vonmises(
        self, mu: Any, kappa: Any, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw angles from a von Mises distribution."""

    def wald(
        self, mean: Any, scale: Any, size: Any = None, *, dist: Any = None, grid: Any = None
    ) -> Any:
        """Draw floats from a Wald (inverse Gaussian) distribution."""

    def weibull(self, a: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw floats from a Weibull distribution."""

    def zipf(self, a: Any, size: Any = None, *, dist: Any = None, grid: Any = None) -> Any:
        """Draw integers from a Zipf distribution."""

def default_rng(seed: Any = None, *, session: Session | None = None) -> Generator:
    """Return a generator; without a seed, a fresh one is drawn."""
