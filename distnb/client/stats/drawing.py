"""How random numbers are drawn: a stream for each array, parameters that may be arrays."""

from __future__ import annotations

from math import prod
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.arguments import Dist, Grid, Shape
from distnb.client.handle.array import Array, as_result, create, hosted, numeric
from distnb.client.handle.conversion import (
    as_dist,
    broadcast,
    check_session,
    in_layout,
    record_collective,
)
from distnb.client.handle.fields import fresh
from distnb.client.handle.indexing import lengths
from distnb.client.record.placement import layout_for, layout_of_new
from distnb.client.session.current import need
from distnb.client.session.session import Session
from distnb.client.stats.bit_generators import PhiloxBitGenerator, Seed
from distnb.common.config import config
from distnb.common.errors import explain
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.slices import interval
from distnb.ops import filling, parameters, philox, samplers, table

__all__ = ["Size", "Source", "check_cast", "floating", "number"]

_FLOATS, _INTEGERS = np.dtype(np.float64), np.dtype(np.int64)
#: ``size=``: the shape of what is drawn; None is a single number.
Size: TypeAlias = Shape | None


class Source:
    """A seed, and how many arrays were drawn so far."""

    def __init__(self, seed: Seed, session: Session | None = None) -> None:
        self._session = session
        self._bits = (
            seed if isinstance(seed, PhiloxBitGenerator) else PhiloxBitGenerator(seed, session)
        )

    @property
    def _seed(self) -> int:
        return self._bits.seed

    def _next(self) -> int:
        """Return the stream of an array, which no other thread gets."""
        bits = self._bits
        bits.stream += 1
        return bits.stream - 1

    def _draw(
        self, kind: str, args: tuple[Any, ...], size: Size, dtype: DTypeLike, dist: Dist, grid: Grid
    ) -> Array:
        """Draw an array with parameters that are numbers."""
        session = need(self._session)
        kept: np.dtype = dtype if isinstance(dtype, np.dtype) else numeric(dtype)
        free = dist is None and grid is None
        drawer = filling.drawer(kind)
        if size is None and free and kept.itemsize <= config.cutoff and drawer is not samplers:
            if kind == "integers":
                return kept.type(philox.one(kind, self._seed, self._next(), args))
            if kept is _FLOATS or kept is _INTEGERS:
                return drawer.one(kind, self._seed, self._next(), args)
        shape = () if size is None else lengths(size)
        if free and 0 < prod(shape) * kept.itemsize <= config.cutoff:
            out = np.empty(shape, kept)
            flat = out if len(shape) == 1 else out.reshape(-1)
            drawer.fill_all(kind, self._seed, self._next(), args, flat)
            made = fresh(session, out, None)
        else:
            layout = layout_of_new(shape, kept, session, dist, grid)
            how = ("random", kind, self._seed, self._next(), args)
            made = create(session, shape, kept, layout, how)
        return made if size is not None else number(made, _plain(kind))

    def _sample(
        self,
        kind: str,
        args: tuple[Any, ...],
        size: Size,
        dist: Dist,
        grid: Grid,
        dtype: DTypeLike = np.float64,
        of: DTypeLike = np.float64,
    ) -> Array:
        """Draw an array of a row of ``samplers.SAMPLERS``; parameters may be arrays."""
        if of is np.float64 and all(type(a) in (float, int) for a in args):  # soon told
            parameters.check(kind, args)
            return self._draw(kind, tuple(map(float, args)), size, dtype, dist, grid)
        given: list[Any] = [a if isinstance(a, Array) else _real(a) for a in args]
        if not any(a.ndim for a in given):
            parameters.check(kind, tuple(a.item() for a in given))
            plain = tuple(np.asarray(a.item(), of).item() for a in given)
            return self._draw(kind, plain, size, dtype, dist, grid)
        if not kind.startswith("integers"):
            _check_casts(kind, given)
        session = next((a.session for a in given if isinstance(a, Array)), None)
        session = need(self._session) if session is None else session
        shape = _wide(given, size)
        layout = _layout(given, shape, numeric(dtype), session, dist, grid)
        if layout.here:
            found = self._here(session, kind, given, shape, numeric(dtype), of)
        else:
            found = self._there(session, kind, given, shape, layout, numeric(dtype), of)
        return found if size is not None else number(found, _plain(kind))

    def _here(
        self,
        session: Session,
        kind: str,
        given: list[Any],
        shape: Ints,
        dtype: np.dtype,
        of: DTypeLike,
    ) -> Array:
        """Draw in the notebook."""
        hosts: list[Any] = [a.here if isinstance(a, Array) else a for a in given]
        args = tuple(np.array(np.broadcast_to(a, shape), of) for a in hosts)
        made = np.empty(shape, dtype)
        stream = self._next()
        if made.size:
            whole = tuple(interval(0, n) for n in shape)
            filling.fill_random(made, whole, shape, kind, self._seed, stream, args)
        return hosted(session, made)

    def _there(
        self,
        session: Session,
        kind: str,
        given: list[Any],
        shape: Ints,
        layout: Layout,
        dtype: np.dtype,
        of: DTypeLike,
    ) -> Array:
        """Draw on the engines: the parameters are brought to where the result lies."""
        arrays, args = [], []
        for a in given:
            one = a.ndim == 0 and not isinstance(a, Array)
            args.append(np.asarray(a, of).item() if one else None)
            if not one:
                there = broadcast(as_dist(a, session), shape)
                arrays.append(in_layout(there, layout, np.dtype(of)))
        out = create(session, shape, dtype, layout, ("empty",))
        stream = self._next()
        if out.size:
            record_collective("sample", (out,), arrays, (kind, self._seed, stream, tuple(args)))
        return out


def _real(a: object) -> Any:
    """Return a parameter as NumPy's."""
    found = np.asarray(a)
    if found.dtype == object and not found.ndim:
        raise TypeError(f"must be real number, not {type(a).__name__}")
    return found[()]


def check_cast(kind: np.dtype, to: DTypeLike) -> None:
    """Raise what NumPy raises where parameters of a dtype are not all such numbers."""
    if not np.can_cast(kind, to, "safe"):
        found, wanted = np.dtype(kind), np.dtype(to)
        raise TypeError(
            f"Cannot cast array data from {found!r} to {wanted!r} according to the rule 'safe'"
        )


#: The parameters that are whole numbers.
_WHOLE = {"binomial": (0,), "hypergeometric": (0, 1, 2)}


def _check_casts(kind: str, given: list[Any]) -> None:
    for i, a in enumerate(given):
        check_cast(a.dtype, np.int64 if i in _WHOLE.get(kind, ()) else np.float64)


def _plain(kind: str) -> bool:
    return not kind.startswith("integers")


def number(found: Any, plain: bool = False) -> Any:
    """Return what is drawn without a size: of no axes it is a scalar, NumPy's if it is at home.

    Where it is ``plain`` it is Python's, as NumPy has it of all but integers of a range.
    """
    if not isinstance(found, Array) or found.ndim or found.here is None:
        return as_result(found)
    return found.here.item() if plain else found.here[()]


def _wide(given: list[Any], size: Size) -> Ints:
    shape = np.broadcast_shapes(*(a.shape for a in given))
    if size is None:
        return shape
    wanted = lengths(size)
    if np.broadcast_shapes(shape, wanted) != wanted:
        raise ValueError(
            explain("size", wanted, f"one that {shape} broadcasts to", "leave it out or extend it")
        )
    return wanted


def _layout(
    given: list[Any], shape: Ints, dtype: np.dtype, session: Session, dist: Dist, grid: Grid
) -> Layout:
    """Return the layout of numbers with arrays of parameters: as of an elementwise result."""
    there = [a for a in given if isinstance(a, Array)]
    for a in there:
        check_session(a, session)
    leaders = [a for a in there if a.here is None]
    if leaders and dist is None and grid is None:
        views = tuple((a.size, broadcast(a, shape).placed) for a in leaders)
        return table.elementwise_layout(views, shape, session.size)
    if leaders:
        return layout_for(shape, session, dist, grid)
    return layout_of_new(shape, dtype, session, dist, grid)


def floating(dtype: DTypeLike) -> np.dtype:
    """Return float32 or float64; raise TypeError for other dtypes."""
    kind = _FLOATS if dtype is float else numeric(dtype)
    if kind.char not in "fd":
        raise TypeError(explain("dtype", kind, "float32 or float64", "use integers() for integers"))
    return kind
