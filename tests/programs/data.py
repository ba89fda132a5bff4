"""Data: learning, statistics, finance, text book simulations."""


def _scattered(np, *shape):
    """Return numbers in [0, 1) that look random and are the same in every library."""
    size = 1
    for n in shape:
        size *= n
    return np.reshape(np.arange(size) * 0.6180339887498949 % 1, shape)


def black_scholes(np, n):
    """Prices of options, with the error function after Abramowitz and Stegun (7.1.26)."""
    price, strike = 20 + 60 * _scattered(np, n), 20 + 60 * _scattered(np, n)[::-1]
    years, rate, spread = 0.5 + _scattered(np, n) ** 2, 0.03, 0.3

    def normal(x):
        t = 1 / (1 + 0.3275911 * abs(x) / 2**0.5)
        poly = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * -1.453152027)))
        tail = poly + 1.061405429 * t**5
        half = 0.5 * tail * np.exp(-x * x / 2)
        return np.where(x < 0, half, 1 - half)

    root = spread * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + spread**2 / 2) * years) / root
    discount = strike * np.exp(-rate * years)
    call = price * normal(d1) - discount * normal(d1 - root)
    return call, call - price + discount


def kmeans(np, n):
    """Gather points around four centres."""
    points = _scattered(np, n, 2) + 2 * (np.arange(n) % 4)[:, None] * np.array([1.0, -0.5])
    centres = points[:4].copy()
    for _ in range(5):
        distance = ((points[:, None, :] - centres[None, :, :]) ** 2).sum(axis=2)
        nearest = distance.argmin(axis=1)
        chosen = nearest[:, None] == np.arange(4)
        count = np.maximum(chosen.sum(axis=0), 1)
        centres = (chosen[:, :, None] * points[:, None, :]).sum(axis=0) / count[:, None]
    return centres, nearest


def pca(np, n):
    """Principal components by the singular value decomposition."""
    x = _scattered(np, n, 5) @ np.array(
        [[3.0, 1, 0, 0, 0], [0, 2, 1, 0, 0], [0, 0, 1, 0.5, 0], [0, 0, 0, 1, 0], [1, 0, 0, 0, 0.2]]
    )
    x = x - x.mean(axis=0)
    _, s, vh = np.linalg.svd(x, full_matrices=False)
    return s**2 / (n - 1), abs(vh), np.cumsum(s**2) / np.sum(s**2)


def regression(np, n):
    """Fit a polynomial by least squares, and say how well."""
    t = np.linspace(-1, 1, n)
    y = 1 + 2 * t - 3 * t**2 + 0.1 * (_scattered(np, n) - 0.5)
    columns = np.stack([t**k for k in range(4)], axis=1)
    found = np.linalg.lstsq(columns, y, rcond=None)[0]
    rest = y - columns @ found
    return found, 1 - (rest**2).sum() / ((y - y.mean()) ** 2).sum()


def logistic(np, n):
    """Logistic regression by gradient descent."""
    x = _scattered(np, n, 3) - 0.5
    y = (x @ np.array([1.0, -2.0, 0.5]) > 0).astype(float)
    w = np.zeros(3)
    for _ in range(20):
        p = 1 / (1 + np.exp(-(x @ w)))
        w -= 2.0 * x.T @ (p - y) / n
    return w, np.mean((p > 0.5) == (y > 0.5))


def softmax(np, n):
    """Attention of queries to keys."""
    q, k, v = _scattered(np, n, 8), _scattered(np, n, 8)[::-1], _scattered(np, n, 4)
    scores = q @ k.T / 8**0.5
    weights = np.exp(scores - scores.max(axis=1, keepdims=True))
    weights /= weights.sum(axis=1, keepdims=True)
    return weights @ v


def neighbours(np, n):
    """Classify points by their nearest neighbours."""
    points = _scattered(np, n, 2)
    label = (points[:, 0] + points[:, 1] > 1).astype(np.int64)
    squares = (points**2).sum(axis=1)
    distance = squares[:, None] + squares[None, :] - 2 * points @ points.T
    order = np.argsort(distance.round(12), axis=1, kind="stable")[:, 1:6]
    return (label[order].sum(axis=1) > 2).astype(np.int64)


def equalised(np, n):
    """Spread the grey levels of a picture evenly: histogram, cumulative sum, table look-up."""
    picture = (255 * _scattered(np, n, n) ** 3).astype(np.int64)
    count = np.bincount(picture.ravel(), minlength=256)
    below = np.cumsum(count)
    table = (255 * below / below[-1]).astype(np.uint8)
    return table[picture]


def walk(np, n):
    """Random walks: where they end, and how far they went."""
    steps = np.where(_scattered(np, 16, n) < 0.5, -1, 1)
    place = np.cumsum(steps, axis=1)
    return place[:, -1], abs(place).max(axis=1), np.diff(place, axis=1).sum()


def moving(np, n):
    """Smooth a series, find its peaks, and sort them."""
    y = np.sin(np.arange(n) * 0.3) + 0.3 * _scattered(np, n)
    total = np.cumsum(np.concatenate([np.zeros(1), y]))
    smooth = (total[5:] - total[:-5]) / 5
    middle = smooth[1:-1]
    peaks = np.nonzero((middle > smooth[:-2]) & (middle > smooth[2:]))[0] + 1
    return peaks, np.sort(smooth[peaks])[::-1]


def words(np, n):
    """Count what there is: unique values, how often, and the most frequent."""
    tokens = (_scattered(np, n) ** 2 * 20).astype(np.int64)
    values, counts = np.unique(tokens, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return values[order], counts[order]


def primes(np, n):
    """The sieve of Eratosthenes."""
    is_prime = np.ones(n, dtype=bool)
    is_prime[:2] = False
    for k in range(2, int(n**0.5) + 1):
        if is_prime[k]:
            is_prime[k * k :: k] = False
    return np.flatnonzero(is_prime)


PROGRAMS = (
    black_scholes,
    kmeans,
    pca,
    regression,
    logistic,
    softmax,
    neighbours,
    equalised,
    walk,
    moving,
    words,
    primes,
)
