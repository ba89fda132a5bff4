"""Copies of a session's arrays in a session on the first of its engines (:func:`distnb.subset`).

Nothing comes to the notebook: an array is redistributed over the first engines, and each of them
hands its block from one session to the other, by a name in the namespace of ``%px``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from copy import copy
from types import CodeType, FunctionType
from typing import Any

from distnb.client.handle.array import Array, create, hosted
from distnb.client.handle.conversion import copied
from distnb.client.session.bases import Base
from distnb.client.session.session import Session
from distnb.client.stats.bit_generators import PhiloxBitGenerator
from distnb.client.stats.drawing import Source
from distnb.geometry.regrid import regridded
from distnb.geometry.views import View

__all__ = ["SubsetCopies", "names_in"]

_NAME = "_distnb_copy"


class SubsetCopies:
    """Makes copies of what the notebook holds, with the arrays of one session in another.

    Arrays that look at the same memory do so in the copy, too.
    """

    def __init__(self, source: Session, target: Session) -> None:
        self.source = source
        self.target = target
        self._bases: dict[int, tuple[Base, Base]] = {}
        #: What random numbers follow from, which generators may share, and its copy.
        self._bits: dict[int, tuple[PhiloxBitGenerator, PhiloxBitGenerator]] = {}

    def of(self, value: Any) -> Any:
        """Return a copy of an array, or of a list, tuple, dict or generator; other values as is."""
        if isinstance(value, Array):
            return self._array(value) if value.session is self.source else value
        if value is self.source:
            return self.target
        if isinstance(value, Source):
            made = copy(value)
            made._session, made._bits = self.of(value._session), self.of(value._bits)
            return made
        if isinstance(value, PhiloxBitGenerator):
            return self._bit_generator(value)
        if type(value) is dict:
            return {key: self.of(item) for key, item in value.items()}
        if type(value) in (list, tuple):
            return type(value)(map(self.of, value))
        return value

    def _bit_generator(self, bits: PhiloxBitGenerator) -> PhiloxBitGenerator:
        if id(bits) not in self._bits:
            made = copy(bits)
            made._session = self.of(bits._session)
            self._bits[id(bits)] = bits, made
        return self._bits[id(bits)][1]

    def _array(self, x: Array) -> Any:
        if x.dbase.lost and not x.session.unfinished.make(x.dbase.handle):
            return x
        key = id(x.dbase)
        if key not in self._bases:
            self._bases[key] = (x.dbase, self._copy(x.dbase))
        return Array.made(self._bases[key][1], x.dview, x.writeable)

    def _copy(self, base: Base) -> Base:
        """Return a base of the other session with the same elements."""
        if base.host is not None:
            made: Array = hosted(self.target, base.host.copy())
            return made.dbase
        layout, shape = base.layout, base.shape
        layout = regridded(layout, shape, self.source.size, self.target.size)
        there: Array = Array.made(base, View.whole(shape))
        if layout != base.layout:
            there = copied(there, base.dtype, layout)
        self.source.bind([(_NAME, there.operand)])
        self.source.flush()
        try:
            made = create(self.target, shape, base.dtype, layout, ("local", _NAME))
            self.target.flush()
        finally:
            self.source.bind(())
        return made.dbase


def names_in(code: CodeType, namespace: Mapping[str, Any]) -> set[str]:
    """Return the names of a namespace that code may use, also by way of functions defined there.

    >>> space = {"A": 1, "B": 2, "C": 3}
    >>> exec("def twice(): return 2 * A", space)
    >>> sorted(names_in(compile("twice() + C", "", "exec"), space))
    ['A', 'C', 'twice']
    """
    found: set[str] = set()
    waiting = [code]
    while waiting:
        names = {n for each in _nested(waiting.pop()) for n in each.co_names if n in namespace}
        for name in names - found:
            found.add(name)
            waiting += _codes(namespace[name], namespace)
    return found


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Yield code and all code that is defined in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _codes(value: Any, namespace: Mapping[str, Any]) -> list[CodeType]:
    """Return the code of a function that was defined in a namespace, or of a class's methods."""
    parts = vars(value).values() if isinstance(value, type) else (value,)
    plain = (getattr(x, "__func__", getattr(x, "fget", x)) for x in parts)
    return [x.__code__ for x in plain if isinstance(x, FunctionType) and x.__globals__ is namespace]
