"""Matrices and graphs: direct and iterative methods, many bodies."""


def _spd(np, n):
    """Return a well-conditioned symmetric matrix."""
    i = np.arange(n)
    return np.exp(-abs(i[:, None] - i[None, :]) / 2.0) + np.eye(n)


def lu(np, n):
    """Decompose without pivoting, row by row: outer products."""
    a = _spd(np, n)
    for k in range(n - 1):
        a[k + 1 :, k] /= a[k, k]
        a[k + 1 :, k + 1 :] -= a[k + 1 :, k, None] * a[None, k, k + 1 :]
    return np.tril(a, -1) + np.eye(n), np.triu(a)


def conjugate_gradient(np, n):
    """Solve a symmetric system step by step."""
    a, b = _spd(np, n), np.cos(np.arange(n))
    x = np.zeros(n)
    r = b - a @ x
    p, rr = r.copy(), r @ r
    for _ in range(15):
        ap = a @ p
        alpha = rr / (p @ ap)
        x += alpha * p
        r -= alpha * ap
        new = r @ r
        p = r + new / rr * p
        rr = new
    return x, np.sqrt(rr) < 1e-6


def power_iteration(np, n):
    """The largest eigenvalue and its vector."""
    a = _spd(np, n)
    x = np.ones(n)
    for _ in range(15):
        y = a @ x
        x = y / np.sqrt((y * y).sum())
    return x @ (a @ x), x


def floyd_warshall(np, n):
    """Shortest ways between all pairs."""
    i = np.arange(n)
    d = (7.0 * i[:, None] + 3 * i[None, :] ** 2) % 11 + 1
    d = np.where(d > 6, np.inf, d)
    d[i, i] = 0
    for k in range(n):
        d = np.minimum(d, d[:, k, None] + d[None, k, :])
    return d


def pagerank(np, n):
    """Who links to whom, and who matters."""
    i = np.arange(n)
    links = ((i[:, None] * 5 + i[None, :] * 3) % 7 == 0).astype(float)
    out = links.sum(axis=0)
    links = np.where(out > 0, links / np.where(out > 0, out, 1), 1 / n)
    rank = np.full(n, 1 / n)
    for _ in range(10):
        rank = 0.15 / n + 0.85 * links @ rank
    return rank, np.argsort(-rank.round(12), kind="stable")[:5]


def n_body(np, n):
    """Bodies attract each other; leapfrog."""
    t = 2 * np.pi * np.arange(n) / n
    x = np.stack([np.cos(t), np.sin(t), 0.1 * np.cos(3 * t)], axis=1)
    v = np.stack([-np.sin(t), np.cos(t), 0 * t], axis=1)

    def pull(x):
        d = x[None, :, :] - x[:, None, :]
        return (d / ((d**2).sum(axis=2) + 0.1)[:, :, None] ** 1.5).sum(axis=1) / n

    a = pull(x)
    for _ in range(5):
        v += 0.005 * a
        x += 0.01 * v
        a = pull(x)
        v += 0.005 * a
    return x, 0.5 * (v**2).sum()


def lorenz(np, n):
    """Many weather forecasts that begin almost alike."""
    x, y, z = 1 + 1e-3 * np.arange(n) / n, np.ones(n), np.ones(n)
    for _ in range(30):
        dx, dy, dz = 10 * (y - x), x * (28 - z) - y, x * y - 8 / 3 * z
        x, y, z = x + 0.01 * dx, y + 0.01 * dy, z + 0.01 * dz
    return x, y, z


def ridge(np, n):
    """Solve normal equations by Cholesky's decomposition and by a general solver."""
    a = _spd(np, n)
    b = np.stack([np.sin(np.arange(n)), np.ones(n)], axis=1)
    lower = np.linalg.cholesky(a)
    return np.linalg.solve(lower.T, np.linalg.solve(lower, b)), np.linalg.solve(a, b)


def spectrum(np, n):
    """Frequencies of a noisy signal, and the signal without the weak ones."""
    t = np.arange(n) / n
    signal = np.sin(2 * np.pi * 5 * t) + 0.5 * np.cos(2 * np.pi * 12 * t) + 0.1 * (t * 37 % 1)
    found = np.fft.rfft(signal)
    strong = abs(found) > 0.1 * n
    clean = np.fft.irfft(np.where(strong, found, 0), n)
    return np.nonzero(strong)[0], clean


def tridiagonal(np, n):
    """Thomas' algorithm for many systems at once: a loop over columns of an array."""
    lower, middle, upper = -1.0, 4.0 + np.arange(n) % 3, -1.0
    right = np.sin(np.arange(n)[:, None] + np.arange(12)[None, :])
    c, d = np.zeros((n, 12)), np.zeros((n, 12))
    c[:, 0], d[:, 0] = upper / middle, right[:, 0] / middle
    for k in range(1, 12):
        below = middle - lower * c[:, k - 1]
        c[:, k] = upper / below
        d[:, k] = (right[:, k] - lower * d[:, k - 1]) / below
    for k in range(10, -1, -1):
        d[:, k] -= c[:, k] * d[:, k + 1]
    return d


PROGRAMS = (
    lu,
    conjugate_gradient,
    power_iteration,
    floyd_warshall,
    pagerank,
    n_body,
    lorenz,
    ridge,
    spectrum,
    tridiagonal,
)
