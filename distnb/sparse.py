"""``distnb.sparse``: SciPy's sparse arrays, distributed.

Rows of ``csr_array`` and columns of ``csc_array`` are cut among the engines; parts are SciPy's own.
SciPy is an optional dependency: ``pip install distnb[sparse]``.
"""

from __future__ import annotations

import importlib
from typing import Any

from distnb.client.sparse import construction
from distnb.client.sparse.base import Sparse, issparse
from distnb.client.sparse.compressed import csc_array, csr_array
from distnb.client.sparse.construction import *  # noqa: F403
from distnb.client.sparse.coordinates import coo_array
from distnb.client.sparse.scipys import scipy_sparse
from distnb.client.sparse.semirings import matmul
from distnb.left_out import listing, refusal, unknown

__all__ = [  # noqa: PLE0604 - from the modules
    *construction.__all__,
    "coo_array",
    "csc_array",
    "csr_array",
    "issparse",
    "linalg",  # noqa: F405 - it is imported when it is asked for
    "matmul",
    "sparray",
]

__dir__ = listing(__all__)

#: What arrays of all formats are instances of, by SciPy's name.
sparray = Sparse


#: SciPy's warnings, by the names that programs have for them.
_WARNINGS = ("SparseEfficiencyWarning", "SparseWarning")


def _solvers(name: str) -> Any:
    if name in _WARNINGS:
        return getattr(scipy_sparse(), name)
    if name == "linalg":
        return importlib.import_module(f"{__name__.partition('.')[0]}.applications.solvers")
    return unknown(__name__)(name)


__getattr__ = refusal(__name__, _solvers)
