"""Parts that take unequally long: counted, compared, and cut anew where that pays.

Moving in place moves elements and indices as any dense arrays of one axis: their order over all
parts stays what it was, so every view of them stays true. Pointers are made anew, each part's from
0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from itertools import pairwise
from time import perf_counter
from typing import Any

import numpy as np

from distnb.client.array.migration import Followers, cut_together
from distnb.client.batching.call_sites import warn_user
from distnb.client.handle.array import create, is_whole
from distnb.client.handle.conversion import copied, record_collective
from distnb.client.handle.fields import fresh
from distnb.client.lasting.resizing import CARRIED, Cut, Lay
from distnb.client.math.scans import cumsum
from distnb.client.select.searching import searchsorted
from distnb.client.session.session import Session
from distnb.client.sparse.dense import pointers_of, rowwise
from distnb.client.sparse.structure import (
    Before,
    Stored,
    Structure,
    even,
    global_pointers,
    line,
    local_pointers,
    nearest,
    pointer_cuts,
)
from distnb.common.config import config
from distnb.common.errors import LayoutError, LostArrayError, explain
from distnb.geometry.layout import Ints, Layout, replicated
from distnb.geometry.regrid import scaled

__all__ = [
    "balanced_cuts",
    "check_blocks",
    "costs_of",
    "count",
    "cut_anew",
    "pointed",
    "recut_in_place",
    "seconds_of",
    "spread",
]

_COUNT = np.dtype(np.int64)
#: Products after which parts are compared for the first time; times count only after more of them:
#: other programs may have had a core for a while.
_FIRST, _SURE = 4, 16
#: So many times the median may the largest part have, or the slowest take, and be left alone.
_EVEN, _STEADY = 1.1, 1.25
#: Bytes that are sent in a second, where that was not measured, and that are copied; seconds that
#: moving costs, however little it is.
_SENT, _COPIED, _LEAST = 2e9, 4e9, 3e-3


def balanced_cuts(x: Stored, wanted: np.ndarray | None = None) -> Ints:
    """Return cuts between which as many elements lie as can be; found on the engines.

    ``wanted``: how many elements are to lie before each of them, if that is something else.
    """
    s, p = x.structure, x.structure.session.size
    if not s.major or not s.nnz or p == 1:
        return even(s.major, p)
    upto: Any = cumsum(rowwise(x, "lengths", _COUNT))
    wanted = np.arange(1, p) * (s.nnz / p) if wanted is None else wanted
    above = searchsorted(upto, wanted).to_numpy()
    below, reached = np.maximum(above - 1, 0), np.minimum(above, s.major - 1)
    before = np.where(above > 0, upto[below].to_numpy(), 0)
    return nearest(wanted, above, before, upto[reached].to_numpy(), s.major)


# -- moving in place ---------------------------------------------------------------------------


def recut_in_place(s: Structure, cuts: Ints) -> Callable[[], None]:
    """Make all arrays of a structure as they are with other cuts; return what puts that in place.

    It is made when this returns; if an engine fails, the arrays are as they were.
    """
    if cuts == s.cuts:
        return lambda: None
    session = s.session
    with session.journal.paused():  # to move is not what the cell computes
        lengths = rowwise(Stored(s.indices, s), "lengths", _COUNT)
        ends = _ends(cumsum(lengths), cuts, s.nnz)
        kind = s.indptr.dtype
        where = line(pointer_cuts(cuts))
        indptr = create(session, (s.major + session.size,), kind, where, ("empty",))
        record_collective("sparse.count", (indptr,), (copied(lengths, kind, line(cuts)),), ())
        bases = [(x.dbase, copied(x, x.dtype, line(ends)).dbase) for x in _elements(s)]
        session.flush()

    def put() -> None:
        for base, made in bases:
            base.exchange(made)
        s.lie(line(cuts, 1), cuts, ends, indptr)

    return put


def _ends(upto: Any, cuts: Ints, nnz: int) -> Ints:
    """Return how many elements lie before each cut, of how many lie up to each row."""
    inner = np.array(cuts[1:-1], np.int64)
    before = upto[np.maximum(inner - 1, 0)].to_numpy()
    return (0, *np.where(inner > 0, before, 0).tolist(), nnz)


def _elements(s: Structure) -> list[Any]:
    """Return indices and elements that lie as a structure has them; what users moved stays."""
    arrays = [s.indices, *[x.data for x in s.arrays.values() if x.structure is s]]
    there = [x for x in arrays if is_whole(x) and not x.at_home]
    return list({id(x.dbase): x for x in there if x.dbase.layout == line(s.ends)}.values())


# -- other engines -----------------------------------------------------------------------------


def _carried(s: Structure, engines: int) -> Cut:
    """Return what cuts a structure for a number of engines; its elements stay in place.

    Blocks stay where they are: in another order of elements, arrays that users took of them would
    have those of other places.
    """
    if s.copied:
        whole = replicated(2, engines)
        return lambda engines, lay: s.lie(whole, s.cuts, s.ends, s.indptr)
    if s.blocks and len(s.arrays):
        check_blocks(s.layout, s.shape, engines, "resize")
    elements = [x.dbase for x in _elements(s)]
    s.plans = {}
    pointers = None
    with suppress(LostArrayError):
        pointers = global_pointers(pointers_of(s), s.cuts, s.ends)

    def cut(engines: int, lay: Lay) -> None:
        cut_for = spread if s.blocks else scaled
        cuts, ends = cut_for(s.cuts, engines), cut_for(s.ends, engines)
        layout = s.layout if s.blocks else line(cuts, 1)
        if pointers is None:  # whoever uses it is told so
            s.lie(layout, cuts, ends, s.indptr)
            return
        ends, indptr = pointed(s.session, pointers, cuts)
        s.lie(layout, cuts, ends, indptr)
        for base in elements:
            lay(base, line(ends))

    return cut


def check_blocks(layout: Layout, shape: Ints, engines: int, what: str) -> None:
    """Refuse fewer engines than there are blocks."""
    if layout.grid.last >= engines:
        raise LayoutError(
            explain(
                what,
                f"a sparse array of shape {shape} in blocks on {layout.grid.size} engines",
                f"one on {engines} at most",
                "do A = A.redistribute() first, or leave it out",
            )
        )


def pointed(session: Session, pointers: np.ndarray, cuts: Ints) -> tuple[Ints, Any]:
    """Return up to where the parts have elements, and their pointers, from those of all."""
    local = local_pointers(pointers, cuts)
    return tuple(pointers[list(cuts)].tolist()), fresh(session, local, line(pointer_cuts(cuts)))


def spread(cuts: Ints, engines: int) -> Ints:
    """Return the same cuts for more engines, which have nothing, or without such.

    >>> spread((0, 4, 6), 3), spread((0, 4, 6, 6), 2)
    ((0, 4, 6, 6), (0, 4, 6))
    """
    return (cuts + cuts[-1:] * engines)[: engines + 1]


CARRIED[Structure] = _carried


# -- what parts take ---------------------------------------------------------------------------


def seconds_of(session: Session, handles: Iterable[int]) -> np.ndarray:
    """Return how long each engine computed in the last commands that read some bases.

    A base that moves gets another handle, so this is of where it lies now.
    """
    names, found = set(handles), np.zeros(session.size)
    for batch in session.journal.recent:
        commands = enumerate(batch.commands)
        which = [i for i, c in commands if any(x.base in names for x in c.reads)]
        if which:
            rows = [times.rows(len(batch.commands))[which, 0].sum() for times in batch.times]
            found += _by_rank(session, rows)
    return found / 1e9


def _by_rank(session: Session, rows: list[Any]) -> np.ndarray:
    """Return numbers of all ranks; under SPMD each knows its own only."""
    if len(rows) == session.size:
        return np.array(rows, float)
    found = np.zeros(session.size)
    found[session.transport.rank] = rows[0]
    return found


def costs_of(seconds: np.ndarray, sizes: Sequence[int]) -> list[float]:
    """Return what an element of each part takes; of one that is not known, the mean.

    >>> costs_of(np.array([2.0, 1.0, 0.0]), [2, 4, 0])
    [1.0, 0.25, 0.5]
    """
    mean = max(float(seconds.sum()) / max(1, sum(sizes)), 1e-15)
    return [float(t) / n if t and n else mean for t, n in zip(seconds.tolist(), sizes, strict=True)]


# -- by itself -----------------------------------------------------------------------------------


def count(x: Any) -> None:
    """Count a round of a compressed array: a product, or tasks of its parts.

    It is cut anew if the user wants that and it pays.
    """
    s: Structure = x.structure
    s.rounds += 1
    if not s.lined or not _due(s.rounds) or s.rounds < s.not_before or s.session.size == 1:
        return
    if s.session.transport.rank is not None:
        return
    followers: Followers = s.session.extensions[Followers]
    asked = any(group.rebalance for group in followers.of(x))
    if asked or (config.rebalance == "auto" and not _parts_matter(s.session)):
        s.session.flush()  # what took how long is known then, and errors are the user's
        _consider(x, s)


def _due(n: int) -> bool:
    """Tell whether to compare parts after so many rounds: each time after a quarter more, about.

    >>> [n for n in range(50) if _due(n)]
    [4, 5, 6, 7, 8, 10, 12, 14, 16, 20, 24, 28, 32, 40, 48]
    """
    step = 1 << max(0, n.bit_length() - 3)
    return n >= _FIRST and n % step == 0


def _parts_matter(session: Session) -> bool:
    """Tell whether the user has seen parts, or had functions of parts called."""
    return session.by_parts or session.memory.shown


def _consider(x: Any, s: Structure) -> None:
    """Compare the parts of an array, and cut it anew if that pays."""
    seconds = seconds_of(s.session, (s.indptr.dbase.handle,))
    slowest = float(seconds.max())
    if s.before is not None:
        _tell_what_it_brought(x, s, s.before, slowest)
    unequal = not s.by_time and _apart(s.per_engine) > _EVEN
    unsteady = s.rounds >= _SURE and _apart(seconds.tolist()) > _STEADY
    lost = slowest - float(seconds.mean())
    gain = lost if not unequal else float(seconds.mean()) * (s.layout_imbalance - 1)
    if not (unequal or unsteady) or gain <= _price(s):
        return
    wanted = None if unequal else _by_speed(seconds, s.per_engine)
    had, before = s.layout_imbalance, Before(slowest, s.rounds)
    began = perf_counter()
    try:
        cut_anew(x, balanced_cuts(x.stored, wanted))
    except Exception as error:  # nobody asked for it: all is as it was, and goes on
        s.not_before = 2 * s.rounds
        warn_user(f"{_name(x)} could not be cut anew: {error}", RuntimeWarning)
        return
    s.by_time, s.before = not unequal, before
    took = perf_counter() - began
    why = f"the most elements of an engine were {had:.2f} of the mean"
    if not unequal:
        why = f"the slowest engine took {slowest / float(seconds.mean()):.2f} of the mean"
    s.session.note(
        f"{_name(x)} was cut anew after {before.rounds} products: {why}, now elements are "
        f"{s.layout_imbalance:.2f}; it took {took * 1e3:.1f} ms, and is to save "
        f"{gain * 1e3:.1f} ms in as many products"
    )


def cut_anew(x: Any, cuts: Ints) -> None:
    """Cut an array elsewhere in place, and all that go along."""
    cut_together(x.session, [(x, x.axis)], cuts)


def _by_speed(seconds: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Return up to which elements each engine takes as long, as fast as it was at those it had."""
    speeds = 1 / np.array(costs_of(seconds, sizes))
    found: np.ndarray = np.cumsum(speeds)[:-1] * (sum(sizes) / speeds.sum())
    return found


def _tell_what_it_brought(x: Any, s: Structure, before: Before, slowest: float) -> None:
    s.before = None
    then, now = before.seconds / before.rounds, slowest / max(1, s.rounds - 1)
    s.session.note(
        f"{_name(x)}: since it was cut anew a product takes {now * 1e3:.2f} ms on the slowest "
        f"engine, before {then * 1e3:.2f} ms"
    )


def _name(x: Any) -> str:
    return f"{type(x).__name__} of shape {x.shape}"


def _apart(amounts: Sequence[float]) -> float:
    """Return the largest part over the median one, or their mean if that is less."""
    middle = float(min(np.median(amounts), np.mean(amounts)))
    return max(amounts) / middle if middle > 0 else float(max(amounts) > 0) * np.inf


def _price(s: Structure) -> float:
    """Return the seconds that it would take to cut a structure such that parts are equal."""
    session = s.session
    each = sum(x.dtype.itemsize for x in _elements(s))
    goal = [s.nnz * r // session.size for r in range(session.size + 1)]
    stays = sum(
        max(0, min(b, d) - max(a, c))
        for (a, b), (c, d) in zip(pairwise(s.ends), pairwise(goal), strict=True)
    )
    sent = (s.nnz - stays) * each / (session.measuring.bandwidth or _SENT)
    planned = float(seconds_of(session, (s.indices.dbase.handle,)).mean())  # that reads indices
    return _LEAST + sent + s.nnz * each / session.size / _COPIED + planned
