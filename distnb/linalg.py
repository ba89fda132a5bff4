"""``distnb.linalg``: the names of ``numpy.linalg``, for distributed matrices and stacks of them."""

from __future__ import annotations

from numpy.linalg import LinAlgError

from distnb.client.linalg import chains, factorizations, norms
from distnb.client.linalg.chains import *  # noqa: F403
from distnb.client.linalg.factorizations import *  # noqa: F403
from distnb.client.linalg.norms import *  # noqa: F403
from distnb.left_out import listing, refusal

__all__ = [  # noqa: PLE0604 - from the modules
    "LinAlgError",
    *chains.__all__,
    *factorizations.__all__,
    *norms.__all__,
]

__getattr__ = refusal(__name__)
__dir__ = listing(__all__)
