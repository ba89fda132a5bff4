"""Fields on grids: neighbours by slices, steps in time."""


def heat(np, n):
    """Heat flows through a plate with a hot edge."""
    u = np.zeros((n, n))
    u[0, :] = 1.0
    for _ in range(10):
        u[1:-1, 1:-1] += 0.2 * (
            u[:-2, 1:-1] + u[2:, 1:-1] + u[1:-1, :-2] + u[1:-1, 2:] - 4 * u[1:-1, 1:-1]
        )
    return u


def waves(np, n):
    """A drop falls into a square basin."""
    x, y = np.meshgrid(np.linspace(-1, 1, n), np.linspace(-1, 1, n), indexing="ij")
    before = np.exp(-40 * (x**2 + y**2))
    now = before.copy()
    for _ in range(12):
        after = 2 * now - before
        after[1:-1, 1:-1] += 0.2 * (
            now[2:, 1:-1] + now[:-2, 1:-1] + now[1:-1, 2:] + now[1:-1, :-2] - 4 * now[1:-1, 1:-1]
        )
        after[0] = after[-1] = 0
        after[:, 0] = after[:, -1] = 0
        before, now = now, after
    return now


def life(np, n):
    """Conway's game of life on a torus, from an R-pentomino and a glider."""
    cells = np.zeros((n, n), dtype=np.uint8)
    for i, j in ((0, 1), (0, 2), (1, 0), (1, 1), (2, 1)):
        cells[n // 2 + i, n // 2 + j] = 1
    for i, j in ((0, 1), (1, 2), (2, 0), (2, 1), (2, 2)):
        cells[1 + i, 1 + j] = 1
    for _ in range(8):
        around = sum(
            np.roll(cells, (i, j), axis=(0, 1))
            for i in (-1, 0, 1)
            for j in (-1, 0, 1)
            if (i, j) != (0, 0)
        )
        cells = ((around == 3) | ((cells == 1) & (around == 2))).astype(np.uint8)
    return cells


def mandelbrot(np, n):
    """Count how long points stay near, only as long as they do."""
    x = np.linspace(-2.0, 0.5, n)
    y = np.linspace(-1.25, 1.25, n)
    c = x[np.newaxis, :] + 1j * y[:, np.newaxis]
    z = np.zeros_like(c)
    count = np.zeros(c.shape, dtype=np.int64)
    for _ in range(20):
        near = abs(z) <= 2
        z = np.where(near, z * z + c, z)
        count += near
    return count


def julia(np, n):
    """Colour the Julia set of one number by indexing with masks."""
    x = np.linspace(-1.5, 1.5, n)
    y = x[:, None]
    z = x + 1j * y
    colours = np.full(z.shape, 255, dtype=np.int32)
    alive = np.ones(z.shape, dtype=bool)
    for k in range(15):
        z[alive] = z[alive] ** 2 - (0.8 - 0.156j)
        gone = alive & (abs(z) > 2)
        colours[gone] = k
        alive &= ~gone
    return colours


def gray_scott(np, n):
    """Two chemicals react and spread; spots grow."""
    u, v = np.ones((n, n)), np.zeros((n, n))
    low, high = n // 2 - n // 8, n // 2 + n // 8
    u[low:high, low:high], v[low:high, low:high] = 0.5, 0.25

    def laplacian(f):
        return np.roll(f, 1, 0) + np.roll(f, -1, 0) + np.roll(f, 1, 1) + np.roll(f, -1, 1) - 4 * f

    for _ in range(10):
        reaction = u * v * v
        u += 0.16 * laplacian(u) - reaction + 0.035 * (1 - u)
        v += 0.08 * laplacian(v) + reaction - 0.1 * v
    return u, v


def shallow_water(np, n):
    """Water in a channel after a dam broke, by Lax and Friedrichs."""
    h = np.where(np.arange(n) < n // 2, 2.0, 1.0)
    q = np.zeros(n)
    for _ in range(15):
        flux_h, flux_q = q, q * q / h + 4.9 * h * h
        new_h, new_q = h.copy(), q.copy()
        new_h[1:-1] = 0.5 * (h[2:] + h[:-2]) - 0.05 * (flux_h[2:] - flux_h[:-2])
        new_q[1:-1] = 0.5 * (q[2:] + q[:-2]) - 0.05 * (flux_q[2:] - flux_q[:-2])
        h, q = new_h, new_q
    return h, q


def cavity(np, n):
    """Flow in a box whose lid moves: velocities and pressure (Barba's step 11)."""
    u, v, p = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    dx, dt, nu = 2 / (n - 1), 0.001, 0.1
    centre = (slice(1, -1), slice(1, -1))
    for _ in range(3):
        ux = (u[1:-1, 2:] - u[1:-1, :-2]) / (2 * dx)
        vy = (v[2:, 1:-1] - v[:-2, 1:-1]) / (2 * dx)
        uy = (u[2:, 1:-1] - u[:-2, 1:-1]) / (2 * dx)
        vx = (v[1:-1, 2:] - v[1:-1, :-2]) / (2 * dx)
        source = (ux + vy) / dt - ux**2 - 2 * uy * vx - vy**2
        for _ in range(5):
            q = p.copy()
            p[1:-1, 1:-1] = 0.25 * (
                q[1:-1, 2:] + q[1:-1, :-2] + q[2:, 1:-1] + q[:-2, 1:-1] - dx**2 * source
            )
            p[:, -1], p[0, :], p[:, 0], p[-1, :] = p[:, -2], p[1, :], p[:, 1], 0
        old_u, old_v = u.copy(), v.copy()
        for new, old, slope in (
            (u, old_u, p[1:-1, 2:] - p[1:-1, :-2]),
            (v, old_v, p[2:, 1:-1] - p[:-2, 1:-1]),
        ):
            new[centre] = (
                old[centre]
                - dt / dx * old_u[centre] * (old[centre] - old[1:-1, :-2])
                - dt / dx * old_v[centre] * (old[centre] - old[:-2, 1:-1])
                - dt / (2 * dx) * slope
                + nu
                * dt
                / dx**2
                * (
                    old[1:-1, 2:]
                    + old[1:-1, :-2]
                    + old[2:, 1:-1]
                    + old[:-2, 1:-1]
                    - 4 * old[centre]
                )
            )
        u[0, :], u[:, 0], u[:, -1], u[-1, :] = 0, 0, 0, 1
        v[0, :], v[-1, :], v[:, 0], v[:, -1] = 0, 0, 0, 0
    return u, v, p


def channel(np, n):
    """Flow through a channel that is open at both ends: periodic along one axis."""
    u = np.zeros((n, n))
    dy, dt, nu, push = 2 / (n - 1), 0.002, 0.1, 1.0
    for _ in range(10):
        old = u.copy()
        right, left = np.roll(old, -1, axis=1), np.roll(old, 1, axis=1)
        spread = right[1:-1] + left[1:-1] + old[2:] + old[:-2] - 4 * old[1:-1]
        u[1:-1] = (
            old[1:-1]
            - old[1:-1] * dt / dy * (old[1:-1] - left[1:-1])
            + nu * dt / dy**2 * spread
            + push * dt
        )
        u[0], u[-1] = 0, 0
    return u


def red_black(np, n):
    """Laplace's equation by over-relaxation, red and black points in turn (strided views)."""
    u = np.zeros((n, n))
    u[:, 0] = np.linspace(0, 1, n)
    for _ in range(6):
        for i, j in ((1, 1), (2, 2), (1, 2), (2, 1)):
            here = (slice(i, -1, 2), slice(j, -1, 2))
            rows, columns = u[here].shape
            up = u[i - 1 : i - 1 + 2 * rows : 2, j:-1:2]
            down = u[i + 1 : i + 1 + 2 * rows : 2, j:-1:2]
            left = u[i:-1:2, j - 1 : j - 1 + 2 * columns : 2]
            right = u[i:-1:2, j + 1 : j + 1 + 2 * columns : 2]
            u[here] += 1.5 * (0.25 * (up + down + left + right) - u[here])
    return u


def edges(np, n):
    """Find edges in a picture: smoothed, then Sobel's filters, then a threshold."""
    x, y = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    picture = ((x - n / 2) ** 2 + (y - n / 3) ** 2 < (n / 4) ** 2) + 0.1 * np.sin(0.5 * x + y)
    wide = np.pad(picture, 1, mode="edge")
    smooth = sum(wide[i : i + n, j : j + n] for i in range(3) for j in range(3)) / 9
    gx = smooth[2:, :] - smooth[:-2, :]
    gy = smooth[:, 2:] - smooth[:, :-2]
    gx = gx[:, 2:] + 2 * gx[:, 1:-1] + gx[:, :-2]
    gy = gy[2:, :] + 2 * gy[1:-1, :] + gy[:-2, :]
    strength = np.hypot(gx, gy)
    return strength > strength.mean() + strength.std()


def poisson(np, n):
    """Solve Poisson's equation on a torus by Fourier transforms."""
    x, y = np.meshgrid(np.arange(n), np.arange(n), indexing="ij")
    charge = np.sin(2 * np.pi * x / n) * np.cos(4 * np.pi * y / n)
    k = 2 * np.pi * np.fft.fftfreq(n)
    square = k[:, None] ** 2 + k[None, :] ** 2
    square[0, 0] = 1
    found = np.fft.fft2(charge) / -square
    found[0, 0] = 0
    return np.fft.ifft2(found).real


PROGRAMS = (
    heat,
    waves,
    life,
    mandelbrot,
    julia,
    gray_scott,
    shallow_water,
    cavity,
    channel,
    red_black,
    edges,
    poisson,
)
