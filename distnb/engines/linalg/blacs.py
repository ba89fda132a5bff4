"""The libraries of ScaLAPACK, loaded once if they are there, and its contexts of communicators.

They come with MKL, from PyPI or conda. It brings BLACS, through which ScaLAPACK sends its messages,
for both families of MPI.
"""

from __future__ import annotations

import ctypes
import os
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, files
from pathlib import Path
from typing import Any

from distnb.common.machine import cores

__all__ = ["Context", "available", "context_of", "library"]

#: What mpi4py calls an MPI -> the family of MPIs that MKL knows it as.
_FAMILIES = {
    "MPICH": "intelmpi",
    "Intel MPI": "intelmpi",
    "MVAPICH": "intelmpi",
    "Open MPI": "openmpi",
}
_HANDLE = (1 << 32) - 1


def available(comm: Any) -> int:
    """Return from which ``config.scalapack`` on ranks are to use the libraries; 0 for never.

    Ranks that wait for a message do not sleep. So where they outnumber the cores of the node, they
    are in each other's way.
    """
    from mpi4py import MPI

    node = comm.Split_type(MPI.COMM_TYPE_SHARED)
    crowded = node.Get_size() > cores()
    node.Free()
    return 1 + crowded if comm.Get_size() > 1 and len(_paths()) == 3 else 0


@cache
def _paths() -> tuple[str, ...]:
    """Return the files of the libraries, in the order in which they are loaded."""
    from mpi4py import MPI

    family = _FAMILIES.get(MPI.get_vendor()[0])
    world = MPI.COMM_WORLD
    if family == "intelmpi" and MPI._handleof(world) & _HANDLE != world.py2f() & _HANDLE:
        return ()  # handles of the standard's ABI, which MKL does not know
    names = ("mkl_rt", f"mkl_blacs_{family}_lp64", "mkl_scalapack_lp64")
    for folder in _folders():
        found = [sorted(folder.glob(f"lib{name}.so*")) for name in names]
        if all(found):
            return tuple(str(paths[-1]) for paths in found)
    return ()


def _folders() -> list[Path]:
    """Return where the libraries can be."""
    try:
        ours = [f for f in files("mkl") or () if f.name.startswith("libmkl_rt.")]
    except PackageNotFoundError:
        ours = []
    return [*(Path(str(f.locate())).resolve().parent for f in ours), Path(sys.prefix, "lib")]


@cache
def _libraries() -> tuple[Any, Any]:
    """Load BLACS and ScaLAPACK.

    They take MPI's functions from the process: mpi4py and what it has loaded are made visible.
    """
    from mpi4py import MPI

    ctypes.CDLL(MPI.__file__, os.RTLD_GLOBAL | os.RTLD_NOLOAD)
    if not hasattr(ctypes.CDLL(None), "MPI_Comm_create"):  # to go on would end the process
        raise OSError("ScaLAPACK finds no MPI in this process; set distnb.config.scalapack = 0")
    threads = int(os.environ.get("MKL_NUM_THREADS", "1"))
    os.environ.setdefault("MKL_INTERFACE_LAYER", "LP64")
    os.environ.setdefault("MKL_THREADING_LAYER", "SEQUENTIAL" if threads == 1 else "INTEL")
    mode = os.RTLD_LAZY | os.RTLD_GLOBAL
    _, blacs, scalapack = (ctypes.CDLL(path, mode) for path in _paths())
    return blacs, scalapack


def library(name: str) -> Any:
    """Return a function of ScaLAPACK."""
    found = getattr(_libraries()[1], name)
    found.restype = None
    return found


class Context:
    """A grid of all ranks of a communicator, as BLACS knows it; collective.

    BLACS takes Fortran's handle of the communicator, and makes communicators of its own.
    """

    def __init__(self, comm: Any, rows: int, columns: int) -> None:
        number, *sizes = (ctypes.c_int(n) for n in (comm.py2f(), rows, columns))
        _libraries()[0].blacs_gridinit_(
            ctypes.byref(number), b"C", *(ctypes.byref(n) for n in sizes)
        )
        self.number = number.value

    def free(self) -> None:
        """Give the communicators back; collective."""
        _libraries()[0].blacs_gridexit_(ctypes.byref(ctypes.c_int(self.number)))


def context_of(comm: Any, grid: tuple[int, ...]) -> Context:
    """Return the context of a communicator for columns and rows of ranks, made once.

    Ranks run along columns, and the communicator frees it when it is freed itself.
    """
    if grid not in comm.contexts:
        columns, rows = grid
        comm.contexts[grid] = Context(comm.raw, rows, columns)
    return comm.contexts[grid]
