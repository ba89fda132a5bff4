"""All settings in one place; each is also an environment variable ``DISTNB_<NAME>``.

>>> from distnb import config
>>> config.gather_budget
1073741824
"""

from __future__ import annotations

import mmap
import os
from collections.abc import Callable
from dataclasses import dataclass, fields
from math import inf, nan
from typing import Any

__all__ = ["Config", "config"]

#: What a setting that is a word can be.
WORDS = {
    "road": ("direct", "ipyparallel"),
    "place": ("auto", "engines", "notebook"),
    "math": ("numpy", "fast"),
    "rebalance": ("off", "auto"),
    "recover": ("auto", "ask", "never"),
}


@dataclass(repr=False)
class Config:
    """Settings of distnb, read from the environment once, changed by assignment."""

    gather_budget: int = 1 << 30
    """Bytes that an implicit gather (``np.asarray(x)``, printing) may bring to the notebook."""
    cutoff: int = 1 << 20
    """Bytes up to which an array for which no layout was asked lives in the notebook's process, as
    a NumPy array; 0 puts all of them on the engines."""
    place: str = "auto"
    """Who computes: "auto" the engines what is large, and the notebook itself what is small, on the
    same memory; "engines" or "notebook" whatever they can. Results are the same."""
    rebalance: str = "off"
    """Whether sparse arrays are cut anew where their parts take unequally long: "off", or "auto"
    in loops of products where that pays (see :func:`distnb.together`)."""
    alone: int = 1 << 26
    """Bytes of a matrix up to which one engine factors it alone, with all cores of its node; 16
    times that for spectra, and for LU where all engines share a node."""
    scalapack: int = 1
    """Whether engines factor large matrices with ScaLAPACK, if it is installed (extra
    ``scalapack``): 1 where it is quicker than distnb itself, and engines do not outnumber the cores
    of their node, 2 for all it can do, 0 never."""
    flush_size: int = 512
    """Commands that may wait before a batch is sent."""
    flush_idle: float = 0.003
    """Seconds without a new command after which what waits is sent."""
    fuse: int = 1
    """Whether elementwise operations run in groups, one pass over memory each; 0 for one by one."""
    jit: int = 1
    """Whether groups that come back are compiled by Numba, if it is installed (read by engines)."""
    math: str = "numpy"
    """Who computes exp, log, sin, cos, tanh and their like of float32 and float64 arrays: "numpy",
    to the last bit, or "fast", the processor's vectors, if they could be compiled when distnb was
    installed: at most 4 ulp off, and without warnings of numbers that are out of range."""
    native: int = 1
    """Whether what each small step takes is compiled, if it was when distnb was installed; 0 to
    interpret it, so that a debugger sees it. Read when distnb is imported."""
    engines: int = 0
    """Engines that the first array starts when no session was chosen; 0 for one a core."""
    memory_share: float = 0.9
    """Share of a node's available memory that arrays may fill before creation is refused. Where
    processes are in control groups (cgroups) with limits, what these leave is what is available."""
    pool_bytes: int = 1 << 28
    """Bytes of freed blocks that an engine keeps for reuse, and as many that the notebook keeps of
    what NumPy took for results (read when a session starts). Of the memory that the notebook shares
    with its engines, half of what an engine may still take is kept, if that is more."""
    shared: int = 1 << 18
    """Bytes from which elements that an engine needs of another one on its node are read in shared
    memory, and not sent; 0 for never. Read when a session starts."""
    timeout: float = 0.0
    """Seconds to wait for engines before a value read fails; 0 waits until interrupted."""
    recover: str = "auto"
    """What happens when engines die that distnb started: "auto" starts new ones at once, which take
    over the arrays; "ask" waits for ``session.recover()``; "never" is for what is quicker by a
    little, as arrays need not outlive engines. Whether arrays can be had is settled when a session
    starts."""
    lineage: float = 60.0
    """Seconds of computing, at most, that new engines do again to make arrays that lay in memory of
    those that died: where engines and notebook share none. What takes longer is lost; 0: nothing is
    made again. Read when a session starts."""
    spill: str | None = None
    """A directory on a disk to which arrays go that were not used for longest, where all would not
    fit in memory, and from where they come back when they are used; None: what does not fit is
    refused. For engines that ``dnb.start()`` starts; read when a session starts."""
    progress: float = 1.5
    """Seconds that a wait for engines lasts before a line shows how far they are; 0 for never."""
    show_wait: float = 2.0
    """Seconds that showing an array may wait for its elements (``print(x)`` waits until they are
    there); 0 to show none, and never ask the engines."""
    road: str = "direct"
    """How batches get to engines of ipyparallel: "direct" sockets, or "ipyparallel" itself."""

    def __setattr__(self, name: str, value: object) -> None:
        """Refuse names that are not settings, and values of another kind."""
        known = {f.name: f.type for f in fields(self)}
        if name not in known:
            raise AttributeError(
                f"setting: got {name!r}, expected one of {sorted(known)}; see distnb.Config"
            )
        super().__setattr__(name, _CHECKS[str(known[name])](name, value))

    def __repr__(self) -> str:
        """Return the settings as Python has them, one a line, with the defaults of changed ones."""
        rows = [(f.name, repr(getattr(self, f.name)), repr(f.default)) for f in fields(self)]
        lines = [
            f"    {name}={value},{'' if value == default else f'  # by default {default}'}"
            for name, value, default in rows
        ]
        return "\n".join(["Config(", *lines, ")"])

    @classmethod
    def from_environment(cls) -> Config:
        """Return the settings with what the environment says."""
        found = cls()
        for f in fields(cls):
            text = os.environ.get(f"DISTNB_{f.name.upper()}")
            if text is not None:
                setattr(found, f.name, text)
        return found


#: Settings that are shares.
_MOST = {"memory_share": 1.0}


def _number(kind: Callable[[Any], Any]) -> Callable[[str, Any], Any]:
    def check(name: str, value: Any) -> Any:
        most = _MOST.get(name, inf)
        try:
            number = kind(value)
        except (TypeError, ValueError):
            number = nan
        if not 0 <= number <= most:
            expected = "a number >= 0" if most == inf else f"a number from 0 to {most:g}"
            raise ValueError(f"setting {name}: got {value!r}, expected {expected}; pass another")
        return number

    return check


def _word(name: str, value: Any) -> str:
    if value not in WORDS[name]:
        raise ValueError(
            f"setting {name}: got {value!r}, expected one of {WORDS[name]}; pass one of these"
        )
    return str(value)


def _folder(name: str, value: Any) -> str | None:
    """Return a directory in which there can be files without a name, and with holes."""
    if value is None or value == "":
        return None
    folder = os.path.abspath(os.fsdecode(value))
    try:
        fd = os.open(folder, os.O_TMPFILE | os.O_RDWR | os.O_CLOEXEC, 0o600)
        try:
            os.ftruncate(fd, mmap.PAGESIZE)
            with mmap.mmap(fd, mmap.PAGESIZE) as pages:
                pages.madvise(mmap.MADV_REMOVE)
        finally:
            os.close(fd)
    except (OSError, AttributeError) as error:  # of systems that have no such files
        raise ValueError(
            f"setting {name}: got {folder!r}, expected a directory for files without a name "
            f"({error}); pass another, on a local disk"
        ) from None
    return folder


_CHECKS: dict[str, Callable[[str, Any], Any]] = {
    "int": _number(int),
    "float": _number(float),
    "str": _word,
    "str | None": _folder,
}


config = Config.from_environment()
