"""Sparse arrays of what there is: SciPy's, files, triplets, dense arrays, and what was kept."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple, cast

import numpy as np
from numpy.typing import DTypeLike

from distnb.client.array.migration import moved
from distnb.client.files.reading import check_sum, read_view
from distnb.client.handle.arguments import Dist, Shape
from distnb.client.handle.arguments import Grid as Engines
from distnb.client.handle.array import Array, create, is_whole
from distnb.client.handle.conversion import as_dist, copied, in_layout, record_collective
from distnb.client.handle.indexing import lengths
from distnb.client.lasting.assembled import Facts, Kind, Parts, Shared
from distnb.client.lasting.checking import check_layout, natural, need
from distnb.client.math.scans import cumsum
from distnb.client.record.creation import asarray
from distnb.client.record.placement import layout_for
from distnb.client.record.ranges import arange
from distnb.client.session.session import Session
from distnb.client.shape.repeating import repeat
from distnb.client.sparse.balance import balanced_cuts, check_blocks, pointed, spread
from distnb.client.sparse.base import Sparse
from distnb.client.sparse.commands import everywhere, laid, made, recut, routed, sent
from distnb.client.sparse.dense import pointers_of
from distnb.client.sparse.scipys import index_dtype, is_scipys, scipy_sparse, supported
from distnb.client.sparse.structure import (
    Stored,
    Structure,
    cuts_for,
    even,
    global_pointers,
    in_lines,
    is_everywhere,
    line,
    lines_of,
    pointer_cuts,
)
from distnb.common.errors import LayoutError, explain
from distnb.formats.archives import describe, members_of
from distnb.formats.stored import Stored as File
from distnb.formats.stored import good
from distnb.geometry.boxes import is_boxes
from distnb.geometry.layout import Ints, Layout, replicated
from distnb.geometry.regrid import scaled
from distnb.geometry.views import View
from distnb.ops.sparse_parts import check_places

__all__ = ["KIND", "placed", "stored", "stored_in", "triplets"]

_COUNT = np.dtype(np.int64)
#: What a compressed array's archive has beside its elements.
_POINTED = ("indices", "indptr")


def stored(
    session: Session,
    arg1: Any,
    shape: Shape | None,
    dtype: DTypeLike | None,
    axis: int,
    dist: Dist = None,
    grid: Engines = None,
) -> Stored:
    """Return the elements and the structure of what a constructor got, cut along an axis."""
    dist = _word(dist)
    if not _by_lines(dist, grid):
        return placed(stored(session, arg1, shape, dtype, axis), axis, dist, grid)
    kind = None if dtype is None else supported(np.dtype(dtype))
    if _is_shape(arg1):
        return _empty(session, lengths(arg1), kind, axis, dist)
    if isinstance(arg1, tuple) and _lies_on_engines(arg1):
        arg1, shape = _told_apart(arg1, shape, axis) if len(arg1) == 3 else (arg1, shape)
        coords, data, extents = triplets(arg1, shape, kind)
        if len(coords) != 2:
            raise NotImplementedError(
                explain("compressed array", "one axis", "two", "use coo_array for one axis")
            )
        major, minor = coords if axis == 0 else coords[::-1]
        n, across = extents if axis == 0 else extents[::-1]
        cuts = cuts_for("block" if dist == "nnz" else dist, n, session.size)
        return _balanced(routed(major, minor, data, cuts, across), dist)
    if isinstance(arg1, Array) and arg1.here is None:
        return _balanced(_from_dense(arg1, kind, axis, dist), dist)
    if isinstance(arg1, Array):
        arg1 = arg1.to_numpy()
    name = "csr" if axis == 0 else "csc"
    x = getattr(scipy_sparse(), f"{name}_array")(_sound(arg1), shape=shape, dtype=kind)
    if x.ndim != 2:
        raise NotImplementedError(
            explain(f"{name}_array", f"{x.ndim} axis", "two", "use coo_array for one axis")
        )
    return _from_scipys(session, x if is_scipys(arg1) else _sound(x), axis, dist)


def _word(dist: Dist) -> Dist:
    """Return ``dist=`` as a word where it only says whether lines are to be spread."""
    return ("block" if dist else "replicated") if isinstance(dist, bool) else dist


def _by_lines(dist: Dist, grid: Engines) -> bool:
    """Tell whether a layout says where lines are cut, and no more."""
    if isinstance(dist, str):
        return grid is None and dist != "replicated"
    places = isinstance(dist, tuple | list) and len(dist) == 2 and dist[0] == "irregular"
    return grid is None and (dist is None or places)


def placed(x: Stored, axis: int, dist: Dist, grid: Engines) -> Stored:
    """Return the same array in the layout that ``dist=`` and ``grid=`` ask for."""
    dist = _word(dist)
    s, word = x.structure, dist if isinstance(dist, str) else ""
    if _by_lines(dist, grid):
        nnz = word == "nnz"
        return recut(x, balanced_cuts(x) if nnz else cuts_for(dist, s.major, s.session.size))
    if word == "replicated" and grid is None:
        return everywhere(x)
    if word == "nnz":
        raise LayoutError(explain("grid", grid, "none, for dist='nnz'", "leave one of them out"))
    shape = s.shape if axis == 0 else s.shape[::-1]
    found = layout_for(shape, s.session, dist, grid)
    if not is_boxes(found):
        raise NotImplementedError(
            explain(
                "layout of a sparse array", found.spell(), "blocks of rows and columns", "use these"
            )
        )
    return laid(x, in_lines(found if axis == 0 else found.T, s.shape, s.session.size))


def _is_shape(x: object) -> bool:
    return isinstance(x, tuple) and len(x) == 2 and all(hasattr(n, "__index__") for n in x)


def _lies_on_engines(x: tuple[Any, ...]) -> bool:
    """Tell whether one of the arrays of a constructor's tuple is on engines."""
    flat = [z for y in x for z in (y if isinstance(y, tuple) else (y,))]
    return any(isinstance(z, Array) for z in flat)


def _told_apart(arg1: Any, shape: Shape | None, axis: int) -> tuple[Any, Shape]:
    """Return the triplets that elements, indices and pointers on engines are, and the shape."""
    session = next(x for x in arg1 if isinstance(x, Array)).session
    data, minor, pointers = [asarray(x, session=session) for x in arg1]
    if any(x.ndim != 1 for x in (data, minor, pointers)):
        raise ValueError("data, indices, and indptr should be 1-D")
    if not len(pointers) or int(pointers[0]):
        raise ValueError("index pointer should start with 0")
    counts = pointers[1:] - pointers[:-1]
    n, nnz = len(counts), int(pointers[-1])
    if len(data) != len(minor):
        raise ValueError("indices and data should have the same size")
    if nnz > len(data):
        raise ValueError(
            "Last value of index pointer should be less than the size of index and data arrays"
        )
    if n and int(counts.min()) < 0:
        raise ValueError(explain("indptr", "pointers that fall", "rising ones", "sort the rows"))
    if shape is None and not len(minor):
        raise ValueError("unable to infer matrix dimensions")
    shape = shape if shape is not None else (n, int(minor.max()) + 1)[:: -1 if axis else 1]
    if lengths(shape)[axis] != n:
        raise ValueError(f"index pointer size {n + 1} should be {lengths(shape)[axis] + 1}")
    major = repeat(arange(n, session=session), counts)
    coords = (major, minor[:nnz])
    return (data[:nnz], coords if axis == 0 else coords[::-1]), shape


def _sound(x: Any) -> Any:
    """Return what a constructor got; ValueError for SciPy's CSR, CSC or BSR with places outside.

    SciPy looks at none: its loops, here and on engines, would read and write outside of memory.
    """
    if not is_scipys(x) or x.format not in ("csr", "csc", "bsr"):
        return x
    if (x.indptr[1:] < x.indptr[:-1]).any():
        raise ValueError(explain("indptr", "pointers that fall", "rising ones", "sort the rows"))
    minor, found = x.shape[0 if x.format == "csc" else -1], x.indices[: x.indptr[-1]]
    minor //= x.blocksize[1] if x.format == "bsr" else 1
    if len(found) and not 0 <= found.min() <= found.max() < minor:
        got = f"{found.min()} to {found.max()}"
        raise ValueError(explain("indices", got, f"0 to {minor - 1}", "give others, or a shape="))
    return x


def _from_scipys(session: Session, x: Any, axis: int, dist: Dist) -> Stored:
    kind = supported(x.dtype)
    cuts = cuts_for(dist, x.shape[axis], session.size, x.indptr)
    arrays = (x.data.astype(kind, copy=False), x.indices, x.indptr)
    return sent(session, arrays, x.shape[1 - axis], cuts, bool(x.has_canonical_format))


def _empty(session: Session, shape: Ints, kind: np.dtype | None, axis: int, dist: Dist) -> Stored:
    major, minor = shape if axis == 0 else shape[::-1]
    cuts = cuts_for("block" if dist == "nnz" else dist, major, session.size)
    indices = np.empty(0, index_dtype(major, minor))
    data = np.empty(0, np.float64 if kind is None else kind)
    return sent(session, (data, indices, np.zeros(major + 1, indices.dtype)), minor, cuts, True)


def _from_dense(x: Array, kind: np.dtype | None, axis: int, dist: Dist) -> Stored:
    """Return what of a dense array is not zero."""
    if x.ndim != 2:
        raise NotImplementedError(
            explain("sparse array of a dense one", f"{x.ndim} axes", "two", "reshape it")
        )
    session, (major, minor) = x.session, x.shape if axis == 0 else x.shape[::-1]
    cuts = cuts_for("block" if dist == "nnz" else dist, major, session.size)
    where = line(cuts, 1)
    kind = supported(x.dtype) if kind is None else kind
    x = in_layout(as_dist(x, session), where if axis == 0 else where.T, kind)
    args = ("from_dense", (), axis)
    return made(session, "sparse.each", (), (x,), args, (major, minor), where, kind, True)


def triplets(
    arg1: Any, shape: Shape | None, kind: np.dtype | None
) -> tuple[tuple[Any, ...], Any, Ints]:
    """Return coordinates along each axis and elements on engines, and the shape."""
    if len(arg1) != 2 or not isinstance(arg1[1], tuple):
        raise ValueError(explain("triplets", "no pair", "(data, (rows, columns))", "give this"))
    data, coords = arg1
    if len(coords) not in (1, 2):
        raise NotImplementedError(
            explain("coordinates", f"{len(coords)} axes", "one or two", "give rows and columns")
        )
    session = next(x for x in (data, *coords) if isinstance(x, Array)).session
    data, *coords = [asarray(x, session=session) for x in (data, *coords)]
    if any(x.ndim != 1 for x in (data, *coords)) or len({*map(len, (data, *coords))}) > 1:
        raise ValueError("all index and data arrays must have the same length")
    coords = [x.astype(np.int64) if x.dtype.kind in "fb" else x for x in coords]
    for x in coords:
        if x.dtype.kind not in "iu":
            raise TypeError(explain("coordinates", x.dtype, "integers", "use .astype(int)"))
    if shape is None:
        if not len(data):
            raise ValueError("cannot infer dimensions from zero sized index arrays")
        shape = [int(x.max()) + 1 for x in coords]
    if len(lengths(shape)) != len(coords):
        raise ValueError(f"mismatching number of index arrays for shape; got {len(coords)}")
    kind = supported(data.dtype) if kind is None else kind
    return tuple(coords), data.astype(kind), lengths(shape)


def _balanced(x: Stored, dist: Dist) -> Stored:
    return recut(x, balanced_cuts(x)) if isinstance(dist, str) and dist == "nnz" else x


# -- SciPy's archives ----------------------------------------------------------------------------


def stored_in(path: str, session: Session) -> tuple[str, Any] | None:
    """Return the format in a file of SciPy's, and what engines read; None for what SciPy reads.

    Of triplets: elements, places and the shape; else what an array is made of.
    """
    members = members_of(path)
    if not {"format", "shape", "data"} <= {*members}:
        return None
    with good(path, "a sparse array"), np.load(path, allow_pickle=False) as there:
        kind, shape = there["format"].item(), tuple(map(int, there["shape"]))
    kind = kind.decode() if isinstance(kind, bytes) else kind
    names = {"coo": ("row", "col"), "csr": _POINTED, "csc": _POINTED}.get(kind, ())
    if len(shape) != 2 or not names or not {*names} <= {*members}:
        return None
    found = [describe(path, name) for name in ("data", *names)]
    for name, (stored, view) in zip(names, found[1:], strict=True):
        if np.dtype(stored.dtype).kind not in "iu" or len(view.shape) != 1:
            raise _unfit(path, f"{name} of {stored.dtype}, shape {view.shape}", "integers")
    if kind == "coo":
        return kind, _triplets_in(path, found, shape, session)
    return kind, _compressed_in(path, found, shape if kind == "csr" else shape[::-1], session)


def _triplets_in(
    path: str, there: list[tuple[File, View]], shape: Ints, session: Session
) -> tuple[Any, tuple[Any, Any], Ints]:
    """Return elements, rows and columns, and the shape."""
    n = _length(path, *there)
    where = line(even(n, session.size))
    data, *places = [read_view(*x, dist=where, session=session) for x in there]
    for index, most in zip(places, shape, strict=True):
        _check_within(path, index, most)
    return data, (places[0], places[1]), shape


def _compressed_in(
    path: str, there: list[tuple[File, View]], lengths: Ints, session: Session
) -> Stored:
    """Return the array; each engine reads its part, as long as the pointers say."""
    data, indices, (stored, pointers) = there
    (major, minor), size = lengths, session.size
    nnz, cuts = _length(path, data, indices), even(major, size)
    if pointers.shape != (major + 1,):
        raise _unfit(path, f"indptr of shape {pointers.shape}", f"({major + 1},)")
    check_sum(session, stored)
    before, after = [
        read_view(stored, pointers.take(0, k, 1, major), dist=line(cuts), session=session)
        for k in (0, 1)
    ]
    if major and int(before[0]):
        raise _unfit(path, f"indptr from {int(before[0])} on", "0")
    counts = after.astype(_COUNT) - before.astype(_COUNT)
    ends = _ends(path, counts, cuts, nnz)
    kind, where = index_dtype(major, minor, nnz), line(ends)
    elements, places = [read_view(*x, dist=where, session=session) for x in (data, indices)]
    _check_within(path, places, minor)
    indptr = create(session, (major + size,), kind, line(pointer_cuts(cuts)), ("empty",))
    record_collective("sparse.count", (indptr,), (copied(counts, kind, line(cuts)),), ())
    at = in_layout(places, where, kind)
    structure = Structure((major, minor), line(cuts, 1), ends, at, indptr)
    return Stored(in_layout(elements, where, supported(elements.dtype)), structure)


def _ends(path: str, counts: Array, cuts: Ints, nnz: int) -> Ints:
    """Return how many elements lie before each cut."""
    if not len(counts):
        found = (0,) * len(cuts)
    elif int(counts.min()) < 0:
        raise _unfit(path, "indptr that falls", "pointers that rise")
    else:
        upto = cumsum(counts)[np.maximum(cuts, 1) - 1].to_numpy()
        found = tuple([int(n) if cut else 0 for n, cut in zip(upto, cuts, strict=True)])
    if found[-1] != nnz:
        raise _unfit(path, f"indptr up to {found[-1]}", f"{nnz}, as there are elements")
    return found


def _length(path: str, *there: tuple[File, View]) -> int:
    """Return how many elements there are; raise ValueError if there are not as many of all."""
    shapes = [view.shape for _, view in there]
    if len({*shapes}) > 1 or len(shapes[0]) != 1:
        raise _unfit(path, f"shapes {shapes}", "one axis, as long")
    return shapes[0][0]


def _check_within(path: str, index: Array, n: int) -> None:
    """Raise ValueError for an index that is outside."""
    if len(index) and not 0 <= int(index.min()) <= int(index.max()) < n:
        raise _unfit(path, f"an index of {int(index.min())} or {int(index.max())}", f"0 to {n - 1}")


def _unfit(path: str, got: str, expected: str) -> ValueError:
    return ValueError(explain(f"file {path}", got, expected, "write it again"))


# -- as they are kept ----------------------------------------------------------------------------


def _apart(given: object) -> Parts:
    """Return what an array is made of; triplets that stand for another one, as that."""
    x: Any = given
    of = x._origin if x.format == "coo" else x
    if of is None:
        return Parts("sparse", x.shape, x.told(), (x.format,), (x.data, *x.coords))
    s: Structure = of.structure
    facts = (x.format, of.axis, *_laid_as(s))
    return Parts("sparse", x.shape, x.told(), facts, (x.data, s.indices, s.indptr))


def _again(shape: Ints, facts: Facts, arrays: Sequence[Array], engines: int, shared: Shared) -> Any:
    """Return the array of what it was made of on so many engines."""
    kind, *told = cast("tuple[Any, ...]", facts)
    data, *places = arrays
    if not told:
        fit = all(x.shape == data.shape for x in places) and len(places) == len(shape)
        need(kind == "coo" and data.ndim == 1 and fit, "triplets")
        return Sparse.kinds["coo"].of_triplets(places, data, shape)
    axis, laid = told[0], Laid(*told[1:])
    need(axis in (0, 1) and shape == laid.shape[:: -1 if axis else 1], "sparse array")
    indices, indptr = places
    structure = _laid_again(laid, indices, indptr, engines, shared)
    if engines != data.session.size and data.shape == (structure.nnz,) and not structure.copied:
        _move(data, line(structure.ends))
    found = Sparse.kinds[("csr", "csc")[axis]].of(Stored(data, structure))
    need(kind in ("coo", found.format), "format")
    return found if kind != "coo" else Sparse.kinds["coo"].standing_for(found)


def _check(given: object) -> None:
    """Raise ValueError if elements are at places that cannot be; this waits."""
    x: Any = given
    of = x._origin if x.format == "coo" else x
    if of is None:
        check_places(x.coords, x.shape)
    else:
        _check_stored(of.held)


# -- structures ----------------------------------------------------------------------------------


class Laid(NamedTuple):
    """What a structure is beside its arrays."""

    shape: Ints
    layout: Layout
    ends: Ints
    canonical: bool
    unique: bool
    shown: bool

    def check(self, indices: Array, indptr: Array, engines: int) -> None:
        """Refuse what is none on so many engines."""
        check_layout(self.layout, self.shape, engines)
        need(len(self.shape) == 2 and all(map(natural, self.ends)), "sparse array")
        need(all(type(known) is bool for known in self[3:]), "sparse array")
        parts = 1 if is_everywhere(self.layout) else engines
        rises = all(a <= b for a, b in pairwise(self.ends))
        need(len(self.ends) == parts + 1 and rises and not self.ends[0], "parts of a sparse array")
        need(indices.shape == (self.ends[-1],), "indices of a sparse array")
        rows = lines_of(self.layout, self.shape, engines)[-1]
        need(indptr.shape == (rows + parts,), "pointers of a sparse array")


def _laid_as(s: Structure) -> Laid:
    """Return what a structure is beside its indices and pointers."""
    return Laid(s.shape, s.layout, s.ends, s.canonical, s.unique, s.shown)


def _laid_again(
    told: Laid, indices: Array, indptr: Array, engines: int, shared: Shared
) -> Structure:
    """Return the structure of its arrays: the same one, where several arrays had it.

    It was one on so many engines; on others it is cut as :meth:`Session.resize` cuts it.
    """
    key = told, indices.dbase, indices.dview, indptr.dbase, indptr.dview
    if isinstance(found := shared.get(key), Structure):
        return found
    told.check(indices, indptr, engines)
    shape, layout, ends, canonical, unique, shown = told
    session = indices.session
    if is_everywhere(layout):
        layout = replicated(2, session.size)
    elif engines != session.size:
        layout, ends, indptr = _cut_for(told, indptr, engines)
        _move(indices, line(ends))
    made = Structure(shape, layout, ends, indices, indptr, canonical)
    made.unique, made.shown = unique, shown
    shared[key] = made
    return made


def _cut_for(told: Laid, indptr: Array, engines: int) -> tuple[Layout, Ints, Array]:
    """Return where parts are on the engines that there are, up to where, and their pointers."""
    shape, layout, ends = told[:3]
    session, cuts = indptr.session, lines_of(layout, shape, engines)
    pointers = global_pointers(indptr.to_numpy(), cuts, ends)
    if layout == line(cuts, 1):
        cuts = scaled(cuts, session.size)
        return line(cuts, 1), *pointed(session, pointers, cuts)
    check_blocks(layout, shape, session.size, "fewer engines")
    return layout, *pointed(session, pointers, spread(cuts, session.size))


def _check_stored(x: Stored) -> None:
    """Raise ValueError if pointers or indices cannot be; this waits."""
    s, indices = x.structure, cast(Any, x.structure.indices)
    parts = np.split(pointers_of(s), pointer_cuts(s.cuts)[1:-1])
    for part, n in zip(parts, np.diff(s.ends).tolist(), strict=True):
        rises = (part[1:] >= part[:-1]).all()
        need(part[0] == 0 and part[-1] == n and rises, "pointers of a sparse array")
    need(not s.nnz or 0 <= int(indices.min()) <= int(indices.max()) < s.minor, "indices")


def _move(x: Array, layout: Layout) -> None:
    if is_whole(x) and not x.at_home and x.dbase.layout != layout:
        moved(x.dbase, layout)()


KIND = Kind(Sparse, _apart, _again, _check)
