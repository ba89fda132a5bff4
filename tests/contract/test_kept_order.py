"""Results lie in the order in which their operands do, as NumPy's, wherever they are made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import distnb as dnb
from distnb.client.reach.kept_order import axes_of
from tests.contract.support import measured, numbered, same, setting

special = pytest.importorskip("scipy.special")

pytestmark = pytest.mark.ways("one", "cutoff", "spmd")

#: Of transposed ``x`` and ``y``, and ``v`` of fewer axes.
LINES = """
x + 1
1 - x
x * y
x + x.T.copy().T
-x
x > y
np.sqrt(x)
np.where(x > 3, x, 0)
np.where(x > 3, x, y)
np.clip(x, 2, 9)
np.divmod(x, 3)[1]
np.add(x, v)
x * v[None]
x.astype("f4")
x.astype("f4", order="C")
x.astype("f4", order="F")
x.astype("f8", copy=False, order="C")
x.copy()
x.copy("K")
x.copy("F")
x.copy("A")
np.copy(x)
np.copy(x, order="C")
np.array(x)
np.array(x, order="C")
np.array(x, "f4")
np.zeros_like(x)
np.ones_like(x, dtype="i2")
np.round(x)
np.nan_to_num(x)
np.isnan(x)
x[::2] + 1
x[:, ::-1] + 1
(x[None] + 1)[0]
(x + 1).T * 2
x ** 2
abs(x) + x.tolist()
"""


#: The same, of which NumPy's may be views of what nobody sees.
MORE = """
np.isclose(x, 3)
np.triu(x)
np.tril(x, 1)
np.select([x > 3, x > 2], [x, y])
np.vectorize(lambda v: v + 1)(x)
np.vectorize(lambda v, w: v + w, otypes="d")(x, v)
special.erf(x)
special.xlogy(x + y, x)
np.zeros_like(x, order="C")
np.zeros_like(x, order="A")
np.zeros_like(x.copy(), order="F")
np.ones_like(x, order="F")
np.full_like(x, 3, order="C")
np.full_like(x.copy(), 3, order="F")
np.zeros_like(x.tolist(), order="F")
np.zeros_like(x, shape=(3, 4))
np.zeros_like(x, shape=(3, 4), order="F")
np.ones_like(x, shape=(2, 3, 4), order="K")
np.ones_like(x, shape=(2, 3, 4), order="F")
np.full_like(x, 3, shape=(2, 3, 4), order="A")
np.add(x, y, order="C")
np.add(x, 1, order="F")
np.sqrt(x, order="A")
np.multiply(x, v, order="F")
np.divmod(x, 3, order="C")[0]
x.copy()[:, [1, 0]]
x.copy()[..., [0, 1]]
x.copy()[::2, [0, 1]]
x.copy()[:, [[0, 1], [1, 1]]]
x.copy()[:, [True] + [False] * (x.shape[1] - 2) + [True]]
x.copy()[:, np.arange(x.shape[1]) >= 0]
"""


@pytest.mark.parametrize("line", (LINES + MORE[1:]).strip().splitlines())
@pytest.mark.parametrize("place", ["engines", "auto"])
def test_results_lie_as_numpys(session, line, place):
    def run(m, x, v):
        y = (x * 2 + 1).T if x.ndim == 2 else x.transpose(2, 0, 1) * 2
        x = x.T if x.ndim == 2 else x.transpose(2, 0, 1)
        found = eval(line, {"np": m, "x": x, "y": y, "v": v, "special": special})
        flat = found.ravel()
        flat[...] = 7  # which is the array's own if that is in C order
        own = found.base is None or line in MORE
        return found, found.ravel("K"), found.strides, found.flags.f_contiguous, own

    with setting(place=place):
        for shape in ((3, 4), (2, 3, 4)):
            host = numbered(shape)
            v = numbered(shape[:1] if len(shape) == 2 else shape[1:2])
            expected = run(np, host, v)
            found = run(dnb, dnb.asarray(host), dnb.asarray(v))
            same(found[0], expected[0])
            same(found[1], expected[1])
            assert found[2:] == expected[2:], shape


#: Views of ``b``, of this shape, that are contiguous in an order of their own, nearly or not at all.
VIEWS = {
    "np.diagonal(b, 0, 0, 2)": (3, 2, 3),
    "np.einsum('bbcd->bcd', b)": (4, 4, 3, 6),
    "np.einsum('ii->i', b)": (4, 4),
    "b.T": (4, 6),
    "b.transpose(1, 2, 0).reshape(-1, 2)": (2, 4, 3),
    "b.T.reshape(3, 2, 4)": (4, 6),
    "np.broadcast_to(b, (6, 4))": (4,),
    "np.broadcast_to(b, (4, 6))": (4, 1),
    "b.T[:, :3]": (6, 4),
    "b.T[1:, :3]": (6, 4),
    "b[::2].reshape((4, 3), order='F')": (24,),
    "b[::-1, :, ::-2]": (2, 3, 4),
    "b.reshape((6, 4, 1), order='F')": (24,),
    "b.transpose(2, 1, 0)": (1, 2, 6),
    "b.T + 1": (1, 2, 6),
    "np.copy(np.broadcast_to(b, (6, 4)))": (4,),
    "np.broadcast_to(b, (6, 4)).astype('f4')": (4,),
    "np.zeros_like(np.broadcast_to(b, (6, 4)))": (4,),
    "np.broadcast_to(b, (6, 4)) + 1": (4,),
    "b[None, :, None, ::2]": (3, 5),
    "b.swapaxes(0, 2)[:, 1]": (2, 3, 4),
    "b.T.ravel()": (3, 4),
}
ORDERED = [
    *[f"v.{name}('{order}')" for name in ("ravel", "flatten", "copy") for order in "CFAK"],
    *[f"v.astype('f4', order='{order}')" for order in "CFAK"],
    *[f"v.reshape({n}, order='{order}')" for n in ("-1", "(2, -1)", "(-1, 2)") for order in "CFA"],
    "v.copy('K').ravel('K')",
]


@pytest.mark.parametrize("view", VIEWS)
def test_orders_of_views_and_what_is_written_through_them(session, view):
    def run(m, line):
        b = m.asarray(numbered(VIEWS[view]))
        v = eval(view, {"np": m, "b": b})
        try:
            found = eval(line, {"v": v})
        except ValueError:  # of so many elements there is no such shape
            return [ValueError]
        flags = found.flags
        seen = [np.array(x) for x in (found, found.ravel("K"))]
        try:
            found[...] = -7
        except ValueError:
            seen.append("read-only")
        return [*seen, flags.c_contiguous, flags.f_contiguous, np.array(v), np.array(b)]

    for line in ORDERED:
        for got, want in zip(run(dnb, line), run(np, line), strict=True):
            np.testing.assert_array_equal(got, want, err_msg=line)


def test_they_cost_no_message(session, engines_only):
    """Of operands that lie alike, engines make the result of what they have."""
    x = dnb.ones((12, 6), dist=("*", "block"))
    with measured(session) as reports:
        y = x.T * 2 + x.T
    assert y.dbase.shape == x.shape
    assert sum(r.bytes for row in reports[0].ops for r in row.ranks) == 0
    same(y, np.full((6, 12), 3.0))


@st.composite
def operands(draw):
    """Draw arrays that broadcast, whose axes lie in any order and direction."""
    shape = draw(st.lists(st.integers(1, 3), min_size=1, max_size=4))
    found = []
    for _ in range(draw(st.integers(1, 3))):
        sizes = [n if draw(st.booleans()) else 1 for n in shape[draw(st.integers(0, len(shape))) :]]
        order = draw(st.permutations(range(len(sizes))))
        wide = np.ones([2 * sizes[d] for d in order])
        cuts = [draw(st.sampled_from([slice(None, None, 2), slice(None, None, -2)])) for _ in order]
        found.append(wide[tuple(cuts)].transpose(np.argsort(order)))
    return found


@given(operands())
def test_axes_are_those_of_numpys_results(arrays):
    run = {1: np.negative, 2: np.add, 3: np.clip}[len(arrays)]
    found = run(*arrays)
    axes = axes_of(arrays) or range(found.ndim)
    assert found.transpose(tuple(axes)).flags.c_contiguous
