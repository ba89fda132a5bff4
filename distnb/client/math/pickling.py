"""Functions of the user's as bytes: with all of the notebook that they use, as it is now."""

from __future__ import annotations

import inspect
import io
import pickle
import sys
from functools import cache
from types import CodeType, ModuleType
from typing import Any

from distnb.client.handle.array import Array
from distnb.common import calling
from distnb.common.errors import GatherError, explain
from distnb.common.interrupts import interrupts

__all__ = ["pickled"]


#: What cloudpickle has in place of the file of code: an error is to tell the line in it.
_NOWHERE = "<dynamic-code>"


@cache
def _pickler() -> Any:
    """Return what writes functions of the notebook with all that they use, but no arrays of ours.

    It is made when the first function is sent: what it derives from takes its time to import.
    """
    import cloudpickle

    class Pickler(cloudpickle.Pickler):  # type: ignore[misc]
        reads = False

        def reducer_override(self, obj: Any) -> Any:
            name = _numpys_name(obj)
            if name is not None:
                return calling.numpys, name
            if isinstance(obj, CodeType):
                make, args = self.dispatch_table[CodeType](obj)
                return make, tuple([obj.co_filename if a == _NOWHERE else a for a in args])
            if isinstance(obj, Array) and self.reads:
                return calling.read_only, (obj.__array__(),)
            if isinstance(obj, Array):
                raise pickle.PicklingError(f"it uses a distributed array of shape {obj.shape}")
            return super().reducer_override(obj)

    return Pickler


#: Public modules of ours, which are NumPy's for functions on engines -> their names there.
_PUBLIC = {"distnb": "numpy", "distnb.linalg": "numpy.linalg", "distnb.fft": "numpy.fft"}


def _numpys_name(obj: object) -> tuple[str, ...] | None:
    """Return the module of NumPy's, and the name in it, that an object of ours stands for.

    With ``import distnb as np``, functions of the notebook use our names. They get NumPy's arrays
    on engines, where there is no session to record anything in.
    """
    if isinstance(obj, ModuleType):
        return (_PUBLIC[obj.__name__],) if obj.__name__ in _PUBLIC else None
    room = str(getattr(obj, "__module__", ""))
    if not (room.startswith("distnb.") and (inspect.isroutine(obj) or isinstance(obj, type))):
        return None
    name = obj.__name__
    for ours, numpys in _PUBLIC.items():
        if getattr(sys.modules.get(ours), name, None) is obj and hasattr(sys.modules[numpys], name):
            return numpys, name
    return None


def pickled(function: object, reads: bool = False) -> bytes:
    """Return a function as bytes; raise TypeError if it cannot be sent.

    Where it ``reads`` arrays of ours, as one of scalars or slices can, it gets them as NumPy's,
    read-only, within the gather budget. One of parts would take another part for its own.
    """
    out = io.BytesIO()
    try:
        pickler = _pickler()(out, protocol=5)
        pickler.reads = reads
        pickler.dump(function)
    except GatherError:
        raise
    except Exception as error:  # whatever the user's objects raise
        if interrupts(error):
            raise
        raise TypeError(
            explain(
                "function",
                f"one that cannot be pickled: {error}",
                "one that can be sent to the engines",
                "pass arrays as arguments, and import or make in it what it needs",
            )
        ) from error
    return out.getvalue()
