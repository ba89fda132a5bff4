"""What stands for NumPy's functions when they meet distributed arrays.

``__array_function__`` and ``__array_ufunc__`` of :class:`distnb.DistArray` look here, and nobody
else: modules import the functions that they use.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from distnb.client.reach.decorators import ASKED, asks, gives, in_reach, makes_at_home
from distnb.client.reach.whole_functions import Kind, Makes
from distnb.common.errors import explain, quoted

__all__ = ["DEVICE", "FUNCTIONS", "check_device", "stands_for"]

_F = TypeVar("_F", bound=Callable[..., Any])

#: NumPy function -> what it does to distributed arrays.
FUNCTIONS: dict[Any, Callable[..., Any]] = {}

#: The one device of the array API standard that there is: where elements are is in ``layout``.
DEVICE = "cpu"


def stands_for(
    *numpys: Callable[..., Any],
    small: Kind | None = None,
    near: Callable[..., Any] | None = None,
    makes: Makes | None = None,
    scalar: bool | None = None,
    reduces: str | None = None,
) -> Callable[[_F], _F]:
    """Put a function in place of NumPy's for distributed arrays.

    A function whose name would hide one of Python's ends in ``_``; users see it without. ``small``
    is what kind of function it is if NumPy's own, or ``near`` in its place, may do it on small
    arrays in reach; ``makes``, of one that makes arrays out of nothing, returns how many elements
    there are at most. ``scalar`` says whether NumPy's returns scalars, or arrays of no axes;
    ``reduces``, which reduction a small one is.
    """

    def register(f: _F) -> _F:
        name = numpys[0].__name__
        if f.__name__ == f"{name}_":
            f.__name__ = name  # not __qualname__, by which pickle finds it
        if scalar is not None:
            f = gives(scalar)(f)
        if small is not None:
            f = in_reach(near or numpys[0], small, reduces)(f)
        if name in ASKED:
            f = asks(f)
        if makes is not None:
            f = makes_at_home(numpys[0], makes)(f)
        for numpys_own in numpys:
            if numpys_own in FUNCTIONS:
                raise TypeError(f"{numpys_own.__name__}: got two functions that stand for it")
            FUNCTIONS[numpys_own] = f
        return f

    return register


def check_device(device: str | None) -> None:
    """Raise ValueError for a device that there is not."""
    if device not in (None, DEVICE):
        raise ValueError(
            explain("device", quoted(device), f"{DEVICE!r}", "say where with dist= and session=")
        )
