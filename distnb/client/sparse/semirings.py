"""Products in semirings, with masks and accumulators as GraphBLAS defines them."""

from __future__ import annotations

from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.handle.array import Array
from distnb.client.handle.conversion import check_session
from distnb.client.math.ufuncs import where
from distnb.client.record.creation import asarray, ones
from distnb.client.sparse.arithmetic import is_dense, is_sparse, ours
from distnb.client.sparse.balance import count
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import each, times
from distnb.client.sparse.compressed import Compressed, check_product, csr_array
from distnb.client.sparse.dense import gathered, scattered
from distnb.client.sparse.scipys import supported
from distnb.common.errors import explain
from distnb.geometry.layout import Ints
from distnb.ops.semirings import MULTIPLIES, Semiring
from distnb.ops.semirings import semiring as semiring_of

__all__ = ["matmul"]


def matmul(
    A: object,
    B: object,
    semiring: str = "plus_times",
    *,
    mask: object = None,
    complement: bool = False,
    structure: bool = False,
    accum: str | None = None,
    out: object = None,
    replace: bool = False,
    dtype: DTypeLike | None = None,
    present: object = None,
) -> Any:
    """Return the product of two arrays, of which one is sparse, in a semiring.

    ``min_plus`` adds elements where a product multiplies, and takes the least where it sums up: a
    step of shortest paths. What is not stored takes no part: it is not a zero.

    Parameters
    ----------
    A, B : sparse array or dense array
        One at least is sparse, of two axes. SciPy's arrays are taken, too.
    semiring : str
        ``'add_multiply'``. To add: ``plus``, ``times``, ``min``, ``max``, ``or``, ``and``, ``xor``,
        ``any`` (the first). To multiply: ``times``, ``plus``, ``minus``, ``div``, ``min``, ``max``,
        ``first``, ``second`` (that factor), ``pair`` (1), ``or``, ``and``, ``xor``.
    mask : array, optional
        Where the result is computed: at the elements of ``mask`` that are not zero. A sparse one
        for a sparse result, a dense one for a dense result.
    complement : bool
        Compute where the mask is not.
    structure : bool
        Stored zeros of a sparse mask count, too.
    accum : str, optional
        What ``out`` and the product are combined by, where both have an element: the name of an
        operation as in ``semiring``. Without it the product takes the place of ``out``.
    out : array, optional
        Is changed in place: where the mask lets it be.
    replace : bool
        Remove from ``out`` what is outside the mask.
    dtype : dtype, optional
        In which both factors are taken. By default that of NumPy's result; ``pair`` counts in
        int64, and ``or``, ``and``, ``xor`` give truth values.
    present : array of bool, optional
        Which elements of a dense vector are there: the others take no part, as what a sparse array
        does not store, and cost next to nothing. By default all are.

    Returns
    -------
    csr_array, csc_array or DistArray
        Sparse if both are, and then in the format of ``A``. A dense result has the identity of the
        addition (0, inf, ...) where nothing comes. It lies as products do (``A @ B``).

    Raises
    ------
    ValueError
        If shapes do not fit, or there is no such semiring.
    TypeError
        If both are dense; if NumPy has no such operation for the dtypes.

    Notes
    -----
    Sent is what ``A @ B`` sends; of rows in which a mask has nothing, nothing is sent or computed.
    Equal places of factors are summed first. ``plus_times`` without a mask is ``A @ B``, which does
    not store sums that are 0; to ``accum`` they are elements, as all others. Integers overflow as
    NumPy's: ``min_plus`` with the largest one as infinity wraps around. Terms are J. Kepner et al.,
    "Mathematical foundations of the GraphBLAS", HPEC 2016.

    Examples
    --------
    >>> import numpy as np
    >>> import distnb as dnb
    >>> with dnb.inprocess(2):
    ...     roads = dnb.sparse.csr_array(([4.0, 1.0, 2.0], ([0, 0, 2], [1, 2, 1])), shape=(3, 3))
    ...     far = dnb.asarray([0.0, np.inf, np.inf])
    ...     for _ in range(2):
    ...         far = dnb.minimum(far, dnb.sparse.matmul(far, roads, "min_plus"))
    ...     far.to_numpy()
    array([0., 3., 1.])
    """
    like = next((x for x in (A, B, mask, out) if isinstance(x, Sparse)), None)
    if not is_sparse(A) and not is_sparse(B):
        raise TypeError(
            explain(
                "matmul",
                f"{type(A).__name__} and {type(B).__name__}",
                "one sparse array",
                "use distnb.matmul",
            )
        )
    left, right = [_taken(x, like) for x in (A, B)]
    kind = None if dtype is None else np.dtype(dtype)
    ring = semiring_of(semiring, left.dtype, right.dtype, kind)
    supported(ring.dtype)
    into = Into(mask, complement, structure, accum, out, replace)
    if is_sparse(left) and is_sparse(right):
        if present is not None:
            raise ValueError(explain("present", "sparse factors", "a dense vector", "leave it out"))
        return _sparse(left, right, ring, into)
    return _dense(left, right, ring, into, _present(present, left, right))


def _present(present: object, left: Any, right: Any) -> Any:
    """Return what tells which elements of a dense vector are there, None if all are."""
    if present is None:
        return None
    x, given = right if is_sparse(left) else left, cast(Any, present)
    if x.ndim != 1 or np.shape(given) != x.shape:
        found, expected = f"shape {np.shape(given)} for {x.shape}", "that of a dense vector"
        raise ValueError(explain("present", found, expected, "give one bool for each element"))
    return asarray(given, dtype=bool, session=x.session)


def _taken(x: object, like: Sparse | None) -> Any:
    """Return a factor as a compressed array, or a dense one."""
    if not is_sparse(x):
        return asarray(cast(Any, x), session=None if like is None else like.session)
    found: Any = csr_array(x) if like is None else ours(x, like)
    if found.ndim != 2:
        expected = "two axes"
        raise ValueError(explain("sparse factor", f"{found.ndim} axis", expected, "reshape it"))
    return found._reading(int(found.format == "csc")).in_lines()


class Into(NamedTuple):
    """Where a product goes: see :func:`matmul`."""

    mask: Any
    complement: bool
    structure: bool
    accum: str | None
    out: Any
    replace: bool

    def check(self, shape: Ints, sparse: bool) -> None:
        """Raise if it does not fit to a result."""
        fits, kind = (is_sparse, "a sparse array") if sparse else (is_dense, "a dense array")
        for name, x in (("mask", self.mask), ("out", self.out)):
            if x is not None and not fits(x):
                raise TypeError(explain(name, type(x).__name__, kind, "or None"))
            if x is not None and np.shape(x) != shape:
                raise ValueError(explain(f"shape of {name}", np.shape(x), str(shape), "as A @ B"))
        if sparse and self.out is not None and not isinstance(self.out, Compressed):
            expected = "a distributed csr_array or csc_array"
            raise TypeError(explain("out", type(self.out).__name__, expected, "convert it first"))
        if self.complement and self.mask is None:
            raise ValueError(explain("complement", "True", "a mask", "give mask="))
        if self.accum is not None and (self.accum not in MULTIPLIES or self.out is None):
            expected = f"one of {'|'.join(MULTIPLIES)}, and out="
            raise ValueError(explain("accum", repr(self.accum), expected, "give both"))


def _sparse(left: Compressed, right: Compressed, ring: Semiring, into: Into) -> Any:
    """Return the product of two sparse arrays, in the format of the left one."""
    check_product(left.shape, right.shape)
    into.check((left.shape[0], right.shape[1]), sparse=True)
    kind = type(left)
    one, other = left.in_order(), right._along(left.axis).in_order()
    if left.axis:
        one, other, ring = other, one, ring.flipped
    cuts, mask, others = one.structure.cuts, None, into.complement
    if into.mask is not None:
        mask = kind.of(ours(into.mask, left)._compressed()._along(left.axis, cuts).stored)
        if not into.structure:
            mask.eliminate_zeros()
        mask = mask.in_order().stored
    elif ring.plain and into.accum not in (None, ring.add):  # SciPy drops zeros: it knows no masks
        nothing = kind((left.shape[0], right.shape[1]), session=left.session)
        mask, others = nothing._along(left.axis, cuts).stored, True
    found = times(one.stored, other.stored, ring, mask, others)
    out = into.out
    if out is None:
        return kind.of(found)
    parts = [out._along(left.axis, cuts).in_order().stored, found]
    parts += [] if into.mask is None else [mask]
    params = (into.accum or "", into.complement, into.replace)
    result = kind.of(each("accumulated", parts, out.dtype, params, canonical=True))
    out._become_as_before(result._along(out.axis).held)
    return out


def _dense(
    left: Compressed | Array,
    right: Compressed | Array,
    ring: Semiring,
    into: Into,
    present: Array | None,
) -> Any:
    """Return the product of a sparse and a dense array."""
    found, out = _product(left, right, ring, present), into.out
    into.check(found.shape, sparse=False)
    if into.accum is not None:
        both = _combined(into.accum, out, found)
        if into.accum != ring.add:  # the identity of one is nothing to the other
            both = where(_pattern(left, right, ring, present), both, out)
        found = both
    if into.mask is not None:
        chosen = asarray(into.mask, session=found.session).astype(bool) != into.complement
        outside = ring.identity if out is None or into.replace else out
        found = where(chosen, found, outside)
    if out is None:
        return found
    out[...] = found
    return out


def _combined(accum: str, a: Array, b: Array) -> Any:
    """Return what an operation gives of two dense arrays."""
    how = MULTIPLIES[accum]
    if how.ufunc is not None:
        return how.ufunc(a, b)
    return (
        ones(a.shape, a.dtype, session=a.session) if accum == "pair" else (a, b)[accum != "first"]
    )


def _pattern(
    left: Compressed | Array, right: Compressed | Array, ring: Semiring, present: Array | None
) -> Any:
    """Tell where anything comes to a result."""
    return _product(left, right, Semiring("or", "pair", np.dtype(bool), ring.flip), present)


def _product(left: Any, right: Any, ring: Semiring, present: Array | None = None) -> Any:
    """Return the product of a sparse and a dense array, whichever comes first."""
    if not is_sparse(left):
        check_left(left, right)
        return _product(right.T, left.T, ring.flipped, present).T
    check_session(right, left.session)
    if right.ndim not in (1, 2):
        raise ValueError(explain("dense factor", f"{right.ndim} axes", "one or two", "reshape it"))
    check_product(left.shape, right.shape)
    ordered = left if left.structure.unique else left.in_order()
    x = left if left.structure.unique else ordered  # so its plan holds for the next product
    count(x)
    return (gathered if x.axis == 0 else scattered)(x.stored, right, ring, present)


def check_left(left: Array, right: Compressed | Array) -> None:
    """Raise what ``left @ right`` raises if a dense array does not fit on the left."""
    if left.ndim not in (1, 2):
        raise ValueError(explain("dense factor", f"{left.ndim} axes", "one or two", "reshape it"))
    check_product((1, *left.shape)[-2:], right.shape)
