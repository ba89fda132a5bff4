"""``x.flags`` and ``x.strides``: what NumPy says of an array's memory, as if it were one piece."""

from __future__ import annotations

from math import prod
from typing import Any

from distnb.client.handle.array import Array
from distnb.client.reach.aliasing import outline
from distnb.common.errors import explain
from distnb.geometry.layout import Ints

__all__ = ["Flags", "strides_of"]


def strides_of(x: Array) -> Ints:
    """Return the bytes from one element to the next along each axis, in the memory of its base.

    On engines the memory is in parts: the numbers are those of NumPy's array in C order.
    """
    return outline(x).strides


class Flags:
    """What is known of an array's memory, under NumPy's names; ``writeable`` can be set.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     x = dnb.zeros((4, 3))
    ...     x.flags.c_contiguous, x.T.flags.c_contiguous, x.T.flags["F"]
    (True, False, True)
    """

    __slots__ = ("_array",)
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, array: Array) -> None:
        self._array = array

    def _model(self) -> Any:
        """Return the flags of an array of NumPy's with the same strides."""
        return outline(self._array).flags

    @property
    def writeable(self) -> bool:
        """Whether elements can be assigned to."""
        return self._array.writeable

    @writeable.setter
    def writeable(self, value: bool) -> None:
        x = self._array
        if value and not x.writeable and (x.single or not self._may_be_written()):
            raise ValueError(
                explain("writeable", True, "False, as the array is a view", "set it of a .copy()")
            )
        near = x.dbase.near
        if value and near is not None:
            near.flags.writeable = True  # NumPy says whether it may be
        x.writeable = bool(value)
        x._near = None

    def _may_be_written(self) -> bool:
        """Tell whether it is all of its memory, or shows other places of what can be written."""
        x, owner = self._array, self._array.owner
        if owner is not None and not owner.writeable:
            return False
        if owner is None or owner.dbase is not x.dbase:
            return x.size == prod(x.dbase.shape)
        return all(s for s, n in zip(outline(x).strides, x.shape, strict=True) if n > 1)

    @property
    def owndata(self) -> bool:
        """Whether the array is all of its memory, in whatever order, and no view."""
        base = self._array.dbase
        looks = self._array.owner is not None or (base.look is not None and base.look.steps)
        return self._array.size == prod(base.shape) and not looks

    @property
    def aligned(self) -> bool:
        """True: elements lie where the processor wants them."""
        return True

    @property
    def writebackifcopy(self) -> bool:
        """False: an array is no copy of another one."""
        return False

    @property
    def behaved(self) -> bool:
        """Whether the array is aligned and writeable."""
        return self.writeable

    @property
    def carray(self) -> bool:
        """Whether the array is behaved and in C order."""
        return self.writeable and self._model().c_contiguous

    @property
    def farray(self) -> bool:
        """Whether the array is behaved and in Fortran's order, and not in C order."""
        return self.writeable and self.fnc

    @property
    def c_contiguous(self) -> bool:
        """Whether the elements follow one another in C order."""
        return self._model().c_contiguous

    @property
    def f_contiguous(self) -> bool:
        """Whether the elements follow one another in Fortran's order."""
        return self._model().f_contiguous

    @property
    def contiguous(self) -> bool:
        """As ``c_contiguous``."""
        return self._model().c_contiguous

    @property
    def fortran(self) -> bool:
        """As ``f_contiguous``."""
        return self._model().f_contiguous

    @property
    def fnc(self) -> bool:
        """Whether the array is in Fortran's order, and not in C order."""
        return self._model().fnc

    @property
    def forc(self) -> bool:
        """Whether the array is in one of both orders."""
        return self._model().forc

    def __getitem__(self, key: str) -> bool:
        return bool(getattr(self, _name(key)))

    def __setitem__(self, key: str, value: bool) -> None:
        setattr(self, _name(key), value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Flags) and repr(self) == repr(other)

    def __repr__(self) -> str:
        shown = [
            "C_CONTIGUOUS",
            "F_CONTIGUOUS",
            "OWNDATA",
            "WRITEABLE",
            "ALIGNED",
            "WRITEBACKIFCOPY",
        ]
        return "".join(f"  {name} : {self[name]}\n" for name in shown)


#: NumPy's short names of flags.
_SHORT = {
    **{"C": "c_contiguous", "F": "f_contiguous", "O": "owndata", "W": "writeable"},
    **{"A": "aligned", "X": "writebackifcopy", "B": "behaved", "CA": "carray", "FA": "farray"},
}


def _name(key: str) -> str:
    """Return the attribute that a key names."""
    name = _SHORT.get(key, str(key).lower())
    if not isinstance(getattr(Flags, name, None), property):
        raise KeyError("Unknown flag")
    return name
