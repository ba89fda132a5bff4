"""``distnb.graph``: algorithms on graphs, which are sparse arrays, distributed.

A graph is its adjacency: element ``(i, j)`` is the weight of the link from vertex ``i`` to ``j``.
Each function is a page of array code, in :mod:`distnb.applications`.
"""

from __future__ import annotations

from distnb.applications.adjacency import rmat
from distnb.applications.betweenness import betweenness, edge_betweenness
from distnb.applications.components import connected_components
from distnb.applications.pagerank import pagerank
from distnb.applications.paths import bfs, shortest_paths
from distnb.applications.triangles import triangles
from distnb.left_out import listing

__all__ = [
    "betweenness",
    "bfs",
    "connected_components",
    "edge_betweenness",
    "pagerank",
    "rmat",
    "shortest_paths",
    "triangles",
]

__dir__ = listing(__all__)
