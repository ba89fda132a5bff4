"""Functions of the user's as bytes: with all of the notebook that they use, as it is now."""

from __future__ import annotations

import io
import pickle
from functools import cache
from typing import Any

from distnb.client.handle.array import Array
from distnb.common.errors import explain

__all__ = ["pickled"]


@cache
def _pickler() -> Any:
    """Return what writes functions of the notebook with all that they use, but no arrays of ours.

    It is made when the first function is sent: what it derives from takes its time to import.
    """
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        def reducer_override(self, obj: Any) -> Any:
            if isinstance(obj, Array):
                raise pickle.PicklingError(f"it uses a distributed array of shape {obj.shape}")
            return super().reducer_override(obj)

    return Pickler


def pickled(function: object) -> bytes:
    """Return a function as bytes; raise TypeError if it cannot be sent."""
    out = io.BytesIO()
    try:
        _pickler()(out, protocol=5).dump(function)
    except Exception as error:  # whatever the user's objects raise
        raise TypeError(
            explain(
                "function",
                f"one that cannot be pickled: {error}",
                "one that can be sent to the engines",
                "pass arrays as arguments, and import or make in it what it needs",
            )
        ) from error
    return out.getvalue()
