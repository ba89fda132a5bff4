"""``einsum``: two operands at a time, in the order that NumPy's path says."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from math import prod
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Order, order_of
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import array_of
from distnb.client.handle.fields import fresh
from distnb.client.handle.host_arrays import all_here, watched
from distnb.client.handle.scalars import numbers_in
from distnb.client.linalg.contraction_commands import add_up, contract
from distnb.client.linalg.contractions import diagonal
from distnb.client.linalg.matrix_commands import operands
from distnb.client.reach.admission import admitted
from distnb.client.reach.aliasing import look_at
from distnb.client.reach.rehearsal import part, promise
from distnb.client.record.eager import delivered
from distnb.client.record.namespace import stands_for
from distnb.client.record.operations import elementwise
from distnb.common.errors import explain
from distnb.geometry.layout import Ints

__all__ = ["einsum", "einsum_path"]

#: Products that NumPy adds up in the time that engines take to be asked.
_FEW = 1 << 20

_LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"


@stands_for(np.einsum, small="sums")
def einsum(
    *operands_: Any,
    out: Array | None = None,
    dtype: DTypeLike | None = None,
    order: Order = "K",
    casting: str = "safe",
    optimize: bool | str | Sequence[Any] = True,
) -> Array:
    """Sum products of operands over axes that have letters.

    NumPy finds in which order to take the operands. Two of them are multiplied as by
    :func:`distnb.tensordot`, so the result lies, and elements travel, as there. A transposed
    operand, or a diagonal, is a view.

    Parameters
    ----------
    *operands_
        Subscripts as a text and arrays; or arrays, each before a list of the numbers of its axes.
    out : DistArray, optional
        Where the result is put.
    dtype : dtype, optional
        In which it is computed; by default as in NumPy.
    order : str
        Changes nothing: elements lie as the layout says.
    casting : str
        Which casts to ``dtype`` are allowed.
    optimize : bool, str or sequence
        How the order is found, or which it is, as :func:`einsum_path` returns it.

    Returns
    -------
    DistArray
        With the axes that come after ``->``; without it, letters that come once, in their order.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(3):
    ...     a = dnb.ones((4, 5))
    ...     dnb.einsum("ij,kj->ik", a, a).shape, float(dnb.einsum("ij,ij->", a, a))
    ((4, 4), 20.0)
    """
    text, arrays = _given(operands_)
    order_of(order)
    given = [x.dtype for x in (*arrays, out) if isinstance(x, Array | np.ndarray)]
    kind = np.result_type(*given) if dtype is None else np.dtype(dtype)
    for x in arrays:
        if not np.can_cast(x.dtype, kind, casting):  # type: ignore[arg-type]
            raise TypeError(
                explain("einsum", f"{x.dtype} to {kind}", f"a {casting!r} cast", "see casting=")
            )
    if out is None and _is_view(text, arrays):  # of whatever dtype
        (labels,), wanted = _letters(text, arrays)
        if len(labels) == len(wanted):
            return arrays[0].transpose([labels.index(c) for c in wanted])
        seen: Array = look_at(arrays[0], Diagonals(labels, wanted))
        return seen
    if all_here(arrays, arrays[0].session):
        values = [x.here for x in arrays]
        found = watched("einsum", np.einsum, text, *values, dtype=kind, casting=casting)
        result = array_of(arrays[0].session, np.array(found, kind, order="C"))  # it may be a view
    else:
        result = _in_reach(text, arrays, kind, casting)
        if result is None:
            result = _on_engines(text, arrays, kind, optimize)
    return delivered(result, out, casting)


def _in_reach(text: str, arrays: Sequence[Array], dtype: np.dtype, casting: str) -> Any:
    """Return what NumPy makes of few products in reach; None if engines are to make it.

    As of other products, the last digits depend on who computes; not those of one operand's sums.
    """
    if len(arrays) < 2 or text.count(",") + 1 != len(arrays):
        return None
    session, (ins, _) = arrays[0].session, _letters(text, arrays)
    if [len(labels) for labels in ins] != [x.ndim for x in arrays]:
        return None
    lengths: dict[str, int] = {}
    for x, labels in zip(arrays, ins, strict=True):
        lengths |= {c: max(n, lengths.get(c, 1)) for c, n in zip(labels, x.shape, strict=True)}
    if not 0 < prod(lengths.values()) <= _FEW or any(x.session is not session for x in arrays):
        return None
    if not admitted(session, arrays, sum(x.nbytes for x in arrays)):
        return None
    nears = [x.near for x in arrays]
    if any(near is None for near in nears):  # another thread has given it to engines
        return None
    made = watched("einsum", np.einsum, text, *nears, dtype=dtype, casting=casting)
    found = np.array(made, order="C", copy=None)
    if not found.shape:
        return array_of(session, found)
    layout = promise(session, einsum, (text, *map(part, arrays)), {}, found.shape, 0)
    return fresh(session, found, layout)


def _path(
    text: str, arrays: Sequence[Array], optimize: bool | str | Sequence[Any] = "greedy"
) -> list[Any]:
    """Return in which order NumPy would contract arrays; raise what ``numpy.einsum`` raises."""
    known = isinstance(optimize, bool | str)  # else it may be a list
    find = _path_of if known else _path_of.__wrapped__
    try:
        return find(text, tuple([x.shape for x in arrays]), optimize)
    except IndexError as error:
        wrong = "einstein sum subscripts string contains too few subscripts for an operand"
        raise ValueError(wrong) from error


@functools.lru_cache(256)
def _path_of(text: str, shapes: tuple[Ints, ...], optimize: bool | str) -> list[Any]:
    """Return NumPy's path for arrays of such shapes; small products take less than finding it."""
    stand_ins = [np.broadcast_to(np.empty(()), shape) for shape in shapes]
    return np.einsum_path(text, *stand_ins, optimize=optimize)[0]


def _is_view(text: str, arrays: Sequence[Array]) -> bool:
    """Tell whether NumPy's result is a view: with the axes in another order, or of a diagonal."""
    if len(arrays) > 1:
        return False
    _path(text, arrays)  # raises what NumPy raises
    (labels,), wanted = _letters(text, arrays)
    return set(labels) == set(wanted)


class Diagonals(NamedTuple):
    """The elements whose indices are equal where letters are, with axes as ``wanted``."""

    labels: str
    wanted: str

    def near(self, x: np.ndarray) -> np.ndarray:
        """Return NumPy's view."""
        return np.einsum(f"{self.labels}->{self.wanted}", x)

    def made(self, x: Array) -> Array:
        """Return a new array on the engines with what ``x`` has now."""
        return _on_engines(f"{self.labels}->{self.wanted}", [x], x.dtype, True)

    def put(self, x: Array, found: Array) -> None:
        """Write what such an array has now into ``x``."""
        open_mesh = np.ix_(*map(np.arange, found.shape))
        x[tuple([open_mesh[self.wanted.index(c)] for c in self.labels])] = found

    def after(self, before: Any) -> Any:
        """Return None: it is not one with any other way."""


@stands_for(np.einsum_path)
def einsum_path(
    *operands_: Any, optimize: bool | str | Sequence[Any] = "greedy", **options: Any
) -> tuple[Any, str]:
    """Return in which order :func:`einsum` takes its operands, and a text about it.

    It follows from the shapes: nothing is computed or sent.

    Parameters
    ----------
    *operands_
        As of :func:`einsum`.
    optimize : bool, str or sequence
        How the order is found: as in NumPy.
    **options
        Others of ``numpy.einsum_path``.

    Returns
    -------
    path : list
        Which operands are multiplied, step by step.
    text : str
        What that costs.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     a, b = dnb.ones((9, 2), dist="block"), dnb.ones((2, 9), dist="block")
    ...     dnb.einsum_path("ij,jk,kl->il", a, b, a)[0]
    ['einsum_path', (1, 2), (0, 1)]
    """
    text, arrays = _given(operands_)
    return np.einsum_path(text, *map(_stand_in, arrays), optimize=optimize, **options)


def _given(given: Sequence[Any]) -> tuple[str, tuple[Array, ...]]:
    """Return subscripts as a text, and the operands."""
    if not given:
        raise ValueError("No input operands")
    if isinstance(given[0], str):
        if len(given) == 1:
            raise ValueError("must provide at least an operand and a subscripts list to einsum")
        return given[0].replace(" ", ""), operands(*given[1:])
    if len(given) == 1:
        raise ValueError("must provide at least an operand and a subscripts list to einsum")
    arrays, lists = given[:-1:2], given[1::2]
    parts = [_spelled(subscripts) for subscripts in lists]
    text = ",".join(parts) + (f"->{_spelled(given[-1])}" if len(given) % 2 else "")
    return text, operands(*arrays)


def _spelled(given: Sequence[Any] | ArrayLike) -> str:
    listed = isinstance(given, list | tuple)
    subscripts = numbers_in(given) if listed else np.asarray(given).tolist()
    if not isinstance(subscripts, list | tuple) or not all(map(_is_subscript, subscripts)):
        raise TypeError(
            explain("subscripts", given, "a list of integers, or ...", "name axes by integers")
        )
    for i in subscripts:
        if i is not Ellipsis and not 0 <= i < len(_LETTERS):
            raise ValueError(f"subscript is not within the valid range [0, {len(_LETTERS)})")
    return "".join("..." if i is Ellipsis else _LETTERS[i] for i in subscripts)


def _is_subscript(i: object) -> bool:
    return i is Ellipsis or (isinstance(i, int | np.integer) and not isinstance(i, bool))


def _stand_in(x: Array) -> np.ndarray:
    return np.broadcast_to(np.empty((), x.dtype), x.shape)


class _Term(NamedTuple):
    """An operand and the letters of its axes."""

    x: Array
    labels: str


def _on_engines(
    text: str, arrays: Sequence[Array], dtype: np.dtype, optimize: bool | str | Sequence[Any]
) -> Array:
    path = _path(text, arrays, optimize=optimize or "greedy")
    ins, out = _letters(text, arrays)
    terms = [
        _Term(x if x.dtype == dtype else x.astype(dtype), labels)
        for x, labels in zip(arrays, ins, strict=True)
    ]
    for step in path[1:]:
        group = [terms.pop(i) for i in sorted(step, reverse=True)][::-1]
        while len(group) > 1:
            wanted = set(out).union(*(t.labels for t in (*terms, *group[2:])))
            group[:2] = [_pair(group[0], group[1], wanted)]
        terms.append(group[0])
    last = _reduced(terms[0], set(out))
    return last.x.transpose([last.labels.index(c) for c in out])


def _letters(text: str, arrays: Sequence[Array]) -> tuple[list[str], str]:
    """Return the letters of each operand and of the result, an ellipsis being written out."""
    left, arrow, out = text.partition("->")
    ins = left.split(",")
    free = [c for c in _LETTERS if c not in text]
    pairs = list(zip(arrays, ins, strict=True))
    most = max((x.ndim - len(p) + 3 for x, p in pairs if "..." in p), default=0)
    spare = "".join(free[:most])
    if arrow and most and "..." not in out:
        got = f"{text!r}, of which an operand has {most} axes in place of '...'"
        raise ValueError(explain("einsum", got, "'...' in the result, too", "write it there"))
    if not arrow:
        once = [c for c in sorted(set(left) - set(".,")) if left.count(c) == 1]
        out = ("..." if "..." in left else "") + "".join(once)
    full = [
        p.replace("...", spare[most - (x.ndim - len(p) + 3) :] if "..." in p else "")
        for x, p in pairs
    ]
    return full, out.replace("...", spare)


def _reduced(term: _Term, wanted: set[str]) -> _Term:
    """Take diagonals of letters that come twice, and sum over those that nobody wants."""
    x, labels = term
    for c in sorted(set(labels)):
        while labels.count(c) > 1:
            i = labels.index(c)
            j = labels.index(c, i + 1)
            if x.shape[i] != x.shape[j]:
                raise ValueError(
                    explain(
                        "einsum", f"{c!r} of {x.shape[i]} and {x.shape[j]}", "one length", "cut"
                    )
                )
            x = diagonal(x, 0, i, j)
            labels = labels[:i] + labels[i + 1 : j] + labels[j + 1 :] + c
    axes = tuple(i for i, c in enumerate(labels) if c not in wanted)
    if axes:
        x = add_up(x, axes)
        labels = "".join(c for c in labels if c in wanted)
    return _Term(x, labels)


def _pair(a: _Term, b: _Term, wanted: set[str]) -> _Term:
    """Multiply two operands, and sum over what nobody wants any more."""
    a, b = _reduced(a, wanted | set(b.labels)), _reduced(b, wanted | set(a.labels))
    a, b = _narrow(a, b), _narrow(b, a)
    a, b = _reduced(a, wanted | set(b.labels)), _reduced(b, wanted | set(a.labels))
    out = "".join(dict.fromkeys(c for c in a.labels + b.labels if c in wanted))
    if set(a.labels) == set(b.labels) == set(out):
        order = [b.labels.index(c) for c in a.labels]
        return _Term(elementwise("multiply", a.x, b.x.transpose(order)), a.labels)
    ia, ib, io = (tuple(map(ord, s)) for s in (a.labels, b.labels, out))
    return _Term(contract(a.x, ia, b.x, ib, io), out)


def _narrow(a: _Term, b: _Term) -> _Term:
    """Leave out axes of length 1 that are longer in the other operand: these are stretched."""
    x, labels = a
    for c in a.labels:
        i = labels.index(c)
        if x.shape[i] == 1 and c in b.labels and b.x.shape[b.labels.index(c)] != 1:
            x, labels = x.alias(x.dview.fix(i, 0)), labels[:i] + labels[i + 1 :]
    return _Term(x, labels)
