"""``distnb.learn``: groups, factors and recommendations of data that lie on engines.

Each function is a page of array code, in :mod:`distnb.applications`.
"""

from __future__ import annotations

from distnb.applications.decomposition import truncated_svd
from distnb.applications.kmeans import Groups, kmeans
from distnb.applications.recommender import als
from distnb.left_out import listing

__all__ = ["Groups", "als", "kmeans", "truncated_svd"]

__dir__ = listing(__all__)
