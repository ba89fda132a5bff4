"""Dynamic programming, sequences, single elements, particles and physics."""

from __future__ import annotations

import numpy

from benchmarks.programs.program import Program, integers, uniform

# -- dynamic programming -------------------------------------------------------------------------


def floyd_warshall(np, paths):
    """The shortest paths between all nodes of a graph, by rows in place."""
    n = paths.shape[0]
    for k in range(n):
        for i in range(n):
            paths[i] = np.minimum(paths[i], paths[i, k] + paths[k])
    return paths


def nussinov(np, chain):
    """The most pairs of bases in a folded sequence of RNA, by elements."""
    n = chain.shape[0]
    table = np.zeros((n, n), dtype=np.int32)
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            table[i, j] = np.maximum(table[i, j - 1], table[i + 1, j])
            if i < j - 1:
                pair = int(chain[i] + chain[j] == 3)
                table[i, j] = np.maximum(table[i, j], table[i + 1, j - 1] + pair)
            for k in range(i + 1, j):
                table[i, j] = np.maximum(table[i, j], table[i, k] + table[k + 1, j])
    return table


def common_subsequence(np, a, b):
    """The lengths of the longest common subsequences of all beginnings, by elements."""
    table = np.zeros((len(a) + 1, len(b) + 1), dtype=np.int64)
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                table[i + 1, j + 1] = table[i, j] + 1
            else:
                table[i + 1, j + 1] = max(table[i, j + 1], table[i + 1, j])
    return table


def edit_distance(np, a, b):
    """The fewest changes that make one text the other, by rows."""
    places = np.arange(len(b) + 1)
    row = places.copy()
    for i in range(len(a)):
        change = np.minimum(row[1:] + 1, row[:-1] + (b != a[i]))
        row[0] = i + 1
        row[1:] = change
        row = np.minimum.accumulate(row - places) + places
    return row, row[-1]


def knapsack(np, room, weights, values):
    """The most value that fits into a sack, for each room, thing by thing."""
    best, most = np.zeros(room + 1, dtype=np.int64), np.zeros_like(values)
    for i in range(len(weights)):
        w = weights[i]
        best[w:] = np.maximum(best[w:], best[:-w] + values[i])
        most[i] = best[-1]
    return best, most


# -- sequences and elements ----------------------------------------------------------------------


def sieve(np, n):
    """The prime numbers below ``n``."""
    prime = np.ones(n, dtype=bool)
    prime[:2] = False
    for i in range(2, int(n**0.5) + 1):
        if prime[i]:
            prime[i * i :: i] = False
    return np.nonzero(prime)[0]


def crc16(np, sent):
    """A checksum of a message, byte by byte and bit by bit."""
    crc = 0xFFFF
    for byte in sent:
        crc ^= int(byte)
        for _ in range(8):
            crc = (crc >> 1) ^ 0x8408 if crc & 1 else crc >> 1
    return ~crc & 0xFFFF


def go_fast(np, a):
    """A sum of elements of the diagonal, one by one, added to a matrix, again and again."""
    for _ in range(a.shape[0] // 4):
        trace = 0.0
        for i in range(a.shape[0]):
            trace += np.tanh(a[i, i])
        a = a + 0.01 * trace
    return a


def sparse_product(np, starts, columns, values, x):
    """A sparse matrix in compressed rows, times a vector, row by row (spmv)."""
    y = np.empty(len(starts) - 1, dtype=values.dtype)
    for i in range(len(starts) - 1):
        row = slice(starts[i], starts[i + 1])
        y[i] = values[row] @ x[columns[row]]
    return y


def stockham_fft(np, x):
    """A Fourier transform of 2**k numbers in k steps, by Stockham's autosort."""
    n, done = x.shape[0], 1
    two = np.array([[1.0, 1.0], [1.0, -1.0]])
    x = x.reshape(1, n)
    while done < n:
        angles = np.arange(done)[:, None] * np.arange(2) / (2.0 * done)
        turned = np.exp(-2j * np.pi * angles)[:, :, None] * x.reshape(done, 2, -1)
        x = np.einsum("pq,kqm->pkm", two, turned).reshape(2 * done, -1)
        done *= 2
    return x[:, 0]


# -- particles and physics -----------------------------------------------------------------------


def acceleration(np, mass, place):
    """Return how gravity pulls at each particle, its forces softened when they are near."""
    apart = place[None, :, :] - place[:, None, :]
    square = (apart**2).sum(axis=2) + 0.01
    return ((apart * square[:, :, None] ** -1.5) * mass[:, None]).sum(axis=1)


def energies(np, mass, place, speed):
    """Return the energy of motion, and that of gravity."""
    motion = 0.5 * np.sum(mass[:, None] * speed**2)
    apart = place[None, :, :] - place[:, None, :]
    far = np.sqrt((apart**2).sum(axis=2))
    inverse = np.zeros_like(far)
    inverse[far > 0] = 1.0 / far[far > 0]
    return motion, -np.sum(np.triu(np.outer(mass, mass) * inverse, 1))


def n_body(np, mass, place, speed):
    """Particles that attract each other, by leapfrog, and their energies after each step."""
    steps, dt = 3, 0.01
    motion, gravity = np.zeros(steps + 1), np.zeros(steps + 1)
    speed -= np.mean(mass[:, None] * speed, axis=0) / np.mean(mass)
    pull = acceleration(np, mass, place)
    motion[0], gravity[0] = energies(np, mass, place, speed)
    for step in range(steps):
        speed += pull * dt / 2.0
        place += speed * dt
        pull = acceleration(np, mass, place)
        speed += pull * dt / 2.0
        motion[step + 1], gravity[step + 1] = energies(np, mass, place, speed)
    return place, speed, motion, gravity


def arc_distance(np, theta1, phi1, theta2, phi2):
    """Distances on a sphere from each of a few places to the nearest of many points, and all."""
    near, total = np.full(len(theta1), np.inf), np.zeros_like(theta2)
    for i in range(len(theta1)):
        part = np.sin((theta2 - theta1[i]) / 2) ** 2
        part += np.cos(theta1[i]) * np.cos(theta2) * np.sin((phi2 - phi1[i]) / 2) ** 2
        far = 2 * np.arctan2(np.sqrt(part), np.sqrt(1 - part))
        near[i] = far.min()
        total += far
    return near, total


def contour_integral(np, terms, right, points):
    """Moments of the inverse of a polynomial of matrices, along a ring of complex numbers."""
    zeroth, first = np.zeros(right.shape, dtype=complex), np.zeros(right.shape, dtype=complex)
    for z in points:
        matrix = np.zeros(terms.shape[1:], dtype=complex)
        for k in range(terms.shape[0]):
            matrix += z ** (k - 1) * terms[k]
        x = np.linalg.solve(matrix, right)
        sign = -1.0 if abs(z) < 1.0 else 1.0
        zeroth += sign * x
        first += sign * z * x
    return zeroth, first


def self_energies(np, neighbours, gradient, green, phonons):
    """How electrons scatter at phonons: small products over many indices."""
    sigma = np.zeros_like(green)
    momenta, levels, atoms = green.shape[:3]
    shifts, frequencies = phonons.shape[:2]
    for k, q, level in np.ndindex(momenta, shifts, levels):
        for w in range(min(frequencies, level + 1)):
            for a, b in np.ndindex(atoms, neighbours.shape[1]):
                there = green[k - q, level - w, neighbours[a, b]]
                for i, j in np.ndindex(2, 2):
                    ahead = there @ gradient[a, b, i]
                    back = gradient[a, b, j] * phonons[q, w, a, b, i, j]
                    sigma[k, level, a] += ahead @ back
    return sigma


def lorenz(np, n, start):
    """A path of three coupled numbers, by the method of Runge and Kutta."""

    def slope(at):
        x, y, z = at
        return np.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    path, at, dt = np.zeros((n, 3)), start, 0.005
    for i in range(n):
        path[i] = at
        k1 = slope(at)
        k2 = slope(at + dt / 2 * k1)
        k3 = slope(at + dt / 2 * k2)
        k4 = slope(at + dt * k3)
        at = at + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
    return path


# -- data ----------------------------------------------------------------------------------------


def roads(np, n):
    """The lengths of roads, from all nodes to all, many of them very long."""
    rng = numpy.random.default_rng(6)
    lengths = rng.integers(1, 100, (n, n))
    return (np.array(numpy.where(rng.random((n, n)) < 0.2, lengths, 9999)),)


def things(np, n):
    """The room of a sack, and what there is to pack: weights and values."""
    rng = numpy.random.default_rng(8)
    weights, values = rng.integers(1, 50, n), rng.integers(1, 1000, n)
    return 20 * n, np.array(weights), np.array(values)


def sparse_rows(np, n):
    """A sparse matrix in compressed rows: starts, columns, values; and a vector."""
    rng = numpy.random.default_rng(10)
    starts = numpy.concatenate(([0], numpy.cumsum(rng.integers(1, 20, n))))
    columns, values = rng.integers(0, n, starts[-1]), rng.random(starts[-1])
    return np.array(starts), np.array(columns), np.array(values), np.array(rng.random(n))


def signal(np, n):
    """As many complex numbers as 2 to the power ``n``."""
    rng = numpy.random.default_rng(11)
    return (np.array(rng.random(2**n) + 1j * rng.random(2**n)),)


def particles(np, n):
    """Masses, places and speeds."""
    rng = numpy.random.default_rng(12)
    masses = numpy.full(n, 20.0 / n)
    return np.array(masses), np.array(rng.normal(size=(n, 3))), np.array(rng.normal(size=(n, 3)))


def ring_of_points(np, n):
    """Three terms, right sides, and points of which half are within the unit circle."""
    rng = numpy.random.default_rng(13)
    terms = rng.random((3, n, n)) + 1j * rng.random((3, n, n)) + 5 * n * numpy.eye(n)
    points = numpy.exp(2j * numpy.pi * numpy.arange(16) / 16) * numpy.tile([0.5, 2.0], 8)
    return np.array(terms), np.array(rng.random((n, n // 2)) + 0j), np.array(points)


def device(np, n):
    """Neighbours of atoms, gradients, and the states of electrons and of phonons."""
    rng = numpy.random.default_rng(14)
    shapes = (n, 2, 2, 3, 3), (2, n, n, 3, 3), (2, 2, n, 2, 2, 2)
    states = (np.array(rng.random(s) + 1j * rng.random(s)) for s in shapes)
    return np.array(rng.integers(0, n, (n, 2))), *states


PROGRAMS = (
    Program("Floyd-Warshall", floyd_warshall, roads, (66, 200, 520), 4),
    Program("Nussinov", nussinov, integers(4, "n", "int32"), (32, 72, 150), 4),
    Program("common subsequence", common_subsequence, integers(4, "n k"), (120, 390, 1250), 3),
    Program("edit distance", edit_distance, integers(4, "n k"), (910, 4900, 16000), 5),
    Program("knapsack", knapsack, things, (600, 2100, 7000), 4),
    Program("sieve", sieve, lambda np, n: (n,), (3400000, 18000000, 100000000), 60),
    Program("CRC-16", crc16, integers(256, "n", "uint8"), (11000, 120000, 710000), 8),
    Program("go fast", go_fast, uniform("n,n"), (250, 700, 1400), 4),
    Program("sparse product", sparse_product, sparse_rows, (4600, 47000, 470000), 5),
    Program("Stockham FFT", stockham_fft, signal, (15, 18, 21), 4),
    Program("n-body", n_body, particles, (110, 370, 1100), 6),
    Program("arc distance", arc_distance, uniform("8 8 n n"), (20000, 200000, 1800000), 9),
    Program("contour integral", contour_integral, ring_of_points, (140, 360, 830), 4),
    Program("self energies", self_energies, device, (5, 16, 48), 1),
    Program("Lorenz", lorenz, lambda np, n: (n, np.array([1.0, 1.0, 1.05])), (500, 5000, 40000), 3),
)
