"""Products of matrices of which both axes are dealt over a grid: exact, and where they are to be."""

import itertools

import pytest

import distnb as dnb
from distnb.client.linalg import grid_products
from tests.contract.support import measured
from tests.contract.test_products import same, sample

pytestmark = pytest.mark.ways("four", "spmd")

GRID = ("block", "block")
LEFT = [GRID, ("cyclic", ("cyclic", 2)), ("block", "*"), "replicated"]


@pytest.fixture(autouse=True)
def narrow(monkeypatch):
    """Panels of few columns: there are several of them."""
    monkeypatch.setattr(grid_products, "WIDTH", 3)


def way(session, x, y):
    """Return which of the ways on the grid of ``x`` or ``y`` moves the least."""
    moved = [w.moved for w in grid_products.ways(x, y, x.dtype)]
    return ["grid", "left", "right"][moved.index(min(moved))]


@pytest.mark.parametrize(("left", "right"), list(itertools.product(LEFT, LEFT[:2])), ids=str)
@pytest.mark.parametrize(
    ("n", "k", "m"), [(8, 7, 9), (1, 9, 2), (9, 2, 1), (2, 30, 3), (3, 1, 30), (3, 0, 2)]
)
def test_matrices_on_a_grid(session, left, right, n, k, m):
    a, b = sample((n, k)), sample((k, m))
    same(dnb.array(a, dist=left) @ dnb.array(b, dist=right), a @ b)
    same(dnb.array(a.T, dist=right).T @ dnb.array(b.T, dist=left).T, a @ b)


@pytest.mark.parametrize("dtype", [bool, "i1", "u8", "f4", "c16"])
def test_all_dtypes(session, dtype):
    a, b = sample((7, 8), dtype), sample((8, 7), dtype)
    x, y = dnb.array(a, dist=GRID), dnb.array(b, dist=GRID)
    same(x @ y, a @ b)
    same(x @ y[:, :1], a @ b[:, :1])
    same(x[:1] @ y, a[:1] @ b)
    same(x @ dnb.array(sample((8, 6)), dist=GRID), a @ sample((8, 6)))


def test_views(session):
    a, b = sample((9, 12)), sample((12, 9))
    x, y = dnb.array(a, dist=GRID), dnb.array(b, dist=GRID)
    same(x[1:, ::2] @ y[::2, 1:], a[1:, ::2] @ b[::2, 1:])
    same(x[::-1] @ y[:, ::-1], a[::-1] @ b[:, ::-1])
    same(x.T @ y.T, a.T @ b.T)
    same(x[2:5] @ y, a[2:5] @ b)


def test_where_the_result_is(session):
    """What is largest stays: the result, or an operand."""
    if session.size != 4:
        pytest.skip("four engines make a grid of 2 x 2")
    square = dnb.ones((12, 12), dist=GRID)
    thin = dnb.ones((12, 1), dist=GRID)
    assert (square @ square).layout == square.layout
    for call, expected in (
        (lambda: square @ thin, "block x * on 2x2 engines, 2 copies"),
        (lambda: thin.T @ square, "* x block on 2x2 engines, 2 copies"),
    ):
        assert call().dbase.layout.spell() == expected
    assert way(session, square, square) == "grid"
    assert way(session, square, thin) == "left"
    assert way(session, thin.T, square) == "right"


def test_what_travels(session):
    """Each engine gets what it lacks of its rows of the left, and of its columns of the right one."""
    if session.size != 4:
        pytest.skip("four engines make a grid of 2 x 2")
    x = dnb.ones((12, 12), dist=GRID)
    with measured(session) as found:
        x @ x
        session.flush()
    sent = [r.bytes for op in found[0].ops for r in op.ranks]
    assert sum(sent) == 2 * x.nbytes
