"""What of an engine's memory is arrays, kept for reuse, or neither; for ``%distmem``."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from distnb.common.machine import node_memory
from distnb.engines.runtime.store import Store

__all__ = ["survey"]


def survey(store: Store) -> dict[str, Any]:
    """Return bytes: held by base, in the pool, in the process; available and total of the node.

    What several engines of a node share counts where it lies. ``pid`` tells engines that are
    threads of one process. What the system does not tell is 0.
    """
    status = _table("/proc/self/status")
    node = node_memory()
    together = store.memory.node
    segment = 0 if together is None else together.segment.used
    return {
        "held": {handle: _bytes(store, base) for handle, base in store.bases.items()},
        "pool": store.memory.pool.held,
        "process": status.get("RssAnon", 0) + segment + _placed(store),
        "available": node.available,
        "total": node.total,
        "pid": os.getpid(),
    }


def _placed(store: Store) -> int:
    """Return the bytes that this engine's bases take of the notebook's segment."""
    found = 0
    for base in store.bases.values():
        if base.block is not None and store.memory.is_notebooks(base.block):
            found += _bytes(store, base)
    return found


def _bytes(store: Store, base: Any) -> int:
    """Return the bytes that a base takes in this engine's memory."""
    if base.block is None or (base.shared and base.shared[0] != store.rank):
        return 0
    return int(base.block.nbytes)


def _table(path: str) -> dict[str, int]:
    """Return the lines of a file of the system that are in kB, as bytes."""
    try:
        lines = Path(path).read_text("ascii", "replace").splitlines()
    except OSError:
        return {}
    words = [line.replace(":", " ").split() for line in lines]
    return {w[0]: int(w[1]) * 1024 for w in words if len(w) == 3 and w[2] == "kB"}
