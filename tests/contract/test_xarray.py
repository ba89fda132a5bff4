"""xarray's chunk manager "distnb": datasets in files and on engines, against NumPy's."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import known_to_xarray, setting
from tests.contract.test_files import here

pytestmark = [
    pytest.mark.ways("one"),
    pytest.mark.filterwarnings("default:::xarray"),
    pytest.mark.filterwarnings("ignore:.*consolidated.*"),
]
__all__ = ["here"]  # the fixture

TIMES = np.arange("2020-01-01", "2020-03-01", dtype="M8[D]").astype("M8[ns]")


@pytest.fixture
def xr(tmp_path, monkeypatch, session):
    """Return xarray, which knows distnb."""
    pytest.importorskip("zarr")
    with known_to_xarray(tmp_path, monkeypatch) as xr, setting(gather_budget=3000):
        yield xr


@pytest.fixture
def both(xr, here, far):
    """A dataset in a Zarr folder: on engines, and in NumPy's arrays."""
    values = np.random.default_rng(1).random((60, 8, 10)) * 100
    values[3, 2, 4] = np.nan
    data = xr.Dataset(
        {"t": (("time", "y", "x"), values, {"units": "K"}), "n": ("x", np.arange(10))},
        coords={"time": TIMES, "y": np.arange(8.0)},
    )
    packed = {"chunks": (8, 4, 10), "scale_factor": 0.01, "dtype": "i2", "_FillValue": -1}
    data.to_zarr("a.zarr", encoding={"t": packed})
    return opened(xr, "a.zarr"), xr.open_zarr("a.zarr", chunks=None).load()


def opened(xr, path, **options):
    return xr.open_zarr(path, chunks={}, chunked_array_type="distnb", **options)


def same(found, want):
    """Assert that two results are alike, and that one of them is on the engines."""
    if hasattr(want, "data_vars"):
        found, want = (next(iter(x.data_vars.values())) for x in (found, want))
    assert found.dims == want.dims
    assert [*found.coords] == [*want.coords]
    assert isinstance(found.data, dnb.DistArray) or not found.ndim
    assert found.dtype == want.dtype
    np.testing.assert_allclose(found.to_numpy(), want.to_numpy(), rtol=1e-12)


CALLS = {
    "arithmetic": lambda xr, t: (t - 3) * 2 + t,
    "ufunc": lambda xr, t: np.sqrt(t),
    "mean": lambda xr, t: t.mean("time"),
    "quantile": lambda xr, t: t.quantile([0.1, 0.5], "time"),
    "median": lambda xr, t: t.median("time"),
    "standard deviation": lambda xr, t: t.std(["y", "x"]),
    "groupby": lambda xr, t: t.groupby("time.month").mean(),
    "anomaly": lambda xr, t: t.groupby("time.month") - t.groupby("time.month").mean(),
    "first": lambda xr, t: t.groupby("time.month").first(),
    "resample": lambda xr, t: t.resample(time="W").max(),
    "rolling": lambda xr, t: t.rolling(time=5, center=True).mean(),
    "coarsen": lambda xr, t: t.coarsen(time=5, x=2).mean(),
    "by label": lambda xr, t: t.sel(time="2020-02", y=slice(2, 5)),
    "by numbers": lambda xr, t: t.isel(time=[1, 50, 7], x=3),
    "where": lambda xr, t: t.where(t > 50, 0),
    "fill": lambda xr, t: t.fillna(-1).clip(0, 60),
    "shift": lambda xr, t: t.shift(time=2),
    "differences": lambda xr, t: t.diff("time", 2),
    "running sum": lambda xr, t: t.cumsum("time"),
    "integral": lambda xr, t: t.integrate("y"),
    "derivative": lambda xr, t: t.differentiate("y"),
    "dot": lambda xr, t: xr.dot(t.fillna(0), t.n_weights, dim="x"),
    "weighted": lambda xr, t: t.weighted(t.y).mean("y"),
    "interpolation": lambda xr, t: t.interp(y=[1.5, 2.25]),
    "splines of gaps": lambda xr, t: t.interp(y=[1.5, 2.25], method="cubic"),
    "beyond the ends": lambda xr, t: t.interp(
        y=[-3, 2.25], method="cubic", kwargs={"fill_value": 7.0}
    ),
    "transposed": lambda xr, t: t.transpose("x", ..., "time"),
    "stacked": lambda xr, t: t.stack(z=("y", "x")).reset_index("z", drop=True),
    "sorted": lambda xr, t: t.sortby("y", ascending=False),
    "joined": lambda xr, t: xr.concat([t, t.isel(time=slice(3))], "time"),
    "index of the largest": lambda xr, t: t.fillna(0).argmax("time"),
    "alike": lambda xr, t: xr.full_like(t, 2.5),
    "loaded": lambda xr, t: t.load(),
    "cut anew": lambda xr, t: t.chunk(time=-1, y=2),
    "covariance": lambda xr, t: xr.cov(t, t.shift(time=1), "time"),
}


@pytest.mark.cases(20)
@pytest.mark.parametrize("what", CALLS)
def test_calls_stay_on_the_engines(xr, both, what):
    ours, numpys = (x.t.assign_coords(n_weights=("x", np.arange(10.0))) for x in both)
    assert ours.data.dbase.look.unread
    same(CALLS[what](xr, ours), CALLS[what](xr, numpys))


def test_a_slice_reads_what_it_shows(xr, both):
    ours, numpys = both
    before = ours.t.data
    same(ours.t[8:24].mean("time"), numpys.t[8:24].mean("time"))
    same(ours.t.isel(y=2, x=slice(None, None, -3)), numpys.t.isel(y=2, x=slice(None, None, -3)))
    assert before.dbase.look.unread
    assert "not read yet" in repr(before)
    with pytest.raises(ValueError, match="read-only"):
        ours.t[2] = 0
    with pytest.raises(ValueError, match="read-only"):
        before += 1
    same(ours.t.load(), numpys.t)
    assert before.dbase.look is None
    same(ours.t[8:24], numpys.t[8:24])


@pytest.mark.parametrize("version", [2, 3])
def test_each_engine_writes_its_chunks(xr, both, version):
    zarr = pytest.importorskip("zarr")
    ours, numpys = both

    def written(data, path, **options):
        data = data if version == 3 else data.drop_encoding()
        data.to_zarr(path, zarr_format=version, consolidated=False, **options)
        return xr.open_zarr(path, chunks=None, consolidated=False).load()

    xr.testing.assert_identical(written(ours, "same.zarr"), numpys)
    assert version == 2 or zarr.open("same.zarr")["t"].chunks == (8, 4, 10)
    made = (ours.t - 1).rename("made")
    xr.testing.assert_equal(written(made.to_dataset(), "made.zarr").made, numpys.t - 1)
    part = slice(0, 13)
    xr.testing.assert_equal(written(ours.isel(time=part), "grown.zarr"), numpys.isel(time=part))
    more = ours.isel(time=slice(13, None))
    xr.testing.assert_equal(written(more, "grown.zarr", append_dim="time"), numpys)
    cyclic = xr.DataArray(dnb.array(numpys.t.values, dist="cyclic"), dims=("t", "y", "x"), name="c")
    options = {"encoding": {"c": {"chunks": (7, 3, 4)}}}
    np.testing.assert_array_equal(written(cyclic.to_dataset(), "c.zarr", **options).c, numpys.t)


def test_regions_of_a_file(xr, both):
    ours, numpys = both
    empty = ours.drop_vars(["time", "y", "n"])
    xr.zeros_like(empty).to_zarr("r.zarr", encoding={"t": {"chunks": (8, 8, 10)}})
    for low, high in ((0, 5), (5, 33), (33, 60)):
        part = empty.isel(time=slice(low, high))
        part.to_zarr("r.zarr", region={"time": slice(low, high)}, safe_chunks=False)
    np.testing.assert_array_equal(xr.open_zarr("r.zarr", chunks=None).t, numpys.t)
    with pytest.raises(NotImplementedError, match="compute"):
        empty.to_zarr("later.zarr", compute=False)


def test_netcdf_both_ways(xr, both):
    pytest.importorskip("h5netcdf")
    ours, numpys = both
    ours.to_netcdf("a.nc", engine="h5netcdf")
    found = xr.open_dataset("a.nc", chunks={}, chunked_array_type="distnb")
    assert found.t.data.dbase.look.unread
    same(found.t.sum("time"), numpys.t.sum("time"))


def test_functions_of_ones_own(xr, both):
    ours, numpys = (x.t.fillna(0) for x in both)

    def smallest(a, count):
        return np.sort(a, axis=-1)[..., :count]

    options = {
        "input_core_dims": [["time"]],
        "output_core_dims": [["k"]],
        "kwargs": {"count": 3},
        "dask": "parallelized",
        "dask_gufunc_kwargs": {"output_sizes": {"k": 3}},
    }
    found, want = (xr.apply_ufunc(smallest, x, **options) for x in (ours, numpys))
    same(found, want)
    del options["dask"], options["dask_gufunc_kwargs"]  # as of NumPy's arrays
    same(*(xr.apply_ufunc(smallest, x, **options) for x in (ours, numpys)))
    same(*(xr.apply_ufunc(np.hypot, x, x.isel(time=0)) for x in (ours, numpys)))
    same(*(xr.apply_ufunc(np.exp, x.to_dataset(name="t")).t for x in (ours, numpys)))

    def ends(a):
        return a.min(axis=-1), a.max(axis=-1)

    options = {"input_core_dims": [["x"]], "output_core_dims": [[], []], "dask": "parallelized"}
    for one, other in zip(
        *(xr.apply_ufunc(ends, x, **options) for x in (ours, numpys)), strict=True
    ):
        same(one, other)
    add = {"vectorize": True, "dask": "parallelized", "output_dtypes": [float]}
    few = [x.isel(time=slice(3)) for x in (ours, numpys)]
    same(*(xr.apply_ufunc(lambda a, b: a + b, x, x.isel(time=0), **add) for x in few))
    each = {"input_core_dims": [["x"]], "vectorize": True}  # slice by slice, as of NumPy's
    same(*(xr.apply_ufunc(np.median, x, **each) for x in few))
    each |= {"output_core_dims": [["x"]], "output_dtypes": [float]}
    same(*(xr.apply_ufunc(lambda r: r - r.mean(), x, **each) for x in few))
    same(*(xr.apply_ufunc(lambda v: v if v > 5 else 0.0, x, vectorize=True) for x in few))


def test_layouts_are_those_that_are_asked_for(xr, both):
    session = dnb.session()
    found = opened(xr, "a.zarr", from_array_kwargs={"dist": ("*", "block", "*")}).t
    assert found.data.layout.base.parts(1) == session.size
    assert found.isel(time=slice(7)).data.layout.base.parts(1) == session.size
    assert both[0].t.chunk(time=-1, y=2).data.layout.base.parts(1) == session.size
    assert both[0].t.chunks == ((60,), (8,), (10,))


def test_times_and_texts_stay_numpys(xr, here):
    names = np.array(["a", "bc"])
    data = xr.Dataset({"name": ("k", names), "when": ("k", TIMES[:2]), "v": ("k", [1.5, 2.5])})
    data.to_zarr("k.zarr", zarr_format=2, consolidated=False)
    found = opened(xr, "k.zarr")
    assert isinstance(found.when.data, np.ndarray)
    xr.testing.assert_equal(found.as_numpy(), data)


def test_extremes_are_looked_up_in_axes_of_any_kind(xr, session):
    x = np.random.default_rng(1).random((6, 3, 2))
    for axis in (TIMES[:6], list("abcdef"), np.arange(6.0)):
        found, want = (
            xr.DataArray(a, dims=tuple("tyx"), coords={"t": axis}).idxmax("t")
            for a in (dnb.array(x, dist="block"), x)
        )
        np.testing.assert_array_equal(found.values, want.values)


def test_arrays_are_interpolated_at_times(xr, session):
    x = np.random.default_rng(5).random((60, 3))
    ours, numpys = (
        xr.DataArray(make(x), dims=("t", "y"), coords={"t": TIMES[:60]})
        for make in (dnb.array, np.array)
    )
    at = TIMES[3:9] + np.timedelta64(6, "h")
    for f in (
        lambda d: d.interp(t=at),
        lambda d: d.interp(t=at, method="cubic"),
        lambda d: d.resample(t="12h").interpolate("linear"),
    ):
        found = f(ours)
        assert isinstance(found.data, dnb.DistArray)
        np.testing.assert_allclose(found.to_numpy(), f(numpys), 1e-12)


def pairs(xr, np, **options):
    """Return two positions along an axis of their own."""
    return (xr.DataArray(np.array(k), dims="p") for k in ([0, 1], [1, 2]))


#: What changes a matrix, or selects of it: with NumPy's arrays, and with ours.
INDEXED = {
    "a block": lambda xr, np, d: d.__setitem__({"t": [0, 1], "x": [1, 2]}, 9),
    "a block of another shape": lambda xr, np, d: d.__setitem__(([0, 2], [1, 2, 0]), 9),
    "a block of an array": lambda xr, np, d: d.__setitem__(
        ([0, 2], [1, 2]), np.arange(4).reshape(2, 2)
    ),
    "a block by label": lambda xr, np, d: d.loc.__setitem__({"t": [0.0, 1.0], "x": [1, 2]}, 9),
    "two masks": lambda xr, np, d: d.__setitem__((d[:, 0] > 0, d[1] > 5), 9),
    "a mask without names": lambda xr, np, d: d.__setitem__(np.array([True, False, True]), 0),
    "pairs put in": lambda xr, np, d: d.__setitem__((*pairs(xr, np),), np.arange(2)),
    "a scalar put in": lambda xr, np, d: d.__setitem__(np.arange(3)[1], np.arange(4)),
    "added": lambda xr, np, d: d.__setitem__(([0, 1], [1, 2]), d[[0, 1], [1, 2]] + 1),
    "a single element": lambda xr, np, d: d[0, 0].__setitem__(..., 3),
    "pairs": lambda xr, np, d: d[(*pairs(xr, np),)],
    "pairs by label": lambda xr, np, d: d.sel(t=xr.DataArray([0.0, 1.0], dims="p"), x=d.x[:2]),
    "pairs of three axes": lambda xr, np, d: d.expand_dims(z=2)[(0, *pairs(xr, np))],
    "pairs beside an axis": lambda xr, np, d: d.expand_dims(z=3, axis=1)[
        xr.DataArray([0, 1], dims="p"), :, xr.DataArray([1, 2], dims="p")
    ],
    "places of the largest": lambda xr, np, d: d.isel(t=d.argmax("t")),
    "place of the largest": lambda xr, np, d: d.isel(d.argmax(["t", "x"])),
    "a scalar": lambda xr, np, d: d[np.arange(3)[2]],
    "scalars": lambda xr, np, d: d.isel(t=np.arange(3)[2], x=np.arange(3)[1]),
    "a mask": lambda xr, np, d: d[np.array([True, False, True])],
    "groups": lambda xr, np, d: d.assign_coords(k=("t", np.array([0, 1, 0]))).groupby("k").sum(),
}


def test_keys_mean_what_they_mean_for_numpys_arrays(xr):
    for what, call in INDEXED.items():
        found, want = (
            xr.DataArray(of.arange(12.0).reshape(3, 4), dims=("t", "x")) for of in (dnb, np)
        )
        found, want = (x.assign_coords(t=[0.0, 1.0, 2.0], x=[0, 1, 2, 3]) for x in (found, want))
        got, wanted = call(xr, dnb, found), call(xr, np, want)
        if wanted is None:
            got, wanted = found, want
        assert isinstance(got.data, dnb.DistArray), what
        xr.testing.assert_identical(got.as_numpy(), wanted)
