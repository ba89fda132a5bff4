"""SciPy's sparse arrays beside ours: its operators leave to ours, its functions get SciPy's own.

What looks into an array gets it from the engines, within the gather budget. What needs products
alone, as iterative solvers do, is no part of this: for these engines multiply.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from distnb.client.array.distarray import DistArray
from distnb.client.sparse.arithmetic import sent
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.scipys import is_matrix
from distnb.libraries.hook import put_in_place, unseen

__all__ = [
    "DENSE_RESULT",
    "LATER",
    "SPARSE",
    "SPARSE_RESULT",
    "densely",
    "numpys",
    "sparsely",
    "take_sparse_arrays",
    "taking",
]

_Function = Callable[..., Any]

#: What is not imported with the package that it is in.
LATER = (
    *("scipy.sparse.linalg", "scipy.sparse.csgraph", "scipy.linalg.interpolative"),
    "torch.utils.data._utils.collate",
)
#: Operators with a dense result, which lies where the dense operand does.
DENSE_RESULT = {
    "scipy.sparse._base": """
        _spbase.__add__ _spbase.__radd__ _spbase.__sub__ _spbase.__rsub__ _spbase.__eq__
        _spbase.__ne__ _spbase.__lt__ _spbase.__le__ _spbase.__gt__ _spbase.__ge__
        _spbase.maximum _spbase.minimum
    """,
    "scipy.sparse._dok": "_dok_base.__add__ _dok_base.__radd__",
}
#: Methods that do not ask the other operand, which may be sparse.
SPARSE_RESULT = {
    "scipy.sparse._base": "_spbase.multiply",
    "scipy.sparse._dia": "_dia_base.multiply",
}
#: Where SciPy has functions for sparse arrays: those that are there with its package, and others.
SPARSE = {
    "scipy.sparse": ("_construct", "_extract", "_matrix_io"),
    "scipy.sparse.csgraph": ("csgraph",),
    "scipy.sparse.linalg": ("linalg",),
}
#: What those of linear algebra say of what they take if products are all that they need.
_OPERATOR = re.compile("linear ?operator", re.IGNORECASE)


def take_sparse_arrays(library: str) -> None:
    """Let functions of a module of SciPy's, and its classes, take sparse arrays of ours."""
    for name in SPARSE[library]:
        module = f"scipy.sparse.{name}"
        for public in sys.modules[module].__all__:
            if _looks_into(name, vars(sys.modules[module])[public]):
                put_in_place(module, public, partial(taking, _scipys))
    if library == "scipy.sparse":
        for kind in _kinds():
            put_in_place(kind.__module__, f"{kind.__name__}.__init__", _constructing)


def _looks_into(name: str, function: object) -> bool:
    """Tell whether something is a function that needs more of arrays than products."""
    if isinstance(function, type) or not callable(function):
        return False
    return name != "linalg" or not _OPERATOR.search(function.__doc__ or "")


def _kinds() -> list[type]:
    """Return the classes that make sparse arrays of others."""
    found, left = [], [vars(sys.modules["scipy.sparse._base"])["_spbase"]]
    while left:
        kind = left.pop()
        left += kind.__subclasses__()
        own = vars(kind).get("__init__")
        if own is not None and "shape" in inspect.signature(own).parameters:
            found.append(kind)
    return found


def taking(as_theirs: _Function, function: _Function) -> _Function:
    """Return a function that gets, and returns, arrays of ours as a library's."""

    def called(*args: Any, **options: Any) -> Any:
        known = dict[int, Any]()
        if options:  # what is written to stays what it is
            options = {
                k: v if k == "out" else _once(as_theirs, v, known) for k, v in options.items()
            }
        return as_theirs(function(*[_once(as_theirs, x, known) for x in args], **options))

    return called


def _once(as_theirs: _Function, x: Any, known: dict[int, Any]) -> Any:
    """Return what an argument becomes: one thing, however often it is given (``csd(x, x)``)."""
    if (found := known.get(id(x), known)) is known:
        found = known[id(x)] = as_theirs(x)
    return found


def numpys(x: Any) -> Any:
    """Return an array of ours as NumPy's, a scalar as NumPy's scalar, and all else as it is."""
    return np.asarray(x)[()] if type(x) is DistArray else x


def _scipys(x: Any) -> Any:
    """Return a sparse array of ours as SciPy's, those of a list too, and a dense one as NumPy's."""
    kind = type(x)
    if kind is list or kind is tuple:
        kinds = {*map(type, x)}
        some = list in kinds or tuple in kinds or not kinds.isdisjoint(Sparse.kinds.values())
        return kind([_scipys(each) for each in x]) if some else x
    return x._gathered() if isinstance(x, Sparse) else numpys(x)


def _constructing(function: _Function) -> _Function:
    def called(made: Any, arg1: Any, *args: Any, **options: Any) -> None:
        function(made, arg1._gathered() if isinstance(arg1, Sparse) else arg1, *args, **options)

    return called


def sparsely(function: _Function) -> _Function:
    """Return a method that is ours if the other operand is a sparse array of ours."""

    def called(x: Any, other: Any) -> Any:
        if not isinstance(other, Sparse):
            return function(x, other)
        return getattr(sent(x, other.session), function.__name__)(other)

    return called


def densely(function: _Function) -> _Function:
    """Return a method that is ours if the other operand is an array of ours."""
    among = unseen(sparsely(function))

    def called(x: Any, other: Any) -> Any:
        if type(other) is not DistArray:
            return among(x, other)
        if not other.ndim or x.ndim > 2 or is_matrix(x):  # whose dense results are matrices
            return function(x, numpys(other))
        return getattr(sent(x, other.session), function.__name__)(other)

    return called
