"""What pandas, h5py and Zarr do with distributed arrays, against the same with NumPy's."""

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
df.clip(A - 1, A + 1)
np.add(df, A)
np.maximum(df.a, x)
np.maximum(x, df.a)
numpy.maximum(A, df)
df.groupby(i % 2).sum()
s.groupby([i % 2, i // 3]).sum()
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
        else:
            np.testing.assert_array_equal(found, want)


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
        assert type(found) is type(expected)
        np.testing.assert_allclose(np.asarray(found), np.asarray(expected), rtol=1e-15)
