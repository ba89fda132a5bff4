"""HDF5 and NetCDF-4, by h5py. What is not cut into chunks is read and written at its offset."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from distnb.common.addresses import is_address, opened
from distnb.common.errors import explain
from distnb.common.interrupts import unbroken
from distnb.formats import plain
from distnb.formats.npy import check_dtype
from distnb.formats.plain import PlainWriter, write_all
from distnb.formats.stored import (
    Box,
    Place,
    Reader,
    Stored,
    Writer,
    check_same,
    good,
    module,
    stamp_of,
)
from distnb.geometry.layout import Ints
from distnb.geometry.views import View

__all__ = [
    "attributes",
    "create",
    "create_netcdf",
    "describe",
    "place",
    "place_netcdf",
    "reader",
    "writer",
]


def _load() -> Any:
    import h5py

    return h5py


def _h5py() -> Any:
    return module(_load, "HDF5", "h5py", "hdf5")


def _opened(path: str, mode: str) -> Any:
    """Open a file; others may have it open, too."""
    h5py = _h5py()
    try:
        if is_address(path):
            return h5py.File(opened(path), mode)
        try:
            return h5py.File(path, mode, locking=False)
        except OSError as error:  # where this process has it open, it has to be opened alike
            if "locking flag" not in str(error):
                raise
            return h5py.File(path, mode)
    except OSError as error:
        got, do = str(error), "check it, or make it again"
        if not is_address(path) and _is_older(path):
            got, do = "NetCDF 3", "convert it: xr.open_dataset(path).to_netcdf(new)"
        raise OSError(explain(f"file {path}", got, "a good HDF5 file", do)) from None


def _is_older(path: str) -> bool:
    """Tell whether a file is NetCDF of before it was HDF5."""
    try:
        with open(path, "rb") as file:
            return file.read(3) == b"CDF"
    except OSError:
        return False


class _Kept:
    """A file for the library to write, which takes all that it is given.

    Where a write failed, the library could not close the file, and ended the process when it freed
    what belonged to it. So the first failure is kept until it has closed; and what calls the
    library is ``unbroken``, as Ctrl-C here would be such a failure.
    """

    def __init__(self, path: str) -> None:
        self._fd = os.open(path, os.O_RDWR | os.O_CLOEXEC)
        self._at, self._end = 0, os.fstat(self._fd).st_size
        self.error: OSError | None = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place."""
        self._at = offset + (0, self._at, self._end)[whence]
        return self._at

    def tell(self) -> int:
        """Return the place."""
        return self._at

    def read(self, size: int = -1) -> bytes:
        """Read from the place on, as files can, by which the library knows them."""
        found = bytearray(self._end - self._at if size < 0 else size)
        return bytes(found[: self.readinto(found)])

    def readinto(self, buffer: Any) -> int:
        """Read from the place on."""
        n = os.preadv(self._fd, [buffer], self._at)
        self._at += n
        return n

    def write(self, data: Any) -> int:
        """Write from the place on."""
        self._tried(write_all, self._fd, data, self._at)
        self._at += len(data)
        self._end = max(self._end, self._at)
        return len(data)

    def truncate(self, size: int | None = None) -> int:
        """Set the length."""
        self._end = self._at if size is None else size
        self._tried(os.ftruncate, self._fd, self._end)
        return self._end

    def flush(self) -> None:
        """Do nothing: nothing is held back."""

    def _tried(self, function: Callable[..., object], *args: object) -> None:
        try:
            if self.error is None:
                function(*args)
        except OSError as error:
            self.error = error

    def check(self) -> None:
        """Raise what failed."""
        if self.error is not None:
            raise self.error

    def close(self) -> None:
        """Close the file, when the library has."""
        os.close(self._fd)


@contextmanager
def _written(path: str, opened: Callable[..., Any]) -> Iterator[Any]:
    """Yield an open file that is written, which the library opens; raise what failed."""
    kept = _Kept(path)
    try:
        with opened(kept, "r+" if _has_some(path) else "w") as file:
            yield file
    finally:
        kept.close()
        kept.check()


def describe(path: str, name: str | None) -> tuple[Stored, View]:
    """Return what is in a dataset."""
    stamp = stamp_of(path)
    with good(path, "a good HDF5 file"), _opened(path, "r") as file:
        found = _dataset(file, path, name)
        _check_here(found, file, path)
        if found.file != file:  # a link led there, and place and stamp are those of that file
            own = found.file[found.ref].name  # its name may be that of a link to the link
            return describe(os.path.abspath(found.file.filename), own)
        check_dtype(found.dtype, f"{path}, dataset {found.name}")
        if found.shape is None:
            raise ValueError(explain(f"file {path}", f"{found.name} is empty", "data", "name one"))
        _check_records(found, path)
        offset = _offset(found)
        shape, chunks = tuple(map(int, found.shape)), tuple(map(int, found.chunks or ()))
        dtype = found.dtype.str
        if np.dtype(dtype) != found.dtype or not _as_numpys(found):
            offset = None
        details = (found.name, _folder(found), offset)
    return Stored("hdf5", path, stamp, shape, dtype, chunks, details), View.whole(shape)


def _check_here(found: Any, file: Any, path: str) -> None:
    """Raise ValueError for a dataset at an address if its elements are in another file.

    There the library takes the file itself for any other, and finds what is not meant.
    """
    several = found.is_virtual and any(x.file_name != "." for x in found.virtual_sources())
    if is_address(path) and (found.file != file or found.external or several):
        got, do = f"{found.name!r} in another file", "open it where files are, in a folder"
        raise ValueError(explain(f"file {path}", got, "data in this one", do))


def _check_records(found: Any, path: str) -> None:
    """Raise ValueError for a variable of NetCDF with fewer records than its dimension has.

    NetCDF's readers fill what is missing, of which HDF5 knows nothing.
    """
    if "DIMENSION_LIST" not in found.attrs:
        return
    for axis, scales in enumerate(found.attrs["DIMENSION_LIST"]):
        if found.maxshape[axis] is not None or not len(scales):
            continue
        refs = found.file[scales[0]].attrs.get("REFERENCE_LIST", ())
        most = max([found.file[ref].shape[at] for ref, at in refs], default=0)
        if most > found.shape[axis]:
            got = f"{found.name} with {found.shape[axis]} of {most} records"
            do = "open it by xarray or h5netcdf, which fill what is missing"
            raise ValueError(explain(f"file {path}", got, "all of them", do))


#: What the library and NetCDF keep in attributes for themselves.
_OWN = ("CLASS", "NAME", "DIMENSION_LIST", "REFERENCE_LIST", "_nc3_strict", "_NCProperties")


def attributes(stored: Stored) -> dict[str, Any]:
    """Return the attributes of a dataset."""
    with good(stored.path, "good attributes"), _opened(stored.path, "r") as file:
        found = dict(file[stored.details[0]].attrs)
    return {k: v for k, v in found.items() if k not in _OWN and not k.startswith("_Netcdf4")}


def _offset(dataset: Any) -> int | None:
    """Return where the elements of a dataset are, if they lie in the file one after the other."""
    if dataset.chunks or dataset.external or dataset.is_virtual:
        return None
    found = dataset.id.get_offset()
    return None if found is None else int(found)


def _folder(dataset: Any) -> str:
    """Return where the library looks for the files of elements that have no full path, if any.

    By itself that is where a process works, which the notebook may have left since engines began.
    """
    if all(os.path.isabs(name) for name, _, _ in dataset.external or ()):
        return ""
    return os.path.join(os.getcwd(), _told_folder(dataset))


def _told_folder(dataset: Any) -> str:
    return os.fsdecode(dataset.id.get_access_plist().get_efile_prefix())


def _opened_in(file: Any, name: str, folder: str) -> Any:
    """Open a dataset whose elements are in files of a folder; raise ValueError if it is another."""
    h5py = _h5py()
    access = h5py.h5p.create(h5py.h5p.DATASET_ACCESS)
    access.set_efile_prefix(os.fsencode(folder))
    found = h5py.Dataset(h5py.h5d.open(file.id, name.encode(), access))
    if (here := _told_folder(found)) != folder:  # which stands above what is told
        got, do = f"HDF5_EXTFILE_PREFIX={here}", "set it before engines start, or not at all"
        raise ValueError(explain(f"file {file.filename}", got, folder, do))
    return found


def _as_numpys(dataset: Any) -> bool:
    """Tell whether elements are in the file as NumPy has them: also of less bits, or as an enum."""
    kind = dataset.dtype
    return kind.kind != "b" and dataset.id.get_type() == _h5py().h5t.py_create(kind, logical=True)


def _dataset(file: Any, path: str, name: str | None) -> Any:
    """Return a dataset by its name, or the only one; raise KeyError, which tells what there is."""
    if name is not None and name in file and isinstance(_found(file, path, name), _h5py().Dataset):
        return file[name]
    names = _datasets(file, name is not None)
    if name is None and len(names) == 1:
        return file[names[0]]
    raise KeyError(explain(f"file {path}", f"name {name!r}", f"one of {names}", "give name="))


def _found(file: Any, path: str, name: str) -> Any:
    """Return what has a name; raise KeyError for a link to what is not there."""
    try:
        return file[name]
    except KeyError:
        link = file.get(name, getlink=True)
        if not hasattr(link, "path"):
            raise
        of = f" in {link.filename!r}" if hasattr(link, "filename") else ""
        got = f"{name!r}, a link to {link.path!r}{of}, where nothing is"
        raise KeyError(explain(f"file {path}", got, "a dataset", "mend the link")) from None


def _datasets(file: Any, scales: bool) -> list[str]:
    """Return names of datasets; ``scales``: those of NetCDF's coordinates, too."""
    h5py, names = _h5py(), list[str]()

    def note(key: str, found: Any) -> None:
        if isinstance(found, h5py.Dataset) and (scales or not found.is_scale):
            names.append(key)

    file.visititems(note)
    return names


class _Datasets:
    """Reads and writes boxes by the library."""

    def __init__(self, stored: Stored, kept: _Kept | None = None) -> None:
        self._kept = kept
        self._file = _h5py().File(kept, "r+") if kept else _opened(stored.path, "r")
        self._path = stored.path
        with good(stored.path, "a good HDF5 file"):
            name, folder, _ = stored.details
            self._data = _opened_in(self._file, name, folder) if folder else self._file[name]

    def close(self) -> None:
        """Close the file."""
        unbroken(self._close)

    def _close(self) -> None:
        try:
            self._file.close()
        finally:
            if self._kept is not None:
                self._kept.close()
                self._kept.check()

    def read(self, box: Box, out: np.ndarray) -> None:
        """Read a box."""
        with good(self._path, "good data and filters"):
            out[...] = self._data[_slices(box)]

    def write(self, box: Box, data: np.ndarray) -> None:
        """Write a box."""
        assert self._kept is not None
        unbroken(lambda: self._data.__setitem__(_slices(box), data))
        self._kept.check()


def _slices(box: Box) -> tuple[slice, ...]:
    return tuple([slice(r.start, r.stop, r.step) for r in box])


def reader(stored: Stored) -> Reader:
    """Open a dataset to read it."""
    check_same(stored.path, stored.stamp)
    if stored.details[-1] is None or not stored.nbytes:
        return _Datasets(stored)
    return plain.reader(stored._replace(details=(stored.details[-1],)))


def writer(stored: Stored) -> Writer:
    """Open a dataset to write it."""
    check_same(stored.path, ())
    if stored.details[-1] is None:
        return unbroken(lambda: _Datasets(stored, _Kept(stored.path)))
    return PlainWriter(stored._replace(details=(stored.details[-1],)))


def place(path: str, name: str | None, overwrite: bool) -> Place:
    """Return where a dataset is to be: others in the file stay, and one of its name if it may."""
    name = name or "data"
    if not _has_some(path):
        return Place(path, name, path)
    h5py, parts = _h5py(), name.strip("/").split("/")
    with _opened(path, "r") as file:
        above = ["/".join(parts[:k]) for k in range(1, len(parts))]
        wrong = [each for each in above if each in file and not _is_group(file[each])]
        linked = [each for each in above if each in file and file[each].file != file]
        found = file.get(name, getclass=True) if name in file else None
    if wrong:
        told = explain(f"file {path}", f"dataset {wrong[0]!r}", "a group", "use another name=")
        raise ValueError(told)
    if linked:
        got, do = f"{linked[0]!r} in another file", "name that file, or use another name="
        raise ValueError(explain(f"file {path}", got, "a group in it", do))
    if found is not None and (not overwrite or found is not h5py.Dataset):
        kind = "dataset" if found is h5py.Dataset else "group"
        do = "use another name=" + ", or overwrite=True" * (kind == "dataset")
        raise ValueError(explain(f"file {path}", f"{kind} {name!r}", "none of this name", do))
    return Place(path, name, path, copied=True)


def place_netcdf(path: str, name: str | None, overwrite: bool) -> Place:
    """Return where a variable is to be: others in the file stay, so none of them goes."""
    found = place(path, name, overwrite)
    if not found.copied:
        return found
    with _opened(path, "r") as file:
        if found.name not in file:
            return found
        names = _datasets(file, False)
    if names != [str(found.name).strip("/")]:
        got, expected = f"variables {names}", f"{found.name!r} alone, as none can be taken out"
        raise ValueError(explain(f"file {path}", got, expected, "use another name= or file"))
    return found._replace(copied=False)


def _has_some(path: str) -> bool:
    """Tell whether there is a file with anything in it."""
    return os.path.isfile(path) and os.path.getsize(path) > 0


def _is_group(found: Any) -> bool:
    return isinstance(found, _h5py().Group)


def create(path: str, name: str | None, shape: Ints, dtype: np.dtype, options: Any) -> Stored:
    """Make a dataset that is to be filled; without chunks its elements have a place in the file."""
    return unbroken(lambda: _created(path, name, shape, dtype, options))


def _created(path: str, name: str | None, shape: Ints, dtype: np.dtype, options: Any) -> Stored:
    h5py, options = _h5py(), dict(options)
    attrs = options.pop("attrs", {})
    assert name is not None
    with _written(path, h5py.File) as file:
        if name in file:
            del file[name]
        plist = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
        bare = not options and dtype.kind != "b" and 0 not in shape and shape
        if bare:
            plist.set_alloc_time(h5py.h5d.ALLOC_TIME_EARLY)
            plist.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
            space = h5py.h5s.create_simple(shape)
            links = h5py.h5p.create(h5py.h5p.LINK_CREATE)
            links.set_create_intermediate_group(True)
            kind = h5py.h5t.py_create(dtype, logical=True)
            made = h5py.Dataset(h5py.h5d.create(file.id, name.encode(), kind, space, plist, links))
        else:
            made = file.create_dataset(name, shape, dtype, **options)
        made.attrs.update(attrs)
        offset = made.id.get_offset() if bare else None
        chunks = tuple(made.chunks or ())
    if offset is not None:  # the library leaves the end of the file to whoever writes
        os.truncate(path, max(os.path.getsize(path), offset + int(np.prod(shape)) * dtype.itemsize))
    return Stored("hdf5", path, (), shape, dtype.str, chunks, (name, "", offset))


def _load_netcdf() -> Any:
    import h5netcdf

    return h5netcdf


def create_netcdf(
    path: str, name: str | None, shape: Ints, dtype: np.dtype, options: Any
) -> Stored:
    """Make a file with a variable that is to be filled; ``dims`` names its axes."""
    return unbroken(lambda: _created_netcdf(path, name, shape, dtype, options))


def _created_netcdf(
    path: str, name: str | None, shape: Ints, dtype: np.dtype, options: Any
) -> Stored:
    h5netcdf = module(_load_netcdf, "NetCDF", "h5netcdf", "netcdf")
    assert name is not None
    given = {"dims": [f"dim_{d}" for d in range(len(shape))], **options}
    dims, attrs = tuple(given.pop("dims")), given.pop("attrs", {})
    if len(dims) != len(shape) or dtype.kind in "bc" or dtype == np.float16:
        got = f"dims {dims} for shape {shape} and dtype {dtype}"
        what = "a name for each axis, and real numbers of 4 bytes and more, or integers"
        raise ValueError(explain("NetCDF", got, what, "pass dims=, and use .astype or .real"))
    with _written(path, h5netcdf.File) as file:
        for dim, n in dict(zip(dims, shape, strict=True)).items():
            there = file.dimensions[dim].size if dim in file.dimensions else None
            if there not in (n, None):
                got = f"dimension {dim!r} of length {there}"
                raise ValueError(explain("NetCDF", got, f"{n}", "pass dims= of other names"))
            if there is None:
                file.dimensions[dim] = n
        made = file.create_variable(name, dims, dtype, **given)
        made.attrs.update(attrs)
        chunks = tuple(made.chunks or ())
    return Stored("hdf5", path, (), shape, dtype.str, chunks, (f"/{name.strip('/')}", "", None))
