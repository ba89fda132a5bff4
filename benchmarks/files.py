"""Files against other libraries, in one process: ``python -m benchmarks.files``.

Files are in the page cache. The two take turns, and medians are compared: other processes of the
machine take from both. What distnb writes it brings to the disk before the file gets its name;
``--sync`` lets the others do so, too.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

import h5py
import numpy as np
import pyarrow.csv
import pyarrow.parquet
import zarr

import distnb as dnb
from benchmarks.turns import turns

Case = tuple[str, Callable[[], object], Callable[[], object]]


def medians(rounds: int, *steps: Callable[[], object]) -> list[float]:
    """Return the median times of some steps, which take turns."""
    return [statistics.median(found) for found in turns(rounds, *steps)]


def synced(step: Callable[[], object], name: str, sync: bool) -> Callable[[], object]:
    """Return a step after which a file is on the disk, as a new one."""

    def run() -> None:
        if sync and os.path.isfile(name):
            os.unlink(name)
        step()
        if sync:
            fd = os.open(name, os.O_RDONLY)
            os.fsync(fd)
            os.close(fd)

    return run


def cases(n: int, sync: bool) -> Iterator[Case]:
    """Yield for each format its name, what its library does, and what distnb does."""
    ours: Any = dnb.random.default_rng(1).random((n // 1024, 1024))
    x = ours.to_numpy()
    np.save("n.npy", x)
    yield (
        "npy, save",
        synced(lambda: np.save("n.npy", x), "n.npy", sync),
        lambda: dnb.save("d", ours),
    )
    yield "npy, load", lambda: np.load("n.npy"), lambda: dnb.load("n.npy")
    few, rows = x[: len(x) // 8], ours[: len(x) // 8]
    names = [f"c{k}" for k in range(8)]
    table = pyarrow.table({name: few.reshape(-1, 8)[:, k] for k, name in enumerate(names)})
    pyarrow.csv.write_csv(table, "t.csv")
    yield (
        "csv, Arrow",
        lambda: _arrays(pyarrow.csv.read_csv("t.csv")),
        lambda: dnb.read_csv("t.csv"),
    )
    np.savetxt("t.txt", few[: len(few) // 8])
    yield "loadtxt", lambda: np.loadtxt("t.txt"), lambda: dnb.loadtxt("t.txt")
    rounded, ours_rounded = np.round(few, 2), dnb.round(rows, 2)
    options = {"chunks": (64, 1024), "compression": "gzip"}
    with h5py.File("n.h5", "w") as file:
        file.create_dataset("x", data=rounded, **options)
    yield "HDF5, gzip, read", lambda: _h5("n.h5"), lambda: dnb.open("n.h5")[...]
    write_h5 = synced(lambda: _to_h5("m.h5", x), "m.h5", sync)
    yield "HDF5, save", write_h5, lambda: dnb.save("d.h5", ours, overwrite=True)
    zarr.save_array("n.zarr", rounded)
    write = lambda: zarr.create_array("m.zarr", data=rounded, overwrite=True)  # noqa: E731
    yield "Zarr, write", write, lambda: dnb.save("d.zarr", ours_rounded, overwrite=True)
    yield "Zarr, read", lambda: zarr.open("m.zarr")[...], lambda: dnb.open("m.zarr")[...]
    pyarrow.parquet.write_table(table, "n.parquet", row_group_size=1 << 18)
    read = lambda: _arrays(pyarrow.parquet.read_table("n.parquet"))  # noqa: E731
    yield "Parquet, read", read, lambda: dnb.read_parquet("n.parquet")


def _arrays(table: Any) -> list[np.ndarray]:
    return [column.to_numpy() for column in table.columns]


def _h5(name: str) -> Any:
    with h5py.File(name) as file:
        return file["x"][...]


def _to_h5(name: str, x: np.ndarray) -> None:
    with h5py.File(name, "w") as file:
        file["x"] = x


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--megabytes", type=int, default=1024)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--folder", help="where files are written; by default a temporary one")
    given = parser.parse_args()
    folder = tempfile.mkdtemp(dir=given.folder)
    os.chdir(folder)
    try:
        with dnb.start(given.ranks):
            for name, theirs, mine in cases(given.megabytes << 17, given.sync):
                mine()
                other, found = medians(given.rounds, theirs, mine)
                print(f"{name:18} {other:7.3f} s, distnb {found:7.3f} s, {other / found:5.2f}x")
    finally:
        os.chdir("/")
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
