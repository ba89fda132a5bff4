"""Discrete Fourier transforms, as ``numpy.fft``: ``distnb.fft``.

Nothing is sent for axes that are not split. For each split axis there is one redistribution, which
splits another axis instead: of ``fft2`` of a matrix in blocks of rows the result is in blocks of
columns, and ``ifft2`` of that is in blocks of rows again. One axis alone, or one beside which no
other is long enough, is transformed by all engines together; the result is split along it in
blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Axes, Dist
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import array_of
from distnb.client.handle.host_arrays import watched
from distnb.client.handle.indexing import one_axis
from distnb.client.record.creation import asarray, empty_like
from distnb.client.record.namespace import check_device, stands_for
from distnb.client.record.operations import elementwise
from distnb.client.record.ranges import arange
from distnb.client.session.session import Session
from distnb.client.signal.fft_commands import Transform, run

__all__ = [
    "fft",
    "fft2",
    "fftfreq",
    "fftn",
    "fftshift",
    "hfft",
    "ifft",
    "ifft2",
    "ifftn",
    "ifftshift",
    "ihfft",
    "irfft",
    "irfft2",
    "irfftn",
    "rfft",
    "rfft2",
    "rfftfreq",
    "rfftn",
]

# -- along one axis ----------------------------------------------------------------------------


@stands_for(np.fft.fft)
def fft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the discrete Fourier transform along an axis, as ``numpy.fft.fft``.

    Parameters
    ----------
    a : array_like
        What to transform; float32 gives complex64.
    n : int, optional
        The length to which 1-D slices are cut, or filled up with zeros.
    axis : int
        Along which axis. Where it is split, another axis is split instead, and nothing travels
        twice; the result stays like that.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is scaled.
    out : DistArray, optional
        Where the result is copied to.

    Notes
    -----
    An axis beside which no other can be split is transformed by several engines together, if it has
    at least 4096 elements: by the largest number of engines whose square divides n, if these are a
    quarter of all. Elements travel three times. Other lengths, such as primes, are transformed by
    all as a convolution whose length suits them, if they are at least eight: there about nine times
    as many elements travel. All other 1-D slices are brought to one engine. The result is split
    along the axis, in blocks.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     abs(dnb.fft.fft([1, 1, 1, 1])).to_numpy()
    array([4., 0., 0., 0.])
    """
    return _one("fft", np.fft.fft, a, n, axis, norm, out)


@stands_for(np.fft.ifft)
def ifft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the inverse transform along an axis, as ``numpy.fft.ifft``; see :func:`fft`."""
    return _one("ifft", np.fft.ifft, a, n, axis, norm, out)


@stands_for(np.fft.rfft)
def rfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the first half of the transform of real 1-D slices, as ``numpy.fft.rfft``."""
    return _one("rfft", np.fft.rfft, a, n, axis, norm, out)


@stands_for(np.fft.irfft)
def irfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the real 1-D slices whose transforms begin with ``a``, as ``numpy.fft.irfft``."""
    return _one("irfft", np.fft.irfft, a, n, axis, norm, out)


@stands_for(np.fft.hfft)
def hfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the real transform of 1-D slices that are Hermitian, as ``numpy.fft.hfft``."""
    return _one("hfft", np.fft.hfft, a, n, axis, norm, out)


@stands_for(np.fft.ihfft)
def ihfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the inverse of :func:`hfft`, as ``numpy.fft.ihfft``."""
    return _one("ihfft", np.fft.ihfft, a, n, axis, norm, out)


#: What the transforms of Hermitian 1-D slices are, of the conjugate or conjugated.
_HERMITIAN = {"hfft": "irfft", "ihfft": "rfft"}
_OTHER_NORM = {None: "forward", "backward": "forward", "ortho": "ortho", "forward": "backward"}


def _one(
    name: str,
    numpys: Callable[..., Any],
    a: ArrayLike,
    n: int | None,
    axis: int,
    norm: str | None,
    out: Array | None,
) -> Array:
    x = a if isinstance(a, Array) else asarray(a)
    numpys(_small(x), _least(n), axis, norm)  # raises what NumPy raises
    if x.here is not None:
        found = watched(name, numpys, x.here, n, axis, norm)
        return _delivered(array_of(x.session, found), out)
    d = one_axis(axis, x.ndim)
    length = x.shape[d] if n is None else int(n)
    if name in ("irfft", "hfft") and n is None:
        length = 2 * (x.shape[d] - 1)
    if name in _HERMITIAN:
        transform = Transform(_HERMITIAN[name], d, length, _OTHER_NORM[norm])
        if name == "hfft":
            return _delivered(run(elementwise("conjugate", x), [transform]), out)
        return _delivered(elementwise("conjugate", run(x, [transform])), out)
    return _delivered(run(x, [Transform(name, d, length, norm)]), out)


def _small(x: Array) -> np.ndarray:
    """Return an array with as many axes, of which NumPy says the same as of ``x``."""
    return np.zeros(tuple(min(n, 2) for n in x.shape), x.dtype)


def _least(n: Any) -> Any:
    """Return a length that is as good as another, and no longer than need be."""
    return min(n, 2) if isinstance(n, int | np.integer) else n


def _delivered(found: Array, out: Array | None) -> Array:
    if out is None:
        return found
    if not isinstance(out, Array | np.ndarray):
        raise TypeError(f"out: got {type(out).__name__}, expected an array; pass one, or None")
    np.positive(np.empty(0, found.dtype), out=np.empty(0, out.dtype))
    out[...] = found
    return out


# -- along several axes ------------------------------------------------------------------------


@stands_for(np.fft.fftn)
def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the transform along several axes, as ``numpy.fft.fftn``.

    Axes that are not split come first. Then each split axis is made whole in turn, and an axis that
    is done (or not asked for) is split in its place; on a grid of engines, each stays on its
    dimension. The transforms before and after a redistribution write and read what travels.

    Of real elements half of the result is computed, by ``rfft`` along the last axis that is not
    split; the rest are conjugates. (Not if the result is dealt in turns or held by several engines,
    or if one 1-D slice is transformed by several.)

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fft.fftn(dnb.ones((6, 4, 4), dist="block")).layout.facts()
    '(6, 4, 4) complex128, 1.5 kB, axis 1 in blocks on 2 engines'
    """
    return _several("fft", np.fft.fftn, a, s, axes, norm, out)


@stands_for(np.fft.ifftn)
def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the inverse transform along several axes, as ``numpy.fft.ifftn``."""
    return _several("ifft", np.fft.ifftn, a, s, axes, norm, out)


@stands_for(np.fft.rfftn)
def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Transform real elements along several axes, as ``numpy.fft.rfftn``; the last comes first."""
    return _several("rfft", np.fft.rfftn, a, s, axes, norm, out)


@stands_for(np.fft.irfftn)
def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the inverse of :func:`rfftn`, as ``numpy.fft.irfftn``."""
    return _several("irfft", np.fft.irfftn, a, s, axes, norm, out)


@stands_for(np.fft.fft2)
def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the transform along two axes, as ``numpy.fft.fft2``; see :func:`fftn`."""
    return _several("fft", np.fft.fft2, a, s, axes, norm, out)


@stands_for(np.fft.ifft2)
def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the inverse transform along two axes, as ``numpy.fft.ifft2``."""
    return _several("ifft", np.fft.ifft2, a, s, axes, norm, out)


@stands_for(np.fft.rfft2)
def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Transform real elements along two axes, as ``numpy.fft.rfft2``."""
    return _several("rfft", np.fft.rfft2, a, s, axes, norm, out)


@stands_for(np.fft.irfft2)
def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the inverse of :func:`rfft2`, as ``numpy.fft.irfft2``."""
    return _several("irfft", np.fft.irfft2, a, s, axes, norm, out)


def _several(
    name: str,
    numpys: Callable[..., Any],
    a: ArrayLike,
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
    out: Array | None,
) -> Array:
    x = a if isinstance(a, Array) else asarray(a)
    least = [_least(n) for n in s] if isinstance(s, Sequence) else s
    numpys(_small(x), least, axes, norm)  # raises what NumPy raises
    if x.here is not None:
        found = watched(numpys.__name__, numpys, x.here, s, axes, norm)
        return _delivered(array_of(x.session, np.asarray(found)), out)
    transforms = _transforms(name, x.shape, s, axes, norm)
    kind = {"rfft": "fft", "irfft": "ifft"}.get(name, name)
    others = [transform._replace(name=kind) for transform in transforms[:-1]]
    if name == "rfft":
        return _delivered(run(x, [transforms[-1], *others[::-1]]), out)
    if name == "irfft":
        return _delivered(run(x, [*others, transforms[-1]]), out)
    return _delivered(run(x, transforms[::-1]) if transforms else x.astype(complex), out)


def _transforms(
    name: str,
    shape: tuple[int, ...],
    s: Sequence[int] | None,
    axes: Sequence[int] | None,
    norm: str | None,
) -> list[Transform]:
    """Return a transform for each axis, with the lengths that NumPy would take."""
    ndim = len(shape)
    if axes is None:
        axes = range(ndim) if s is None else range(-len(s), 0)
    where = [one_axis(axis, ndim) for axis in axes]
    lengths = [-1] * len(where) if s is None else list(s)
    found = [shape[d] if n in (-1, None) else int(n) for n, d in zip(lengths, where, strict=True)]
    if s is None and name == "irfft":
        found[-1] = 2 * (shape[where[-1]] - 1)
    return [Transform(name, d, n, norm) for d, n in zip(where, found, strict=True)]


# -- frequencies -------------------------------------------------------------------------------


def fftfreq(
    n: int,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    *,
    dist: Dist = None,
    session: Session | None = None,
) -> Array:
    """Return the frequencies of the elements of a transform, as ``numpy.fft.fftfreq``.

    The layout is the default, or ``dist=``.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fft.fftfreq(5, 0.1).to_numpy()
    array([ 0.,  2.,  4., -4., -2.])
    """
    np.fft.fftfreq(_least(n), d)  # raises what NumPy raises
    check_device(device)
    k = arange(n, dist=dist, session=session)
    found = ((k + n // 2) % n - n // 2) * (1.0 / (n * d))
    return found if dtype is None else found.astype(dtype)


def rfftfreq(
    n: int,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    *,
    dist: Dist = None,
    session: Session | None = None,
) -> Array:
    """Return the frequencies of the elements of a real transform, as ``numpy.fft.rfftfreq``."""
    np.fft.rfftfreq(_least(n), d)  # raises what NumPy raises
    check_device(device)
    found = arange(n // 2 + 1, dist=dist, session=session) * (1.0 / (n * d))
    return found if dtype is None else found.astype(dtype)


@stands_for(np.fft.fftshift)
def fftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """Move frequency zero to the middle, as ``numpy.fft.fftshift``; the result lies as ``x``."""
    return _shifted(np.fft.fftshift, x, axes, 1)


@stands_for(np.fft.ifftshift)
def ifftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """Undo :func:`fftshift`, as ``numpy.fft.ifftshift``."""
    return _shifted(np.fft.ifftshift, x, axes, -1)


def _shifted(numpys: Callable[..., Any], x: ArrayLike, axes: Axes, sign: int) -> Array:
    """Exchange the two parts of each axis."""
    a = x if isinstance(x, Array) else asarray(x)
    numpys(_small(a), axes)  # raises what NumPy raises
    if a.here is not None:
        return array_of(a.session, numpys(a.here, axes))
    given = range(a.ndim) if axes is None else axes if isinstance(axes, Sequence) else (axes,)
    where = [one_axis(axis, a.ndim) for axis in given]
    shifts = dict.fromkeys(where, 0)
    for d in where:
        shifts[d] += sign * (a.shape[d] // 2)
    return _rolled(a, shifts)


def _rolled(a: Array, shifts: dict[int, int]) -> Array:
    out = empty_like(a)
    parts = [_parts(n, shifts.get(d, 0)) for d, n in enumerate(a.shape)]
    for pieces in product(*parts):
        out[tuple(to for to, _ in pieces)] = a[tuple(source for _, source in pieces)]
    return out


def _parts(n: int, shift: int) -> list[tuple[slice, slice]]:
    """Return which slices of a rolled axis come from which of the axis itself."""
    k = shift % n if n else 0
    whole = [(slice(k, None), slice(0, n - k))]
    return whole if k == 0 else [*whole, (slice(0, k), slice(n - k, None))]
