"""Neural layers, statistics, and what is done with data."""

from __future__ import annotations

import numpy

from benchmarks.programs.program import Program, integers, uniform

# -- neural layers -------------------------------------------------------------------------------


def relu(np, x):
    """Return the positive part."""
    return np.maximum(x, 0)


def conv2d(np, x, weights, bias):
    """A convolution with a bias, pixel by pixel: images, rows, columns, channels."""
    k = weights.shape[0]
    rows, columns = x.shape[1] - k + 1, x.shape[2] - k + 1
    out = np.empty((x.shape[0], rows, columns, weights.shape[3]), dtype=np.float32)
    for i in range(rows):
        for j in range(columns):
            window = x[:, i : i + k, j : j + k, :, np.newaxis]
            out[:, i, j, :] = np.sum(window * weights[np.newaxis], axis=(1, 2, 3))
    return out + bias


def convolved(np, x, weights, bias):
    """Return the same, by products of tensors."""
    k = weights.shape[0]
    rows, columns = x.shape[1] - k + 1, x.shape[2] - k + 1
    out = np.empty((x.shape[0], rows, columns, weights.shape[3]), dtype=np.float32)
    for i in range(rows):
        for j in range(columns):
            out[:, i, j] = np.tensordot(x[:, i : i + k, j : j + k], weights, 3) + bias
    return out


def max_pool(np, x):
    """Return the largest of two by two pixels."""
    out = np.empty((x.shape[0], x.shape[1] // 2, x.shape[2] // 2, x.shape[3]), dtype=x.dtype)
    for i in range(out.shape[1]):
        for j in range(out.shape[2]):
            out[:, i, j] = np.max(x[:, 2 * i : 2 * i + 2, 2 * j : 2 * j + 2], axis=(1, 2))
    return out


def lenet(np, x, kernel1, bias1, kernel2, bias2, w1, b1, w2, b2):
    """Two convolutions and two dense layers, for small pictures."""
    x = max_pool(np, relu(np, convolved(np, x, kernel1, bias1)))
    x = max_pool(np, relu(np, convolved(np, x, kernel2, bias2)))
    x = np.reshape(x, (x.shape[0], -1))
    return relu(np, x @ w1 + b1) @ w2 + b2


def batch_norm(np, x):
    """Return it with the mean 0 and the deviation 1 over all images."""
    mean = np.mean(x, axis=0, keepdims=True)
    return (x - mean) / np.sqrt(np.std(x, axis=0, keepdims=True) + 1e-5)


def resnet_block(np, x, narrow, kernel, wide):
    """Three convolutions with norms, and what came in added to what comes out."""
    y = relu(np, batch_norm(np, x @ narrow))
    rows, columns = y.shape[1], y.shape[2]
    padded = np.zeros((y.shape[0], rows + 2, columns + 2, y.shape[3]), dtype=np.float32)
    padded[:, 1:-1, 1:-1] = y
    y = np.zeros_like(y)
    for i in range(3):
        for j in range(3):
            y += padded[:, i : i + rows, j : j + columns] @ kernel[i, j]
    y = relu(np, batch_norm(np, y))
    return relu(np, batch_norm(np, y @ wide) + x)


def softmax(np, x):
    """Return shares along the last axis."""
    e = np.exp(x - np.max(x, axis=-1, keepdims=True))
    return e / np.sum(e, axis=-1, keepdims=True)


def repeated_softmax(np, x):
    """Shares along the last of four axes, a few times over."""
    for _ in range(5):
        x = softmax(np, 10.0 * x)
    return x


def mlp(np, x, w1, b1, w2, b2, w3, b3):
    """Three dense layers, and shares of classes."""
    x = relu(np, x @ w1 + b1)
    x = relu(np, x @ w2 + b2)
    return softmax(np, x @ w3 + b3)


# -- statistics ----------------------------------------------------------------------------------


def covariance(np, data):
    """The covariances of variables, by loops of columns."""
    data -= np.mean(data, axis=0)
    n = data.shape[1]
    found = np.zeros((n, n), dtype=data.dtype)
    for i in range(n):
        found[i, i:] = data[:, i] @ data[:, i:] / (data.shape[0] - 1.0)
        found[i:, i] = found[i, i:]
    return found


def correlation(np, data):
    """The correlations of variables, pair by pair of columns."""
    deviation = np.std(data, axis=0)
    deviation[deviation <= 0.1] = 1.0
    data -= np.mean(data, axis=0)
    data /= np.sqrt(data.shape[0]) * deviation
    n = data.shape[1]
    found = np.eye(n)
    for i in range(n - 1):
        for j in range(i + 1, n):
            found[i, j] = found[j, i] = data[:, i] @ data[:, j]
    return found


def logistic_regression(np, x, truth):
    """Weights by steps down the gradient, and the loss after each."""
    weights, losses = np.zeros(x.shape[1]), np.zeros(10)
    y = (x @ truth > np.median(x @ truth)).astype(float)
    for step in range(10):
        p = 1.0 / (1.0 + np.exp(-(x @ weights)))
        losses[step] = -np.mean(y * np.log(p) + (1.0 - y) * np.log(1.0 - p))
        weights -= 0.5 * x.T @ (p - y) / x.shape[0]
    return weights, losses


def bootstrap(np, sample, draws):
    """Means of many draws from a sample, and the interval that holds most of them."""
    n = len(sample)
    means = np.empty(n // 4)
    for i in range(n // 4):
        means[i] = sample[(draws + 7919 * i) % n].mean()
    return means, np.percentile(means, [2.5, 97.5]), means.std(ddof=1)


def principal_components(np, data):
    """What three components say of data, and their share of the variance."""
    centred = data - data.mean(axis=0)
    u, s, vt = np.linalg.svd(centred, full_matrices=False)
    return (u[:, :3] * s[:3]) @ vt[:3], s**2 / np.sum(s**2)


def k_means(np, points, centres):
    """Groups of points around centres, which move to their means."""
    for _ in range(5):
        far = ((points[:, np.newaxis] - centres) ** 2).sum(axis=2)
        group = np.argmin(far, axis=1)
        for k in range(len(centres)):
            if np.any(group == k):
                centres[k] = points[group == k].mean(axis=0)
    return centres, group


# -- data ----------------------------------------------------------------------------------------


def normal_share(np, x):
    """Return the share of a normal distribution below a point, by a polynomial."""
    t = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    series = 1.781477937 + t * (-1.821255978 + t * 1.330274429)
    series = 0.319381530 + t * (-0.356563782 + t * series)
    tail = t * series * np.exp(-0.5 * x * x) / np.sqrt(2.0 * np.pi)
    return np.where(x < 0, tail, 1.0 - tail)


def black_scholes(np, price, strike, years):
    """What options to buy and to sell are worth, on average over rates of interest."""
    calls, puts, spread = np.zeros_like(price), np.zeros_like(price), 0.3
    root = spread * np.sqrt(years)
    for rate in np.linspace(0.01, 0.05, 5):
        d1 = (np.log(price / strike) + (rate + 0.5 * spread**2) * years) / root
        later = strike * np.exp(-rate * years)
        call = price * normal_share(np, d1) - later * normal_share(np, d1 - root)
        calls += call / 5
        puts += (call - price + later) / 5
    return calls, puts


def clipped(np, a, b):
    """Integers in bounds, times others, again and again."""
    for c in range(10):
        a = np.clip(a, 2, 10) * b + c
    return a


def equalised(np, images):
    """Pictures in which all greys are about as frequent."""
    found = np.empty_like(images)
    for i in range(len(images)):
        below = np.cumsum(np.bincount(images[i].ravel(), minlength=256))
        least = below[below > 0].min()
        table = (below - least) * 255 // (images[i].size - least)
        found[i] = np.clip(table, 0, 255).astype(np.uint8)[images[i]]
    return found


def rings_by_masks(np, picture, radius):
    """The mean of a picture on each of many rings, by masks."""
    edges, means = np.linspace(0.0, radius.max() + 1e-9, 21), np.zeros(20)
    for i in range(20):
        ring = np.logical_and(edges[i] <= radius, radius < edges[i + 1])
        means[i] = picture[ring].mean()
    return means


def rings_by_histogram(np, picture, radius):
    """Such means for ever more rings, each by two histograms."""
    means = []
    for rings in range(5, 30, 5):
        points = np.histogram(radius, rings)[0]
        means.append(np.histogram(radius, rings, weights=picture)[0] / points)
    return np.concatenate(means)


def random_walks(np, draws):
    """How far walks lead and come at some winds, and when they first are ten steps away."""
    ends, far, first = (np.zeros((5, len(draws)), dtype=np.int64) for _ in range(3))
    for k in range(5):
        walks = np.cumsum(np.where(draws < 0.4 + 0.05 * k, -1, 1), axis=1)
        away = np.abs(walks) >= 10
        ends[k], far[k] = walks[:, -1], walks.max(axis=1)
        first[k] = np.where(away.any(axis=1), away.argmax(axis=1), -1)
    return ends, far, first


# -- what they work on ---------------------------------------------------------------------------


def weights(shapes):
    """Return what makes arrays of small numbers around 0, of single precision."""
    return uniform(shapes, low=-0.5, dtype="float32")


def digits(np, n):
    """Pictures, and the weights of two convolutions and two dense layers."""
    side, left = 8 + 4 * (n // 4), 8 * (1 + n // 4) ** 2
    kernels = "3,3,1,4 4 2,2,4,8 8"
    return weights(f"n,{side},{side},1 {kernels} {left},24 24 24,10 10")(np, n)


def variables(np, n):
    """Rows of numbers that depend on each other."""
    rng = numpy.random.default_rng(16)
    return (np.array(rng.normal(size=(4 * n, n)) @ rng.random((n, n))),)


def measurements(np, n):
    """Rows of ten numbers, and the weights that tell two kinds apart."""
    rng = numpy.random.default_rng(17)
    return np.array(rng.normal(size=(n, 10))), np.array(rng.normal(size=10))


def sample(np, n):
    """A sample, and which of its elements are drawn."""
    rng = numpy.random.default_rng(18)
    return np.array(rng.normal(size=n)), np.array(rng.integers(0, n, n))


def clusters(np, n):
    """Points, and centres to begin with."""
    points = numpy.random.default_rng(19).normal(size=(n, 4))
    return np.array(points), np.array(points[:5] + 0.1)


def photographs(np, n):
    """Dark pictures of bytes."""
    grey = numpy.random.default_rng(21).normal(60, 20, (8, n, n))
    return (np.array(grey.clip(0, 255).astype(numpy.uint8)),)


PROGRAMS = (
    Program("convolution", conv2d, weights("4,n,n,3 3,3,3,8 8"), (30, 92, 270), 5),
    Program("LeNet", lenet, digits, (14, 48, 130), 3),
    Program("ResNet block", resnet_block, weights("4,n,m,32 32,8 3,3,8,8 8,32"), (88, 230, 500), 4),
    Program("MLP", mlp, weights("n,32 32,n n n,n n n,10 10"), (760, 1800, 4000), 6),
    Program("softmax", repeated_softmax, weights("4,4,n,n"), (180, 480, 1100), 4),
    Program("covariance", covariance, variables, (270, 620, 990), 5),
    Program("correlation", correlation, variables, (94, 250, 450), 4),
    Program("logistic regression", logistic_regression, measurements, (30000, 130000, 10**6), 30),
    Program("bootstrap", bootstrap, sample, (2200, 8800, 29000), 12),
    Program("principal components", principal_components, variables, (180, 440, 1100), 6),
    Program("k-means", k_means, clusters, (6000, 60000, 540000), 30),
    Program("Black-Scholes", black_scholes, uniform("n n n", low=0.5), (25000, 250000, 2500000), 9),
    Program("clipped", clipped, integers(200, "n,n n,n"), (810, 1900, 4200), 6),
    Program("equalised pictures", equalised, photographs, (480, 1600, 4200), 9),
    Program("rings by masks", rings_by_masks, uniform("n n"), (240000, 1200000, 13000000), 300),
    Program("rings by histogram", rings_by_histogram, uniform("n n"), (80000, 800000, 10**7), 300),
    Program("random walks", random_walks, uniform("n,n"), (530, 1500, 4000), 40),
)
