"""Loops fused by hand, compiled by Numba, on as many threads as others have ranks."""

from __future__ import annotations

import numba
import numpy as np

from benchmarks import workloads as w
from benchmarks.peers import Peer, kernels


def codes(threads: int) -> dict:
    """Return what runs each case."""
    k = kernels.compiled(parallel=True)

    def repeat(kernel):
        def run(a, steps):
            for _ in range(steps):
                kernel(a)
            return a

        return run

    def sor_sweep(a):
        k.relax(a, 0)
        k.relax(a, 1)

    def symmetric(m):
        out = np.empty_like(m)
        k.symmetric(m, m, out)
        return out

    def power_iteration(m, v, steps):
        for _ in range(steps):
            v = k.matvec(m, v)
            v /= np.sqrt(v @ v)
        return v

    def kmeans(x, centres, steps):
        for _ in range(steps):
            sums = k.cluster(x, centres, threads)
            centres = sums[:, :-1] / np.maximum(sums[:, -1:], 1.0)
        return centres

    def weighted_sum(x, y, weights):
        above, below = k.weighted(x, y, weights)
        return above / below

    return {
        "W1": repeat(lambda a: k.jacobi(a, threads)),
        **{f"W2 {name}": getattr(k, name) for name in w.PASSES if hasattr(k, name)},
        "W2 max": k.maximum,
        "W2 sum": k.total,
        "W2 sum0": lambda a: k.sum0(a, threads),
        "W2 bincount": lambda x: k.bincount(x, threads),
        "W3": k.black_scholes,
        "W5": symmetric,
        "W6": power_iteration,
        "W7": repeat(sor_sweep),
        "W8": kmeans,
        "W9": lambda x: k.sort(x, threads),
        "H1": repeat(lambda a: k.nine_points(a, threads)),
        "H2": k.chain,
        "H3": weighted_sum,
    }


class Numba(Peer):
    """What a loop can do that was written for the purpose."""

    reasons = {
        "W4": "nothing to fuse: BLAS, as NumPy",
        "W10": "would compile to one operation",
        "W11": "no engines to read from",
    }

    def __init__(self, ranks: int, scale: str) -> None:
        super().__init__(ranks, scale)
        numba.set_num_threads(min(ranks, numba.config.NUMBA_NUM_THREADS))
        self.codes = codes(ranks)
