"""What NumPy itself and libraries do with distributed arrays, against the same with NumPy's."""

import io

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import setting

pytestmark = pytest.mark.ways("one")

#: Keys of rows and columns: masks, positions and scalars of ours.
KEYS = """
df[m]
df[~m]
df.loc[m]
df.iloc[m]
s.iloc[m]
df.index[m]
df.index.delete(i[:2])
pd.date_range("2020", periods=4)[m]
pd.array([1, 2, None, 4])[m]
pd.array(list("abcd"))[i[:2]]
t[m]
t.iloc[m]
df.loc[:, c]
df.iloc[:, c]
df.iloc[i[3]]
df.loc[i[3]]
df.at[i[3], "a"]
df.iat[i[3], i[1]]
df.xs(i[2])
s[i[2]]
x[1] in s
i[1] in pd.Index([3, 1, 2])
df.iloc[: i[3]]
df.iloc[i[1] : i[3], : i[1]]
df.loc[[i[0], i[2]]]
df[lambda d: np.asarray(d.a) > 2]
df[A > 0]
df.where(A > 3, A)
df.mask(A > 3, x[1])
"""
#: What these change.
PUT_IN = """
s[m] = -1
df.loc[m, "a"] = 0
df.iloc[m, 0] = x[:2]
df.loc[i[2]] = A[0] * 10
df.at[i[3], "a"] = x[1]
df[A > 4] = 0
df["z"] = x
df["z"] = x[0]
df.loc[:, "z"] = x[0]
df += A
"""
#: Operators, ufuncs and methods.
OPERANDS = """
df * A
A * df
df - A[:, :1]
A > df
df == A
s + x
x[1] * s
df.mul(A)
df.eq(A)
s.add(x)
s.add(x, fill_value=0)
s.where(m).rsub(x, fill_value=1)
df.clip(A - 1, A + 1)
np.add(df, A)
np.maximum(df.a, x)
np.maximum(x, df.a)
numpy.maximum(A, df)
df.groupby(i % 2).sum()
s.groupby([i % 2, i // 3]).sum()
i + pd.array([1, 2, None, 4])
m & pd.array([True, None, True, False])
x * pd.arrays.SparseArray([0.0, 1, 0, 2])
df.set_index(i)
s.replace(x[0], 7)
pd.unique(i % 2)
pd.factorize(i % 2)[0]
"""
#: Columns of arrays and scalars, of lists of scalars, and of what users' functions return.
CONTENTS = """
df.assign(z=x[0])
pd.Series([x[0], 1.5])
pd.Series(x[0], index=[1, 2])
pd.Series({"a": x[0], "b": x[1]})
pd.DataFrame([{"a": x[0], "b": i[0]}, {"a": x[1], "b": i[1]}])
pd.DataFrame([(x[0], 1), (x[1], 2)])
pd.DataFrame({"a": [x[0], x[1]]})
pd.Index([i[0], i[1]])
pd.date_range("2020", periods=i[3])
pd.interval_range(0, i[3])
pd.timedelta_range("1D", periods=i.max())
pd.DataFrame(np.empty((0, 3)))
pd.Series(np.zeros(0, "i4"))
s.apply(np.sqrt)
df.apply(np.sum)
df.groupby("a").agg(np.sum)
"""


def outcome(pd, of, code):
    """Return what a line makes of a frame, or of a column, with arrays of a library."""
    x, i = of.arange(4.0), of.arange(4)
    df = pd.DataFrame(np.arange(8.0)[::-1].reshape(4, 2), columns=["a", "b"])
    names = {"pd": pd, "np": of, "numpy": np, "x": x, "i": i, "m": i % 2 == 0, "df": df}
    names |= {"A": of.arange(8.0).reshape(4, 2), "c": of.array([True, False])}
    names |= {"s": pd.Series(np.arange(4.0)), "t": pd.Series(["a", "b", "c", "d"])}
    if code not in PUT_IN:
        return eval(code, names)
    exec(code, names)
    return names["s" if code.startswith("s") else "df"]


@pytest.mark.parametrize("codes", [KEYS, PUT_IN, OPERANDS, CONTENTS])
def test_arrays_are_numpys_to_pandas(session, codes):
    pd = pytest.importorskip("pandas")
    for code in codes.strip().splitlines():
        found, want = outcome(pd, dnb, code), outcome(pd, np, code)
        assert type(found) is type(want), code
        if isinstance(want, pd.DataFrame):
            pd.testing.assert_frame_equal(found, want)
        elif isinstance(want, pd.Series):
            pd.testing.assert_series_equal(found, want)
        elif isinstance(want, pd.Index):
            pd.testing.assert_index_equal(found, want)
        elif isinstance(want, pd.api.extensions.ExtensionArray):
            pd.testing.assert_extension_array_equal(found, want)
        else:
            np.testing.assert_array_equal(found, want)


def test_records_are_gathered_once(session):
    """To pandas each row of what is no array of NumPy's is one to be asked for."""
    pd, rows = pytest.importorskip("pandas"), np.arange(90.0).reshape(30, 3)
    with setting(cutoff=0, place="engines"):
        ours = dnb.array(rows)
        before = session.batches
        found = pd.DataFrame.from_records(ours, columns=["a", "b", "c"], index="a")
        assert session.batches - before <= 2
    want = pd.DataFrame.from_records(rows, columns=["a", "b", "c"], index="a")
    pd.testing.assert_frame_equal(found, want)


def test_arrays_over_the_budget_are_refused(session):
    pd = pytest.importorskip("pandas")
    df, x = pd.DataFrame({"a": np.arange(200.0)}), dnb.arange(200.0)
    with setting(gather_budget=100):
        for call in (lambda: df.iloc[x > 3], lambda: df.mul(x, axis=0), lambda: df.groupby(x)):
            with pytest.raises(dnb.GatherError):
                call()


def test_arrays_in_a_list_stay(session):
    pd = pytest.importorskip("pandas")
    x = dnb.arange(4.0)
    kept = pd.Series([x, x[1]])
    assert kept[0] is x
    assert type(kept[1]) is np.float64


#: What is read and written by keys of ours, in a dataset of two axes and one of one axis.
STORED = """
d1[m]
d[A > 0]
d[i[1], i[1]]
d1.__setitem__(m, x[:2])
d.__setitem__(A > 3, 0)
d.__setitem__(i[1], A[0])
d.__setitem__(slice(None), A * 2)
"""


def stored(d, d1, of, code):
    """Return what a line reads, and what it leaves."""
    x, i = of.arange(4.0), of.arange(4)
    names = {"d": d, "d1": d1, "x": x, "i": i, "m": i % 2 == 0, "A": of.arange(8.0).reshape(4, 2)}
    found = eval(code, names)
    return [d[...], d1[...]] + ([] if found is None else [found])


def alike(found, want):
    for one, other in zip(found, want, strict=True):
        assert np.shape(one) == np.shape(other)
        np.testing.assert_array_equal(one, other)


def test_keys_of_hdf5(session):
    h5py = pytest.importorskip("h5py")
    for code in STORED.strip().splitlines():
        results = []
        for of in (dnb, np):
            with h5py.File("m.h5", "w", driver="core", backing_store=False) as file:
                file["d"], file["d1"] = np.arange(8.0).reshape(4, 2), np.arange(4.0)
                results.append(stored(file["d"], file["d1"], of, code))
                if of is dnb:
                    file["d1"].write_direct(dnb.ones(4))
                    np.testing.assert_array_equal(file["d1"], np.ones(4))
        alike(*results)


def test_keys_and_contents_of_zarr(session):
    zarr = pytest.importorskip("zarr")
    for code in STORED.strip().splitlines():
        results = []
        for of in (dnb, np):
            d, d1 = zarr.array(np.arange(8.0).reshape(4, 2)), zarr.array(np.arange(4.0))
            results.append(stored(d, d1, of, code))
        alike(*results)
    made = zarr.create_array(store={}, data=dnb.arange(6.0).reshape(3, 2), chunks=(2, 2))
    np.testing.assert_array_equal(made[:], np.arange(6.0).reshape(3, 2))


@pytest.mark.parametrize("name", ["sum", "mean", "max", "std", "var", "cumsum", "round", "argsort"])
def test_functions_are_methods_of_what_is_no_array(session, name):
    """Of pandas, where NumPy hands its own defaults on."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": [1.0, 2, 4], "b": [3.0, 1, 2]})
    for x in (frame, frame.a):
        found, expected = getattr(dnb, name)(x), getattr(np, name)(x)
        kinds = (dnb.DistArray,) if type(expected) is np.ndarray else (type(expected),)
        assert type(found) in kinds, type(found)
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-15)


@pytest.mark.parametrize("name", ["transpose", "squeeze", "repeat", "searchsorted"])
def test_functions_give_what_methods_of_others_give(session, name):
    pd = pytest.importorskip("pandas")
    more = {"repeat": (2,), "searchsorted": (2,)}.get(name, ())
    for x in (pd.Series([1, 2]), pd.DataFrame({"a": [1, 2]}), pd.Index([1, 2])):
        if (x.ndim == 1 or not more) and (name, type(x)) != ("squeeze", pd.Index):
            found, expected = getattr(dnb, name)(x, *more), getattr(np, name)(x, *more)
            assert type(found) is type(expected)
            np.testing.assert_array_equal(found, expected)


#: What libraries make of a matrix, two vectors, a mask and integers.
CALLS = """
linalg.cg(A @ A.T + np.eye(4) * 9, x)[0]
linalg.gmres(A + np.eye(4) * 9, x)[0]
linalg.lsqr(A + np.eye(4) * 9, x)[0]
linalg.aslinearoperator(x).matvec(x)
linalg.aslinearoperator(A * 1j).rmatvec(x)
linalg.aslinearoperator(A).H.matmat(A)
linalg.svds(A, 2)[1]
sparse.csr_array(np.eye(4) * x)[m]
put(sparse.csr_array((4, 4)), (m, 0), 3)
put(sparse.lil_array((4, 4)), A > 2, 5)
put(sparse.dok_array((4, 4)), (i, i), x)
put(sparse.csc_array((4, 4)), (slice(None), [1]), A[:, :1])
signal.find_peaks(y, height=y)[0]
signal.find_peaks(y, height=(y - 1, y))[0]
stats.gaussian_kde(y, weights=x).evaluate(x)
optimize.lsq_linear(A, x, bounds=(0, x)).x
optimize.isotonic_regression(y, weights=x).x
optimize.least_squares(lambda p: p - x, numpy.zeros(4), jac=lambda p: np.eye(4)).x
optimize.least_squares(lambda p: p - x, x * 0, jac=lambda p: np.eye(4), method="lm").x
optimize.minimize(lambda p: ((p - x) ** 2).sum(), x * 0, jac=lambda p: 2 * (p - x)).x
optimize.minimize(lambda p: sum((p - x) ** 2), x, jac=lambda p: 2 * (p - x), method="SLSQP").x
optimize.minimize(lambda p: (sum((p - x) ** 2), 2 * (p - x)), x, jac=True, method="L-BFGS-B").x
interpolate.lagrange(x, y).coeffs
(np.poly1d([1, 2]) / x[0]).coeffs
(numpy.polynomial.Polynomial([1, 2]) / x[0]).coef
sla.funm(A + A.T, np.exp)
signal.sosfilt(signal.butter(2, 0.2, output="sos"), A, axis=0)
stats.normal_inverse_gamma(0, 1, 2, 1).pdf(x, y + 1)
spatial.KDTree(numpy.eye(4)).count_neighbors(spatial.KDTree(numpy.eye(4)), 2, weights=(x, None))
csgraph.construct_dist_matrix(A, csgraph.dijkstra(A, return_predecessors=True)[1])
pairwise.chi2_kernel(A, A[:2])
signal.sosfiltfilt(signal.butter(2, 0.2, output="sos"), np.arange(40.0) % 7)
transform.Rotation.from_rotvec(A[:, :3]).as_matrix()
transform.Rotation.from_quat(x).apply(A[:, :3])
transform.Slerp(x, transform.Rotation.from_rotvec(A[:, :3]))(y[:2]).as_quat()
interpolate.NdPPoly(np.ones((2, 2, 3, 3)), (np.arange(4.0), np.arange(4.0)))((x[:2], y[:2]))
stats.gaussian_kde(x).logpdf(y)
interpolative.estimate_rank(np.outer(x, np.ones(4)), 0.1)
signal.welch(np.arange(600.0) % 7, nperseg=64)[1]
signal.stft(np.arange(600.0) % 7, nperseg=64)[2]
signal.csd(x, y=x, nperseg=4)[1].dtype.kind == "f"
signal.ShortTimeFFT(numpy.hanning(8), 4, 1.0).spectrogram(np.arange(99.0) % 7)
len((f := io.BytesIO(), wavfile.write(f, 8000, x))[0].getvalue())
"""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("cutoff", [0, 1 << 20])
def test_libraries_take_arrays_for_numpys(session, cutoff):
    modules = ("sparse", "signal", "stats", "optimize", "interpolate", "spatial")
    libraries = {name: pytest.importorskip(f"scipy.{name}") for name in modules}
    libraries["linalg"] = pytest.importorskip("scipy.sparse.linalg")
    libraries["sla"] = pytest.importorskip("scipy.linalg")
    libraries["pairwise"] = pytest.importorskip("sklearn.metrics.pairwise")
    for name in ("spatial.transform", "linalg.interpolative", "io.wavfile", "sparse.csgraph"):
        libraries[name.partition(".")[2]] = pytest.importorskip(f"scipy.{name}")
    libraries["io"] = io

    def put(into, key, value):
        into[key] = value
        return into

    for code in CALLS.strip().splitlines():
        results = []
        for of in (dnb, np):
            with setting(cutoff=cutoff):
                arrays = {"A": of.arange(16.0).reshape(4, 4) % 5, "x": of.array([1.0, 2, 4, 5])}
                arrays |= {"y": of.array([1.0, 3, 2, 1]), "i": of.array([0, 2, 1, 3])}
                arrays["m"] = arrays["y"] > 1
                found = eval(code, libraries | arrays | {"np": of, "numpy": np, "put": put})
                results.append(found.toarray() if hasattr(found, "toarray") else np.asarray(found))
        np.testing.assert_allclose(*results, rtol=1e-6, atol=1e-6, err_msg=code)


def test_pictures_and_columns_take_arrays_for_numpys(session):
    pa, image = pytest.importorskip("pyarrow"), pytest.importorskip("PIL.Image")
    colors, pd = pytest.importorskip("matplotlib.colors"), pytest.importorskip("pandas")
    other = pd.DataFrame({"z": [5.0, 6, 7]})
    results = []
    for of in (dnb, np):
        bytes_ = of.arange(12, dtype="u1").reshape(3, 4)
        x = of.arange(3.0)
        results += [
            [
                np.asarray(image.fromarray(bytes_.T[::2])),
                pa.array(x, mask=x > 1).to_pylist(),
                pa.array([x.sum(), x[1]]).to_pylist(),
                pa.scalar(x.max()).as_py(),
                pd.merge(pd.DataFrame({"k": [2, 1, 0]}), other, left_on=x, right_index=True).z,
                pd.util.hash_array(x),
                colors.LightSource().hillshade(bytes_ * 2.0),
            ]
        ]
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("out", ["cdist(A, A, 'cosine', out=o)", "pdist(A, out=o[0])"])
def test_distances_are_written_or_refused(out):
    distance = pytest.importorskip("scipy.spatial.distance")
    names = {name: getattr(distance, name) for name in ("cdist", "pdist")}
    A = np.arange(6.0).reshape(3, 2) % 4  # noqa: N806
    want = np.zeros((3, 3))
    eval(out, names | {"A": A, "o": want})
    with setting(cutoff=1 << 20):
        o = dnb.zeros((3, 3))
        eval(out, names | {"A": dnb.array(A), "o": o})
        assert o.tolist() == want.tolist()
    with setting(cutoff=0, place="engines"), pytest.raises(TypeError, match="on engines"):
        eval(out, names | {"A": A, "o": dnb.zeros((3, 3))})


KEPT = """
pd.Series(x, copy=False)
pd.array(x, copy=False)
pd.DataFrame({"a": x}, copy=False)["a"]
pd.DataFrame(x.reshape(3, 1), copy=False)[0]
"""


@pytest.mark.parametrize("code", KEPT.strip().splitlines())
def test_pandas_without_a_copy_has_the_memory_or_what_is_read_only(code):
    pd = pytest.importorskip("pandas")
    with setting(cutoff=1 << 20):
        x = dnb.zeros(3)
        kept = eval(code, {"pd": pd, "x": x})
        x[1] = 5
        assert list(kept) == [0, 5, 0]
        np.asarray(x)[2] = 6
        assert list(kept) == x.tolist() == [0, 5, 6]
    with setting(cutoff=0, place="engines"):
        kept = eval(code, {"pd": pd, "x": dnb.zeros(3)})
        assert not np.asarray(kept).flags.writeable


# -- what others write -----------------------------------------------------------------------------

#: Writes of NumPy itself and of SciPy: into ``x``, (6, 4), float64.
WRITES = """
np.asarray(x)[0] = 9
np.asarray(x)[::2, 1] += 1
np.asanyarray(x.T)[1:] *= 3
np.asarray(x[2:4])[1] = 5
np.atleast_2d(np.asarray(x)).sort(0)
np.lib.stride_tricks.as_strided(x, (3,), (8,))[...] = 7
np.lib.stride_tricks.as_strided(x[1:, ::2], (2, 2), (32, 16))[...] = 7
[v.__setitem__(..., 2 * v) for v in np.nditer(x, op_flags=["readwrite"])]
[v.__setitem__(..., 2 * v) for v in np.nditer(x[::2].T, op_flags=["readwrite"])]
np.from_dlpack(x)[1] = 4
np.random.default_rng(3).shuffle(np.asarray(x))
ndimage.gaussian_filter(y, 1, output=x)
ndimage.uniform_filter(y, 3, x)
ndimage.map_coordinates(y, np.zeros((2, 6, 4)), output=x)
ndimage.zoom(y, 1, output=x)
ndimage.binary_dilation(y > 3, output=x.view(bool)[:, :4])
ndimage.distance_transform_edt(y > 3, distances=x)
ndimage.label(y > 3, output=x)
"""
#: What NumPy itself copies before it writes into the copy.
COPIES = """
np.random.default_rng(3).permutation(x)
np.random.default_rng(3).permutation(x, axis=1)
np.random.default_rng(3).permutation(x[:, 0])
np.random.RandomState(3).permutation(x[:, 0])
np.random.default_rng(3).permuted(x, axis=0)
np.median(np.array(x), overwrite_input=True)
np.array(x).sort()
np.asarray(x, np.float32).fill(1)
"""


def _written(code, array):
    ndimage = pytest.importorskip("scipy.ndimage")
    start = np.arange(24.0).reshape(6, 4) % 7
    names = {"np": np, "ndimage": ndimage, "x": array(start), "y": start[::-1].copy()}
    try:
        exec(code, names)
    except (TypeError, ValueError) as error:
        return names["x"], str(error)
    return names["x"], ""


#: Of compiled routines: some write into what they are given, others must not.
ROUTINES = """
blas.dscal(2.0, x)
blas.daxpy(x, y)
blas.drot(x, y, 0.5, 0.5)
blas.dgemm(1.0, m, m.T, 1.0, m.T)
lapack.dgesv(m.T, x)
lapack.dgesv(m.T, x, 1, 1)
lapack.dgtsv(x[:2], y + 9, x[1:], x)
linalg.get_blas_funcs("copy", (x,))(x, y=y)
"""


@pytest.mark.parametrize("code", ROUTINES.strip().splitlines())
def test_compiled_routines_write_what_they_write_with_numpy(code):
    names = {"linalg": pytest.importorskip("scipy.linalg")}
    names |= {name: getattr(names["linalg"], name) for name in ("blas", "lapack")}
    found = []
    for array, cutoff in ((np.array, 0), (dnb.array, 0), (dnb.array, 1 << 20)):
        with setting(cutoff=cutoff):
            arrays = [
                array([1.0, 2, 4]),
                array([3.0, 5, 6]),
                array(np.eye(3) * 9 + np.arange(9.0).reshape(3, 3)),
            ]
            made = eval(code, names | dict(zip("xym", arrays, strict=True)))
            parts = made if isinstance(made, tuple) else (made,)
            found.append([np.asarray(x).tolist() for x in (*arrays, *parts)])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("cutoff", [0, 1 << 20])
def test_graphs_and_formulas_take_arrays_for_numpys(session, cutoff):
    graphs, formulas = pytest.importorskip("networkx"), pytest.importorskip("sympy")
    results = []
    for of in (dnb, np):
        formulas.core.cache.clear_cache()  # which compares with numbers of other sessions
        with setting(cutoff=cutoff):
            x = of.array([0.5, 2.0])
            found = [
                sorted(graphs.DiGraph(of.array([[0, 2.0], [0, 0]])).edges(data=True)),
                sorted(graphs.MultiGraph(of.eye(3, dtype=int)).edges(keys=True)),
                sorted(graphs.to_networkx_graph(of.eye(3)[::-1]).edges(data=True)),
                formulas.sympify(x),
                formulas.Matrix([[x[0], x[1]]]),
                formulas.sin(x[0]),
                formulas.Symbol("a") * x[1],
                formulas.Float(x[0], 5),
            ]
        results.append([str(each) for each in found])
    assert results[0] == results[1]


def test_functions_that_are_replaced_are_those_that_scipy_knows():
    known = pytest.importorskip("scipy._lib._array_api").xp_capabilities_table
    ndimage = pytest.importorskip("scipy.ndimage")
    assert {ndimage.zoom, ndimage.label} <= known.keys()


def test_compiled_routines_are_no_methods():
    """SciPy's trust-constr has them as attributes of a class, which would bind functions."""
    blas = pytest.importorskip("scipy.linalg.blas")

    class Holder:
        dot = blas.ddot

    assert Holder().dot([1.0, 2], [3.0, 4]) == 11
    assert blas.ddot.__doc__.startswith("xy = ddot")


def test_objects_beside_arrays(session):
    """As matplotlib has them: how wide bars are, and that their lines have no width."""
    wide, none = np.broadcast_arrays(dnb.ones(3, dist="block").sum(), np.array([None]))
    assert (wide.tolist(), none.tolist()) == ([3.0], [None])


@pytest.mark.parametrize("code", WRITES.strip().splitlines())
def test_what_others_write_is_in_the_array_or_refused(code):
    expected, _ = _written(code, np.array)
    with setting(cutoff=1 << 20):
        found, error = _written(code, dnb.array)
        assert (error, found.tolist()) == ("", expected.tolist())
    found, error = _written(code, dnb.array)
    assert "read-only" in error or "on engines" in error
    assert found.tolist() == _written("", np.array)[0].tolist()


@pytest.mark.parametrize("code", COPIES.strip().splitlines())
@pytest.mark.parametrize("cutoff", [0, 1 << 20])
def test_copies_of_others_are_theirs(code, cutoff):
    with setting(cutoff=cutoff):
        found, error = _written(code, dnb.array)
        assert (error, found.tolist()) == ("", _written("", np.array)[0].tolist())


def test_what_others_wrote_is_seen_by_engines_and_views():
    with setting(cutoff=1 << 10):
        x, big = dnb.zeros(4), dnb.ones((1000, 4))
        assert big.dbase.host is None
        first, outside = big + x, np.asarray(x)
        outside[1] = 5
        second = big + x
        view = x[1:]
        outside[2:] = 7
        assert (first.sum(), second.sum(), (big + view.sum()).max()) == (4000, 9000, 20)
        x[:] = big[:4, 0] * 3  # of engines, into memory that others have
        assert outside.tolist() == [3] * 4
        x += 1
        del x, view
        assert outside.tolist() == [4] * 4


@pytest.mark.parametrize("cutoff", [0, 1 << 20])
@pytest.mark.parametrize("method", ["mean", "var", "std"])
def test_means_of_numpys_arrays_are_not_put_into_ours(method, cutoff):
    """NumPy would divide its own array, and leave the sum in ours."""
    with setting(cutoff=cutoff):
        out, data = dnb.zeros(3), np.arange(12.0).reshape(4, 3)
        with pytest.raises(TypeError, match="one of NumPy's; use distnb.mean"):
            getattr(data, method)(axis=0, out=out)
        assert data.sum(axis=0, out=out).tolist() == [18, 22, 26]
        getattr(dnb, method)(data, axis=0, out=out)
        np.testing.assert_allclose(out.to_numpy(), getattr(data, method)(axis=0))


def test_iterators_of_distnb_write_what_is_in_the_notebook():
    with setting(cutoff=1 << 20):
        x = dnb.arange(6).reshape(2, 3)
        with dnb.nditer([x, None], op_flags=[["readwrite"], ["writeonly", "allocate"]]) as both:
            for v, out in both:
                out[...], v[...] = v, v + 1
            assert both.operands[1].tolist() == [[0, 1, 2], [3, 4, 5]]
        assert x.tolist() == [[1, 2, 3], [4, 5, 6]]
    with pytest.raises(TypeError, match="readonly.*assign to slices"):
        dnb.nditer(dnb.zeros(3), op_flags=["readwrite"])


#: What changes ``x``, (4, 3), in place; ``big`` is on engines.
IN_PLACE = """
x.sort(0)
x.T.partition(1)
x.byteswap(inplace=True)
x += big[0, :3]
x[1:] = big[:3, :3] * 2
np.add(big[:4, :3], 1, out=x)
np.cumsum(big[:4, :3], 0, out=x)
np.concatenate([big[:2, :3], big[:2, :3]], out=x)
np.mean(big.reshape(1000, 4, 3), axis=0, out=x)
np.random.shuffle(x)
np.take(x, [1, 1, 0, 2], 0, out=x)
x.flat = 2
x.fill(3)
x @= np.eye(3)
"""


@pytest.mark.parametrize("code", IN_PLACE.strip().splitlines())
def test_what_others_have_of_an_array_stays_its_memory(code):
    rng = np.random.default_rng(0)
    with setting(cutoff=1 << 10):
        base, big = dnb.array(rng.random((6, 3))), dnb.asarray(rng.random((1000, 12)))
        x = base[1:5]
        outside = np.asarray(base)
        exec(code, {"np": dnb, "x": x, "big": big})
        assert outside.ravel().tolist() == base.ravel().tolist()
        outside[2] = -7
        assert base[2].tolist() == [-7] * base.shape[1]


def test_searches_of_scikit_learn_take_arrays_of_parameters(session):
    search = pytest.importorskip("sklearn.model_selection")
    ridge = pytest.importorskip("sklearn.linear_model").Ridge()
    x, alphas = np.arange(60.0).reshape(20, 3) ** 2 % 7, np.array([0.1, 1.0, 10.0])
    found, want = (
        search.GridSearchCV(ridge, grid).fit(x, x.sum(axis=1)).best_params_
        for grid in ([{"alpha": dnb.array(alphas)}], {"alpha": alphas})
    )
    assert found == want
