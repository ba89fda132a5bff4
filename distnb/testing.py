"""``distnb.testing``: NumPy's assertions for distributed arrays, and strategies for tests.

What is larger than the gather budget is compared slice by slice. The strategies and what else is in
``distnb.strategies`` are here as well; they need ``hypothesis``.
"""

from __future__ import annotations

import functools
import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy import testing as _numpys
from numpy.testing import (
    IgnoreException,
    KnownFailureException,
    SkipTest,
    assert_,
    assert_no_warnings,
    assert_raises,
    assert_raises_regex,
    assert_string_equal,
    assert_warns,
    clear_and_catch_warnings,
    suppress_warnings,
    tempdir,
    temppath,
)

from distnb.client.handle.array import Array
from distnb.common.config import config
from distnb.common.errors import explain
from distnb.left_out import listing, refusal, unknown

__all__ = [
    "IgnoreException",
    "KnownFailureException",
    "SkipTest",
    "assert_",
    "assert_allclose",
    "assert_almost_equal",
    "assert_approx_equal",
    "assert_array_almost_equal",
    "assert_array_almost_equal_nulp",
    "assert_array_equal",
    "assert_array_less",
    "assert_array_max_ulp",
    "assert_equal",
    "assert_no_warnings",
    "assert_raises",
    "assert_raises_regex",
    "assert_string_equal",
    "assert_warns",
    "clear_and_catch_warnings",
    "suppress_warnings",
    "tempdir",
    "temppath",
]

_unknown = unknown(__name__)


def _strategy(name: str) -> Any:
    """Return what tests draw, which is imported when it is asked for."""
    if name.startswith("_"):
        return _unknown(name)
    try:
        strategies = importlib.import_module("distnb.strategies")
    except ModuleNotFoundError as error:
        raise AttributeError(
            explain(f"distnb.testing.{name}", error, "hypothesis", "pip install hypothesis")
        ) from error
    return getattr(strategies, name) if hasattr(strategies, name) else _unknown(name)


__getattr__ = refusal(__name__, _strategy)
__dir__ = listing(__all__)


def _asserts(numpys: Callable[..., Any]) -> Callable[..., Any]:
    """Return one of NumPy's assertions about two arguments, for distributed arrays as well."""
    signature = inspect.signature(numpys)
    first, second = list(signature.parameters)[:2]

    @functools.wraps(numpys)
    def compare(*args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        given, found = signature.bind(*args, **options), None
        for one, other in _pieces(given.arguments[first], given.arguments[second]):
            given.arguments |= {first: one, second: other}
            found = numpys(*given.args, **given.kwargs)
        return found

    compare.__doc__ = f"""Raise AssertionError as ``numpy.testing.{numpys.__name__}`` does.

    Arrays above the gather budget are compared slice by slice along their first axis.
    """
    return compare


def _pieces(one: Any, other: Any) -> Iterator[tuple[Any, Any]]:
    """Yield what is compared, in parts that fit the gather budget."""
    most = max((x.nbytes for x in (one, other) if isinstance(x, Array)), default=0)
    if most <= config.gather_budget:
        yield _host(one), _host(other)
        return
    shapes = [x.shape if isinstance(x, Array) else np.shape(x) for x in (one, other)]
    shape = max(shapes, key=len)
    if not (shapes[0] == shapes[1] or () in shapes):
        yield _hollow(one), _hollow(other)
        return
    rows = max(1, config.gather_budget * shape[0] // most)
    for low in range(0, shape[0], rows):
        at: Any = low if rows == 1 and len(shape) > 1 else slice(low, low + rows)
        yield from _pieces(*(x[at] if s else x for x, s in zip((one, other), shapes, strict=True)))


def _hollow(x: Any) -> Any:
    """Return what has the shape alone: where shapes differ, elements do not matter."""
    return np.broadcast_to(np.zeros((), x.dtype), x.shape) if isinstance(x, Array) else x


def _host(x: Any) -> Any:
    """Return NumPy's arrays for distributed ones, in lists and dicts as well."""
    if isinstance(x, Array):
        return x.__array__()[()] if not x.shape and x.single else x.__array__()
    if isinstance(x, tuple) and hasattr(x, "_fields"):
        return type(x)(*map(_host, x))
    if type(x) in (list, tuple):
        return type(x)(map(_host, x))
    return {key: _host(value) for key, value in x.items()} if type(x) is dict else x


assert_allclose = _asserts(_numpys.assert_allclose)
assert_almost_equal = _asserts(_numpys.assert_almost_equal)
assert_approx_equal = _asserts(_numpys.assert_approx_equal)
assert_array_almost_equal = _asserts(_numpys.assert_array_almost_equal)
assert_array_almost_equal_nulp = _asserts(_numpys.assert_array_almost_equal_nulp)
assert_array_equal = _asserts(_numpys.assert_array_equal)
assert_array_less = _asserts(_numpys.assert_array_less)
assert_array_max_ulp = _asserts(_numpys.assert_array_max_ulp)
assert_equal = _asserts(_numpys.assert_equal)
