"""What is written through a view of any kind is in the array, as in NumPy, or is refused aloud."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from tests.contract.support import numbered, same, setting

#: ``x`` is real and 3 x 4, ``z`` is complex.
LINES = """
x.reshape(-1)[0] = 99
x.reshape(3,2,2)[1] = 7
x.ravel()[5] = -1
x.ravel()[::2] += 1
x.T.ravel()[3] = 5
x.T.reshape(2,6)[0] = 5
x.T.reshape(-1)[0] = 5
x[1:].reshape(-1)[0] = 8
x[:, 1:].reshape(-1)[0] = 8
x[:, 1].reshape(3,1)[...] = 4
x.reshape(4,3).T[0] = 1
x.reshape(4,3)[::-1][0] = 1
x.reshape(4,3)[1][:] = 1
y = x.reshape(-1); x[0] = 50; x[...] = y.reshape(3,4) + 1
y = x.reshape(6,2); y += 1
y = x.reshape(6,2); y *= y
y = x.ravel(); y[y > 3] = 0
d = x.diagonal(1); d.flags.writeable = True; d[:2] = [70, 80]
y = x.view(); y.resize((2, 6)); y[0] = 3
y = x.reshape(6, 2); x.resize(3)
y = x.reshape(6, 2); y.resize(3)
y = x.T; y.resize((2, 6)); y[0] = 3
y = x[:, ::2]; y.resize((2, 3))
y = x.copy("F"); y.resize((5, 3), refcheck=False); x[...] = y[:3, [0, 1, 2, 2]]; x[0, 0] = y.flags.owndata
y = x.copy("F"); y.resize((2, 3), refcheck=False); x[:2, :3] = y; x[2, 0] = y.flags.f_contiguous
x.flags.writeable = False; y = x[1:, :2]; x.flags.writeable = True; y.flags.writeable = True; y[0] = 7
x.flags.writeable = False; y = x[1:, :2]; y.flags.writeable = True
y = x.copy("F"); y.flags.writeable = False; y.flags.writeable = True; y[0] = 5; x[...] = y
y = x.ravel(); y[[1,2,3]] = [7,8,9]
y = x.ravel(); np.add.at(y, [0,0,1], 1)
y = x.ravel(); y.sort()
y = x.ravel()[::-1]; y.sort()
y = x.ravel(); y.fill(3)
y = x.ravel(); np.add(y, 1, out=y)
y = x.ravel(); np.copyto(y, 3.0, where=y > 4)
y = x.ravel(); np.put(y, [0, 3], [-1, -2])
x[np.array(1)][0] = 5; x[np.array(1), 1:][0] = 5; y = x[:, np.array(2)]; y[0] = 5
i = x[0].argmax(); x[i][0] = 7; x[1:, i][0] = 8
i = np.array(1); x[i] += 3; x[i, 2:] *= 2; x[i] = x[i] + 1
x.flat[3] = 9
x.flat[-1] = 9; x.flat[5] += 3
x.flat[12] = 1
x.T.flat[4] = 9; x[::2].flat[3] = 8; x[:, 1].flat[2] = 7
x.reshape(2, 6).flat[7] = 9; x.diagonal().flat[1] = 8
y = x.T.reshape(3, 4); y[0] = 3; y.flat[2] = 5
y = x.reshape(2, 2, 3).reshape(-1); y[1:3] = 5; x[0] = y[:4]
y = x.reshape(12, 1); y[0] = 5; y.reshape(-1)[1] = 4; y.reshape(2, 6)[1] = 3
y = x.flatten(); y[0] = 5; y = x.T.ravel(); y[0] = 6; y = x.T.flatten(); y[1] = 7
d = x.diagonal(-1); x[1, 0] = 5; x[2] = d[0]
x.flags.writeable = False; x.reshape(-1)[0] = 1
x.flags.writeable = False; x.ravel().flat[0] = 1
x.squeeze()[0] = 1
x[None].reshape(-1)[0] = 12
x.swapaxes(0,1)[0] = 3
np.moveaxis(x, 0, 1)[0] = 3
np.expand_dims(x, 0)[0, 0] = 2
np.atleast_3d(x)[0] = 2
np.reshape(x, (2, 6))[0] = 2
np.ravel(x)[1] = 2
x.diagonal()[0] = 1
np.diagonal(x)[0] = 1
np.diag(x)[0] = 1
z.real[0] = 5
z.imag[0] = 5
z.real = 3
z.imag = 3
z.real += 1
z.real[...] = z.imag
z[1].imag[2] = 8
z.T.real[0] = 8
np.real(z)[0] = 2
np.imag(z)[0] = 2
x.real[0] = 6
x.view(np.int64)[0] = 0
x.view('i4')[0, 0] = 1
x.view()[0] = 4
y = x.view(); y.shape = (4, 3); y[0] = 1
x.shape = (4, 3); x[0] = 1
x.shape = 12; x[0] = 1
y = x[1]; x.shape = (2, 6); y[0] = -4
z.view(float)[0] = 1
np.split(x, 3)[1][...] = 0
np.hsplit(x, 2)[0][...] = 0
np.array_split(x.ravel(), 4)[1][...] = 0
a, b, c = x; b[...] = 5
for row in x: row += 1
for v in x.reshape(6, 2): v[0] = 0
np.fliplr(x)[0] = 1
np.rot90(x)[0] = 1
np.broadcast_to(x, (2, 3, 4))[0] = 1
np.lib.stride_tricks.sliding_window_view(x, 2, 0)[0] = 1
np.nan_to_num(x, copy=False)[0] = 1
np.fill_diagonal(x, 7)
np.fill_diagonal(x.reshape(4, 3), 7)
x.sum(out=x[0, 0])
x.sum(axis=0, out=x[0])
np.cumsum(x.ravel(), out=x.ravel())
np.einsum('ij->ji', x)[0] = 5
np.einsum('ii->i', x[:, :3])[0] = 5
np.copyto(x.reshape(-1)[:4], [1, 2, 3, 4])
x.T.real[1] = 4
x[::2].reshape(-1)[3] = 4
x.reshape(3, 2, 2)[:, :, 1].ravel()[0] = 4
np.asarray(x).reshape(-1)[0] = 4
np.ascontiguousarray(x)[0] = 4
np.require(x)[0] = 4
t = x.sum(); old = t; t += 1; x[0, 0] = old
m = x[0, 1]; n = m; m *= 2; x[0] = n
x[0, ...][1] = 3
x[0, 1, ...] += 3
x[1:2, 1:2].reshape(())[...] = 3
w = x.reshape(2, 6)[1]; x[...] = 0; w[0] = 5
w = x.ravel()[3:]; v = w.reshape(3, 3); v[0] = 1; w[0] = 2
np.resize(x, (2, 3))[0] = 5; np.resize(x, (3, 4))[0] = 5; np.resize(x[:1, 0], 3)[0] = 5
np.resize(np.broadcast_to(x[0], (3, 4)), 4)[0] = 5
y = np.ascontiguousarray(np.lib.stride_tricks.sliding_window_view(x[0], 2)); y[0] = 5; x[0] = y[0, 0]
y = np.require(np.lib.stride_tricks.sliding_window_view(x, 2, 1), None, "C"); y[0] = 5; x[0] = y[0, 0, 0]
y = np.vander(x[0], 3); y.reshape(-1)[:4] = 7; x[0, :3] = y[1]; y.T.ravel()[1] = 5; x[1, :3] = y[1]
y = x.reshape(-1); np.putmask(y[::-2], y[::-2] > 2, y[8:2:-1])
y = np.take(x, [1, 3], axis=1); y.reshape(-1)[:3] = 7; y.ravel()[4] = 8; x[:, :2] = y
y = np.delete(x, slice(0, 2), axis=1); y.reshape(-1)[1:] = y.ravel()[:-1]; x[:, :2] = y
y = np.unpackbits(x.astype("u1"), axis=0); y.ravel()[:6] = 9; x[...] = y[:3]
y = np.packbits(x > 3, axis=0); y.ravel()[1:] = 9; x[:1] = y
y = x.ravel() > 3; np.putmask(y[::-1], y, y); x[...] = y.reshape(3, 4)
y = x > 3; np.putmask(y[1:], y[:-1], False); x[...] = y
y = x.astype(int); np.putmask(y, y > 3, x[1, 1] + 0.5); x[...] = y
""".strip().splitlines()


def both_kinds():
    x = np.arange(12.0).reshape(3, 4)[:, [2, 0, 3, 1]].copy()
    return x, x + 1j * x[::-1]


def outcome(line, namespace, x, z):
    """Return the arrays after a line, and what it raised."""
    names = {"np": namespace, "x": x, "z": z}
    try:
        exec(line, names)
    except Exception as error:
        return names["x"], names["z"], error
    return names["x"], names["z"], None


def check(line, refusals):
    x, z, expected = outcome(line, np, *both_kinds())
    a, b, error = outcome(line, dnb, *(dnb.array(y) for y in both_kinds()))
    if expected is None and isinstance(error, refusals):
        return 1
    assert (error is None) == (expected is None), error
    assert expected is None or isinstance(error, type(expected))
    assert a.shape == x.shape
    np.testing.assert_array_equal(a.to_numpy(), x)
    np.testing.assert_array_equal(b.to_numpy(), z)
    return 0


@pytest.mark.usefixtures("session")
@pytest.mark.filterwarnings("ignore")
def test_in_the_notebook_views_are_those_of_numpy():
    with setting(cutoff=1 << 16):
        refused = [line for line in LINES if check(line, ValueError)]
    assert refused == []


@pytest.mark.usefixtures("session")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["engines", "auto"])
def test_on_engines_views_are_those_of_numpy(place):
    with setting(cutoff=0, place=place):
        refused = [line for line in LINES if check(line, (ValueError, AttributeError))]
    assert refused == []


@pytest.mark.usefixtures("session")
def test_views_of_small_arrays_stay_when_engines_write():
    x, big = np.zeros((4, 6)), np.arange(90_000.0)
    with setting(cutoff=1 << 16):
        a, b = dnb.array(x), dnb.array(big)
        flat, rows = a.reshape(-1), a.reshape(6, 4)
        y, ys = x.reshape(-1), x.reshape(6, 4)
        a[0] = b[:6]
        x[0] = big[:6]
        flat += b[:24]
        y += big[:24]
        rows[b[:6] > 2] = b[7]
        ys[big[:6] > 2] = big[7]
        rows[1] = 9
        ys[1] = 9
        for mine, numpys in ((a, x), (flat, y), (rows, ys)):
            np.testing.assert_array_equal(mine.to_numpy(), numpys)
        np.testing.assert_array_equal((b[:24] + flat).to_numpy(), big[:24] + y)
        np.add(flat, b[:24], out=flat, where=b[:24] > 5)
        np.add(y, big[:24], out=y, where=big[:24] > 5)
        np.testing.assert_array_equal(a.to_numpy(), x)
        flat[0] = -1
        y[0] = -1
        np.testing.assert_array_equal((b[:24] + flat).to_numpy(), big[:24] + y)
        np.testing.assert_array_equal((b[:6] + a).to_numpy(), big[:6] + x)


@pytest.mark.usefixtures("session")
def test_views_of_small_arrays_stay_when_engines_say_where_and_what():
    x, values, where = np.zeros((4, 6)), np.arange(1.0, 7), np.array([4, 1, 4])

    def write(xp, x, values, where):
        rows = x.reshape(6, 4)
        xp.put(rows, where, values)
        xp.putmask(rows, rows == 1, values[:5])
        xp.place(rows, rows > 2, values[2:])
        np.add.at(rows, where, values[:4])
        np.add.at(rows, (where, 0), values[1])
        np.negative.at(rows, where)
        return rows

    with setting(cutoff=1 << 16):
        a = dnb.array(x)
        rows = write(dnb, a, dnb.array(values, dist="cyclic"), dnb.array(where, dist="block"))
        np.testing.assert_array_equal(rows.to_numpy(), write(np, x, values, where))
        np.testing.assert_array_equal(a.to_numpy(), x)


@pytest.mark.usefixtures("session")
def test_what_engines_cannot_cast_into_views_of_small_arrays_is_refused():
    with setting(cutoff=1 << 16):
        a, b = dnb.arange(24), dnb.arange(24.0, dist="cyclic")
        rows = a.reshape(4, 6)
        with pytest.raises(TypeError, match="Cannot cast"):
            a += b / 2
        with pytest.raises(ValueError, match="shape"):
            np.add(rows[0], b.reshape(4, 6), out=rows[0], casting="unsafe")
        np.testing.assert_array_equal(a.to_numpy(), np.arange(24))


def _shapes(size):
    return [(a, size // a) for a in range(1, size + 1) if size % a == 0] + [(size,)]


@st.composite
def programs(draw):
    """Steps, each of a kind and numbers that choose among what there is."""
    numbers = st.integers(0, 1000)
    step = st.tuples(st.sampled_from(KINDS), numbers, numbers, numbers)
    return draw(st.lists(step, min_size=3, max_size=14))


def _numpys(a, b, i, j):
    """Return the views that a step makes, of both."""
    shape = _shapes(a.size)[i % len(_shapes(a.size))]
    whole = a.ndim == 0
    key = () if whole else (slice(j % 2, None), *[slice(None, None, 1 + j % 2)] * (a.ndim - 1))
    bytes_ = {"f8": np.int64, "i8": np.float64, "c16": np.float64}[a.dtype.str[1:]]
    return {
        "reshape": lambda x: x.reshape(shape),
        "ravel": lambda x: x.ravel(),
        "T": lambda x: x.T,
        "slice": lambda x: x[key],
        "flip": lambda x: x[..., ::-1] if x.ndim else x[...],
        "real": lambda x: x.real,
        "bytes": lambda x: x.view(bytes_) if x.ndim and x.shape[-1] else x.view(),
        "diagonal": lambda x: x.diagonal() if x.ndim > 1 else x[...],
        "copy": lambda x: x.copy(),
    }


KINDS = ("reshape", "ravel", "T", "slice", "flip", "real", "bytes", "diagonal", "copy") + (
    *("add", "set", "row", "sum", "drop", "mix", "mask", "reshape", "reshape", "add"),
)


def _write(kind, x, other, j):
    if kind == "add":
        x += 1 + j % 3
    elif kind == "set":
        x[...] = j % 7
    elif kind == "row":
        x[j % len(x)] = j % 5
    elif kind == "mix":
        x += other
    else:
        x[x > 3] = j % 4


def _run(steps, start):
    """Run steps on NumPy's array and distnb's, side by side."""
    pairs = [(start.copy(), dnb.array(start))]
    for kind, i, j, k in steps:
        n = i % len(pairs)
        a, b = pairs[n]
        if kind == "drop":
            if len(pairs) > 1:
                del pairs[n]
        elif kind == "sum":
            np.testing.assert_array_equal(np.asarray(b.copy()), a)
        elif kind in ("add", "set", "row", "mix", "mask"):
            if not a.flags.writeable or not a.ndim or not a.size:
                assert b.writeable == a.flags.writeable or not a.size
                continue
            other = next(
                ((p, q) for p, q in pairs if p.shape == a.shape and p.dtype == a.dtype), (a, b)
            )
            if kind == "mask" and a.dtype.kind == "c":
                continue
            _write(kind, a, other[0], k)
            _write(kind, b, other[1], k)
        else:
            make = _numpys(a, b, j, k)[kind]
            try:
                made = make(a)
            except ValueError:
                with pytest.raises(ValueError, match=r"."):
                    make(b)
                continue
            pairs.append((made, make(b)))
        del a, b
    for a, b in pairs:
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_array_equal(b.to_numpy(), a)


@pytest.mark.usefixtures("session")
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("place", ["engines", "auto"])
@given(programs(), st.sampled_from([(3, 4), (12,), (2, 3, 2)]), st.sampled_from("fc"))
def test_random_programs_of_views(place, steps, shape, kind):
    start = np.arange(12.0).reshape(shape) + (1j if kind == "c" else 0)
    for cutoff in (0, 1 << 16):
        with setting(cutoff=cutoff, place=place):
            _run(steps, start)


@pytest.mark.usefixtures("session")
def test_a_look_stays_where_it_was_moved():
    with setting(cutoff=0, place="engines"):
        a = dnb.arange(24.0)
        b = a.reshape(4, 6)
        b.move("cyclic")
        layout = b.layout
        a[0] = 7
        b[1] = -1
        a += 1
        expected = np.arange(24.0)
        expected[0] = 7
        expected[6:12] = -1
        np.testing.assert_array_equal(b.to_numpy(), (expected + 1).reshape(4, 6))
        np.testing.assert_array_equal(a.to_numpy(), expected + 1)
        assert b.layout == layout


@pytest.mark.usefixtures("session")
def test_memory_of_arrays_in_reach_is_told():
    with setting(cutoff=0, place="auto"):
        a = dnb.ones(40_000)
        text = repr(a.layout), repr(a.reshape(200, 200).layout), repr(a.view("i4").layout)
    assert not any(" -" in t.split("memory:")[-1] for t in text)


@pytest.mark.parametrize("dist", [None, "block"])
def test_very_many_looks_at_one_array(dist):
    x = dnb.array(numbered((6, 4)), dist=dist)
    data = numbered((6, 4))
    looks = [x.reshape(4, 6) for _ in range(300)]
    theirs = [data.reshape(4, 6) for _ in range(300)]
    for n in (0, 150, 299):
        looks[n][1] += n
        theirs[n][1] += n
    x[0] = data[0] = 7
    same(looks[200], theirs[200])
    same(x, data)
    known = x.dbase.sharing or x.dbase.look.family.looks
    assert len(known) >= 300
    del looks[1:]
    for _ in range(600):  # those that are gone are forgotten
        x.reshape(3, 8)
    known = x.dbase.sharing or x.dbase.look.family.looks
    assert len(known) < 600
    same(looks[0], theirs[0])


def test_a_diagonal_that_was_made_writable_on_engines_stays_so():
    data = numbered((5, 6))
    with setting(cutoff=0, place="engines"):
        x = dnb.array(data)
        d = x.diagonal(1)
        assert not d.flags.writeable
        d.flags.writeable = True
        d[0] = 70
        x += 1
    with setting(cutoff=0, place="auto"):
        float(x[0, 0])  # which brings them in reach
        d[:2] = [80, 90]
    data[0, 1] = 70
    data += 1
    data[0, 1], data[1, 2] = 80, 90
    same(x, data)


#: What gives the array itself where its elements lie in an order, and a copy where they do not.
ORDERED = {
    "ascontiguousarray": lambda m, x: m.ascontiguousarray(x),
    "asfortranarray": lambda m, x: m.asfortranarray(x),
    "asfortranarray twice": lambda m, x: m.asfortranarray(m.asfortranarray(x)),
    "require C": lambda m, x: m.require(x, None, "C"),
    "require F": lambda m, x: m.require(x, None, "FW"),
    "asarray C": lambda m, x: m.asarray(x, order="C"),
    "asarray F": lambda m, x: m.asarray(x, order="F"),
    "array F": lambda m, x: m.array(x, order="F", copy=None),
    "array C, no copy": lambda m, x: m.array(x, order="C", copy=False),
    "asanyarray A": lambda m, x: m.asanyarray(x, order="A"),
}
PARTS = "x, x[1:], x[:, 1:], x.T, x[0], x[:, 0], x[::2], x[None], x[:1].T, x.reshape(2, 6), x.ravel()[3:7]"


@pytest.mark.parametrize("name", ORDERED)
def test_what_is_asked_for_in_an_order_is_the_array_where_numpys_is(name):
    def changed(m, part):
        x = m.array(np.arange(12.0).reshape(3, 4))
        try:
            found = ORDERED[name](m, eval(part, {"x": x}))
        except ValueError:
            return "refused"
        found[...] = 9
        again = ORDERED[name](m, found)
        again[...] = 7
        return x.tolist(), found.tolist(), found.flags.f_contiguous, found.flags.c_contiguous

    for part in PARTS.split(", x"):
        text = part if part.startswith("x") else f"x{part}"
        assert (text, changed(dnb, text)) == (text, changed(np, text))


def test_what_is_made_in_fortrans_order_lies_so():
    for make in (dnb.zeros, dnb.ones, dnb.empty):
        x = make((3, 4), order="F")
        assert x.flags.fnc
        dnb.asfortranarray(x)[0, 0] = 5
        assert x[0, 0] == 5
