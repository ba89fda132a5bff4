"""``distnb.linalg``: the names of ``numpy.linalg``, for distributed matrices and stacks of them."""

from __future__ import annotations

from numpy.linalg import LinAlgError

from distnb.client import factors, norms
from distnb.client.factors import *  # noqa: F403
from distnb.client.norms import *  # noqa: F403

__all__ = ["LinAlgError", *factors.__all__, *norms.__all__]  # noqa: PLE0604 - from the modules
