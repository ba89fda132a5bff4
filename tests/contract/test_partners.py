"""Arrays that are cut alike stay so; arrays are cut anew by weights."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import between_engines, measured, numbered, same

pytestmark = pytest.mark.ways("one", "cutoff")


def cuts_of(x):
    """Return where an array is cut along axis 0."""
    layout = x.layout.base
    if layout.split == 1:
        return 0, len(x)
    return (0, *[layout.axes[0].bounds(len(x), layout.parts(0), r)[1] for r in range(layout.split)])


def some_cuts(session, n):
    """Return uneven cuts of an axis."""
    return (0, *[min(n, 1 + r * r) for r in range(session.size - 1)], n)


def test_partners_go_along(session):
    p, q = numbered((12, 3)), numbered((12,))
    a, b, c = dnb.array(p, dist="cyclic"), dnb.array(q), dnb.array(p[:, 0], dist="block")
    view = b[2:5]
    dnb.together(a, b, c)
    for dist in (("irregular", some_cuts(session, 12)), "block"):
        b.move(dist)
        assert cuts_of(a) == cuts_of(b) == cuts_of(c)
    dnb.repartition(a, by=np.arange(12))
    assert cuts_of(a) == cuts_of(b) == cuts_of(c)
    for found, expected in ((a, p), (b, q), (c, p[:, 0]), (view, q[2:5])):
        same(found, expected)
    if session.size > 1:
        with pytest.raises(dnb.LayoutError, match="^array with partners: got cyclic"):
            c.move("cyclic")
    del a
    b.move(("irregular", some_cuts(session, 12)))
    assert cuts_of(b) == cuts_of(c)


def test_sparse_partners(session, engines_only):
    sparse = pytest.importorskip("scipy.sparse")
    rows = np.repeat(np.arange(12), np.arange(12))
    m = sparse.csr_array((np.ones(len(rows)), (rows, np.arange(len(rows)) % 7)), shape=(12, 7))
    a, x = dnb.sparse.csr_array(m), dnb.array(np.arange(12.0), dist="cyclic")
    dnb.together(a, x)
    before = a.layout.imbalance
    assert dnb.repartition(a) is a
    assert a.layout.cuts == cuts_of(x)
    assert a.layout.imbalance <= before
    np.testing.assert_array_equal(a.toarray().to_numpy(), m.toarray())
    x.move("block")
    assert a.layout.cuts == cuts_of(x)
    np.testing.assert_array_equal(a.toarray().to_numpy(), m.toarray())
    session.flush()
    with measured(session) as found:
        dnb.foreach(lambda part, mine: mine.fill(part.nnz), a.splits(), x.splits(), update=1)
    assert between_engines(found[0]) == 0


def test_columns_go_along_with_a_vector_by_any_array_of_their_structure(session, engines_only):
    sparse = pytest.importorskip("scipy.sparse")
    m = sparse.csr_array(np.tri(12, 7))
    a, x = dnb.sparse.csr_array(m), dnb.array(np.arange(12.0), dist="cyclic")
    dnb.together(a.T, x, axis=(1, 0))  # ``a.T`` is gone then
    dnb.repartition(a)
    assert a.layout.cuts == cuts_of(x)
    x.move(("irregular", some_cuts(session, 12)))
    assert a.layout.cuts == cuts_of(x)
    np.testing.assert_array_equal(a.toarray().to_numpy(), m.toarray())


def test_an_array_in_columns_is_cut_along_them(session):
    sparse = pytest.importorskip("scipy.sparse")
    m = sparse.csc_array(np.tri(6, 12))
    a, x = dnb.sparse.csc_array(m), dnb.array(np.arange(12.0), dist="cyclic")
    assert dnb.repartition(a) is a
    dnb.together(a, x)
    assert a.layout.cuts == cuts_of(x)
    np.testing.assert_array_equal(a.toarray().to_numpy(), m.toarray())
    with pytest.raises(dnb.LayoutError, match="^x: got .* CSC is cut along axis 1: pass axis=1"):
        dnb.repartition(a, axis=0)
    if session.size > 1:
        with pytest.raises(dnb.LayoutError, match=r"^x: got .* redistribute it first"):
            dnb.repartition(dnb.sparse.csr_array(m, dist="replicated"))


def test_weights_say_where_arrays_are_cut(session):
    for weights in (np.ones(9), np.arange(9) ** 2, [0] * 9, [5, *[0] * 8], [0.5, *[0.1] * 8]):
        x = dnb.array(numbered((9,)))
        assert dnb.repartition(x, by=weights) is x
        parts = [
            np.sum(np.asarray(weights)[a:b])
            for a, b in zip(cuts_of(x), cuts_of(x)[1:], strict=False)
        ]
        share = np.sum(weights) / session.size
        assert max(parts) <= share + max(weights) + 1e-9
        same(x, numbered((9,)))
    y = dnb.array(np.triu(np.ones((8, 8))))
    dnb.repartition(y)
    assert cuts_of(y)[-1] == 8
    same(y, np.triu(np.ones((8, 8))))
    dnb.repartition(dnb.zeros((0, 3)), by=[])


@pytest.mark.parametrize(
    ("wrong", "kind", "message"),
    [
        (lambda x, y: dnb.together(), TypeError, "got no arrays"),
        (lambda x, y: dnb.together(x, [1.0]), TypeError, "^partner: got list"),
        (lambda x, y: dnb.together(x, y), ValueError, r"^partners: got lengths \[6, 4\]"),
        (lambda x, y: dnb.together(x, x[::-1]), dnb.LayoutError, "^partner: got"),
        (lambda x, y: dnb.together(x, axis=1), IndexError, "axis 1 is out of bounds"),
        (
            lambda x, y: dnb.together(x, x, axis=(0,)),
            ValueError,
            r"^axis: got \(0,\), expected one",
        ),
        (lambda x, y: dnb.repartition(x, by="size"), ValueError, "^by: got 'size'"),
        (lambda x, y: dnb.repartition(x, by="time"), ValueError, "^times of parts: got none"),
        (lambda x, y: dnb.repartition(x, by=[1, 2]), ValueError, r"^weights: got shape \(2,\)"),
        (lambda x, y: dnb.repartition(x, by=[np.nan] * 6), ValueError, "^weights: got NaN"),
        (lambda x, y: dnb.repartition(x, by=[-1] * 6), ValueError, "^weights: got NaN, inf"),
    ],
)
def test_what_is_wrong(session, wrong, kind, message):
    x, y = dnb.arange(6.0, dist="block"), dnb.ones((4, 2), dist="block")
    with pytest.raises(kind, match=message):
        wrong(x, y)
    same(x, np.arange(6.0))
