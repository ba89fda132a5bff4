"""Exceptions as bytes, and back: of the class that was raised, with what it was made of."""

from __future__ import annotations

import pickle
from typing import Any, cast

__all__ = ["packed", "unpacked"]

#: Modules of exceptions that are made again of their arguments, as their authors promise.
_KNOWN = ("builtins", "numpy.exceptions", "numpy.linalg")
#: Bytes of one at most: arguments can be arrays.
_MOST = 1 << 16


def packed(error: BaseException) -> bytes:
    """Return an exception as what it is made of again.

    Empty for what is no ``Exception``, and for what cannot be sent. A class that the notebook has
    defined is the same there.
    """
    if not isinstance(error, Exception):
        return b""
    try:
        cls, args = type(error), error.args
        state = {name: x for name, x in vars(error).items() if name != "__notes__"}
        if cls.__module__ in _KNOWN:
            args = cast(tuple[Any, ...], error.__reduce__())[1]  # also the name of a file
            found = pickle.dumps((cls, args, state), protocol=5)
        else:
            import cloudpickle  # which takes its time to import

            found = cloudpickle.dumps((cls, args, state))
    except Exception:  # whatever code of the user's raises
        return b""
    return found if len(found) <= _MOST else b""


def unpacked(data: bytes) -> Exception | None:
    """Return the exception that :func:`packed` was given; None if it cannot be had.

    The ``__init__`` of a class of the user's may want other arguments. Not for bytes of strangers:
    they are a pickle.

    >>> unpacked(packed(FileNotFoundError(2, "not there", "a.npy"))).errno
    2
    """
    if not data:
        return None
    try:
        cls, args, state = pickle.loads(data)
        error: Exception
        if cls.__module__ in _KNOWN:
            error = cls(*args)
        else:
            error = cls.__new__(cls, *args)
            error.args = args
        error.__dict__.update(state)
    except Exception:  # the class is not there, or does not want to be made so
        return None
    return error
