"""Products that sum over axes, and diagonals, agree with NumPy in every layout."""

import numpy as np
import pytest

import distnb as dnb
from tests.contract.support import agree, measured, numbered, same

pytestmark = pytest.mark.ways("four")

DISTS = [None, ("*", "block"), ("cyclic", "*"), "replicated", ("engine", 0), ("block", "block")]


TENSORS = [
    ((4, 5), (5, 3), 1),
    ((4, 5), (4, 5), 2),
    ((4, 5), (3,), 0),
    ((2, 3, 4), (4, 2, 6), ([0, -1], [1, 0])),
    ((7, 3), (7, 3), (0, 0)),
    ((0, 3), (3, 2), 1),
    ((3, 0), (0, 2), 1),
    ((4, 5), (4, 5), 1),
    ((4, 5), (5,), 2),
    ((4, 5), (5, 2), ([1], [0, 1])),
]
EINSUMS = [
    ("ij,jk", [(4, 5), (5, 3)]),
    ("ij,jk->ki", [(4, 5), (5, 3)]),
    ("ij->ji", [(4, 5)]),
    ("ii", [(5, 5)]),
    ("ii->i", [(5, 5)]),
    ("iji->j", [(3, 4, 3)]),
    ("ij->", [(4, 5)]),
    ("i,j", [(4,), (5,)]),
    ("ij,ij->ij", [(4, 5), (4, 5)]),
    ("ij,ji->i", [(4, 5), (5, 4)]),
    ("bij,bjk->bik", [(3, 4, 5), (3, 5, 2)]),
    ("ij,jk,kl,l", [(4, 5), (5, 3), (3, 6), (6,)]),
    ("a,b,c->cab", [(2,), (3,), (4,)]),
    ("...ij,...jk->...ik", [(2, 1, 3, 4), (5, 4, 2)]),
    ("i...,i...", [(3, 4), (3, 4)]),
    ("ij,kj", [(4, 1), (3, 5)]),
    (",ij", [(), (3, 4)]),
    ("ij,jk", [(4, 5), (4, 3)]),
    ("ij", [(4,)]),
    ("i->ii", [(4,)]),
    ("i->k", [(4,)]),
    ("ij,j", [(4, 0), (0,)]),
]


def sample(shape, dtype="f8"):
    """Return small integers: all sums of products are exact."""
    found = numbered((int(np.prod(shape)),), "i8") * 7 % 11 - 5
    return found.astype(dtype).reshape(shape) * (1 + 2j if np.dtype(dtype).kind == "c" else 1)


def dist(x, k):
    """Return an array in one of the layouts."""
    found = DISTS[k % len(DISTS)]
    few = found[: x.ndim] if isinstance(found, tuple) and found[0] != "engine" else found
    return dnb.array(x, dist=few if x.ndim else None)


@pytest.mark.parametrize("k", range(len(DISTS)))
def test_tensordot(session, k):
    for left, right, axes in TENSORS:
        a, b = sample(left), sample(right)
        x, y = dist(a, k), dist(b, k + 1)
        agree(lambda: np.tensordot(a, b, axes), lambda: np.tensordot(x, y, axes))


@pytest.mark.parametrize("dtype", ["?", "i1", "u8", "f4", "c8"])
def test_dtypes(session, dtype):
    a, b = sample((6, 5), dtype), sample((5, 4), dtype)
    x, y = dnb.array(a), dnb.array(b)
    for call in (
        lambda p, q: np.tensordot(p, q, 1),
        lambda p, q: np.inner(p, q.T),
        lambda p, q: np.outer(p[0], q[0]),
        lambda p, q: np.vdot(p, p),
        lambda p, q: np.kron(p, q),
        lambda p, q: np.einsum("ij,jk->k", p, q),
        lambda p, q: np.einsum("ij->j", p),
        lambda p, q: np.trace(p),
    ):
        agree(lambda: call(a, b), lambda: call(x, y))


@pytest.mark.parametrize("k", range(len(DISTS)))
def test_other_products(session, k):
    a, b, v = sample((4, 3)), sample((5, 2)), sample((3,))
    x, y, w = dist(a, k), dist(b, k + 1), dist(v, k)
    agree(lambda: np.kron(a, b), lambda: np.kron(x, y))
    agree(lambda: np.kron(v, a), lambda: np.kron(w, x))
    agree(lambda: np.inner(a, v), lambda: np.inner(x, w))
    agree(lambda: np.inner(v, v), lambda: np.inner(w, w))
    agree(lambda: np.inner(a, b), lambda: np.inner(x, y))
    agree(lambda: np.outer(v, v), lambda: np.outer(w, w))
    agree(lambda: np.linalg.outer(v, a), lambda: np.linalg.outer(w, x))
    agree(lambda: np.vdot(a * 1j, a), lambda: np.vdot(x * 1j, x))
    agree(lambda: np.vdot(a, b), lambda: np.vdot(x, y))
    s, t = sample((2, 3, 4)), sample((5, 1, 4, 2))
    agree(lambda: s @ t, lambda: dist(s, k) @ dist(t, k + 2))
    agree(lambda: np.dot(s, t), lambda: np.dot(dist(s, k), dist(t, k + 2)))
    agree(lambda: np.dot(s, a), lambda: np.dot(dist(s, k), x))
    agree(lambda: np.dot(s, v[:1]), lambda: np.dot(dist(s, k), w[:1]))


@pytest.mark.parametrize("k", range(len(DISTS)))
def test_cross_and_chains(session, k):
    a, b = sample((4, 3)), sample((5, 1, 3))
    x, y = dist(a, k), dist(b, k + 1)
    agree(lambda: np.cross(a, b), lambda: np.cross(x, y))
    agree(lambda: np.cross(a, b, axisc=0), lambda: np.cross(x, y, axisc=0))
    agree(lambda: np.cross(a[:3], a[1:], axis=0), lambda: np.cross(x[:3], x[1:], axis=0))
    agree(lambda: np.linalg.cross(a, b), lambda: np.linalg.cross(x, y))
    agree(lambda: np.linalg.cross(a, b, axis=0), lambda: np.linalg.cross(x, y, axis=0))
    with pytest.warns(DeprecationWarning, match="2-dimensional vectors"):
        agree(lambda: np.cross(a[:, :2], b), lambda: np.cross(x[:, :2], y))
    with pytest.warns(DeprecationWarning, match="2-dimensional vectors"):
        agree(lambda: np.cross(a[:, :2], b[..., :2]), lambda: np.cross(x[:, :2], y[..., :2]))
    chain = [sample((3,)), sample((3, 9)), sample((9, 2)), sample((2, 7)), sample((7,))]
    ours = [dist(c, k) for c in chain]
    for i, j in ((0, 5), (1, 5), (0, 4), (1, 4), (1, 3), (0, 1), (2, 4)):
        agree(lambda: np.linalg.multi_dot(chain[i:j]), lambda: np.linalg.multi_dot(ours[i:j]))


@pytest.mark.parametrize("k", range(len(DISTS)))
def test_diagonals(session, k):
    for shape in [(5, 5), (7, 3), (3, 8), (0, 3), (2, 3, 4), (1, 1)]:
        diagonals_agree(shape, k)


def diagonals_agree(shape, k):
    """Diagonals of all kinds are NumPy's."""
    a = sample(shape)
    a[a == 0] = -0.0
    x = dist(a, k)
    for offset in (0, 1, -2, 9, -9):
        agree(lambda: np.diagonal(a, offset), lambda: np.diagonal(x, offset))
        agree(lambda: np.trace(a, offset), lambda: np.trace(x, offset))
        agree(lambda: np.linalg.trace(a, offset=offset), lambda: np.linalg.trace(x, offset=offset))
    agree(lambda: np.diagonal(a, 1, 1, 0), lambda: np.diagonal(x, 1, 1, 0))
    agree(lambda: np.diagonal(a, 0, 1, 1), lambda: np.diagonal(x, 0, 1, 1))
    agree(lambda: np.linalg.diagonal(a), lambda: np.linalg.diagonal(x))
    agree(lambda: np.matrix_transpose(a), lambda: np.linalg.matrix_transpose(x))
    assert np.signbit(np.diagonal(x).to_numpy()).tolist() == np.signbit(np.diagonal(a)).tolist()


@pytest.mark.parametrize("k", range(len(DISTS)))
def test_einsum(session, k):
    for text, shapes in EINSUMS:
        arrays = [sample(shape) for shape in shapes]
        ours = [dist(a, k + i) for i, a in enumerate(arrays)]
        agree(lambda: np.einsum(text, *arrays), lambda: np.einsum(text, *ours))


def test_other_ways_to_call_einsum(session):
    a, b = sample((4, 5)), sample((5, 3))
    x, y = dnb.array(a), dnb.array(b)
    agree(
        lambda: np.einsum(a, [0, 1], b, [1, 2], [2, 0]),
        lambda: np.einsum(x, [0, 1], y, [1, 2], [2, 0]),
    )
    agree(lambda: np.einsum(a, [0, 1], b, [1, 2]), lambda: np.einsum(x, [0, 1], y, [1, 2]))
    names = np.array([1, 0])
    agree(lambda: np.einsum(a, names), lambda: np.einsum(x, dnb.asarray(names)))
    with pytest.raises(TypeError, match="list of integers"):
        np.einsum(x, np.array([True, False]))
    out = dnb.zeros((4, 3))
    assert np.einsum("ij,jk", x, y, out=out) is out
    same(out, a @ b)
    agree(
        lambda: np.einsum("ij,jk", a, b, dtype="c16"), lambda: np.einsum("ij,jk", x, y, dtype="c16")
    )
    agree(
        lambda: np.einsum("ij,jk", a, b, dtype="i4"), lambda: np.einsum("ij,jk", x, y, dtype="i4")
    )
    assert np.einsum_path("ij,jk", x, y)[0] == np.einsum_path("ij,jk", a, b)[0]


@pytest.mark.usefixtures("engines_only")
def test_what_is_sent(session):
    a = dnb.ones((2 * session.size, 3, 4))
    b = dnb.ones((3, 4, 5), dist="replicated")
    with measured(session) as found:
        c = np.tensordot(a, b)
        e = np.diagonal(dnb.ones((9, 9)))
    sent = [r.bytes for op in found[0].ops for r in op.ranks]
    assert sum(sent) == 0
    same(c, np.full((2 * session.size, 5), 12.0))
    same(e, np.ones(9))


def test_the_order_of_products_is_found_once(session, monkeypatch):
    """As it takes longer than small products; a list that says it is taken as it is."""
    found = []
    path_of = np.einsum_path

    def counted(text, *arrays, **options):
        found.append(text)
        return path_of(text, *arrays, **options)

    monkeypatch.setattr(np, "einsum_path", counted)
    a = numbered((6, 6))
    x = dnb.array(a, dist="block")
    for _ in range(3):
        same(dnb.einsum("pq->qp", x), a.T)
        same(dnb.einsum("pq,qr,rp->q", x, x, x), np.einsum("pq,qr,rp->q", a, a, a))
        given = ["einsum_path", (1, 2), (0, 1)]
        same(dnb.einsum("pq,qr,rs->ps", x, x, x, optimize=given), a @ (a @ a))
        with pytest.raises(ValueError, match="subscript"):
            dnb.einsum("pqr->p", x)
    assert found.count("pq->qp") <= 1
    assert found.count("pq,qr,rp->q") <= 1
    same(dnb.einsum("pq->qp", x[:, :2]), a[:, :2].T)
