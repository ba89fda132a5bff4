"""``distnb.random``: generators of random numbers by global index."""

# Made by tools/make_stub.py from the functions themselves.

import builtins
from typing import Any

import numpy as np
from numpy.random._mt19937 import MT19937 as MT19937
from numpy.random._pcg64 import PCG64 as PCG64
from numpy.random._pcg64 import PCG64DXSM as PCG64DXSM
from numpy.random._philox import Philox as Philox
from numpy.random._sfc64 import SFC64 as SFC64
from numpy.random.bit_generator import BitGenerator as BitGenerator
from numpy.random.bit_generator import SeedSequence as SeedSequence
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.array.distarray import DistArray
from distnb.client.handle.arguments import Dist, Grid
from distnb.client.session.session import Session
from distnb.client.stats.bit_generators import PhiloxBitGenerator, Seed
from distnb.client.stats.drawing import Size

class Generator:
    """Makes arrays of random numbers, with the methods of ``numpy.random.Generator``."""

    def __init__(self, seed: Seed, session: Session | None = None) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def beta(
        self, a: ArrayLike, b: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats from a beta distribution."""

    def binomial(
        self, n: ArrayLike, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw numbers of successes among ``n`` trials."""

    @property
    def bit_generator(self) -> PhiloxBitGenerator:
        """What the numbers follow from: ``state`` can be kept and assigned, ``seed_seq`` spawns."""

    def bytes(self, length: int) -> builtins.bytes:
        """Return random bytes, in the notebook."""

    def chisquare(
        self, df: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats from a chi-square distribution."""

    def choice(
        self,
        a: ArrayLike,
        size: Size = None,
        replace: bool = True,
        p: ArrayLike | None = None,
        axis: int = 0,
        shuffle: bool = True,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Choose among the numbers below ``a``, or among an array's slices along an axis."""

    def dirichlet(
        self, alpha: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw vectors of positive numbers with sum 1: gamma numbers over their sum."""

    def exponential(
        self, scale: ArrayLike = 1.0, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats from an exponential distribution with mean ``scale``."""

    def f(
        self,
        dfnum: ArrayLike,
        dfden: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from an F distribution."""

    def gamma(
        self,
        shape: ArrayLike,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from a gamma distribution."""

    def geometric(
        self, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw numbers of trials up to the first success."""

    def gumbel(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from a Gumbel distribution."""

    def hypergeometric(
        self,
        ngood: ArrayLike,
        nbad: ArrayLike,
        nsample: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw numbers of good ones in samples without replacement."""

    def integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        dtype: DTypeLike = ...,
        endpoint: bool = False,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw integers from [low, high), or [low, high] with ``endpoint``."""

    def laplace(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from a Laplace distribution."""

    def logistic(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from a logistic distribution."""

    def lognormal(
        self,
        mean: ArrayLike = 0.0,
        sigma: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats whose logarithms are normal."""

    def logseries(
        self, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw integers from a logarithmic series distribution."""

    def multinomial(
        self,
        n: ArrayLike,
        pvals: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw how often each category occurs in ``n`` trials: binomial numbers of those left."""

    def multivariate_hypergeometric(
        self,
        colors: ArrayLike,
        nsample: int,
        size: Size = None,
        method: str = "marginals",
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw how many of each color are in a sample without replacement."""

    def multivariate_normal(
        self,
        mean: ArrayLike,
        cov: ArrayLike,
        size: Size = None,
        check_valid: str = "warn",
        tol: float = 1e-08,
        *,
        method: str = "svd",
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw normal vectors: standard ones times a root of the covariance."""

    def negative_binomial(
        self, n: ArrayLike, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw numbers of failures before ``n`` successes."""

    def noncentral_chisquare(
        self,
        df: ArrayLike,
        nonc: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from a noncentral chi-square distribution."""

    def noncentral_f(
        self,
        dfnum: ArrayLike,
        dfden: ArrayLike,
        nonc: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from a noncentral F distribution."""

    def normal(
        self,
        loc: ArrayLike = 0.0,
        scale: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from a normal distribution."""

    def pareto(
        self, a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats from a Pareto II distribution."""

    def permutation(
        self, x: ArrayLike, axis: int = 0, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Return the numbers below ``x`` in random order, or an array's slices along an axis."""

    def permuted(
        self, x: ArrayLike, *, axis: int | None = None, out: DistArray | None = None
    ) -> DistArray:
        """Bring each 1-D slice along an axis into an order of its own; without, all elements."""

    def poisson(
        self, lam: ArrayLike = 1.0, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw integers from a Poisson distribution."""

    def power(
        self, a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats in [0, 1] from a power distribution."""

    def random(
        self,
        size: Size = None,
        dtype: DTypeLike = ...,
        out: DistArray | None = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats uniformly from [0, 1)."""

    def rayleigh(
        self, scale: ArrayLike = 1.0, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats from a Rayleigh distribution."""

    def shuffle(self, x: DistArray | np.ndarray | list[Any], axis: int = 0) -> None:
        """Bring an array's slices along an axis, or a list, into random order, in place."""

    def spawn(self, n_children: int) -> list[Generator]:
        """Return generators whose numbers have nothing to do with each other's; nothing is sent."""

    def standard_cauchy(
        self, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats from the standard Cauchy distribution."""

    def standard_exponential(
        self,
        size: Size = None,
        dtype: DTypeLike = ...,
        method: str = "zig",
        out: DistArray | None = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from the exponential distribution with mean 1."""

    def standard_gamma(
        self,
        shape: ArrayLike,
        size: Size = None,
        dtype: DTypeLike = ...,
        out: DistArray | None = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from the gamma distribution with scale 1."""

    def standard_normal(
        self,
        size: Size = None,
        dtype: DTypeLike = ...,
        out: DistArray | None = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from the standard normal distribution."""

    def standard_t(
        self, df: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats from Student's t distribution."""

    def triangular(
        self,
        left: ArrayLike,
        mode: ArrayLike,
        right: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from a triangular distribution."""

    def uniform(
        self,
        low: ArrayLike = 0.0,
        high: ArrayLike = 1.0,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats uniformly from [low, high)."""

    def vonmises(
        self,
        mu: ArrayLike,
        kappa: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw angles from a von Mises distribution."""

    def wald(
        self,
        mean: ArrayLike,
        scale: ArrayLike,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw floats from a Wald (inverse Gaussian) distribution."""

    def weibull(
        self, a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats from a Weibull distribution."""

    def zipf(
        self, a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw integers from a Zipf distribution."""

class RandomState(Generator):
    """Makes arrays of random numbers, with the methods of ``numpy.random.RandomState``."""

    def __init__(self, seed: Seed = None, session: Session | None = None) -> None:
        """Initialize self.  See help(type(self)) for accurate signature."""

    def get_state(self, legacy: bool = True) -> tuple[str, int, int]:
        """Return what the next numbers follow from; nothing is sent."""

    def rand(self, *shape: int, dist: Dist = None, grid: Grid = None) -> DistArray:
        """Draw floats uniformly from [0, 1)."""

    def randint(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        dtype: DTypeLike = ...,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw integers from [low, high), or from [0, low)."""

    def randn(self, *shape: int, dist: Dist = None, grid: Grid = None) -> DistArray:
        """Draw floats from the standard normal distribution."""

    def random_integers(
        self,
        low: ArrayLike,
        high: ArrayLike | None = None,
        size: Size = None,
        *,
        dist: Dist = None,
        grid: Grid = None,
    ) -> DistArray:
        """Draw integers from [low, high], or from [1, low]."""

    def random_sample(
        self, size: Size = None, *, dist: Dist = None, grid: Grid = None
    ) -> DistArray:
        """Draw floats uniformly from [0, 1)."""

    def seed(self, seed: Seed = None) -> None:
        """Begin again, with a seed; nothing is sent."""

    def set_state(self, state: tuple[str, int, int]) -> None:
        """Go on where a state was taken; nothing is sent."""

    def tomaxint(self, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> DistArray:
        """Draw integers that are not negative."""

def beta(
    a: ArrayLike, b: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw floats from a beta distribution."""

def binomial(
    n: ArrayLike, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw numbers of successes among ``n`` trials."""

def bytes(length: int) -> builtins.bytes:
    """Return random bytes, in the notebook."""

def chisquare(
    df: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw floats from a chi-square distribution."""

def choice(
    a: ArrayLike,
    size: Size = None,
    replace: bool = True,
    p: ArrayLike | None = None,
    axis: int = 0,
    shuffle: bool = True,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Choose among the numbers below ``a``, or among an array's slices along an axis."""

def default_rng(seed: Generator | Seed = None, *, session: Session | None = None) -> Generator:
    """Return a generator of random numbers, which lie on engines."""

def dirichlet(
    alpha: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw vectors of positive numbers with sum 1: gamma numbers over their sum."""

def exponential(
    scale: ArrayLike = 1.0, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw floats from an exponential distribution with mean ``scale``."""

def f(
    dfnum: ArrayLike, dfden: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw floats from an F distribution."""

def gamma(
    shape: ArrayLike,
    scale: ArrayLike = 1.0,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from a gamma distribution."""

def geometric(
    p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw numbers of trials up to the first success."""

def get_state(legacy: bool = True) -> tuple[str, int, int]:
    """Return what the next numbers follow from; nothing is sent."""

def gumbel(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from a Gumbel distribution."""

def hypergeometric(
    ngood: ArrayLike,
    nbad: ArrayLike,
    nsample: ArrayLike,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw numbers of good ones in samples without replacement."""

def laplace(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from a Laplace distribution."""

def logistic(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from a logistic distribution."""

def lognormal(
    mean: ArrayLike = 0.0,
    sigma: ArrayLike = 1.0,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats whose logarithms are normal."""

def logseries(
    p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw integers from a logarithmic series distribution."""

def multinomial(
    n: ArrayLike, pvals: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw how often each category occurs in ``n`` trials: binomial numbers of those left."""

def multivariate_normal(
    mean: ArrayLike,
    cov: ArrayLike,
    size: Size = None,
    check_valid: str = "warn",
    tol: float = 1e-08,
    *,
    method: str = "svd",
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw normal vectors: standard ones times a root of the covariance."""

def negative_binomial(
    n: ArrayLike, p: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw numbers of failures before ``n`` successes."""

def noncentral_chisquare(
    df: ArrayLike, nonc: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw floats from a noncentral chi-square distribution."""

def noncentral_f(
    dfnum: ArrayLike,
    dfden: ArrayLike,
    nonc: ArrayLike,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from a noncentral F distribution."""

def normal(
    loc: ArrayLike = 0.0,
    scale: ArrayLike = 1.0,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from a normal distribution."""

def pareto(a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw floats from a Pareto II distribution."""

def permutation(x: ArrayLike, axis: int = 0, *, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Return the numbers below ``x`` in random order, or an array's slices along an axis."""

def poisson(
    lam: ArrayLike = 1.0, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw integers from a Poisson distribution."""

def power(a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw floats in [0, 1] from a power distribution."""

def rand(*shape: int, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw floats uniformly from [0, 1)."""

def randint(
    low: ArrayLike,
    high: ArrayLike | None = None,
    size: Size = None,
    dtype: DTypeLike = ...,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw integers from [low, high), or from [0, low)."""

def randn(*shape: int, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw floats from the standard normal distribution."""

def random(
    size: Size = None,
    dtype: DTypeLike = ...,
    out: DistArray | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats uniformly from [0, 1)."""

def random_integers(
    low: ArrayLike,
    high: ArrayLike | None = None,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw integers from [low, high], or from [1, low]."""

def random_sample(size: Size = None, *, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw floats uniformly from [0, 1)."""

def ranf(size: Size = None, *, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw floats uniformly from [0, 1)."""

def rayleigh(
    scale: ArrayLike = 1.0, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw floats from a Rayleigh distribution."""

def sample(size: Size = None, *, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw floats uniformly from [0, 1)."""

def seed(seed: Seed = None) -> None:
    """Begin again, with a seed; nothing is sent."""

def set_state(state: tuple[str, int, int]) -> None:
    """Go on where a state was taken; nothing is sent."""

def shuffle(x: DistArray | np.ndarray | list[Any], axis: int = 0) -> None:
    """Bring an array's slices along an axis, or a list, into random order, in place."""

def standard_cauchy(size: Size = None, *, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw floats from the standard Cauchy distribution."""

def standard_exponential(
    size: Size = None,
    dtype: DTypeLike = ...,
    method: str = "zig",
    out: DistArray | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from the exponential distribution with mean 1."""

def standard_gamma(
    shape: ArrayLike,
    size: Size = None,
    dtype: DTypeLike = ...,
    out: DistArray | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from the gamma distribution with scale 1."""

def standard_normal(
    size: Size = None,
    dtype: DTypeLike = ...,
    out: DistArray | None = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from the standard normal distribution."""

def standard_t(
    df: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw floats from Student's t distribution."""

def triangular(
    left: ArrayLike,
    mode: ArrayLike,
    right: ArrayLike,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats from a triangular distribution."""

def uniform(
    low: ArrayLike = 0.0,
    high: ArrayLike = 1.0,
    size: Size = None,
    *,
    dist: Dist = None,
    grid: Grid = None,
) -> DistArray:
    """Draw floats uniformly from [low, high)."""

def vonmises(
    mu: ArrayLike, kappa: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw angles from a von Mises distribution."""

def wald(
    mean: ArrayLike, scale: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None
) -> DistArray:
    """Draw floats from a Wald (inverse Gaussian) distribution."""

def weibull(a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw floats from a Weibull distribution."""

def zipf(a: ArrayLike, size: Size = None, *, dist: Dist = None, grid: Grid = None) -> DistArray:
    """Draw integers from a Zipf distribution."""
