"""Functions of blocks with halos, and of 1-D slices, give what they give of the whole array."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb.engines.parts import blocks
from tests.contract.support import agree, numbered, on_engines, same

pytestmark = pytest.mark.ways("one", "cutoff")

MODES = {"periodic": "wrap", "reflect": "symmetric", "nearest": "edge"}
KINDS = ("*", "block", "cyclic", ("cyclic", 2))


def padded(x, halo, boundary):
    """Return an array with its halo."""
    width = [(h, h) for h in halo]
    if boundary in MODES:
        return np.pad(x, width, MODES[boundary])
    return np.pad(x, width, constant_values=boundary)


def weighted(halo, keep):
    """Return a function of blocks that weighs each neighbour differently; with halo if asked."""

    def function(block):
        core = tuple(n - 2 * h for n, h in zip(block.shape, halo, strict=True))
        out = np.zeros(core)
        for k, at in enumerate(itertools.product(*(range(2 * h + 1) for h in halo))):
            out += (k + 1) * block[tuple(slice(a, a + n) for a, n in zip(at, core, strict=True))]
        if not keep:
            return out
        found = np.full(block.shape, -1.0)
        found[tuple(slice(h, h + n) for h, n in zip(halo, core, strict=True))] = out
        return found

    return function


@st.composite
def cases(draw):
    """Return a shape, a layout, a halo, a boundary, whether the halo is kept, rows at a time."""
    shape = draw(st.lists(st.integers(0, 7), min_size=1, max_size=3))
    dist = tuple(draw(st.sampled_from(KINDS)) for _ in shape)
    dist = draw(st.sampled_from([dist, dist, "replicated", ("engine", 0), None]))
    halo = tuple(draw(st.integers(0, 9 // len(shape))) for _ in shape)
    boundary = draw(st.sampled_from([*MODES, 2.5]))
    return tuple(shape), dist, halo, boundary, draw(st.booleans()), draw(st.sampled_from([1, 9**9]))


@given(case=cases())
def test_blocks_are_those_of_the_padded_array(session, case):
    shape, dist, halo, boundary, keep, tile = case
    p = numbered(shape) % 31
    function = weighted(halo, keep)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_TILE", tile)
        patch.setattr(blocks, "_WORTH", 2)
        found = dnb.map_blocks(function, dnb.array(p, dist=dist), halo=halo, boundary=boundary)
        expected = weighted(halo, False)(padded(p, halo, boundary)) if p.size else p
        same(found, expected)


def filling(halo, returns):
    """Return the same as `weighted`, which fills ``out`` in two passes if that is given."""
    whole = weighted(halo, False)

    def function(block, out=None):
        if out is None:
            return whole(block)
        out[...] = -1
        out += whole(block)
        out += 1
        return out if returns else None

    return function


@given(case=cases(), in_place=st.booleans(), kind=st.sampled_from(["returns", "fills", "both"]))
def test_out_is_filled_also_in_place(session, case, in_place, kind):
    shape, dist, halo, boundary, keep, tile = case
    p = numbered(shape) % 31
    function = weighted(halo, keep) if kind == "returns" else filling(halo, kind == "both")
    a = dnb.array(p, dist=dist)
    out = a if in_place else dnb.array(np.full(shape, np.nan), dist=dist)
    if not out.writeable:
        return
    expected = weighted(halo, False)(padded(p, halo, boundary)) if p.size else p
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(blocks, "_TILE", tile)
        patch.setattr(blocks, "_WORTH", 2)
        found = dnb.map_blocks(function, a, halo=halo, boundary=boundary, out=out)
        assert found is out
        same(found, expected)
        same(a, expected if in_place else p)


@pytest.mark.parametrize("dist", ["block", ("*", "block"), "cyclic", "replicated", None])
def test_out_elsewhere_and_in_parts(session, dist, monkeypatch):
    monkeypatch.setattr(blocks, "_TILE", 64)
    p = numbered((9, 6))
    a, view = dnb.array(p, dist="block"), dnb.zeros((18, 6), dist=dist)
    same(dnb.map_blocks(np.sqrt, a, out=view[::-2]), np.sqrt(p))
    same(view[1::2], np.sqrt(p)[::-1])
    both = dnb.array(p, dist=dist), dnb.empty((9, 6), dist=dist)
    whole, rest = dnb.map_blocks(np.divmod, both[0], dnb.array(p % 4 + 1), out=both)
    same(whole, p // (p % 4 + 1))
    same(rest, p % (p % 4 + 1))
    assert whole is both[0]
    assert rest is both[1]
    b = dnb.array(p, dist=dist)
    dnb.map_blocks(lambda x: (x * 2, x), b, out=(b, both[1]))  # what is written is seen there
    same(b, p * 2)
    same(both[1], p)
    shifted = dnb.array(numbered((10, 6)), dist=dist)
    dnb.map_blocks(lambda x: x[:-2] + x[2:], shifted[1:], halo=(1, 0), out=shifted[:-1])
    wide = np.pad(numbered((10, 6))[1:], ((1, 1), (0, 0)), "edge")
    same(shifted[:-1], wide[:-2] + wide[2:])
    same(shifted[-1], numbered((10, 6))[-1])


def test_what_is_to_be_filled_has_its_elements(session):
    def part(u, out):
        out[u > 2] += u[u > 2] * 10

    for dist in ("block", "cyclic", None):
        u, base = dnb.arange(6.0, dist="block"), dnb.array(-np.ones(12), dist=dist)
        for out in (dnb.array(-np.ones(6), dist=dist), base[::2]):
            dnb.map_blocks(part, u, out=out)
            dnb.map_blocks(part, u, out=out)
            same(out, np.array([-1.0, -1, -1, 59, 79, 99]))
    assert dnb.map_blocks(lambda x: x + 1, dnb.array(5.0)).item() == 6


def test_outs_that_do_not_fit(session):
    x = dnb.arange(6.0, dist="block")
    for out, kind, message in (
        (np.ones(6), TypeError, r"^out= of map_blocks\(\): got ndarray"),
        (dnb.ones(5), ValueError, r"^out= of map_blocks\(\): got \(5,\), expected \(6,\)"),
        (dnb.broadcast_to(x[:1], (6,)), ValueError, "read-only"),
        (dnb.ones(6, int, dist="block"), TypeError, "Cannot cast"),
        ((x, x), ValueError, "got 1 results, expected 2|got 2 arrays"),
    ):
        with pytest.raises(kind, match=message):
            dnb.map_blocks(lambda b: b * 0.5, x, out=out)
            session.flush()
    with pytest.raises(TypeError, match="Cannot cast"):
        dnb.map_blocks(np.sin, dnb.ones(6, dist="block"), out=dnb.ones(6, int, dist="block"))
        session.flush()


def test_views_and_several_arrays(session):
    p, q = numbered((9, 6)), numbered((9, 6), np.int32) % 5
    a, b = dnb.array(p, dist=("block", "block")), dnb.array(q, dist="cyclic")

    def shifted(x, y, by):
        return x[:-2] * by - y[2:], y[1:-1] > 2

    for key in (np.s_[:], np.s_[::-2, 1:], np.s_[3:5], np.s_[2:2]):
        x, y = p[key], q[key]
        first, second = dnb.map_blocks(
            shifted, a[key], b[key], halo=(1, 0), boundary="periodic", by=np.array(2.0)
        )
        wrapped = [np.pad(z, ((1, 1), (0, 0)), "wrap") if z.size else z[:0] for z in (x, y)]
        same(first, wrapped[0][:-2] * 2.0 - wrapped[1][2:] if x.size else x)
        same(second, y > 2)
    for function in (np.sqrt, lambda x: (x + 1).astype("f4")):
        same(dnb.map_blocks(function, a), function(p))
        same(dnb.map_blocks(function, a[0, 0]), np.asarray(function(p[0, 0])))


def test_the_layout_is_that_of_the_array_in_blocks(session, engines_only):
    p = numbered((8, 6))
    for dist in ("block", ("*", "block"), ("block", "block"), ("engine", 0)):
        a = dnb.array(p, dist=dist)
        assert dnb.map_blocks(np.sin, a).layout.base == a.layout.base
    a = dnb.array(p, dist=("*", "cyclic"))
    assert (
        dnb.map_blocks(np.sin, a).layout.base == dnb.empty((8, 6), dist=("*", "block")).layout.base
    )


@pytest.mark.parametrize(
    ("function", "options", "kind", "message"),
    [
        (
            lambda b: b[1:],
            {},
            ValueError,
            r"^function of map_blocks.*got shape .* or .*without halo",
        ),
        (
            lambda b: b.sum(),
            {},
            TypeError,
            r"^function of map_blocks.*got float64, expected a NumPy",
        ),
        (lambda b: (b, b), {}, ValueError, "got 2 results, expected 1"),
        (lambda b: b * 1j, {}, TypeError, "Cannot cast"),
        (lambda b: b.missing, {}, AttributeError, "no attribute 'missing'"),
        (lambda b: np.add(b, 1, out=b), {}, ValueError, "read-only"),
        (lambda b: b.missing, {"dtype": None}, TypeError, r"^dtype of map_blocks.*AttributeError"),
        (lambda b: "text", {"dtype": None}, TypeError, "got str, expected a NumPy array"),
        (np.sin, {"halo": -1}, ValueError, "^halo: got -1, expected 1 integers >= 0"),
        (np.sin, {"halo": (1, 2)}, ValueError, r"^halo: got \(1, 2\)"),
        (np.sin, {"halo": 1.5}, ValueError, "^halo: got 1.5"),
        (np.sin, {"boundary": "wrap"}, ValueError, "^boundary: got 'wrap', expected one of 'per"),
        (np.sin, {"boundary": [1]}, TypeError, r"^boundary: got \[1\], expected a word or a num"),
        (np.sin, {"boundary": 1j}, TypeError, "complex"),
        (5, {}, TypeError, "not callable"),
        (lambda b, lock: b, {"lock": (c for c in "")}, TypeError, "cannot be pickled"),
    ],
)
def test_what_is_wrong(session, function, options, kind, message):
    x, other = dnb.arange(1.0, 12, dist="block"), dnb.arange(5.0, dist="block")
    if options.get("lock") is not None and x.at_home:
        pytest.skip("nothing is pickled in the notebook")
    with pytest.raises(kind, match=message):
        dnb.map_blocks(function, x, **{"halo": 1, "dtype": float, **options}).to_numpy()
    same(other + 1, np.arange(1.0, 6))
    same(x, np.arange(1.0, 12))


def test_arrays_that_do_not_fit(session):
    x = dnb.ones((4, 3), dist="block")
    with pytest.raises(ValueError, match=r"^arrays of map_blocks\(\): got \(4, 3\) and \(3, 4\)"):
        dnb.map_blocks(np.add, x, x.T)
    with pytest.raises(TypeError, match="got no arrays"):
        dnb.map_blocks(np.sin)
    with pytest.raises(ValueError, match="NaN"):
        dnb.map_blocks(np.sin, dnb.ones(3, int, dist="block"), boundary=np.nan)


@pytest.mark.ways("spmd", "started")
def test_one_part_fails(session, engines_only):
    x = dnb.arange(40.0, dist="block")

    def picky(b):
        if np.any(b == 39):
            raise LookupError("not this one")
        return b

    found, after = dnb.map_blocks(picky, x, halo=1, boundary=0, dtype=float), x * 3
    with pytest.raises(LookupError, match="not this one") as caught:
        found.to_numpy()
    note = "\n".join(caught.value.__notes__)
    assert f"raised on rank {session.size - 1} of {session.size} in 'map_blocks (picky)'" in note
    same(after, np.arange(40.0) * 3)


# -- along an axis -----------------------------------------------------------------------------


@pytest.mark.parametrize("dist", ["block", ("*", "block"), ("cyclic", "*", "block"), "replicated"])
def test_apply_along_axis(session, books, dist):
    p = numbered((5, 4, 3)) * 7 % 23 - 5
    a = dnb.array(p, dist=dist)
    functions = (
        lambda v: v.sum(),
        lambda v: v[:2] * 2,
        lambda v: v[:, None] * v[None, :2],
        lambda v: bool(v[0] > 3),
        np.sort,
    )
    for key, axis in itertools.product((np.s_[:], np.s_[::-1, 1:], np.s_[:1, :1]), (0, 1, -1)):
        for k, function in enumerate(functions):
            expected = np.apply_along_axis(function, axis, p[key])
            books.add(dnb.apply_along_axis(function, axis, a[key]), expected, f"{axis}, {k}")
    by = lambda v, n, plus=0: v[:n] + plus  # noqa: E731
    expected = np.apply_along_axis(by, 1, p, 2, plus=p[0, 0, 0])
    same(dnb.apply_along_axis(by, 1, a, 2, plus=a[0, 0, 0]), expected)


@pytest.mark.parametrize("dist", ["block", "cyclic", "replicated", None])
def test_what_comes_of_one_slice_is_an_array_of_its_own(session, dist):
    y = dnb.array([5.0, 6.0], dist=dist)
    for function in (lambda v: v, lambda v: v[::-1], lambda v: v[1:], lambda v: y):
        x = dnb.array([1.0, 2, 3, 4], dist=dist)
        found = dnb.apply_along_axis(function, 0, x)
        found[0] = 99
        same(x, np.array([1.0, 2, 3, 4]))
        same(y, np.array([5.0, 6]))


def test_slices_are_numpys_on_their_engine(session, engines_only):
    a = dnb.array(numbered((6, 4)), dist="block")
    count = "len(worker.store.functions)"
    before = on_engines(session, count)
    found = dnb.apply_along_axis(lambda v: int(type(v) is np.ndarray), 1, a)
    same(found, np.ones(6, int))
    assert on_engines(session, count) != before
    with pytest.raises(ValueError, match="read-only"):
        dnb.apply_along_axis(lambda v: v.fill(0) if v[0] > 20 else v[0], 1, a).to_numpy()
    with pytest.raises(ValueError, match=r"^function of apply_along_axis\(\): got shape \(2,\)"):
        dnb.apply_along_axis(lambda v: v[: 3 if v[0] < 20 else 2], 1, a).to_numpy()
    agree(
        lambda: np.apply_along_axis(np.sum, 1, np.ones((0, 3))),
        lambda: np.apply_along_axis(np.sum, 1, dnb.ones((0, 3))),
    )
