"""``distnb.sparse``: SciPy's sparse arrays, distributed."""

from __future__ import annotations

from distnb.client.sparse import compressed
from distnb.client.sparse.compressed import *  # noqa: F403

__all__ = [*compressed.__all__]
