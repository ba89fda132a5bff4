"""``distnb.linalg``: the names of ``numpy.linalg``, for distributed matrices and stacks of them."""

from __future__ import annotations

from numpy.linalg import LinAlgError

from distnb.client import chains, factors, norms
from distnb.client.chains import *  # noqa: F403
from distnb.client.factors import *  # noqa: F403
from distnb.client.norms import *  # noqa: F403

__all__ = [  # noqa: PLE0604 - from the modules
    "LinAlgError",
    *chains.__all__,
    *factors.__all__,
    *norms.__all__,
]
