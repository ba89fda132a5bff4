"""The op table has every operation of NumPy, and NumPy is the oracle for types and errors."""

import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb import testing
from distnb.geometry.layout import (
    default_layout,
    make_layout,
    on_engine,
    replicated,
)
from distnb.geometry.views import Placed, View
from distnb.ops import table
from distnb.ops.fast import FAST
from distnb.wire.protocol import Typed

DTYPES = [np.dtype(d) for d in testing.DTYPES]
UFUNCS = {
    f.__name__: f
    for name in dir(np)
    if isinstance(f := getattr(np, name), np.ufunc) and f.signature is None
}
#: Rows that are NumPy functions and no ufuncs.
OTHERS = {"copy", "where", "real", "imag", "with_real", "with_imag", "round", "clip", "map", "told"}


# -- the table ---------------------------------------------------------------------------------


def test_every_elementwise_ufunc_has_a_row():
    fast = {name for name, _ in FAST.values()}
    assert set(table.ELEMENTWISE) == set(UFUNCS) | OTHERS | fast
    for name, f in UFUNCS.items():
        assert table.ELEMENTWISE[name] == (name, f.nin, f.nout, f)


def test_rows_say_what_their_functions_take():
    for name, row in table.ELEMENTWISE.items():
        assert row.name == name
        assert row.nin >= 1
        assert row.nout >= 1
        assert callable(row.run)


def test_every_ufunc_of_numpy_has_a_function_in_the_namespace():
    for name in np.__all__:
        f = getattr(np, name)
        if isinstance(f, np.ufunc) and f.signature is None:
            assert name in dnb.__all__, name
            assert getattr(dnb, name).__name__ == f.__name__
            assert getattr(dnb, name).__doc__


def test_every_reduction_has_a_row():
    for name in "sum prod min max any all argmin argmax".split():
        row = table.REDUCTIONS[name]  # a ufunc's own where NumPy's function does nothing else
        assert row.function in (getattr(np, name), getattr(row.ufunc, "reduce", None))
    for name, row in table.REDUCTIONS.items():
        assert row.name == name
        positions = name in ("argmin", "argmax")
        assert (row.ufunc is None) == positions
    for name, row in table.UFUNC_REDUCTIONS.items():
        assert row.ufunc is getattr(np, name)
    # Those of NumPy's ufuncs whose result does not depend on where the data is cut in two.
    associative = {
        name
        for name, f in UFUNCS.items()
        if f.nin == 2 and f.nout == 1 and (f.identity is not None or name in NO_IDENTITY)
    }
    assert set(table.UFUNC_REDUCTIONS) == associative - NOT_ASSOCIATIVE


NO_IDENTITY = {"maximum", "minimum", "fmax", "fmin", "lcm"}
#: They have an identity, but their results round, or overflow, on the way.
NOT_ASSOCIATIVE = {"logaddexp", "logaddexp2", "hypot"}


def test_reductions_are_methods_and_functions():
    for name in "sum prod min max any all argmin argmax mean var std count_nonzero".split():
        assert callable(getattr(dnb, name))
        assert getattr(dnb, name).__doc__
        if name != "count_nonzero":
            assert callable(getattr(dnb.DistArray, name))


def test_names_of_operations_travel():
    for name in (*table.ELEMENTWISE, *table.REDUCTIONS, *table.CREATIONS):
        assert pickle.loads(pickle.dumps(name)) == name


# -- dtypes ------------------------------------------------------------------------------------


def outcome(function):
    try:
        with np.errstate(all="ignore"):
            return function(), None
    except Exception as error:
        return None, error


def expected_dtypes(name, *args, **options):
    found = UFUNCS[name](*args, **options)
    return tuple(x.dtype for x in (found if isinstance(found, tuple) else (found,)))


@pytest.mark.parametrize("name", sorted(UFUNCS))
def test_the_oracle_for_arrays(name):
    nin = UFUNCS[name].nin
    for kinds in [(d,) for d in DTYPES] if nin == 1 else [(a, b) for a in DTYPES for b in DTYPES]:
        arrays = [np.ones(1, d) for d in kinds]
        wanted, error = outcome(lambda a=arrays: expected_dtypes(name, *a))
        found, other = outcome(lambda k=kinds: table.result_dtypes(name, list(k), {}))
        assert found == wanted
        assert type(other) is type(error)


@pytest.mark.parametrize(
    "name", ["add", "multiply", "true_divide", "power", "maximum", "less", "ldexp"]
)
def test_the_oracle_for_scalars(name):
    """Python numbers are weak, NumPy's are not; a number that does not fit raises."""
    scalars = [True, 3, -1, 300, 2**40, 2**70, 0.5, 1j, np.int8(3), np.uint64(3), np.float32(0.5)]
    for d in DTYPES:
        for scalar in scalars:
            x = np.ones(1, d)
            for args in ([x, scalar], [scalar, x]):
                kinds = [a.dtype if a is x else a for a in args]
                wanted, error = outcome(lambda a=args: expected_dtypes(name, *a))
                found, other = outcome(lambda k=kinds: table.result_dtypes(name, k, {}))
                if isinstance(error, ValueError):
                    continue  # of the values, which the oracle does not see
                assert found == wanted, (name, d, scalar)
                assert type(other) is type(error), (name, d, scalar)


@given(
    st.sampled_from(["add", "multiply", "sqrt", "divide", "isnan", "logical_and"]),
    testing.dtypes(),
    testing.dtypes(),
    st.sampled_from(["no", "equiv", "safe", "same_kind", "unsafe", "magic"]),
)
def test_the_oracle_for_options(name, a, to, casting):
    arrays = [np.ones(1, a)] * UFUNCS[name].nin
    options = {"dtype": to.str, "casting": casting}
    wanted, error = outcome(lambda: expected_dtypes(name, *arrays, **options))
    found, other = outcome(lambda: table.result_dtypes(name, [a] * len(arrays), options))
    assert found == wanted
    assert type(other) is type(error)


@given(
    st.sampled_from(["add", "divide", "less"]), testing.dtypes(), testing.dtypes(), testing.dtypes()
)
def test_the_oracle_for_outputs(name, a, b, out):
    wanted, error = outcome(
        lambda: expected_dtypes(name, np.ones(1, a), np.ones(1, b), out=np.ones(1, out))
    )
    found, other = outcome(lambda: table.result_dtypes_into(name, (a, b), (("out", (out,)),)))
    assert found == wanted
    assert type(other) is type(error)


def test_rows_that_are_no_ufuncs():
    f4, i2, c8, flag = (np.dtype(d) for d in ("f4", "i2", "c8", "?"))
    assert table.result_dtypes("where", [flag, f4, i2], {}) == (f4,)
    assert table.result_dtypes("where", [flag, i2, 1], {}) == (i2,)
    assert table.result_dtypes("real", [c8], {}) == (f4,)
    assert table.result_dtypes("imag", [i2], {}) == (i2,)
    assert table.result_dtypes("round", [f4, 2], {}) == (f4,)
    assert table.result_dtypes("clip", [i2, 0, 5], {}) == (i2,)
    assert table.result_dtypes("copy", [c8], {}) == (c8,)


@pytest.mark.parametrize(
    "name", sorted(OTHERS - {"round", "map", "told", "with_real", "with_imag"})
)
def test_they_write_into_outputs_where_a_mask_is_true(name):
    x = np.array([1 + 2j, -3 + 0j, 5 - 1j]) if name in ("real", "imag") else np.array([1.5, -3, 5])
    args = {"where": (np.array([1, 0, 2]), x, -x), "clip": (x, -1, 2)}.get(name, (x,))
    wanted = {"copy": np.copy}.get(name, getattr(np, name))(*args)
    whole, part = np.full(3, 9.0), np.full(3, 9.0)
    table.ELEMENTWISE[name].run(*args, out=(whole,))
    np.testing.assert_array_equal(whole, wanted)
    mask = np.array([True, False, True])
    table.ELEMENTWISE[name].run(*args, out=(part,), where=mask)
    np.testing.assert_array_equal(part, np.where(mask, wanted, 9.0))


def test_parts_are_put_into_complex_numbers():
    z, mask = np.array([1 + 2j, -3 + 0j, np.inf - 1j]), np.array([True, False, True])
    for name, wanted in (("with_real", [7 + 2j, -3, 9 - 1j]), ("with_imag", [1 + 7j, -3, None])):
        found = z.copy()
        table.ELEMENTWISE[name].run(found, np.array([7, 8, 9]), out=(found,), where=mask)
        last = complex(np.inf, 9) if wanted[2] is None else wanted[2]
        np.testing.assert_array_equal(found, [*wanted[:2], last])
        assert table.result_dtypes(name, [np.dtype("c8"), np.dtype("f8")], {}) == ("c8",)


def test_standins_are_empty():
    assert table.standin(np.dtype("f4")).shape == (0,)
    assert table.standin(3) == 3
    assert isinstance(Typed("<f4", 1.0), tuple)


# -- layouts of results ------------------------------------------------------------------------


def whole(shape, layout):
    return Placed(shape, layout, View.whole(shape))


def test_a_result_lies_where_the_largest_operand_does():
    shape = (8, 6)
    rows = whole(shape, make_layout(shape, 4, "block"))
    columns = whole(shape, make_layout(shape, 4, ("*", "cyclic")))
    one, copies = whole(shape, on_engine(2, 1)), whole(shape, replicated(2, 4))
    layout = table.elementwise_layout
    assert layout(((48, rows), (48, columns)), shape, 4) == rows.layout
    assert layout(((48, columns), (48, rows)), shape, 4) == columns.layout
    assert layout(((6, rows), (48, columns)), shape, 4) == columns.layout
    # Among equals the one that is split most, then the one that is held most often.
    assert layout(((48, one), (48, copies), (48, rows)), shape, 4) == rows.layout
    assert layout(((48, one), (48, copies)), shape, 4) == copies.layout
    assert layout((), shape, 4) == default_layout(shape, 4)


def test_a_reduction_keeps_the_kept_axes():
    shape = (8, 6)
    x = whole(shape, make_layout(shape, 4, ("block", "block"), (2, 2)))
    layout, exact = table.reduction_layout(x, (1,), 4)
    assert exact
    assert layout.split == 2
    assert layout.copies == 2
    assert table.reduction_layout(x, (0, 1), 4)[0].copies == 4


@given(testing.shapes(), st.data())
def test_shapes_of_reductions(shape, data):
    axes = data.draw(st.sets(st.integers(0, max(0, len(shape) - 1)), max_size=len(shape)))
    x = np.zeros(shape)
    for keep in (False, True):
        wanted = x.sum(axis=tuple(axes), keepdims=keep).shape
        assert table.reduced_shape(shape, tuple(axes), keep) == wanted


def test_told():
    """It copies, and tells who listens, once."""
    said, out = [], np.empty(3)
    with np.errstate(call=lambda *what: said.append(what)):
        for bad in ([False, True, True], [False] * 3):
            table.ELEMENTWISE["told"].run(np.arange(3.0), np.array(bad), 1, out=(out,))
    assert said == [(table.TOLD[1], 0)]
    np.testing.assert_array_equal(out, np.arange(3.0))
