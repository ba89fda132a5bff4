"""``distnb.fft``: the names of ``numpy.fft``, for distributed arrays."""

# Made by tools/make_stub.py from the functions themselves.

from collections.abc import Sequence

from numpy.typing import ArrayLike, DTypeLike

from distnb.client.array.distarray import DistArray
from distnb.client.handle.arguments import Axes, Dist
from distnb.client.session.session import Session

def fft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the discrete Fourier transform along an axis, as ``numpy.fft.fft``."""

def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the transform along two axes, as ``numpy.fft.fft2``; see :func:`fftn`."""

def fftfreq(
    n: int,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    *,
    dist: Dist = None,
    session: Session | None = None,
) -> DistArray:
    """Return the frequencies of the elements of a transform, as ``numpy.fft.fftfreq``."""

def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the transform along several axes, as ``numpy.fft.fftn``."""

def fftshift(x: ArrayLike, axes: Axes = None) -> DistArray:
    """Move frequency zero to the middle, as ``numpy.fft.fftshift``; the result lies as ``x``."""

def hfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the real transform of 1-D slices that are Hermitian, as ``numpy.fft.hfft``."""

def ifft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the inverse transform along an axis, as ``numpy.fft.ifft``; see :func:`fft`."""

def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the inverse transform along two axes, as ``numpy.fft.ifft2``."""

def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the inverse transform along several axes, as ``numpy.fft.ifftn``."""

def ifftshift(x: ArrayLike, axes: Axes = None) -> DistArray:
    """Undo :func:`fftshift`, as ``numpy.fft.ifftshift``."""

def ihfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the inverse of :func:`hfft`, as ``numpy.fft.ihfft``."""

def irfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the real 1-D slices whose transforms begin with ``a``, as ``numpy.fft.irfft``."""

def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the inverse of :func:`rfft2`, as ``numpy.fft.irfft2``."""

def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the inverse of :func:`rfftn`, as ``numpy.fft.irfftn``."""

def rfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the first half of the transform of real 1-D slices, as ``numpy.fft.rfft``."""

def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Transform real elements along two axes, as ``numpy.fft.rfft2``."""

def rfftfreq(
    n: int,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    *,
    dist: Dist = None,
    session: Session | None = None,
) -> DistArray:
    """Return the frequencies of the elements of a real transform, as ``numpy.fft.rfftfreq``."""

def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Transform real elements along several axes, as ``numpy.fft.rfftn``; the last comes first."""
