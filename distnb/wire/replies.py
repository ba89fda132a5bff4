"""Replies as bytes, and back.

Most replies are short, and the notebook waits for them. Plain tuples and bytes take a quarter of
the time that named tuples and arrays take to be pickled. What is large travels apart from the text,
and is not copied.
"""

from __future__ import annotations

import pickle
from collections.abc import Sequence
from typing import Any

import numpy as np

from distnb.common.errors import explain
from distnb.measure.records import Times
from distnb.wire.channel import SMALL, raw
from distnb.wire.messages import Reply

__all__ = ["decode", "encode"]


def encode(reply: Reply) -> tuple[bytes, list[np.ndarray]]:
    """Return a reply as bytes, and apart from it the bytes of its large arrays.

    >>> reply = Reply(1, (), (), (), {7: np.arange(2.0)}, Times(0, (), b"", b"", b""), False)
    >>> decode(*encode(reply)).values
    {7: array([0., 1.])}
    """
    arrays: list[np.ndarray] = []
    values: list[tuple[Any, ...]] = []
    for slot, value in reply.values.items():
        if not isinstance(value, np.ndarray):
            values.append((slot, value))
        elif value.nbytes <= SMALL:
            values.append((slot, value.dtype.str, value.shape, value.tobytes()))
        else:
            values.append((slot, value.dtype.str, value.shape, len(arrays)))
            arrays.append(raw(value))
    rank, failures, lost, warnings, _, times, *rest = reply
    plain = (rank, failures, lost, warnings, values, tuple(times), *rest)
    return pickle.dumps(plain, protocol=5), arrays


def decode(text: bytes, arrays: Sequence[np.ndarray | None]) -> Reply:
    """Return the reply that :func:`encode` was given; its arrays may be read-only.

    In place of an array for which there was no memory stands a MemoryError. Not for texts of
    strangers: it is a pickle.
    """
    rank, failures, lost, warnings, values, times, *rest = pickle.loads(text)
    found = {slot: _value(value, arrays) for slot, *value in values}
    return Reply(rank, failures, lost, warnings, found, Times(*times), *rest)


def _value(value: Sequence[Any], arrays: Sequence[np.ndarray | None]) -> Any:
    if len(value) == 1:
        return value[0]
    dtype, shape, data = value
    found = data if type(data) is bytes else arrays[data]
    if found is None:
        return MemoryError(
            explain(
                "memory of the notebook",
                f"no room for a part of shape {shape}, {dtype}",
                "room for all of what is read",
                "read a part of it, or delete what is not needed; arrays are unharmed",
            )
        )
    return np.ndarray(shape, dtype, found)
