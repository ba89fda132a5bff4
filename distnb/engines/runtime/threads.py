"""Threads of BLAS and its like, so that the engines of a node together use its cores once.

Every engine would start as many threads as there are cores: with two engines on two cores, four
threads would fight for them, and a product of matrices would take longer than on one engine.
"""

from __future__ import annotations

import os
from typing import Any

from distnb.common.machine import cores

__all__ = ["limit", "share"]

#: Variables from which libraries that are loaded later take their number of threads.
_VARIABLES = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")


def share(engines: int, of: int | None = None) -> int:
    """Return how many threads each of a node's engines may use: its share of the cores.

    >>> share(2, 8), share(3, 8), share(4, 2)
    (4, 2, 1)
    """
    return max(1, (of or cores()) // engines)


def limit(comm: Any) -> int:
    """Limit the thread pools of this engine to its share of the node; collective over ``comm``.

    What the user chose in the environment, if it is less, stays. Returns the number of threads.
    """
    from mpi4py import MPI
    from threadpoolctl import threadpool_info, threadpool_limits

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    allowed = share(node.Get_size())
    node.Free()
    for name in _VARIABLES:
        os.environ.setdefault(name, str(allowed))
    used = [pool["num_threads"] for pool in threadpool_info()]
    if any(n > allowed for n in used):
        threadpool_limits(limits=allowed)
    return min([allowed, *used])
