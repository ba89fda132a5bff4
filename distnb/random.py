"""``distnb.random``: generators of random numbers by global index."""

from distnb.client.stats.random import Generator, default_rng

__all__ = ["Generator", "default_rng"]
