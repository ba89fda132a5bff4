"""dask.array: threads of this process, and worker processes of dask.distributed.

Arrays are in eight blocks of rows, for products and transposes in four squares. Results stay where
they are (``persist``), as they do on engines.
"""

from __future__ import annotations

import math
import subprocess
import sys
import time
from typing import Any

import dask
import dask.array as da
import numpy as np

from benchmarks import workloads as w
from benchmarks.peers import Peer
from benchmarks.workloads import Arrays, Case

BLOCKS = 8


def overlapping(function, a):
    return da.map_overlap(function, a, depth=1, boundary="none", dtype=a.dtype)


def jacobi_block(a):
    return w.jacobi(np, a.copy(), 1)


def nine_points_block(a):
    return w.nine_points(np, a.copy(), 1)


def colour_block(a, colour, block_info=None):
    """Relax a colour: all blocks but the first begin with a row of the block above, an odd one."""
    a = a.copy()
    if block_info:
        above = block_info[0]["chunk-location"][0] > 0
        for i, j in (w.RED, w.BLACK)[(colour + above) % 2]:
            w.relax(a, i, j)
    return a


def repeat(block):
    def run(a, steps):
        for _ in range(steps):
            a = overlapping(block, a)
        return a

    return run


def sor(a, steps):
    for _ in range(steps):
        for colour in (0, 1):
            a = da.map_overlap(
                colour_block, a, depth=1, boundary="none", dtype=a.dtype, colour=colour
            )
    return a


def fft2(a):
    lanes = da.fft.fft(a, axis=1)
    return da.fft.fft(
        lanes.rechunk({0: -1, 1: math.ceil(a.shape[1] / BLOCKS)}, method="tasks"), axis=0
    )


def tiny(x, steps):
    for _ in range(steps):
        x = x + 1.5
    return float(x[0].compute())


def read(a, steps):
    for i in range(steps):
        value = float(a[i, i].compute())
    return value


class Threads(Peer):
    """The scheduler of threads, in this process."""

    #: What is written otherwise than for NumPy: arrays cannot be written to, or copies are lazy.
    codes = {
        "W1": repeat(jacobi_block),
        "W2 copy": lambda a: a.map_blocks(np.copy),
        "W2 flip2": lambda a: a[::-2].map_blocks(np.copy),
        "W2 iadd": lambda a: a + a,
        "W7": sor,
        "W10": tiny,
        "W11": read,
        "L2": lambda a: da.linalg.svd(a)[1],
        "L3": lambda a: da.linalg.cholesky(a, lower=True),
        "F1": fft2,
        "H1": repeat(nine_points_block),
    }
    reasons = {
        "W9": "no sort",
        "L1": "needs tall or wide matrices",
        "L4": "needs tall or wide matrices",
        "L5": "needs square blocks on the right, too",
        "P life": "its graph takes half a minute",
        "P gray_scott": "its graph takes half a minute",
    }

    def __init__(self, ranks: int, scale: str) -> None:
        super().__init__(ranks, scale)
        self.options: dict[str, Any] = {"scheduler": "threads", "num_workers": ranks}

    def without(self, case: Case) -> str | None:
        if case.workload == "S":
            return "a graph for each step"
        return "a setting of distnb" if case.settings else self.reasons.get(case.name)

    def load(self, case: Case, arrays: Arrays) -> None:
        super().load(case, arrays)
        with dask.config.set(**self.options):
            self.arrays = tuple(self.wait(a.persist()) for a in self.arrays)

    def prepare(self) -> None:
        self.found = None
        self.ready = list(self.arrays)

    def take(self, array: np.ndarray) -> da.Array:
        return da.from_array(array, chunks=self.chunks(array), name=False)

    def chunks(self, array: np.ndarray) -> tuple[int, ...]:
        if self.case.name in {"W4", "W5", "L3"}:
            return tuple(math.ceil(n / 2) for n in array.shape)
        small = array.size < 1000
        return (len(array) if small else math.ceil(len(array) / BLOCKS), *array.shape[1:])

    def call(self, *arguments: Any) -> Any:
        with dask.config.set(**self.options):
            code = self.codes.get(self.case.name)
            found = code(*arguments) if code else self.case.code(da, *arguments)
            return self.wait(found.persist()) if isinstance(found, da.Array) else found

    def wait(self, found: da.Array) -> da.Array:
        return found

    def result(self) -> np.ndarray:
        with dask.config.set(**self.options):
            return np.asarray(self.found)


#: Starts scheduler and workers, tells the address, and ends with its input. A process of its own:
#: the scheduler's thread would take Python's lock from others in this one.
CLUSTER = """
import sys
from distributed import LocalCluster
if __name__ == "__main__":
    n = int(sys.argv[1])
    with LocalCluster(n_workers=n, threads_per_worker=1, dashboard_address=None) as cluster:
        print(cluster.scheduler_address, flush=True)
        sys.stdin.read()
"""


class Distributed(Threads):
    """Worker processes with a thread each; blocks of rows lie half on each, as those of ranks."""

    def __init__(self, ranks: int, scale: str) -> None:
        from distributed import Client

        super().__init__(ranks, scale)
        self.cluster = subprocess.Popen(
            [sys.executable, "-c", CLUSTER, str(ranks)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.cluster.stdout is not None
        self.client = Client(self.cluster.stdout.readline().strip())
        self.client.wait_for_workers(ranks)
        self.options = {"scheduler": self.client}

    def take(self, array: np.ndarray) -> da.Array:
        """Send each block to the worker that is to hold it."""
        whole = da.core.normalize_chunks(self.chunks(array), array.shape)
        workers = sorted(self.client.scheduler_info()["workers"])
        slices = da.core.slices_from_chunks(whole)
        blocks = np.empty([len(c) for c in whole], object)
        for i, (key, place) in enumerate(zip(np.ndindex(blocks.shape), slices, strict=True)):
            block = np.ascontiguousarray(array[place])
            worker = workers[i * len(workers) // len(slices)]
            sent = dask.delayed(self.client.scatter(block, [worker]))
            blocks[key] = da.from_delayed(sent, block.shape, block.dtype)
        return da.block(blocks.tolist())

    def load(self, case: Case, arrays: Arrays) -> None:
        super().load(case, arrays)
        self.held = self.tasks()

    def prepare(self) -> None:
        """Wait until the last result is forgotten, or the next run would find it."""
        super().prepare()
        while self.tasks() > self.held:
            time.sleep(0.002)

    def tasks(self) -> int:
        return int(self.client.run_on_scheduler(_tasks))

    def wait(self, found: da.Array) -> da.Array:
        import distributed

        distributed.wait(found)
        return found

    def close(self) -> None:
        self.client.close()
        self.cluster.communicate(timeout=60)


def _tasks(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)
