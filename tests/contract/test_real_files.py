"""Files that packages ship, made by others for others: read as their own libraries read them."""

from importlib.util import find_spec
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

import distnb as dnb

pytestmark = pytest.mark.ways("one")


def shipped(package, *patterns):
    """Return files of an installed package, or skip the test."""
    found = find_spec(package)
    if found is None:
        pytest.skip(f"no {package}")
    root = Path(found.origin).parent
    files = sorted(chain.from_iterable(map(root.glob, patterns)))
    if not files:
        pytest.skip(f"{package} is installed without its files")
    return files


def check(read, expected, known=frozenset("biufc")):
    """Compare what is read; what no array here holds has to be refused by name."""
    if expected.dtype.kind not in known or expected.dtype.itemsize // (
        1 + (expected.dtype.kind == "c")
    ) not in (1, 2, 4, 8):
        with pytest.raises(TypeError, match="got (dtype|text|object|.*expected numbers)"):
            read()
        return 0
    found = read()
    assert found.dtype == expected.dtype.newbyteorder("=")
    np.testing.assert_array_equal(found.to_numpy(), expected)
    return 1


@pytest.mark.filterwarnings("ignore:Reading `.npy`")  # NumPy says so of files of Python 2
def test_numpys(session):
    for path in shipped("numpy", "lib/tests/data/*.npy"):
        try:
            expected = np.load(path)
        except ValueError:  # pickles
            with pytest.raises((TypeError, ValueError), match=path.name):
                dnb.load(path)
        else:
            check(lambda path=path: dnb.load(path), expected)


def test_archives(session):
    count = 0
    for path in shipped("matplotlib", "mpl-data/sample_data/*.npz"):
        with np.load(path) as archive:
            for name in archive.files:
                opened = dnb.open
                count += check(lambda n=name, p=path: opened(p, n).read(), archive[name])
    assert count >= 4


def test_scipys_sparse_archives(session):
    scipy_sparse = pytest.importorskip("scipy.sparse")
    for path in shipped("scipy", "sparse/tests/data/*.npz"):
        found, expected = dnb.sparse.load_npz(path), scipy_sparse.load_npz(path)
        assert (found.shape, found.dtype) == (expected.shape, expected.dtype)
        np.testing.assert_array_equal(found.toarray(), expected.toarray())


def test_raw_ones(session):
    for path in shipped("matplotlib", "mpl-data/sample_data/*.dat"):
        check(lambda path=path: dnb.fromfile(path, "f4"), np.fromfile(path, "f4"))


def test_csv(session):
    pd = pytest.importorskip("pandas")
    (path,) = shipped("sklearn", "datasets/data/iris.csv")
    found = dnb.read_csv(path, names=list("abcde"), skiprows=1)
    expected = pd.read_csv(path, names=list("abcde"), skiprows=1)
    for name in "abcde":
        check(lambda name=name: found[name], expected[name].to_numpy())
    for path in shipped("sklearn", "datasets/data/diabetes_data_raw.csv.gz"):
        check(lambda path=path: dnb.loadtxt(path), np.loadtxt(path))


def test_hdf5(session):
    h5py = pytest.importorskip("h5py")
    count = 0
    for path in shipped("h5py", "tests/data_files/*.h5"):
        with h5py.File(path) as file:
            for name in file:
                expected, opened = file[name][()], dnb.open
                count += check(lambda n=name, p=path: opened(p, n).read(), expected)
    assert count >= 4


@pytest.mark.parametrize(("kind", "pattern"), [("parquet", "parquet/*.parquet"), ("feather",) * 2])
def test_arrow(session, kind, pattern):
    pytest.importorskip("pyarrow")
    from pyarrow import feather, parquet

    pattern = pattern.replace("feather", "feather/*.feather")
    read, theirs = {
        "parquet": (dnb.read_parquet, parquet.read_table),
        "feather": (dnb.read_feather, feather.read_table),
    }[kind]
    count = 0
    for path in shipped("pyarrow", f"tests/data/{pattern}"):
        table = theirs(path)
        for name in table.column_names:
            expected = table[name].to_numpy()
            count += check(lambda n=name, p=path: read(p, columns=[n])[n], expected)
    assert count


def test_netcdf_3_is_told_of(session):
    pytest.importorskip("h5py")
    for path in shipped("scipy", "io/tests/data/*.nc"):
        with pytest.raises(OSError, match="got NetCDF 3, .*convert it"):
            dnb.open(path)


def test_pictures(session):
    image = pytest.importorskip("PIL.Image")
    for path in shipped("matplotlib", "mpl-data/sample_data/*.jpg", "mpl-data/images/m*e.png"):
        with image.open(path) as theirs:
            expected = np.asarray(theirs.convert("RGBA") if theirs.mode == "P" else theirs)
        check(lambda path=path: dnb.open(path).read(), expected)
