"""Discrete Fourier transforms, as ``numpy.fft``: ``distnb.fft``.

Nothing is sent for axes that are not split. For each split axis there is one redistribution, which
splits another axis instead: of ``fft2`` of a matrix in blocks of rows the result is in blocks of
columns, and ``ifft2`` of that is in blocks of rows again. One axis alone, or one beside which no
other is long enough, is transformed by all engines together; the result is split along it in
blocks.
"""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Sequence
from itertools import product
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from distnb.client.handle.arguments import Axes, Dist
from distnb.client.handle.array import Array
from distnb.client.handle.conversion import array_of
from distnb.client.handle.host_arrays import watched
from distnb.client.handle.indexing import one_axis, several
from distnb.client.handle.scalars import numbers_in
from distnb.client.reach.decorators import makes_at_home
from distnb.client.record.creation import asarray, unset_like
from distnb.client.record.eager import check_out
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

_F = TypeVar("_F", bound=Callable[..., Any])

#: What the parameters of transforms are, by their names.
_PARAMETERS = {
    "a": ("array_like", "What to transform."),
    "n": ("int, optional", "The length: 1-D slices are cut for it, or filled up with zeros."),
    "s": ("sequence of int, optional", "The lengths for ``axes``; -1 leaves one as it is."),
    "axis": ("int", "Along which axis."),
    "axes": (
        "sequence of int, optional",
        "Along which axes; None: all, or the last ones for ``s``.",
    ),
    "norm": ("{'backward', 'ortho', 'forward'}, optional", "Which direction is scaled."),
    "out": ("DistArray, optional", "Where the result is put."),
}
#: What results are that are not real.
_COMPLEX = "Complex; of float32 and complex64, complex64"


def _described(example: str, found: str) -> Callable[[_F], _F]:
    """Complete the docstring of a transform: what is sent, parameters, result, and an example."""

    def complete(f: _F) -> _F:
        names = f.__code__.co_varnames[: f.__code__.co_argcount]
        like = "fft" if "n" in names else "fftn"
        real = f.__name__.startswith(("irfft", "hfft"))
        kind = "Real; of float32 and complex64, float32" if real else _COMPLEX
        parameters = "\n".join(
            [f"{name} : {_PARAMETERS[name][0]}\n    {_PARAMETERS[name][1]}" for name in names]
        )
        f.__doc__ = f"""{inspect.cleandoc(f.__doc__ or "")}

Layout and messages are those of :func:`{like}`.

Parameters
----------
{parameters}

Returns
-------
DistArray
    {kind}.

Examples
--------
>>> import distnb as dnb
>>> with dnb.inprocess(2):
...     {example}
{found}
"""
        return f

    return complete


# -- along one axis ----------------------------------------------------------------------------


@stands_for(np.fft.fft, small="home")
def fft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the discrete Fourier transform along an axis.

    Nothing is sent for an axis that is not split. Where it is, another axis is split instead:
    elements travel once, and the result stays like that.

    Parameters
    ----------
    a : array_like
        What to transform.
    n : int, optional
        The length to which 1-D slices are cut, or filled up with zeros.
    axis : int
        Along which axis.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is scaled.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        Complex; of float32 and complex64, complex64.

    Notes
    -----
    An axis beside which no other can be split is transformed by several engines together, if it has
    at least 2**20 elements, or 4096 where there are eight engines: by the largest number of engines
    whose square divides n, if these are a quarter of all. Elements travel three times. Other
    lengths, such as primes, are transformed by all as a convolution whose length suits them, if
    they are at least eight: there about nine times as many elements travel. All other 1-D slices
    are brought to one engine, or transformed in the notebook. The result is split along the axis,
    in blocks.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     abs(dnb.fft.fft([1, 1, 1, 1])).to_numpy()
    array([4., 0., 0., 0.])
    """
    return _one("fft", np.fft.fft, a, n, axis, norm, out)


@stands_for(np.fft.ifft, small="home")
@_described(
    'abs(dnb.fft.ifft(dnb.array([4, 0, 0, 0], dist="block"))).to_numpy()',
    "array([1., 1., 1., 1.])",
)
def ifft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the inverse discrete Fourier transform along an axis."""
    return _one("ifft", np.fft.ifft, a, n, axis, norm, out)


@stands_for(np.fft.rfft, small="home")
@_described(
    'dnb.fft.rfft(dnb.array([1, 1, 1, 1], dist="block")).to_numpy()',
    "array([4.+0.j, 0.+0.j, 0.+0.j])",
)
def rfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the first half of the transform of real 1-D slices along an axis.

    The other half are conjugates: of length n there are ``n // 2 + 1`` elements.
    """
    return _one("rfft", np.fft.rfft, a, n, axis, norm, out)


@stands_for(np.fft.irfft, small="home")
@_described(
    'dnb.fft.irfft(dnb.array([4, 0, 0], dist="block")).to_numpy()',
    "array([1., 1., 1., 1.])",
)
def irfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the real 1-D slices of whose transforms ``a`` is the first half: undo :func:`rfft`.

    ``n`` is the length of the result: by default it is even, ``2 * (a.shape[axis] - 1)``.
    """
    return _one("irfft", np.fft.irfft, a, n, axis, norm, out)


@stands_for(np.fft.hfft, small="home")
@_described(
    'dnb.fft.hfft(dnb.array([4, 1, 0], dist="block")).to_numpy()',
    "array([6., 4., 2., 4.])",
)
def hfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the real transform of 1-D slices that are Hermitian, of which ``a`` is the first half.

    ``n`` is the length of the result: by default it is even, ``2 * (a.shape[axis] - 1)``.
    """
    return _one("hfft", np.fft.hfft, a, n, axis, norm, out)


@stands_for(np.fft.ihfft, small="home")
@_described(
    'dnb.fft.ihfft(dnb.array([6, 4, 2, 4], dist="block")).to_numpy()',
    "array([4.-0.j, 1.-0.j, 0.-0.j])",
)
def ihfft(
    a: ArrayLike,
    n: int | None = None,
    axis: int = -1,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the first half of the inverse transform of real 1-D slices: undo :func:`hfft`."""
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
    n = None if n is None else operator.index(n)  # of an array of no axes, too
    numpys(_small(x), _least(n), axis, norm)  # raises what NumPy raises
    x = x if name in _HERMITIAN else _precise(x, name, norm, out)
    if x.here is not None:
        found = watched(name, numpys, x.here, n, axis, norm)
        return _delivered(array_of(x.session, found), out)
    d = one_axis(axis, x.ndim)
    given = 2 * (x.shape[d] - 1) if name in ("irfft", "hfft") else x.shape[d]
    length = given if n is None else n
    if name in _HERMITIAN:
        transform = Transform(_HERMITIAN[name], d, length, _OTHER_NORM[norm])
        if name == "hfft":
            return _delivered(run(elementwise("conjugate", x), [transform]), out)
        return _delivered(elementwise("conjugate", run(x, [transform])), out)
    return _delivered(run(x, [Transform(name, d, length, norm)]), out)


def _small(x: Array) -> np.ndarray:
    """Return an array with as many axes, of which NumPy says the same as of ``x``."""
    return np.zeros(tuple(min(n, 2) for n in x.shape), x.dtype)


def _as_many(n: int, *_: object, **_options: object) -> int:
    """Return how many frequencies there are at most."""
    return abs(n)


def _least(n: Any) -> Any:
    """Return a length that is as good as another, and no longer than need be."""
    return min(n, 2) if isinstance(n, int | np.integer) else n


def _precise(x: Array, name: str, norm: str | None, out: object) -> Array:
    """Return an array in the precision of the output, if that is higher: NumPy computes in it.

    Factors it has in that of the operand, so with one nothing is gained.
    """
    scaled = norm == "ortho" or (norm == "forward") != name.startswith("i")
    if scaled or not isinstance(out, Array | np.ndarray):
        return x
    if {x.dtype.kind, out.dtype.kind} - {*"fc"}:
        return x
    return x.astype(np.result_type(x.dtype, np.finfo(out.dtype).dtype), copy=False)


def _delivered(found: Array, out: Array | None) -> Array:
    if out is None:
        return found
    if not isinstance(out, Array | np.ndarray):
        raise TypeError(f"out: got {type(out).__name__}, expected an array; pass one, or None")
    check_out(found, out)
    np.positive(np.empty(0, found.dtype), out=np.empty(0, out.dtype))
    out[...] = found
    return out


# -- along several axes ------------------------------------------------------------------------


@stands_for(np.fft.fftn, small="home")
def fftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the discrete Fourier transform along several axes.

    Axes that are not split come first. Then each split axis is made whole in turn, and an axis that
    is done (or not asked for) is split in its place; on a grid of engines, each stays on its
    dimension. All elements travel once for each split axis: the transforms before and after write
    and read what travels.

    Of real elements half of the result is computed, by ``rfft`` along the last axis that is not
    split; the rest are conjugates. (Not if the result is dealt in turns or held by several engines,
    or if one 1-D slice is transformed by several.)

    Parameters
    ----------
    a : array_like
        What to transform.
    s : sequence of int, optional
        The lengths to which 1-D slices are cut, or filled up with zeros; -1 leaves one as it is.
    axes : sequence of int, optional
        Along which axes; by default all, or as many as ``s``.
    norm : {'backward', 'ortho', 'forward'}, optional
        Which direction is scaled.
    out : DistArray, optional
        Where the result is put.

    Returns
    -------
    DistArray
        Complex; of float32 and complex64, complex64.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fft.fftn(dnb.ones((6, 4, 4), dist="block")).layout.facts()
    '(6, 4, 4) complex128, 1.54 kB, axis 1 in blocks on 2 engines'
    """
    return _several("fft", np.fft.fftn, a, s, axes, norm, out)


@stands_for(np.fft.ifftn, small="home")
@_described(
    'dnb.fft.ifftn(dnb.ones((6, 4, 4), dist="block")).layout.facts()',
    "'(6, 4, 4) complex128, 1.54 kB, axis 1 in blocks on 2 engines'",
)
def ifftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the inverse discrete Fourier transform along several axes."""
    return _several("ifft", np.fft.ifftn, a, s, axes, norm, out)


@stands_for(np.fft.rfftn, small="home")
@_described(
    'dnb.fft.rfftn(dnb.ones((6, 4, 4), dist="block")).layout.facts()',
    "'(6, 4, 3) complex128, 1.15 kB, axis 1 in blocks on 2 engines'",
)
def rfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return half of the transform of real elements along several axes.

    The last of them is transformed first, and has ``n // 2 + 1`` elements.
    """
    return _several("rfft", np.fft.rfftn, a, s, axes, norm, out)


@stands_for(np.fft.irfftn, small="home")
@_described(
    'dnb.fft.irfftn(dnb.ones((6, 4, 3), dist="block")).layout.facts()',
    "'(6, 4, 4) float64, 768 B, axis 1 in blocks on 2 engines'",
)
def irfftn(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = None,
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the real elements of which ``a`` is half of the transform: undo :func:`rfftn`.

    The last axis is transformed last; its length is even, unless ``s`` says another.
    """
    return _several("irfft", np.fft.irfftn, a, s, axes, norm, out)


@stands_for(np.fft.fft2, small="home")
@_described(
    'dnb.fft.fft2(dnb.ones((4, 4), dist="block")).layout.facts()',
    "'(4, 4) complex128, 256 B, columns in blocks on 2 engines'",
)
def fft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the discrete Fourier transform along two axes."""
    return _several("fft", np.fft.fft2, a, s, axes, norm, out)


@stands_for(np.fft.ifft2, small="home")
@_described(
    'dnb.fft.ifft2(dnb.fft.fft2(dnb.ones((4, 4), dist="block"))).layout.facts()',
    "'(4, 4) complex128, 256 B, rows in blocks on 2 engines'",
)
def ifft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the inverse discrete Fourier transform along two axes."""
    return _several("ifft", np.fft.ifft2, a, s, axes, norm, out)


@stands_for(np.fft.rfft2, small="home")
@_described(
    'dnb.fft.rfft2(dnb.ones((4, 4), dist="block")).layout.facts()',
    "'(4, 3) complex128, 192 B, columns in blocks on 2 engines'",
)
def rfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return half of the transform of real elements along two axes.

    The last of them is transformed first, and has ``n // 2 + 1`` elements.
    """
    return _several("rfft", np.fft.rfft2, a, s, axes, norm, out)


@stands_for(np.fft.irfft2, small="home")
@_described(
    'dnb.fft.irfft2(dnb.fft.rfft2(dnb.ones((4, 4), dist="block"))).layout.facts()',
    "'(4, 4) float64, 128 B, rows in blocks on 2 engines'",
)
def irfft2(
    a: ArrayLike,
    s: Sequence[int] | None = None,
    axes: Sequence[int] | None = (-2, -1),
    norm: str | None = None,
    out: Array | None = None,
) -> Array:
    """Return the real elements of which ``a`` is half of the transform: undo :func:`rfft2`.

    The last axis is transformed last; its length is even, unless ``s`` says another.
    """
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
    x, s = a if isinstance(a, Array) else asarray(a), numbers_in(s)
    least = [_least(n) for n in s] if isinstance(s, Sequence) else s
    numpys(_small(x), least, axes, norm)  # raises what NumPy raises
    x = _precise(x, name, norm, out)
    transforms = _transforms(name, x.shape, s, axes, norm)
    if not transforms:
        return x
    if x.here is not None:
        found = watched(numpys.__name__, numpys, x.here, s, axes, norm)
        return _delivered(array_of(x.session, np.asarray(found)), out)
    kind = {"rfft": "fft", "irfft": "ifft"}.get(name, name)
    others = [transform._replace(name=kind) for transform in transforms[:-1]]
    if name == "rfft":
        return _delivered(run(x, [transforms[-1], *others[::-1]]), out)
    if name == "irfft":
        return _delivered(run(x, [*others, transforms[-1]]), out)
    return _delivered(run(x, transforms[::-1]), out)


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


@makes_at_home(np.fft.fftfreq, _as_many)
def fftfreq(
    n: int,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    *,
    dist: Dist = None,
    session: Session | None = None,
) -> Array:
    """Return the frequencies of the elements of a transform.

    Each engine computes those that it holds: nothing is sent.

    Parameters
    ----------
    n : int
        The length of the transform.
    d : float
        The distance of the samples.
    dtype : dtype, optional
        Element type; by default float64.
    device : {'cpu'}, optional
        There is no other.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    DistArray
        Of one axis: zero, the positive frequencies, then the negative ones.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fft.fftfreq(5, 0.1).to_numpy()
    array([ 0.,  2.,  4., -4., -2.])
    """
    n, d = numbers_in((n, d))
    np.fft.fftfreq(_least(n), d)  # raises what NumPy raises
    check_device(device)
    k = arange(n, dist=dist, session=session)
    found = ((k + n // 2) % n - n // 2) * (1.0 / (n * d))
    return found if dtype is None else found.astype(dtype)


@makes_at_home(np.fft.rfftfreq, _as_many)
def rfftfreq(
    n: int,
    d: float = 1.0,
    dtype: DTypeLike | None = None,
    device: str | None = None,
    *,
    dist: Dist = None,
    session: Session | None = None,
) -> Array:
    """Return the frequencies of the elements of a real transform.

    Each engine computes those that it holds: nothing is sent.

    Parameters
    ----------
    n : int
        The length of the transform.
    d : float
        The distance of the samples.
    dtype : dtype, optional
        Element type; by default float64.
    device : {'cpu'}, optional
        There is no other.
    dist : bool, str, tuple, DistArray or layout, optional
        How it lies: ``'block'``, ``'cyclic'``, ``'replicated'``, a word for each axis such as
        ``('*', 'block')``, or as another array; see :func:`distnb.array`.
    session : Session, optional
        Where it is made; by default the current one.

    Returns
    -------
    DistArray
        Of one axis, ``n // 2 + 1`` frequencies from zero on.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fft.rfftfreq(5, 0.1).to_numpy()
    array([0., 2., 4.])
    """
    n, d = numbers_in((n, d))
    np.fft.rfftfreq(_least(n), d)  # raises what NumPy raises
    check_device(device)
    found = arange(n // 2 + 1, dist=dist, session=session) * (1.0 / (n * d))
    return found if dtype is None else found.astype(dtype)


@stands_for(np.fft.fftshift, small="exact")
def fftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """Move frequency zero to the middle of axes.

    The result lies as ``x``: elements of a split axis are sent to the engines of the other half.

    Parameters
    ----------
    x : array_like
        Elements in the order of :func:`fftfreq`.
    axes : int or tuple of int, optional
        Which axes; by default all.

    Returns
    -------
    DistArray
        A copy, of the same shape.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fft.fftshift(dnb.array([0, 1, 2, -2, -1], dist="block")).to_numpy()
    array([-2, -1,  0,  1,  2])
    """
    return _shifted(np.fft.fftshift, x, axes, 1)


@stands_for(np.fft.ifftshift, small="exact")
def ifftshift(x: ArrayLike, axes: Axes = None) -> Array:
    """Move frequency zero from the middle of axes to their beginning: undo :func:`fftshift`.

    The result lies as ``x``: elements of a split axis are sent to the engines of the other half.

    Parameters
    ----------
    x : array_like
        Elements in ascending order of frequency.
    axes : int or tuple of int, optional
        Which axes; by default all.

    Returns
    -------
    DistArray
        A copy, of the same shape.

    Examples
    --------
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     dnb.fft.ifftshift(dnb.array([-2, -1, 0, 1, 2], dist="block")).to_numpy()
    array([ 0,  1,  2, -2, -1])
    """
    return _shifted(np.fft.ifftshift, x, axes, -1)


def _shifted(numpys: Callable[..., Any], x: ArrayLike, axes: Axes, sign: int) -> Array:
    """Exchange the two parts of each axis."""
    a, axes = x if isinstance(x, Array) else asarray(x), numbers_in(axes)
    numpys(_small(a), axes)  # raises what NumPy raises
    if a.here is not None:
        return array_of(a.session, numpys(a.here, axes))
    where = [one_axis(d, a.ndim) for d in (range(a.ndim) if axes is None else several(axes))]
    shifts = dict.fromkeys(where, 0)
    for d in where:
        shifts[d] += sign * (a.shape[d] // 2)
    return _rolled(a, shifts)


def _rolled(a: Array, shifts: dict[int, int]) -> Array:
    out = unset_like(a)
    parts = [_parts(n, shifts.get(d, 0)) for d, n in enumerate(a.shape)]
    for pieces in product(*parts):
        out[tuple(to for to, _ in pieces)] = a[tuple(source for _, source in pieces)]
    return out


def _parts(n: int, shift: int) -> list[tuple[slice, slice]]:
    """Return which slices of a rolled axis come from which of the axis itself."""
    k = shift % n if n else 0
    whole = [(slice(k, None), slice(0, n - k))]
    return whole if k == 0 else [*whole, (slice(0, k), slice(n - k, None))]
