"""Reading arrays, and single elements, which are read where they lie if nothing came between."""

from __future__ import annotations

import operator
import sys
import textwrap
from collections.abc import Iterator
from types import FrameType
from typing import Any, NamedTuple

import numpy as np

from distnb.client.array.prefetch import Prefetch
from distnb.client.batching.call_sites import own_line
from distnb.client.handle.array import Array, as_result, host_view
from distnb.client.handle.fields import near_of
from distnb.client.handle.scalars import numbers_in
from distnb.client.reach import admission
from distnb.client.reach.small_views import passed
from distnb.client.record.placement import stay
from distnb.client.session.bases import Base
from distnb.common.config import config
from distnb.common.errors import explain
from distnb.geometry.views import View
from distnb.measure.quantities import size_text
from distnb.wire.protocol import Apply, Create, Operand

__all__ = [
    "element",
    "elements",
    "few_in_reach",
    "is_for_strides",
    "is_own",
    "laid_out",
    "read",
    "refuse_mean",
    "storable_number",
    "tell_of_gather",
]

#: Elements that a loop over an array fetches at a time.
_AT_A_TIME = 1 << 17
#: Fewer bytes than these are gathered without a word.
_WORTH_TELLING = 1 << 20


class _Copy(NamedTuple):
    """Makes the array of an element: a copy of what another array has there."""

    source: Array
    operand: Operand

    def __call__(self, base: Base) -> None:
        base.begin(base.layout)
        shape, dtype, layout, site = base.shape, base.dtype.str, base.layout, base.site
        out = Operand(base.handle, View.whole(shape))
        base.session.record(
            Create(base.handle, shape, dtype, layout, ("empty",), site),
            Apply("copy", (out,), (self.operand,), None, (), site),
        )


def element(x: Array) -> Any:
    """Return an element as it is now, which later writes do not change.

    In reach it is NumPy's scalar. Else it is an array: a copy. But if that is read before anything
    else happens, it is read where it lies.
    """
    found = admission.element(x)
    if found is not None:
        return found
    session = x.session
    base = Base.to_come(session, (), x.dtype, stay(x, x.dtype))
    base.site = session.site()
    with session.recorder.lock:
        session.deferred.defer(base, _Copy(x, x.operand))
    return as_result(Array.made(base, View.whole(())))


def elements(x: Array) -> Iterator[Any]:
    """Return an array's elements of one axis, one after the other, as NumPy's scalars.

    They come many at a time. As NumPy's, each is as it is when it is its turn: those in reach are
    read where they lie, until they leave; what was fetched holds until anything is recorded that
    might write it, which reading does not.
    """
    session, at, n = x.session, 0, x.shape[0]
    recorder, transport = session.recorder, session.transport
    while at < n:
        near = None if x._near is None and x.dbase.near is None else x.near
        if near is None and admission.brought(x):
            near = x.near
        if near is not None:
            at = yield from passed(x, near, at)
            continue
        some = x[at : at + _AT_A_TIME].to_numpy()
        end = at + len(some)
        changes, sent = session.changes, transport.foreign
        recorded, reaches = recorder.recorded, session.reaches
        for value in (left := iter(some)):
            yield value
            # `session.changes`, without a call for each element
            if recorder.recorded != recorded or session.reaches != reaches:
                if session.changes != changes:
                    break
                recorded, reaches = recorder.recorded, session.reaches
            if transport.foreign != sent:
                break
        at = end - operator.length_hint(left)


def read(x: Array) -> np.ndarray:
    """Return the elements of an array on the engines."""
    base = x._base or x.dbase
    session = base.session
    with session.recorder.lock:
        if not session.connection.ready:
            session.check_open()  # which may cut all for other engines: before it is asked how
        if base.known is not None:
            session.check_open()
            return _shown(base.known, x)
        deferred = session.deferred.withdraw(base) if session.deferred.pending else None
        if deferred is None and not (x._view or x.dview).fixed:
            return session.gather(x.operand, x.placed, base.dtype)
        prefetch: Prefetch = session.extensions[Prefetch]
        if deferred is None:
            return prefetch.read(x)
        try:
            # Others that wait are copies of what may not move before they are made
            found = None if session.deferred.pending else admission.awaited(deferred.source)
            with session.deferred.aside(deferred.source.dbase):
                base.known = prefetch.read(deferred.source) if found is None else np.asarray(found)
        except BaseException:  # it can still be made, or read again, as far as its source can
            session.deferred.defer(base, deferred)
            raise
        return _shown(base.known, x)


def _shown(known: np.ndarray, x: Array) -> np.ndarray:
    """Return an element as a view shows it, which may have axes that are new or stretched."""
    return np.array(np.broadcast_to(known, x.shape)) if x.shape else known.copy()


#: NumPy's methods that sum into an output, and then divide it.
_MEANS = [("numpy._core._methods", name) for name in ("_mean", "_var")]
#: NumPy's function that takes strides as they are: it asks for an array, and has no protocol.
_ASKS_FOR_STRIDES = np.lib.stride_tricks.as_strided.__code__


def is_own(caller: FrameType) -> bool:
    """Tell whether a function of distnb asks for an array; what it gets is its own."""
    return str(caller.f_globals.get("__name__")).startswith("distnb.")


def storable_number(value: Any, dtype: np.dtype) -> Any:
    """Return a value to store; a number of which NumPy may make no such integer is read."""
    if dtype.kind not in "iu" or not isinstance(value, Array) or not value.single:
        return value
    fits = value.dtype.kind not in "iuf" or np.can_cast(value.dtype, dtype)
    return value if fits else numbers_in(value)


def refuse_mean(caller: FrameType | None) -> None:
    """Raise TypeError if NumPy's own mean or variance asks for a sum into an array of ours.

    It divides what is NumPy's in place, and of all else it returns another number.
    """
    while caller is not None and is_own(caller):
        caller = caller.f_back
    name = caller and (caller.f_globals.get("__name__"), caller.f_code.co_name)
    if name in _MEANS:
        what, do = "out of a mean of NumPy's array", "use distnb.mean(x, out=...) and its like"
        raise TypeError(explain(what, "a distributed array", "one of NumPy's", do))


def is_for_strides(caller: FrameType) -> bool:
    """Tell whether who asks for an array is to go through memory by strides."""
    return caller.f_code is _ASKS_FOR_STRIDES


def laid_out(x: Array) -> np.ndarray:
    """Return the elements with the strides that an array has, as a view of a copy of its base."""
    base = x.dbase
    if x.dview.is_whole(base.shape):
        return x.to_numpy()
    whole = Array.made(base, View.whole(base.shape))
    return host_view(whole.__array__(), x.dview, x.writeable)


#: How much is told of a line.
_LINE = 100

#: The cells, and the lines of scripts, of which it was said that they gather.
_TOLD: set[int | str] = set()


def few_in_reach(x: Array) -> Any:
    """Return the elements of an array in reach, to be read only; None of what is to be gathered.

    That are so many that it obeys the budget, or is told of.
    """
    near = near_of(x)
    if near is None or near.nbytes >= min(_WORTH_TELLING, config.gather_budget):
        return None
    return near


def tell_of_gather(x: Array, nbytes: int | None = None, by: str = ".to_numpy()") -> None:
    """Say, once a cell or a line of a script, that an array is gathered without saying so.

    Of what is more than its elements, as a sparse array is: how much, and what says so.
    """
    nbytes = x.nbytes if nbytes is None else nbytes
    if nbytes < _WORTH_TELLING or x.dbase.host is not None or x.session.closed:
        return
    ipython = sys.modules.get("IPython")
    line = own_line()
    shell = ipython.get_ipython() if ipython is not None else None
    cell = line if shell is None else shell.execution_count
    if cell not in _TOLD:
        _TOLD.add(cell)
        told = f" by {textwrap.shorten(line, _LINE, placeholder=' ...')}" if line else ""
        print(
            f"distnb: {size_text(nbytes)} gathered to the notebook{told}; "
            f"{by} does so without this line",
            file=sys.stderr,
        )
