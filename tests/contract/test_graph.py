"""Algorithms on graphs and data agree with those of other libraries, or with their definitions."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse import csgraph

import distnb as dnb
from distnb import sparse

pytestmark = pytest.mark.ways("one")

GRAPHS = {
    "random": (30, 0.08, 1),
    "dense": (12, 0.6, 2),
    "sparse": (40, 0.02, 3),
    "one": (1, 0.0, 4),
}


def graph(name):
    """Return SciPy's array of a directed graph, with loops and a stored zero."""
    n, density, seed = GRAPHS[name]
    a = sp.random_array((n, n), density=density, rng=np.random.default_rng(seed), format="csr")
    if a.nnz:
        a.data = np.ceil(a.data * 9)
    return a


@pytest.fixture(params=GRAPHS)
def both(request, session):
    a = graph(request.param)
    return a, sparse.csr_array(a, dist="nnz")


def test_ways(both):
    a, G = both
    levels, parents = [x.to_numpy() for x in dnb.graph.bfs(G, 0)]
    want = csgraph.shortest_path(a, unweighted=True, indices=0)
    np.testing.assert_array_equal(levels, np.where(np.isinf(want), -1, want))
    for v in np.flatnonzero(levels > 0):
        assert levels[parents[v]] == levels[v] - 1
        assert a[parents[v], v] != 0
    assert parents[0] == 0
    want = csgraph.dijkstra(a, indices=0)
    np.testing.assert_array_equal(dnb.graph.shortest_paths(G, 0).to_numpy(), want)
    np.testing.assert_array_equal(dnb.graph.shortest_paths(G, 0, delta=4.0).to_numpy(), want)


@pytest.mark.parametrize(("length", "delta"), [(1.0, 0.1), (1e20, 1e-3), (0.3, np.inf)])
def test_bands_that_rounding_leaves_no_width(session, length, delta):
    far = dnb.graph.shortest_paths(np.array([[0, length], [0, 0]]), 0, delta=delta)
    np.testing.assert_array_equal(far.to_numpy(), [0, length])


def test_negative_lengths(session):
    a = np.array([[0.0, 4, 1], [0, 0, 0], [0, -3, 0]])
    np.testing.assert_array_equal(dnb.graph.shortest_paths(a, 0).to_numpy(), [0, -2, 1])
    a[1, 2] = 2
    with pytest.raises(ValueError, match="negative"):
        dnb.graph.shortest_paths(a, 0)
    with pytest.raises(ValueError, match="negative"):
        dnb.graph.shortest_paths(a, 0, delta=1.0)
    a[1, 2] = np.nan
    with pytest.raises(ValueError, match="lengths: got NaN"):
        dnb.graph.shortest_paths(a, 0)


def test_components(both):
    a, G = both
    count, labels = dnb.graph.connected_components(G)
    want, of = csgraph.connected_components(a, directed=False)
    assert count == want
    labels = labels.to_numpy()
    first = np.unique(labels, return_index=True)[1]
    assert list(first) == sorted(first)
    assert len({(x, y) for x, y in zip(labels, of, strict=True)}) == count


def test_a_long_line_is_one_component(session):
    n = 300
    order = np.random.default_rng(1).permutation(n)
    G = sparse.csr_array((np.ones(n - 1), (order[:-1], order[1:])), shape=(n, n))
    count, labels = dnb.graph.connected_components(G)
    assert count == 1
    assert not labels.any()


def test_triangles(both):
    a, G = both
    d = ((a + a.T).toarray() != 0).astype(int)
    np.fill_diagonal(d, 0)
    closed = np.diag(d @ d @ d)
    assert dnb.graph.triangles(G) == closed.sum() // 6
    by_vertex = dnb.graph.triangles(G, by_vertex=True)
    assert by_vertex.dtype == np.int64
    np.testing.assert_array_equal(by_vertex.to_numpy(), closed // 2)
    if len(d) == 12:
        found = dnb.graph.triangles(G, eigenvalues=11)
        assert abs(found - closed.sum() / 6) < 0.5 * closed.sum() / 6


def test_pagerank(both):
    a, G = both
    n = a.shape[0]
    d = a.toarray()
    out = d.sum(axis=1)
    for to in (np.full(n, 1 / n), np.arange(1.0, n + 1) / np.arange(1.0, n + 1).sum()):
        step = np.where(out[:, None] > 0, d / np.maximum(out, 1e-300)[:, None], to)
        rank = np.linalg.solve(np.eye(n) - 0.85 * step.T, 0.15 * to)
        got = dnb.graph.pagerank(G, personalization=to, tolerance=1e-12, max_iterations=500)
        np.testing.assert_allclose(got.to_numpy(), rank, rtol=1e-8)


def test_pagerank_that_comes_to_no_end(session):
    with pytest.raises(RuntimeError, match="no end"):
        dnb.graph.pagerank(np.triu(np.ones((5, 5))), tolerance=0, max_iterations=3)


def brandes(a):
    """Return betweenness of vertices and of links by its definition: ways between all pairs."""
    n = a.shape[0]
    steps = csgraph.shortest_path(a, unweighted=True)
    ways = np.eye(n)
    for k in range(1, n):
        for s in range(n):
            for t in np.flatnonzero(steps[s] == k):
                ways[s, t] = sum(ways[s, u] for u in np.flatnonzero(steps[s] == k - 1) if a[u, t])
    vertices, links = np.zeros(n), np.zeros((n, n))
    for s in range(n):
        for t in range(n):
            if s == t or np.isinf(steps[s, t]):
                continue
            for u in range(n):
                if u not in (s, t) and steps[s, u] + steps[u, t] == steps[s, t]:
                    vertices[u] += ways[s, u] * ways[u, t] / ways[s, t]
                for v in np.flatnonzero(a[[u]].toarray()[0]):
                    if steps[s, u] + 1 + steps[v, t] == steps[s, t]:
                        links[u, v] += ways[s, u] * ways[v, t] / ways[s, t]
    return vertices, links


def test_betweenness(session):
    a = graph("dense")
    a = sp.csr_array(a.multiply(a > 5))
    n = a.shape[0]
    G = sparse.csr_array(a)
    vertices, links = brandes(a)
    got = dnb.graph.betweenness(G, normalized=False)
    np.testing.assert_allclose(got.to_numpy(), vertices, rtol=1e-12, atol=1e-12)
    got = dnb.graph.betweenness(G)
    np.testing.assert_allclose(got.to_numpy(), vertices / ((n - 1) * (n - 2)), atol=1e-12)
    got = dnb.graph.edge_betweenness(G, normalized=False)
    np.testing.assert_allclose(got.toarray().to_numpy(), links, rtol=1e-12, atol=1e-12)
    part = dnb.graph.betweenness(G, samples=n, normalized=False)
    np.testing.assert_allclose(part.to_numpy(), vertices, rtol=1e-12, atol=1e-12)
    assert dnb.graph.betweenness(G, samples=3).shape == (n,)


def test_rmat_is_the_same_for_any_number_of_engines(session):
    G = dnb.graph.rmat(6, 8, weights=True, seed=5)
    assert G.shape == (64, 64)
    assert 0 < G.nnz < 512
    with dnb.inprocess(1):
        want = dnb.graph.rmat(6, 8, weights=True, seed=5).to_scipy()
    got = G.to_scipy()
    np.testing.assert_array_equal(got.indices, want.indices)
    np.testing.assert_array_equal(got.data, want.data)
    degree = np.sort(np.diff(got.indptr))
    assert degree[-6:].sum() > degree[:32].sum()


def test_kmeans_is_that_of_scikit_learn(session):
    cluster = pytest.importorskip("sklearn.cluster")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 3)) + rng.integers(0, 3, (300, 1)) * 2
    init = x[[0, 100, 200, 250]]
    want = cluster.KMeans(4, init=init, n_init=1, algorithm="lloyd", tol=1e-4).fit(x)
    got = dnb.learn.kmeans(dnb.asarray(x), 4, init=init)
    np.testing.assert_array_equal(got.labels.to_numpy(), want.labels_)
    np.testing.assert_allclose(got.centers.to_numpy(), want.cluster_centers_, rtol=1e-10)
    np.testing.assert_allclose(got.inertia, want.inertia_)
    for init in ("k-means++", "random"):
        assert dnb.learn.kmeans(dnb.asarray(x), 4, init=init).inertia < 1.5 * want.inertia_
    far = np.concatenate([x[:2], x[:1] + 1e6])  # two groups lose their points
    got = dnb.learn.kmeans(dnb.asarray(x), 3, init=far)
    assert len(np.unique(got.labels.to_numpy())) == 3
    x[3, 1] = np.nan
    with pytest.raises(ValueError, match="got NaN or infinity"):
        dnb.learn.kmeans(dnb.asarray(x), 3)


def test_als_solves_the_normal_equations(session):
    rng = np.random.default_rng(2)
    r = sp.random_array((20, 15), density=0.4, rng=rng, format="csr")
    users, things = dnb.learn.als(sparse.csr_array(r), 3, iterations=30, penalty=0.01)
    u, t = users.to_numpy(), things.to_numpy()
    known = r.toarray() != 0
    for j in range(15):
        own = u[known[:, j]]
        left = own.T @ own + 0.01 * max(len(own), 1) * np.eye(3)
        right = own.T @ r.toarray()[known[:, j], j]
        np.testing.assert_allclose(t[j], np.linalg.solve(left, right), rtol=1e-6, atol=1e-9)
    error = (u @ t.T - r.toarray())[known]
    assert np.sqrt((error**2).mean()) < 0.5 * r.data.std()


@pytest.mark.parametrize("kind", ["sparse", "dense", "wide", "scipy"])
def test_truncated_svd(session, kind):
    rng = np.random.default_rng(3)
    a = rng.normal(size=(60, 25)) * 0.8 ** np.arange(25)
    a = a.T if kind == "wide" else a
    kinds = {"sparse": sparse.csr_array, "scipy": sp.csr_array}
    A = kinds.get(kind, dnb.asarray)(a)
    u, s, vh = [x.to_numpy() for x in dnb.learn.truncated_svd(A, 5)]
    np.testing.assert_allclose(s, np.linalg.svd(a, compute_uv=False)[:5], rtol=1e-6)
    np.testing.assert_allclose(u.T @ u, np.eye(5), atol=1e-10)
    np.testing.assert_allclose(vh @ a.T @ u, np.diag(s), atol=1e-3)


def test_what_is_no_graph_is_refused(session):
    with pytest.raises(ValueError, match="square"):
        dnb.graph.pagerank(np.ones((2, 3)))
    with pytest.raises(IndexError, match="source"):
        dnb.graph.bfs(np.ones((2, 2)), 5)
    with pytest.raises(ValueError, match="delta"):
        dnb.graph.shortest_paths(np.ones((2, 2)), 0, delta=0)
    with pytest.raises(ValueError, match="samples"):
        dnb.graph.betweenness(np.ones((2, 2)), samples=5)
    with pytest.raises(ValueError, match="parts"):
        dnb.graph.rmat(3, parts=(1, 1, 1, 1))
    with pytest.raises(ValueError, match="kmeans"):
        dnb.learn.kmeans(np.ones((3, 2)), 4)
    with pytest.raises(ValueError, match="rank"):
        dnb.learn.als(np.ones((3, 2)), 0)
    with pytest.raises(TypeError, match="ratings: got complex128"):
        dnb.learn.als(np.ones((3, 2)) * 1j, 1)
    with pytest.raises(ValueError, match="two axes"):
        dnb.learn.truncated_svd(dnb.ones(3), 1)
    for name in ("oversample", "power"):
        with pytest.raises(ValueError, match=f"{name}: got -2"):
            dnb.learn.truncated_svd(dnb.ones((9, 9)), 3, **{name: -2})


def test_ratings_and_penalties_are_finite(session):
    R = np.eye(3)
    for penalty in (-1, np.nan, np.inf):
        with pytest.raises(ValueError, match="penalty"):
            dnb.learn.als(sparse.csr_array(R), 1, penalty=penalty)
    R[0, 0] = np.nan
    with pytest.raises(ValueError, match="ratings"):
        dnb.learn.als(sparse.csr_array(R), 1)
