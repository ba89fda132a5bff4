"""What operations take besides distributed arrays, and what makes its own of what comes out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

import numpy as np

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import Readable
from distnb.ops.scalars import NUMBERS

__all__ = [
    "beside_text",
    "by_numpy",
    "decides",
    "is_derived",
    "is_sequence",
    "left_to_others",
    "others_in",
    "understood",
]

#: What operations take besides distributed arrays. An array of another library takes part by the
#: protocols that it has itself.
_UNDERSTOOD = (Array, Readable, np.ndarray, np.generic, list, tuple, *NUMBERS)
_TEXTS = (str, bytes, bytearray)
#: What a class has whose objects have a length, and items. (Of an enumeration the class has.)
_ITEMS = ("__len__", "__getitem__")


def understood(x: Any) -> bool:
    """Tell whether operations take ``x`` as an operand: what has no operations of its own."""
    if isinstance(x, _UNDERSTOOD) or (isinstance(x, Sequence) and not isinstance(x, _TEXTS)):
        return not is_derived(x)
    kind = type(x)
    has = hasattr(kind, "__array__") or is_sequence(x)
    return has and not any(hasattr(kind, name) for name in _SAYS)


def is_sequence(x: object) -> bool:
    """Tell whether NumPy reads something item by item: what has a length and items, but no text."""
    kind = type(x)
    has = all(any(name in vars(c) for c in kind.__mro__) for name in _ITEMS)
    return has and not (isinstance(x, _TEXTS) or hasattr(kind, "keys"))


#: What a class has that takes part in ufuncs by itself, or makes its own of what comes out.
_SAYS = ("__array_ufunc__", "__array_priority__", "__array_wrap__")


def is_derived(x: object) -> bool:
    """Tell whether something is of a class derived from NumPy's arrays, but one that maps a file.

    Such as masked arrays: elements are not all there is, so results are for the class to make.
    """
    return isinstance(x, np.ndarray) and type(x) not in (np.ndarray, np.memmap)


def by_numpy(run: Callable[..., Any], *inputs: object, **options: object) -> Any:
    """Call NumPy, which gives what comes out to the class of an operand.

    Arrays are gathered without being asked to, so the budget for that holds.
    """
    return run(*map(_gathered, inputs), **{k: _gathered(x) for k, x in options.items()})


def _gathered(x: Any) -> Any:
    """Return NumPy's array of a distributed one, also within lists."""
    if isinstance(x, Array):
        return np.asarray(x)
    return type(x)(map(_gathered, x)) if type(x) in (list, tuple) else x


#: NumPy's functions whose results have what they are given, in which strings are elements.
_OF_ELEMENTS = (np.where, np.select, np.choose, np.insert, np.broadcast_arrays)
#: Those that write what they are given, by pickling what they cannot write otherwise.
_TO_FILES = (np.save, np.savez, np.savez_compressed)


def beside_text(function: Callable[..., Any], given: Iterable[Any]) -> bool:
    """Tell whether a function of NumPy's is given text, times or records of NumPy's.

    No distributed array can hold what comes of these; NumPy's can.
    """
    kinds = "USMmVO" if function in _OF_ELEMENTS else "USMmV" if function not in _TO_FILES else ""
    return any(_is_text(x, kinds, function in _OF_ELEMENTS) for x in given)


def _is_text(x: object, kinds: str, strings: bool) -> bool:
    if type(x) in (list, tuple):
        return any(_is_text(each, kinds, strings) for each in cast(Sequence[object], x))
    if isinstance(x, np.ndarray | np.generic):
        return x.dtype.kind in kinds
    return strings and isinstance(x, str | bytes | None)


def decides(x: object) -> bool:
    """Tell whether a class has a say in ufuncs, or nothing that could be made an array."""
    return _has_say(x) or not hasattr(type(x), "__array__")


def _has_say(x: object) -> bool:
    """Tell whether a class, other than of arrays, has a say in ufuncs."""
    if isinstance(x, Array):
        return False
    own = getattr(type(x), "__array_ufunc__", np.ndarray.__array_ufunc__)
    return own is not np.ndarray.__array_ufunc__


def left_to_others(
    ufunc: np.ufunc, method: str, inputs: Sequence[Any], options: dict[str, Any]
) -> bool:
    """Tell whether a ufunc is left to others that have a say; raise what NumPy raises of text."""
    if others_in(options):
        return True
    if method == "at":  # which writes into the first one
        return any(map(_has_say, inputs))
    others = [x for x in inputs if not understood(x)]
    if any(isinstance(x, _TEXTS) for x in others):
        ufunc(*[np.empty(0, x.dtype) if isinstance(x, Array) else x for x in inputs])
    return any(map(decides, others))


def others_in(options: dict[str, Any]) -> list[Any]:
    """Return the outputs, and the mask, of a ufunc that have a say in it."""
    out = options.get("out")
    given = (*(out if isinstance(out, tuple) else (out,)), options.get("where"))
    return [x for x in given if _has_say(x)]
