"""Grids: stencils, filters, equations in space and time, and pictures of iterations."""

from __future__ import annotations

import numpy

from benchmarks.programs.program import Program, uniform


def jacobi_1d(np, a, b):
    """Means of three neighbours on a line, back and forth between two arrays."""
    for _ in range(a.shape[0] // 4):
        b[1:-1] = 0.33333 * (a[:-2] + a[1:-1] + a[2:])
        a[1:-1] = 0.33333 * (b[:-2] + b[1:-1] + b[2:])
    return a


def mean_of_five(a):
    """Return the means of the inner points of a plane and of their neighbours."""
    return 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2] + a[1:-1, 2:] + a[2:, 1:-1] + a[:-2, 1:-1])


def jacobi_2d(np, a, b):
    """Means of five neighbours in a plane, back and forth between two arrays."""
    for _ in range(a.shape[0] // 4):
        b[1:-1, 1:-1] = mean_of_five(a)
        a[1:-1, 1:-1] = mean_of_five(b)
    return a


def seidel_2d(np, a):
    """Means of nine neighbours in place: rows at once, then what each element hands on."""
    n = a.shape[0]
    for _ in range(3):
        for i in range(1, n - 1):
            a[i, 1:-1] += a[i - 1, :-2] + a[i - 1, 1:-1] + a[i - 1, 2:] + a[i, 2:]
            a[i, 1:-1] += a[i + 1, :-2] + a[i + 1, 1:-1] + a[i + 1, 2:]
            for j in range(1, n - 1):
                a[i, j] += a[i, j - 1]
                a[i, j] /= 9.0
    return a


def heat_3d(np, a):
    """Heat in a block, by explicit steps."""
    for _ in range(a.shape[0] // 2):
        centre = a[1:-1, 1:-1, 1:-1]
        along_x = a[2:, 1:-1, 1:-1] - 2.0 * centre + a[:-2, 1:-1, 1:-1]
        along_y = a[1:-1, 2:, 1:-1] - 2.0 * centre + a[1:-1, :-2, 1:-1]
        along_z = a[1:-1, 1:-1, 2:] - 2.0 * centre + a[1:-1, 1:-1, :-2]
        a[1:-1, 1:-1, 1:-1] = centre + 0.125 * (along_x + along_y + along_z)
    return a


def fdtd_2d(np, ex, ey, hz):
    """An electromagnetic wave from one edge, by Yee's leapfrog."""
    for t in range(ey.shape[0] // 2):
        ey[0] = t
        ey[1:] -= 0.5 * (hz[1:] - hz[:-1])
        ex[:, 1:] -= 0.5 * (hz[:, 1:] - hz[:, :-1])
        hz[:-1, :-1] -= 0.7 * (ex[:-1, 1:] - ex[:-1, :-1] + ey[1:, :-1] - ey[:-1, :-1])
    return ex, ey, hz


def life(np, cells):
    """Conway's game of life, its edges dead."""
    inside = cells[1:-1, 1:-1]
    for _ in range(cells.shape[0] // 4):
        three = cells[:-2] + cells[1:-1] + cells[2:]
        around = three[:, :-2] + three[:, 1:-1] + three[:, 2:] - inside
        born = (around == 3) & (inside == 0)
        stays = ((around == 2) | (around == 3)) & (inside == 1)
        cells[...] = 0
        inside[born | stays] = 1
    return cells


def horizontal_diffusion(np, field, coefficient):
    """Diffusion of the fourth order in each level of an atmosphere; no flux goes uphill (hdiff)."""
    for _ in range(coefficient.shape[0] // 8):
        around = field[2:, 1:-1] + field[:-2, 1:-1] + field[1:-1, 2:] + field[1:-1, :-2]
        lap = 4.0 * field[1:-1, 1:-1] - around
        along_x = lap[1:, 1:-1] - lap[:-1, 1:-1]
        along_x = np.where(along_x * (field[2:-1, 2:-2] - field[1:-2, 2:-2]) > 0, 0, along_x)
        along_y = lap[1:-1, 1:] - lap[1:-1, :-1]
        along_y = np.where(along_y * (field[2:-2, 2:-1] - field[2:-2, 1:-2]) > 0, 0, along_y)
        leaves = along_x[1:] - along_x[:-1] + along_y[:, 1:] - along_y[:, :-1]
        field[2:-2, 2:-2] -= coefficient * leaves
    return field


def half_step(np, new, old, r):
    """Solve for the lines of ``new`` along its columns, with the differences of ``old`` across."""
    p, q = np.zeros_like(old), np.zeros_like(old)
    new[:, 0] = new[:, -1] = q[:, 0] = 1.0
    for j in range(1, old.shape[1] - 1):
        below = 1.0 + 2.0 * r - r * p[1:-1, j - 1]
        right = old[1:-1, j] + r * (old[:-2, j] - 2.0 * old[1:-1, j] + old[2:, j])
        p[1:-1, j] = r / below
        q[1:-1, j] = (right + r * q[1:-1, j - 1]) / below
    for j in range(old.shape[1] - 2, 0, -1):
        new[1:-1, j] = p[1:-1, j] * new[1:-1, j + 1] + q[1:-1, j]


def adi(np, u):
    """Heat in a plate whose edge is kept warm, in alternating directions."""
    v = np.ones_like(u)
    for _ in range(3):
        half_step(np, v, u, 0.4)
        half_step(np, u.T, v.T, 0.4)
    return u


def both_ways(np, x, alpha):
    """Filter each row from the left and from the right, and add these."""
    decay = np.exp(-alpha)
    k = (1.0 - decay) ** 2 / (1.0 + 2.0 * alpha * decay - np.exp(-2.0 * alpha))
    b1, b2 = 2.0 * decay, -np.exp(-2.0 * alpha)
    left, right = np.zeros_like(x), np.zeros_like(x)
    left[:, 0] = k * x[:, 0]
    left[:, 1] = k * (x[:, 1] + decay * (alpha - 1.0) * x[:, 0]) + b1 * left[:, 0]
    for j in range(2, x.shape[1]):
        left[:, j] = k * (x[:, j] + decay * (alpha - 1.0) * x[:, j - 1])
        left[:, j] += b1 * left[:, j - 1] + b2 * left[:, j - 2]
    a1, a2 = k * decay * (alpha + 1.0), -k * decay**2
    right[:, -2] = a1 * x[:, -1]
    for j in range(x.shape[1] - 3, -1, -1):
        right[:, j] = a1 * x[:, j + 1] + a2 * x[:, j + 2]
        right[:, j] += b1 * right[:, j + 1] + b2 * right[:, j + 2]
    return left + right


def deriche(np, image):
    """A smooth image, by Deriche's recursive filter along rows, then along columns."""
    return both_ways(np, both_ways(np, image, 0.25).T, 0.25).T


def vertical_advection(np, u, w):
    """Implicit advection in columns: a tridiagonal system in each, by Thomas's algorithm (vadv)."""
    levels = u.shape[2]
    c, d, x = np.empty_like(u), np.empty_like(u), np.empty_like(u)
    for k in range(levels):
        below = 0.25 * (w[1:, :, k] + w[:-1, :, k])
        above = 0.25 * (w[1:, :, k + 1] + w[:-1, :, k + 1])
        middle, right = 3.0 + below - above, 3.0 * u[:, :, k]
        if k > 0:
            middle += below * c[:, :, k - 1]
            right += below * (u[:, :, k - 1] - u[:, :, k] + d[:, :, k - 1])
        if k < levels - 1:
            right -= above * (u[:, :, k + 1] - u[:, :, k])
        c[:, :, k] = above / middle
        d[:, :, k] = right / middle
    x[:, :, -1] = d[:, :, -1]
    for k in range(levels - 2, -1, -1):
        x[:, :, k] = d[:, :, k] - c[:, :, k] * x[:, :, k + 1]
    return 6.0 * (x - u)


def divergence(u, v, h):
    """What the pressure has to balance, at the inner points; a step takes 0.2 * h * h."""
    ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2.0 * h)
    vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2.0 * h)
    uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2.0 * h)
    vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2.0 * h)
    return (ux + vy) / (0.2 * h * h) - ux**2 - 2.0 * uy * vx - vy**2


def carried(f, u, v, h):
    """Return a velocity at the inner points after viscosity and flow, without the pressure."""
    old = f[1:-1, 1:-1]
    along = u[1:-1, 1:-1] * (old - f[1:-1, :-2]) + v[1:-1, 1:-1] * (old - f[:-2, 1:-1])
    around = f[1:-1, 2:] + f[1:-1, :-2] + f[2:, 1:-1] + f[:-2, 1:-1]
    return old - 0.2 * h * along + 0.02 * (around - 4.0 * old)


def relaxed(p, source, h):
    """Return the mean of the neighbours of the pressure, less the source."""
    around = p[1:-1, 2:] + p[1:-1, :-2] + p[2:, 1:-1] + p[:-2, 1:-1]
    return 0.25 * (around - h * h * source)


def cavity_flow(np, u, v, p):
    """Flow in a box whose lid moves: velocities and pressure."""
    h = 2.0 / (u.shape[0] - 1)
    for _ in range(u.shape[0] // 4):
        source = divergence(u, v, h)
        for _ in range(10):
            p[1:-1, 1:-1] = relaxed(p.copy(), source, h)
            p[:, -1], p[0], p[:, 0], p[-1] = p[:, -2], p[1], p[:, 1], 0.0
        old, across = u.copy(), v.copy()
        u[1:-1, 1:-1] = carried(old, old, across, h) - 0.1 * h * (p[1:-1, 2:] - p[1:-1, :-2])
        v[1:-1, 1:-1] = carried(across, old, across, h) - 0.1 * h * (p[2:, 1:-1] - p[:-2, 1:-1])
        u[-1] = 1.0
    return u, v, p


def wrapped(np, f):
    """Return a field with its last column in front of the first, and the first behind the last."""
    return np.concatenate((f[:, -1:], f, f[:, :1]), axis=1)


def channel_flow(np, u, v, p):
    """Flow through a channel that is periodic along it, driven until it hardly changes."""
    h, change, steps = 2.0 / (u.shape[0] - 1), 1.0, 0
    while change > 1e-3 and steps < u.shape[0] // 4:
        old, across = wrapped(np, u), wrapped(np, v)
        source = divergence(old, across, h)
        for _ in range(10):
            p[1:-1] = relaxed(wrapped(np, p), source, h)
            p[0], p[-1] = p[1], p[-2]
        q, before = wrapped(np, p), np.sum(u)
        u[1:-1] = carried(old, old, across, h) - 0.1 * h * (q[1:-1, 2:] - q[1:-1, :-2] - 2.0 * h)
        v[1:-1] = carried(across, old, across, h) - 0.1 * h * (q[2:, 1:-1] - q[:-2, 1:-1])
        change = (np.sum(u) - before) / np.sum(u)
        steps += 1
    return u, v, p, steps


def mandelbrot_masks(np, x, y):
    """When points leave the Mandelbrot set, by masks of those that stay."""
    c = x + y[:, None] * 1j
    z, when = np.zeros_like(c), np.zeros(c.shape, dtype=np.int64)
    for step in range(12):
        near = np.less(abs(z), 2.0)
        when[near] = step
        z[near] = z[near] ** 2 + c[near]
    when[when == 11] = 0
    return z, when


def mandelbrot_indices(np, x, y):
    """The same, for the indices of those that are left."""
    c = (x + y[:, None] * 1j).ravel()
    when, left, z = np.zeros(c.shape, dtype=np.int64), np.arange(c.size), np.zeros_like(c)
    for step in range(12):
        z = z * z + c
        gone = abs(z) > 2.0
        when[left[gone]] = step + 1
        left, z, c = left[~gone], z[~gone], c[~gone]
    return when.reshape(len(y), len(x)), left


def julia(np, x, y):
    """How long points stay near under the iteration of a Julia set."""
    z = x + y[:, None] * 1j
    steps = np.zeros(z.shape, dtype=np.int32)
    for _ in range(12):
        near = z.real**2 + z.imag**2 <= 4.0
        z = np.where(near, z * z - 0.8 + 0.156j, z)
        steps += near
    return steps


def scattered_cells(np, n):
    """Cells of which a third live."""
    return (np.array((numpy.random.default_rng(3).random((n, n)) < 0.33).astype(int)),)


def atmosphere(np, n):
    """A field and a coefficient for each of its inner points, in some levels."""
    rng = numpy.random.default_rng(4)
    return np.array(rng.random((n + 4, n + 4, n // 4))), np.array(rng.random((n, n, n // 4)) / 50)


def columns_of_air(np, n):
    """A wind, and the vertical wind between its points: none through the ground."""
    rng = numpy.random.default_rng(5)
    vertical = rng.random((n + 1, n, n // 2 + 1))
    vertical[:, :, [0, -1]] = 0.0
    return np.array(rng.random((n, n, n // 2))), np.array(vertical)


def still_fluid(np, n):
    """Velocities and pressure at rest."""
    return np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))


def plane(np, n):
    """The coordinates of a part of the complex plane."""
    return np.linspace(-2.0, 0.5, n), np.linspace(-1.25, 1.25, n + 1)


PROGRAMS = (
    Program("Jacobi 1-D", jacobi_1d, uniform("n n"), (2300, 12000, 32000), 12),
    Program("Jacobi 2-D", jacobi_2d, uniform("n,m n,m"), (160, 360, 760), 8),
    Program("Gauss-Seidel 2-D", seidel_2d, uniform("n,n"), (76, 250, 770), 4),
    Program("heat 3-D", heat_3d, uniform("n,m,k"), (40, 68, 99), 6),
    Program("FDTD 2-D", fdtd_2d, uniform("n,m n,m n,m"), (130, 330, 620), 7),
    Program("life", life, scattered_cells, (170, 390, 750), 8),
    Program("horizontal diffusion", horizontal_diffusion, atmosphere, (68, 120, 190), 8),
    Program("ADI", adi, uniform("n,n"), (120, 680, 1700), 5),
    Program("Deriche filter", deriche, uniform("n,m"), (210, 1100, 2800), 5),
    Program("vertical advection", vertical_advection, columns_of_air, (81, 160, 260), 6),
    Program("cavity flow", cavity_flow, still_fluid, (79, 180, 380), 7),
    Program("channel flow", channel_flow, still_fluid, (70, 180, 380), 7),
    Program("Mandelbrot by masks", mandelbrot_masks, plane, (320, 740, 2000), 9),
    Program("Mandelbrot by indices", mandelbrot_indices, plane, (360, 990, 2100), 9),
    Program("Julia", julia, plane, (380, 830, 2000), 9),
)
