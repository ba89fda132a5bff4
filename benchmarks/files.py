"""Files and pictures against other libraries, in one process: ``python -m benchmarks.files``.

All take turns, and medians are compared: other processes of the machine take from all. First the
files are in the page cache; then each round begins without them (``--rounds-cold``). What distnb
writes it brings to the disk before the file gets its name; ``--sync`` lets the others do so, too.
"""

from __future__ import annotations

import argparse
import os
import resource
import shutil
import statistics
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import h5py
import numpy as np
import pandas as pd
import pyarrow.csv
import pyarrow.parquet
import zarr

import distnb as dnb
from benchmarks.turns import turns

try:
    import polars
except ImportError:
    polars = None
try:
    import dask.array as da
except ImportError:
    da = None

Step = Callable[[], object]


class Case(NamedTuple):
    """What is measured: with what by others, the files that are read, and how fast it is to be."""

    name: str
    goal: str
    ours: Step
    peers: dict[str, Step]
    reads: str = ""


def synced(step: Step, name: str, sync: bool) -> Step:
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


def forgotten(name: str) -> None:
    """Let the system forget what it has of a file, or of all in a folder."""
    path = Path(name)
    for each in [path] if path.is_file() else [p for p in path.rglob("*") if p.is_file()]:
        fd = os.open(each, os.O_RDONLY)
        os.fsync(fd)
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        os.close(fd)


def plain(n: int, sync: bool) -> Iterator[Case]:
    """Yield the cases of NumPy's own format, of ``n`` numbers."""
    ours: Any = dnb.random.default_rng(1).random((n // 1024, 1024))
    x = ours.to_numpy()
    save = synced(lambda: np.save("n.npy", x), "n.npy", sync)
    save()
    yield Case("npy, save", "1.3", lambda: dnb.save("d.npy", ours), {"NumPy": save})
    yield Case(
        "npy, load", "1.5", lambda: dnb.load("n.npy"), {"NumPy": lambda: np.load("n.npy")}, "n.npy"
    )


def chunked(n: int, sync: bool) -> Iterator[Case]:
    """Yield the cases of formats with chunks, of ``n`` numbers of measurements."""
    x = np.random.default_rng(2).normal(15, 8, (n // 1024, 1024)).round(2)
    ours = dnb.array(x, dist="block")
    options = {"chunks": (64, 1024), "compression": "gzip"}
    with h5py.File("n.h5", "w") as file:
        file.create_dataset("x", data=x, **options)
    yield Case(
        "HDF5, gzip, read",
        "1.7",
        lambda: dnb.open("n.h5")[...],
        {"h5py": lambda: _h5("n.h5")},
        "n.h5",
    )
    write = synced(lambda: _to_h5("m.h5", x), "m.h5", sync)
    yield Case("HDF5, save", "", lambda: dnb.save("d.h5", ours, overwrite=True), {"h5py": write})
    peers: dict[str, Step] = {
        "zarr": lambda: zarr.create_array("m.zarr", data=x, overwrite=True),
    }
    reading: dict[str, Step] = {"zarr": lambda: zarr.open("m.zarr")[...]}
    peers["zarr"]()
    if da is not None:
        lazy = da.from_array(x, chunks=zarr.open("m.zarr").chunks)
        peers["dask"] = lambda: da.to_zarr(lazy, "k.zarr", overwrite=True)
        reading["dask"] = lambda: da.from_zarr("m.zarr").compute()
    yield Case("Zarr, write", "1.7", lambda: dnb.save("d.zarr", ours, overwrite=True), peers)
    yield Case("Zarr, read", "1.7", lambda: dnb.open("m.zarr")[...], reading, "m.zarr")


def tables(n: int, sync: bool) -> Iterator[Case]:
    """Yield the cases of tables of 8 columns with ``n`` numbers in all."""
    rng = np.random.default_rng(3)
    columns = {f"c{k}": rng.random(n // 8) for k in range(8)}
    table = pyarrow.table(columns)
    pyarrow.parquet.write_table(table, "n.parquet", row_group_size=1 << 18)
    yield Case(
        "Parquet, read",
        "1.2",
        lambda: dnb.read_parquet("n.parquet"),
        {"pyarrow": lambda: _arrays(pyarrow.parquet.read_table("n.parquet"))},
        "n.parquet",
    )
    pyarrow.csv.write_csv(table, "t.csv")
    del table
    peers: dict[str, Step] = {
        "pandas": lambda: pd.read_csv("t.csv", engine="c"),
        "pyarrow": lambda: _arrays(pyarrow.csv.read_csv("t.csv")),
    }
    if polars is not None:
        peers["Polars"] = lambda: polars.read_csv("t.csv").to_numpy()
    goal = "1.7 (pandas), 0.9 (fastest)"
    yield Case("csv, read", goal, lambda: dnb.read_csv("t.csv"), peers, "t.csv")


def pictures(side: int) -> Iterator[Case]:
    """Yield the case of a picture of a large array; Matplotlib alone shows what is in memory."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    x: Any = dnb.random.default_rng(4).random((side, side), dtype="f4")

    def show() -> None:
        figure, axes = pyplot.subplots()
        axes.imshow(x)
        figure.canvas.draw()
        pyplot.close(figure)

    yield Case("imshow", "under 1 s", show, {})


def _arrays(table: Any) -> list[np.ndarray]:
    return [column.to_numpy() for column in table.columns]


def _h5(name: str) -> Any:
    with h5py.File(name) as file:
        return file["x"][...]


def _to_h5(name: str, x: np.ndarray) -> None:
    with h5py.File(name, "w") as file:
        file["x"] = x


def told(case: Case, rounds: int, cold: bool) -> str:
    """Return the line of a case: the median times, and how many times as fast distnb is."""

    def fresh(step: Step) -> Step:
        def run() -> object:
            forgotten(case.reads)
            return step()

        return run if cold else step

    case.ours()
    names = list(case.peers)
    found = turns(rounds, *map(fresh, [case.ours, *case.peers.values()]))
    ours, *others = map(statistics.median, found)
    words = [f"{n} {s:.3f} s ({s / ours:.2f}x)" for n, s in zip(names, others, strict=True)]
    name = f"{case.name}, from disk" if cold else case.name
    return f"{name:28} distnb {ours:7.3f} s  {'  '.join(words)}  goal {case.goal or '-'}"


def cases(given: argparse.Namespace) -> Iterator[Case]:
    """Yield all cases that were asked for."""
    n = given.megabytes << 17
    makers: dict[str, Callable[[], Iterator[Case]]] = {
        "npy": lambda: plain(n, given.sync),
        "chunks": lambda: chunked(n // 8, given.sync),
        "tables": lambda: tables(n // 2, given.sync),
        "pictures": lambda: pictures(given.side),
    }
    for name in given.only.split(",") if given.only else makers:
        yield from makers[name]()


def main() -> None:
    """Print the times."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--megabytes", type=int, default=2048)
    parser.add_argument("--side", type=int, default=20_000, help="of the picture")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--rounds-cold", type=int, default=3)
    parser.add_argument("--only", default="", help="some of npy,chunks,tables,pictures")
    parser.add_argument("--sync", action="store_true")
    parser.add_argument("--folder", help="where files are written; by default a temporary one")
    given = parser.parse_args()
    folder = tempfile.mkdtemp(dir=given.folder)
    os.chdir(folder)
    try:
        with dnb.start(given.ranks):
            for case in cases(given):
                print(told(case, given.rounds, cold=False), flush=True)
                if case.reads and given.rounds_cold:
                    print(told(case, given.rounds_cold, cold=True), flush=True)
            peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
            print(f"the notebook's memory, at most: {peak:,.0f} MB, with what peers hold in it")
    finally:
        os.chdir("/")
        shutil.rmtree(folder)


if __name__ == "__main__":
    main()
