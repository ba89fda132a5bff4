"""Elementwise operations that come again: what was found out the first time is kept.

A template is keyed by the operation and the *specs* of its operands (shape, layout, view and dtype,
as a number that the session's cache gives them). It holds what depends on nothing else: the views
of the operands, broadcast, and shape, dtype and layout of the result.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.client.batching import budget
from distnb.client.handle.array import Array, leave, record_known
from distnb.client.reach.pace import SMALL_STEP, judged_by
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import Placed, View
from distnb.ops import table
from distnb.ops.scalars import NUMBERS, NUMPYS, SMALL, VALUE_FREE
from distnb.ops.weights import LIGHT, weight
from distnb.wire.protocol import Apply, Create, Operand, Typed

__all__ = ["OperationCache", "Template", "into", "key_of", "new", "repeat", "spec_of"]

#: Makes a named tuple of all its fields, faster than its own class does.
_new: Any = tuple.__new__
#: More templates than this are not kept.
_MOST = 4096


class Template(NamedTuple):
    """How to do an operation: ``views`` are None for scalars; ``made`` is None for ``out=``.

    ``nbytes`` are those that it reads and writes, as many times as it weighs: ``large`` is what
    engines do, whose price is ``judged_by`` so many bytes.
    """

    views: tuple[View | None, ...]
    out: View
    made: Made | None
    whole: bool
    nbytes: int
    large: bool
    judged_by: int


class Made(NamedTuple):
    """The base that an operation makes; ``lies``, it can lie in the notebook's shared segment."""

    shape: Ints
    dtype: np.dtype
    code: str
    layout: Layout
    need: int
    spec: int
    placed: Placed
    lies: bool


class OperationCache:
    """The templates of a session, and the numbers of specs."""

    def __init__(self) -> None:
        self.templates: dict[tuple[Any, ...], Template] = {}
        self.specs: dict[tuple[Any, ...], int] = {}
        self._numbers = count(1)

    def number(self, spec: tuple[Any, ...]) -> int:
        """Return the number of a spec; it is never given to another one."""
        if len(self.specs) >= _MOST:
            self.specs.clear()
        number = self.specs.get(spec)
        if number is None:  # or another thread gives it one just now
            number = self.specs.setdefault(spec, next(self._numbers))
        return number

    def forget(self) -> None:
        """Keep nothing, for there are other engines; arrays have their numbers still."""
        self.specs.clear()
        self.templates.clear()

    def add(self, key: tuple[Any, ...], template: Template) -> Template:
        """Keep a template; return it."""
        if len(self.templates) >= _MOST:
            self.templates.clear()
        self.templates[key] = template
        return template


def key_of(op: str, inputs: Sequence[Any], out: Array | None) -> tuple[Any, Any]:
    """Return the session of an operation, and what it is known by; None twice if by nothing."""
    session = None
    key: list[Any] = [op]
    for x in inputs if out is None else (*inputs, out):
        if isinstance(x, Array):
            base = x._base or x.dbase
            if base.look is not None:
                base.look.refresh(base)
            if base.host is not None or base.lost or base.known is not None:
                return None, None
            if base.session is not (session or base.session):
                return None, None
            session = base.session
            key.append((x.spec or spec_of(session, x)) + base.turn)
        elif type(x) in VALUE_FREE or (type(x) is int and 0 <= x < SMALL):  # as weak_kind
            key.append(type(x))
        elif type(x) in NUMPYS:
            key.append(x.dtype)
        else:
            return None, None
    if out is not None:
        if not out.writeable or (out.single and not out.shape):
            return None, None
        key.append("out")
    return session, tuple(key)


def spec_of(session: Session, x: Array) -> int:
    """Return the number of an array's spec."""
    base = x._base or x.dbase
    cache: OperationCache = session.extensions[OperationCache]
    x.spec = cache.number((base.shape, base.layout, x._view or x.dview, base.dtype.char))
    return x.spec


def into(op: str, out: Array, inputs: Sequence[Any]) -> Template:
    """Return the template of an operation into a given array."""
    whole = out.dview.is_whole(out.dbase.shape)
    size = _size(op, (*inputs, out), 0)
    return Template(_views(inputs, out.shape), out.dview, None, whole, *size)


def new(
    session: Session,
    op: str,
    inputs: Sequence[Any],
    shape: Ints,
    dtype: np.dtype,
    layout: Layout,
) -> Template:
    """Return the template of an operation that makes its result."""
    view = View.whole(shape)
    cache: OperationCache = session.extensions[OperationCache]
    number = cache.number((shape, layout, view, dtype.char))
    need = budget.need(shape, dtype, layout)
    lies, placed = layout.in_order(shape) and prod(shape) > 0, Placed.whole(shape, layout)
    made = Made(shape, dtype, dtype.str, layout, need, number, placed, lies)
    size = _size(op, inputs, prod(shape) * dtype.itemsize)
    return Template(_views(inputs, shape), view, made, True, *size)


def _size(op: str, operands: Sequence[Any], made: int) -> tuple[int, bool, int]:
    """Return the last fields of a template, of an operation that makes so many bytes."""
    arrays = [x for x in operands if isinstance(x, Array)]
    nbytes = made + sum([x.nbytes for x in arrays])
    if nbytes > LIGHT:
        nbytes *= weight(table.ELEMENTWISE[op].run, arrays[0].dtype)
    return nbytes, nbytes > SMALL_STEP, judged_by(nbytes)


def _views(inputs: Sequence[Any], shape: Ints) -> tuple[View | None, ...]:
    return tuple([_stretched(x, shape) if isinstance(x, Array) else None for x in inputs])


def _stretched(x: Array, shape: Ints) -> View:
    return x.dview if x.shape == shape else x.dview.broadcast(shape)


def _handle(x: Array) -> int:
    """Return the handle of an array in reach, which leaves."""
    leave(x.dbase)
    return x.dbase.handle


def _bring_up(bases: Sequence[Base]) -> None:
    """Bring families up to date on engines: one that leaves takes all of its family along.

    An element that another thread has read meanwhile is made there.
    """
    for base in bases:
        if base.near is not None:
            leave(base)
        if base.known is not None:
            record_known(base)
    for base in bases:
        if base.look is not None:
            base.look.refresh(base)


def repeat(session: Session, op: str, template: Template, inputs: Sequence[Any], out: Any) -> Any:
    """Record an operation by its template; return its result."""
    views, view, made, whole, *_ = template
    bases = [x._base or x.dbase for x in (*inputs, out) if isinstance(x, Array)]
    with session.recorder.lock:
        if any(base.look is not None or base.known is not None for base in bases):
            _bring_up(bases)
        ins = tuple(
            [
                (x if type(x) in NUMBERS else Typed(x.dtype.str, x.item()))
                if v is None
                else _new(
                    Operand,
                    (base.handle if (base := x._base or x.dbase).near is None else _handle(x), v),
                )
                for x, v in zip(inputs, views, strict=True)
            ]
        )
        site = session.site()
        if made is None:
            base = out._base or out.dbase
            if base.near is not None:
                leave(base)
            session.check_open()
            if whole:
                base.since = session.batches + 1
            session.handles.budget.work += out.nbytes // session.size
            session.record(Apply(op, (Operand(base.handle, view),), ins, None, (), site))
            return out
        shape, dtype, code, layout, need, spec, placed, _ = made
        base = Base(session, shape, dtype, layout, need)
        base.site = site
        handle = base.handle
        session.recorder.add(  # making the base has looked whether that can be
            _new(Create, (handle, shape, code, layout, ("empty",), site)),
            _new(Apply, (op, (_new(Operand, (handle, view)),), ins, None, (), site)),
        )
    result = Array.made(base, view)
    if not shape:
        result.single = True
    result.spec, result._placed = spec, placed
    return result
