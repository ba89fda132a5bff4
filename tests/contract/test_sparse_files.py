"""Sparse arrays in files: engines read and write their own parts, as SciPy reads and writes all."""

import gzip
import io
import os

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

import distnb as dnb
from distnb import sparse
from distnb.formats import lines, text
from tests.contract.test_sparse import matrix, same

pytestmark = pytest.mark.ways("one", "four")
DTYPES = ["f8", "f4", "i8", "i4", "c16"]


def halves(kind, n=13):
    """Return an array of which a file may have one half."""
    low = sp.tril(matrix((n, n), "c16" if kind == "hermitian" else "f8"), -1).tocsr()
    low.data = np.where(low.data == 0, 1, low.data) * (1 + 2j if kind == "hermitian" else 1)
    if kind == "skew-symmetric":
        return sp.csr_array(low - low.T)
    across = sp.diags_array(np.arange(n) % 3 - 1.0)
    return sp.csr_array(low + (low.conj() if kind == "hermitian" else low).T + across)


def market(path, head, *lines, end="\n"):
    """Write a file of Matrix Market."""
    text = "\n".join([f"%%MatrixMarket matrix {head}", *lines]) + end
    path.write_text(text)
    return path


def test_coordinates_that_are_views(session, tmp_path):
    n = 40
    p, ones = dnb.arange(n, dist="block"), dnb.arange(n - 1.0, dist="block") + 1
    for rows, columns in ((p[1:][::-1], p[1:]), (p[:-1], p[1:])):
        found = sparse.coo_array((ones, (rows, columns)), shape=(n, n))
        sparse.mmwrite(tmp_path / "v.mtx", found)
        there = scipy.io.mmread(tmp_path / "v.mtx").toarray()
        np.testing.assert_array_equal(there, found.to_scipy().toarray())


def test_a_hole_in_a_file(session, tmp_path):
    path = market(tmp_path / "a.mtx", "coordinate real general", "3 3 3", "1 1 1", "\0\0", "2 2 2")
    with pytest.raises(ValueError, match=r"a\.mtx"):
        sparse.mmread(path)


@pytest.mark.cases(4)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(60, 40), (1, 9), (9, 1), (2, 300)], ids=str)
def test_matrix_market_there_and_back(session, tmp_path, shape, dtype):
    a = matrix(shape, dtype)
    scipy.io.mmwrite(tmp_path / "a.mtx", a, comment="one\ntwo", symmetry="general")
    want = sp.coo_array(scipy.io.mmread(tmp_path / "a.mtx"))
    A = sparse.mmread(tmp_path / "a.mtx")
    assert (A.shape, A.dtype, A.nnz) == (want.shape, want.dtype, want.nnz)
    same(A.tocsr(), want.tocsr())
    for i, x in enumerate((sparse.csr_array(a), sparse.csc_array(a), sparse.coo_array(a), A)):
        sparse.mmwrite(tmp_path / f"b{i}", x)
        there = scipy.io.mmread(tmp_path / f"b{i}.mtx")
        assert there.dtype == want.dtype
        np.testing.assert_array_equal(there.toarray(), a.toarray())


@pytest.mark.parametrize("kind", ["symmetric", "skew-symmetric", "hermitian"])
def test_halves(session, tmp_path, kind):
    a = halves(kind)
    scipy.io.mmwrite(tmp_path / "a.mtx", a)
    assert scipy.io.mminfo(tmp_path / "a.mtx")[-1] == kind
    A = sparse.mmread(tmp_path / "a.mtx")
    same(A.tocsr(), sp.csr_array(scipy.io.mmread(tmp_path / "a.mtx")))
    sparse.mmwrite(tmp_path / "b.mtx", A)
    assert (tmp_path / "b.mtx").read_bytes().splitlines()[0].decode().endswith(kind)
    np.testing.assert_array_equal(scipy.io.mmread(tmp_path / "b.mtx").toarray(), a.toarray())


def test_kinds_of_text(session, tmp_path):
    head, lines = "coordinate real general", ["3 3 3", "1 1 1e3", "2 3 -.5", "3 1 7"]
    want = np.array([[1e3, 0, 0], [0, 0, -0.5], [7, 0, 0]])

    def read(*lines, head=head, end="\n", name="x.mtx"):
        return sparse.mmread(market(tmp_path / name, head, *lines, end=end)).toarray().to_numpy()

    np.testing.assert_array_equal(read(*lines), want)
    np.testing.assert_array_equal(read(*lines, end=""), want)
    np.testing.assert_array_equal(read("%", "% 1 2", "", *lines[:2], "", " ", *lines[2:], ""), want)
    np.testing.assert_array_equal(read(*[f"  {x}\t" for x in lines]), want)
    np.testing.assert_array_equal(read(*[f"{x}\r" for x in lines]), want)
    np.testing.assert_array_equal(read(*lines, head="COORDINATE Real General"), want)
    twice = ["2 2 3", "1 1 5", "1 1 7", "2 2 1"]  # equal places are summed, as by toarray()
    np.testing.assert_array_equal(
        read(*twice, head="coordinate integer general"), [[12, 0], [0, 1]]
    )
    pattern = ["2 3 2", "1 3", "2 1"]
    np.testing.assert_array_equal(
        read(*pattern, head="coordinate pattern general"), [[0, 0, 1], [1, 0, 0]]
    )
    np.testing.assert_array_equal(
        read("2 2 1", "2 1", head="coordinate pattern symmetric"), [[0, 1], [1, 0]]
    )
    assert read("2 3 0").tolist() == [[0, 0, 0], [0, 0, 0]]
    odd = ["2 2 3", "1 1 NaN", "1 2 -inf", "2 1\t.5E+01"]
    np.testing.assert_array_equal(read(*odd), [[np.nan, -np.inf], [5, 0]])
    np.testing.assert_array_equal(
        read("2 2", "1", "2", "3", "4", head="array real general"), [[1, 3], [2, 4]]
    )
    with gzip.open(tmp_path / "z.mtx.gz", "wb") as file:
        file.write((market(tmp_path / "x.mtx", head, *lines)).read_bytes())
    np.testing.assert_array_equal(sparse.mmread(tmp_path / "z.mtx.gz").toarray(), want)
    text = io.BytesIO((tmp_path / "x.mtx").read_bytes())
    np.testing.assert_array_equal(sparse.mmread(text).toarray(), want)


@pytest.mark.parametrize(
    ("head", "lines", "message"),
    [
        ("coordinate real general", ["3 3 3", "1 1 1", "2 2 2"], "2 elements, expected 3"),
        ("coordinate real general", ["3 3 1", "1 1 1", "2 2 2"], "2 elements, expected 1"),
        ("coordinate real general", ["3 3 2", "1 1 1", "4 1 2"], "line 4: got '4 1 2' .*ow index"),
        (
            "coordinate real general",
            ["3 3 2", "1 1 1", "1 9 2"],
            "line 4: got '1 9 2' .*ol.* index",
        ),
        ("coordinate real general", ["3 3 2", "0 1 1", "1 1 2"], "line 3: got '0 1 1' .*ow index"),
        ("coordinate real general", ["3 3 2", "1 1 1", "1 2 x"], "line 4: got '1 2 x'"),
        ("coordinate integer general", ["3 3 1", "1 1 " + "9" * 30], "line 3: got '1 1 999"),
        ("coordinate real general", ["3 x 3", "1 1 1"], "head: got"),
        ("coordinate real general", [], "head: got"),
        ("coordinate real symmetric", ["3 2 1", "1 1 1"], "3 x 2, but symmetric"),
        ("coordinate odd general", ["3 2 1", "1 1 1"], "head: got"),
        ("coordinate real symmetric", ["3 3 2", "2 1 1"], "1 elements, expected 2"),
        ("coordinate real general", ["3 3 2", "1 1 1\0.5", "2 2 2"], "line 3: .* byte that is 0"),
        *[
            ("coordinate real general", ["3 3 2", "1 1 -.5e-3", f"2 2 {x}"], "line 4: got '2 2 2")
            for x in ("2.5x61E-1", "2.5)1", "2.5E-", "2.5e", "2.5 junk", "2.5-1", "2.5D3")
        ],
        ("array real general", ["2 2", "1", "2", "-nan", "3.5E)1"], "line 6: got '3.5E"),
        ("array real general", ["2 2", "1", "2", "3"], "Truncated file"),
    ],
)
def test_what_is_wrong_in_a_text(session, tmp_path, head, lines, message):
    path = market(tmp_path / "bad.mtx", head, *lines)
    with pytest.raises(ValueError, match=rf"^file .*bad\.mtx.*{message}"):
        sparse.mmread(path)


def test_what_is_no_text(session, tmp_path):
    (tmp_path / "none.mtx").write_bytes(b"1,2\n3,4\n")
    with pytest.raises(ValueError, match=r"none\.mtx, head: got .*expected that of a Matrix"):
        sparse.mmread(tmp_path / "none.mtx")
    (tmp_path / "empty.mtx").write_bytes(b"")
    with pytest.raises(ValueError, match=r"empty\.mtx, head"):
        sparse.mmread(tmp_path / "empty.mtx")
    with pytest.raises(FileNotFoundError):
        sparse.mmread(tmp_path / "nowhere.mtx")
    with pytest.raises(IsADirectoryError):
        sparse.mmread(tmp_path)


def test_options_of_mmwrite(session, tmp_path):
    a = matrix((120, 110), density=0.05)
    A = sparse.csr_array(a)
    for options in (
        {"comment": "of x", "precision": 3},
        {"field": "integer"},
        {"field": "pattern"},
        {"field": "complex", "symmetry": "general"},
        {"symmetry": None},
    ):
        sparse.mmwrite(tmp_path / "ours.mtx", A, **options)
        scipy.io.mmwrite(tmp_path / "theirs.mtx", a, **options)
        assert (tmp_path / "ours.mtx").read_bytes() == (tmp_path / "theirs.mtx").read_bytes()
    big = halves("symmetric", 110)
    sparse.mmwrite(tmp_path / "ours.mtx", sparse.csr_array(big), symmetry=None)
    assert scipy.io.mminfo(tmp_path / "ours.mtx")[-1] == "symmetric"
    np.testing.assert_array_equal(scipy.io.mmread(tmp_path / "ours.mtx").toarray(), big.toarray())
    with pytest.raises(ValueError, match="symmetry"):
        sparse.mmwrite(tmp_path / "ours.mtx", A, symmetry="odd")
    assert sorted(os.listdir(tmp_path)) == ["ours.mtx", "theirs.mtx"]


@pytest.mark.parametrize("suffix", [".gz", ".bz2", ".zst"])
def test_texts_are_compressed_as_their_names_say(session, tmp_path, suffix):
    pytest.importorskip("zstandard")
    for a in (matrix((60, 40)), matrix((3, 0)), halves("symmetric", 20)):
        sparse.mmwrite(tmp_path / f"a.mtx{suffix}", sparse.csr_array(a), comment="of x")
        same(sparse.csr_array(sparse.mmread(tmp_path / f"a.mtx{suffix}")), a.tocsr())
        if suffix != ".zst":
            there = scipy.io.mmread(tmp_path / f"a.mtx{suffix}")
            np.testing.assert_array_equal(there.toarray(), a.toarray())
    assert os.listdir(tmp_path) == [f"a.mtx{suffix}"]


@pytest.mark.cases(6)
@pytest.mark.parametrize("packed", [True, False])
@pytest.mark.parametrize("fmt", ["csr", "csc", "coo"])
@pytest.mark.parametrize("shape", [(60, 40), (2, 9), (0, 3), (3, 0), (5, 4)], ids=str)
def test_archives_there_and_back(session, tmp_path, shape, fmt, packed):
    for dtype in ("f8", "?", "c8"):
        a = matrix(shape, dtype, fmt=fmt, density=0 if shape == (5, 4) else 0.4)
        sp.save_npz(tmp_path / "a.npz", a, packed)
        A = sparse.load_npz(tmp_path / "a.npz")
        same(A, a)
        same(A @ np.ones(shape[1]), a @ np.ones(shape[1]))
        sparse.save_npz(tmp_path / "b", A, packed)
        there = sp.load_npz(tmp_path / "b.npz")
        assert (type(there), there.dtype) == (type(a), a.dtype)
        np.testing.assert_array_equal(there.toarray(), a.toarray())


def test_other_archives(session, tmp_path):
    a = matrix((6, 4))
    sp.save_npz(tmp_path / "a.npz", sp.csr_matrix(a))
    same(sparse.load_npz(tmp_path / "a.npz"), a)
    sp.save_npz(tmp_path / "a.npz", a.tobsr())
    same(sparse.load_npz(tmp_path / "a.npz"), a.tobsr().tocsr())
    file = io.BytesIO()
    sparse.save_npz(file, sparse.csr_array(a))
    file.seek(0)
    same(sparse.load_npz(file), a)
    wide = sp.csr_array((a.data, a.indices.astype("i8"), a.indptr.astype("i8")), shape=a.shape)
    sp.save_npz(tmp_path / "a.npz", wide)
    A = sparse.load_npz(tmp_path / "a.npz")
    assert A.indices.dtype == sparse.csr_array(a).indices.dtype
    same(A @ A.T, a @ a.T)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": [0, 1, 9]}, "an index of 0 or 9, expected 0 to 3"),
        ({"indices": [0, 1, -1]}, "an index of -1 or 1"),
        ({"indices": [0.0, 1, 2]}, "indices of <f8"),
        ({"indices": [0, 1]}, "shapes"),
        ({"indptr": [0, 2, 1, 3]}, "indptr that falls"),
        ({"indptr": [0, 1, 2, 2]}, "indptr up to 2, expected 3"),
        ({"indptr": [1, 2, 3, 4]}, "indptr from 1 on"),
        ({"indptr": [0, 3]}, "indptr of shape"),
    ],
)
def test_what_is_wrong_in_an_archive(session, tmp_path, change, message):
    good = {"indices": [0, 1, 2], "indptr": [0, 1, 2, 3], "data": [1.0, 2, 3]}
    np.savez(tmp_path / "bad.npz", format=b"csr", shape=(3, 4), **{**good, **change})
    with pytest.raises(ValueError, match=rf"^file .*bad\.npz: got {message}"):
        sparse.load_npz(tmp_path / "bad.npz")


def test_what_is_no_archive(session, tmp_path):
    np.savez(tmp_path / "x.npz", x=np.ones(3))
    with pytest.raises(ValueError, match="sparse"):
        sparse.load_npz(tmp_path / "x.npz")
    (tmp_path / "y.npz").write_bytes(b"PK\3\4 nonsense")
    with pytest.raises(ValueError, match=r"y\.npz.*good zip"):
        sparse.load_npz(tmp_path / "y.npz")
    names = bytearray((tmp_path / "x.npz").read_bytes().replace(b"x.npy", b"\xff.npy"))
    names[names.index(b"PK\1\2") + 9] |= 8  # which says that they are UTF-8
    (tmp_path / "x.npz").write_bytes(names)
    for read in (sparse.load_npz, dnb.load, dnb.open):
        with pytest.raises(ValueError, match=r"^file .*x\.npz: .*good zip"):
            read(tmp_path / "x.npz")
    sp.save_npz(tmp_path / "d.npz", sp.eye_array(3).tocsr(), compressed=False)
    text = (tmp_path / "d.npz").read_bytes()
    for old, new in ((b"shape.npy", b"shapE.npy"), (b"\x03\0\0\0\0\0\0\0" * 2, b"\4" * 16)):
        (tmp_path / "d.npz").write_bytes(text.replace(old, new))  # no such member, wrong checksum
        with pytest.raises(ValueError, match=r"^file .*d\.npz: .*a sparse array"):
            sparse.load_npz(tmp_path / "d.npz")
    data = bytearray(text)
    for part in (np.ones(3), np.arange(4, dtype="i4"), np.arange(3, dtype="i4")):
        at = data.index(part.tobytes())  # elements, pointers, indices
        data[at + 1] ^= 1
        (tmp_path / "d.npz").write_bytes(data)
        with pytest.raises(ValueError, match=r"^file .*d\.npz.*CRC-32"):
            sparse.load_npz(tmp_path / "d.npz")
        data[at + 1] ^= 1
    np.savez(tmp_path / "c.npz", format=b"coo", shape=(3, 4), data=[1.0], row=[3], col=[0])
    with pytest.raises(ValueError, match=r"c\.npz: got an index of 3 or 3, expected 0 to 2"):
        sparse.load_npz(tmp_path / "c.npz")


def test_engines_write_and_read_their_own_parts(session, tmp_path, engines_only, monkeypatch):
    a = matrix((50, 30))
    A = sparse.csr_array(a, dist="nnz")
    with monkeypatch.context() as patch:
        patch.setattr(sparse.csr_array, "to_scipy", None)
        sparse.mmwrite(tmp_path / "a.mtx", A)
        sparse.save_npz(tmp_path / "a.npz", A)
    assert min(sparse.mmread(tmp_path / "a.mtx").layout.nnz) > 0
    assert min(sparse.load_npz(tmp_path / "a.npz").layout.nnz) > 0
    monkeypatch.setattr(lines, "BLOCK", 64)  # many blocks, and pieces of them
    monkeypatch.setattr(text, "_PIECE", 20)
    same(sparse.mmread(tmp_path / "a.mtx").tocsr(), a)
