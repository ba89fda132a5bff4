"""``distnb.random``: generators of random numbers by global index.

The functions are methods of one :class:`RandomState`, as NumPy's are. Seeds give the same numbers
on any number of engines; they are not those of NumPy's streams.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from distnb.client.stats.legacy import RandomState
from distnb.client.stats.random import Generator, default_rng
from distnb.left_out import listing, refusal, unknown

if TYPE_CHECKING:
    from numpy.random import (
        MT19937,
        PCG64,
        PCG64DXSM,
        SFC64,
        BitGenerator,
        Philox,
        SeedSequence,
    )

__all__ = [
    "MT19937",
    "PCG64",
    "PCG64DXSM",
    "SFC64",
    "BitGenerator",
    "Generator",
    "Philox",
    "RandomState",
    "SeedSequence",
    "beta",
    "binomial",
    "bytes",
    "chisquare",
    "choice",
    "default_rng",
    "dirichlet",
    "exponential",
    "f",
    "gamma",
    "geometric",
    "get_state",
    "gumbel",
    "hypergeometric",
    "laplace",
    "logistic",
    "lognormal",
    "logseries",
    "multinomial",
    "multivariate_normal",
    "negative_binomial",
    "noncentral_chisquare",
    "noncentral_f",
    "normal",
    "pareto",
    "permutation",
    "poisson",
    "power",
    "rand",
    "randint",
    "randn",
    "random",
    "random_integers",
    "random_sample",
    "ranf",
    "rayleigh",
    "sample",
    "seed",
    "set_state",
    "shuffle",
    "standard_cauchy",
    "standard_exponential",
    "standard_gamma",
    "standard_normal",
    "standard_t",
    "triangular",
    "uniform",
    "vonmises",
    "wald",
    "weibull",
    "zipf",
]

#: NumPy's own, which are imported when they are asked for: they take long.
_NUMPYS = {"MT19937", "PCG64", "PCG64DXSM", "SFC64", "BitGenerator", "Philox", "SeedSequence"}
_unknown = unknown(__name__)


def _later(name: str) -> Any:
    """Return what is NumPy's."""
    return getattr(np.random, name) if name in _NUMPYS else _unknown(name)


__getattr__ = refusal(__name__, _later)


__dir__ = listing(__all__)


_state = RandomState()
beta = _state.beta
binomial = _state.binomial
bytes = _state.bytes
chisquare = _state.chisquare
choice = _state.choice
dirichlet = _state.dirichlet
exponential = _state.exponential
f = _state.f
gamma = _state.gamma
geometric = _state.geometric
get_state = _state.get_state
gumbel = _state.gumbel
hypergeometric = _state.hypergeometric
laplace = _state.laplace
logistic = _state.logistic
lognormal = _state.lognormal
logseries = _state.logseries
multinomial = _state.multinomial
multivariate_normal = _state.multivariate_normal
negative_binomial = _state.negative_binomial
noncentral_chisquare = _state.noncentral_chisquare
noncentral_f = _state.noncentral_f
normal = _state.normal
pareto = _state.pareto
permutation = _state.permutation
poisson = _state.poisson
power = _state.power
rand = _state.rand
randint = _state.randint
randn = _state.randn
random = _state.random
random_integers = _state.random_integers
random_sample = _state.random_sample
rayleigh = _state.rayleigh
seed = _state.seed
set_state = _state.set_state
shuffle = _state.shuffle
standard_cauchy = _state.standard_cauchy
standard_exponential = _state.standard_exponential
standard_gamma = _state.standard_gamma
standard_normal = _state.standard_normal
standard_t = _state.standard_t
triangular = _state.triangular
uniform = _state.uniform
vonmises = _state.vonmises
wald = _state.wald
weibull = _state.weibull
zipf = _state.zipf
ranf = sample = _state.random_sample
