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
    """Return the discrete Fourier transform along an axis."""

def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the discrete Fourier transform along two axes."""

def fftfreq(
    n: int,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    *,
    dist: Dist = None,
    session: Session | None = None,
) -> DistArray:
    """Return the frequencies of the elements of a transform."""

def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the discrete Fourier transform along several axes."""

def fftshift(x: ArrayLike, axes: Axes = None) -> DistArray:
    """Move frequency zero to the middle of axes."""

def hfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the real transform of 1-D slices that are Hermitian, of which ``a`` is the first half."""

def ifft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the inverse discrete Fourier transform along an axis."""

def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the inverse discrete Fourier transform along two axes."""

def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the inverse discrete Fourier transform along several axes."""

def ifftshift(x: ArrayLike, axes: Axes = None) -> DistArray:
    """Move frequency zero from the middle of axes to their beginning: undo :func:`fftshift`."""

def ihfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the first half of the inverse transform of real 1-D slices: undo :func:`hfft`."""

def irfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the real 1-D slices of whose transforms ``a`` is the first half: undo :func:`rfft`."""

def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the real elements of which ``a`` is half of the transform: undo :func:`rfft2`."""

def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the real elements of which ``a`` is half of the transform: undo :func:`rfftn`."""

def rfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return the first half of the transform of real 1-D slices along an axis."""

def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return half of the transform of real elements along two axes."""

def rfftfreq(
    n: int,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    *,
    dist: Dist = None,
    session: Session | None = None,
) -> DistArray:
    """Return the frequencies of the elements of a real transform."""

def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: DistArray | None = None,
) -> DistArray:
    """Return half of the transform of real elements along several axes."""
