"""Semirings: what takes the place of plus and times in products of sparse arrays.

A semiring ``add_multiply`` pairs a commutative monoid, by which what meets at a place of the result
is added up, and an operation by which two elements are multiplied. What is not stored takes no part
in either [1]_: it is not a zero.

References
----------
.. [1] J. Kepner et al., "Mathematical foundations of the GraphBLAS", HPEC 2016.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from distnb.common.errors import explain

__all__ = ["MONOIDS", "MULTIPLIES", "Semiring", "semiring", "split"]


class Monoid(NamedTuple):
    """How equal places are added up.

    ``text`` is the sum of ``s`` and ``v`` for a compiled loop; ``logical``: of truth values.
    """

    ufunc: np.ufunc | None
    text: str
    logical: bool = False


class Multiply(NamedTuple):
    """How two elements are multiplied; ``text`` of ``a`` and ``b`` is for a compiled loop.

    ``ufunc`` is None for what takes one of them as it is, or neither.
    """

    ufunc: np.ufunc | None
    text: str
    logical: bool = False


#: NaN wins, as NumPy's ``minimum`` has it.
_LESS, _MORE = "v if v < s or v != v else s", "v if v > s or v != v else s"

MONOIDS: dict[str, Monoid] = {
    "plus": Monoid(np.add, "s + v"),
    "times": Monoid(np.multiply, "s * v"),
    "min": Monoid(np.minimum, _LESS),
    "max": Monoid(np.maximum, _MORE),
    "or": Monoid(np.logical_or, "s | v", logical=True),
    "and": Monoid(np.logical_and, "s & v", logical=True),
    "xor": Monoid(np.logical_xor, "s ^ v", logical=True),
    "any": Monoid(None, "s"),  # the first, so that it is always the same
}

MULTIPLIES: dict[str, Multiply] = {
    "times": Multiply(np.multiply, "a * b"),
    "plus": Multiply(np.add, "a + b"),
    "minus": Multiply(np.subtract, "a - b"),
    "div": Multiply(np.true_divide, "a / b"),
    "min": Multiply(np.minimum, "b if b < a or b != b else a"),
    "max": Multiply(np.maximum, "b if b > a or b != b else a"),
    "first": Multiply(None, "a"),
    "second": Multiply(None, "b"),
    "pair": Multiply(None, "1"),
    "or": Multiply(np.logical_or, "a | b", logical=True),
    "and": Multiply(np.logical_and, "a & b", logical=True),
    "xor": Multiply(np.logical_xor, "a ^ b", logical=True),
}


def split(name: str) -> tuple[str, str]:
    """Return the names of a semiring's two operations.

    >>> split("min_plus")
    ('min', 'plus')
    """
    add, _, multiply = name.partition("_") if isinstance(name, str) else ("", "", "")
    if add not in MONOIDS or multiply not in MULTIPLIES:
        raise ValueError(
            explain(
                "semiring",
                repr(name),
                f"one of {'|'.join(MONOIDS)}, '_', one of {'|'.join(MULTIPLIES)}",
                "for example 'min_plus'",
            )
        )
    return add, multiply


def identity(add: str, dtype: np.dtype) -> Any:
    """Return what changes nothing when it is added: what a place has to which nothing comes.

    >>> identity("min", np.dtype(float)), identity("max", np.dtype("u1"))
    (np.float64(inf), np.uint8(0))
    """
    if add in ("min", "max"):
        if dtype.kind == "b":
            return dtype.type(add == "min")
        if dtype.kind in "iu":
            info = np.iinfo(dtype)
            return dtype.type(info.max if add == "min" else info.min)
        return dtype.type(np.inf if add == "min" else -np.inf)
    return dtype.type(add in ("times", "and"))


class Semiring(NamedTuple):
    """Two operations on elements of one dtype, in which both factors are taken.

    Attributes
    ----------
    add, multiply : str
        Rows of :data:`MONOIDS` and :data:`MULTIPLIES`.
    dtype : numpy.dtype
        Of products and of results.
    flip : bool
        Whether the factors change places: for products that are computed transposed.
    """

    add: str
    multiply: str
    dtype: np.dtype
    flip: bool = False

    @property
    def identity(self) -> Any:
        """What a place of a dense result has to which nothing comes."""
        return identity(self.add, self.dtype)

    @property
    def plain(self) -> bool:
        """Whether it is that of ordinary products."""
        return (self.add, self.multiply) == ("plus", "times")

    @property
    def flipped(self) -> Semiring:
        """The same with its factors in the other order."""
        return self._replace(flip=not self.flip)

    def products(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """Return the products of elements, in the semiring's dtype."""
        a, b = (b, a) if self.flip else (a, b)
        shape = np.broadcast_shapes(a.shape, b.shape)
        ufunc = MULTIPLIES[self.multiply].ufunc
        with np.errstate(all="ignore"):
            if ufunc is not None:
                found: np.ndarray = ufunc(*[x.astype(self.dtype, copy=False) for x in (a, b)])
                return found
            if self.multiply == "pair":
                return np.ones(shape, self.dtype)
            one = a if self.multiply == "first" else b
            return np.broadcast_to(one.astype(self.dtype, copy=False), shape)


def semiring(name: str, a: np.dtype, b: np.dtype, dtype: np.dtype | None = None) -> Semiring:
    """Return a semiring for elements of two dtypes.

    ``or``, ``and`` and ``xor`` give truth values, ``pair`` counts in int64; all else has the dtype
    that NumPy gives the product, and raises what NumPy raises.
    """
    add, multiply = split(name)
    how = MULTIPLIES[multiply]
    kind: np.dtype
    if MONOIDS[add].logical or how.logical:
        kind = np.dtype(bool)
    elif dtype is not None:
        kind = dtype
    elif multiply == "pair":
        kind = np.dtype(bool if add == "any" else np.int64)
    elif how.ufunc is None:
        kind = a if multiply == "first" else b
    else:
        kind = how.ufunc(np.empty(0, a), np.empty(0, b)).dtype
    if how.ufunc is not None and how.ufunc(np.empty(0, kind), np.empty(0, kind)).dtype != kind:
        only = MONOIDS[add].logical or how.logical  # whatever dtype= says
        advice = "choose other operators" if only else "give dtype=float"
        raise TypeError(explain(f"semiring {name!r}", kind, "other elements", advice))
    return Semiring(add, multiply, kind)
