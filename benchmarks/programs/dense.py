"""Dense linear algebra: whole matrices, and their rows, columns and elements one by one."""

from __future__ import annotations

import numpy

from benchmarks.programs.program import Program, uniform

# -- whole matrices ------------------------------------------------------------------------------


def gemm(np, alpha, beta, c, a, b):
    """A product of two matrices, added to a third in place."""
    c[:] = alpha * a @ b + beta * c
    return c


def two_products(np, alpha, beta, a, b, c, d):
    """A chain of two products, added to a matrix in place (2mm)."""
    d[:] = alpha * a @ b @ c + beta * d
    return d


def three_products(np, a, b, c, d):
    """A product of two products (3mm)."""
    return (a @ b) @ (c @ d)


def gemver(np, alpha, beta, a, u1, v1, u2, v2, x, y, z, w):
    """Updates of rank one, two by two, then products with the matrix and with its transpose."""
    for i in range(len(u1)):
        a += np.outer(u1[i], v1[i]) + np.outer(u2[i], v2[i])
    x += beta * a.T @ y + z
    w += alpha * a @ x
    return a, x, w


def gesummv(np, alpha, beta, a, b, xs):
    """A sum of two products of a matrix and a vector, for many vectors."""
    found = np.empty((len(xs), a.shape[0]))
    for i in range(len(xs)):
        found[i] = alpha * a @ xs[i] + beta * b @ xs[i]
    return found


def atax(np, a, xs):
    """The product of a matrix, its transpose and a vector, for many vectors."""
    found = np.empty_like(xs)
    for i in range(len(xs)):
        found[i] = (a @ xs[i]) @ a
    return found


def bicg(np, a, ps, rs):
    """The two products of a step of the method of biconjugate gradients, for many vectors."""
    q, s = np.zeros_like(rs), np.zeros_like(ps)
    for i in range(len(ps)):
        s[i] = rs[i] @ a
        q[i] = a @ ps[i]
    return q, s


def mvt(np, x1, x2, ys, a):
    """Products with a matrix, and with its transpose, added to vectors in place."""
    for y in ys:
        x1 += a @ y
        x2 += y @ a
    return x1, x2


def conjugate_gradient(np, a, b):
    """The solution of a definite system, by conjugate gradients."""
    x = np.zeros_like(b)
    rest = b - a @ x
    way = rest.copy()
    square = rest @ rest
    for _ in range(b.shape[0]):
        ahead = a @ way
        step = square / (way @ ahead)
        x += step * way
        rest -= step * ahead
        before, square = square, rest @ rest
        if np.sqrt(square) < 1e-12:
            break
        way = rest + square / before * way
    return x


def power_iteration(np, a):
    """The largest eigenvalue and its vector, by products."""
    x = np.ones(a.shape[0])
    for _ in range(a.shape[0]):
        x = a @ x
        x /= np.linalg.norm(x)
    return x @ a @ x, x


# -- rows and columns ----------------------------------------------------------------------------


def syrk(np, alpha, beta, c, a):
    """The lower half of a matrix times its transpose, by rows."""
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * a[i, k] * a[: i + 1, k]
    return c


def syr2k(np, alpha, beta, c, a, b):
    """The lower half of the symmetric product of two matrices, by rows."""
    for i in range(a.shape[0]):
        c[i, : i + 1] *= beta
        for k in range(a.shape[1]):
            c[i, : i + 1] += alpha * (a[: i + 1, k] * b[i, k] + b[: i + 1, k] * a[i, k])
    return c


def forward_substitution(np, lower, rights):
    """The solutions of a lower triangular system, for one right side after the other (trisolv)."""
    found = np.empty_like(rights)
    for b, x in zip(rights, found, strict=True):
        for i in range(b.shape[0]):
            x[i] = (b[i] - lower[i, :i] @ x[:i]) / lower[i, i]
    return found


def back_substitution(np, upper, b):
    """The solutions of an upper triangular system for many right sides, by rows."""
    x = np.zeros_like(b)
    for i in range(b.shape[0] - 1, -1, -1):
        x[i] = (b[i] - upper[i, i + 1 :] @ x[i + 1 :]) / upper[i, i]
    return x


def gram_schmidt(np, a):
    """Orthogonal columns, and the triangle that leads back, in place."""
    n = a.shape[1]
    q, r = np.zeros_like(a), np.zeros((n, n))
    for k in range(n):
        r[k, k] = np.sqrt(a[:, k] @ a[:, k])
        q[:, k] = a[:, k] / r[k, k]
        for j in range(k + 1, n):
            r[k, j] = q[:, k] @ a[:, j]
            a[:, j] -= q[:, k] * r[k, j]
    return q, r


def durbin(np, r):
    """The solution of the equations of Yule and Walker, by Durbin's recursion."""
    y = np.zeros_like(r)
    y[0] = alpha = -r[0]
    beta = 1.0
    for k in range(1, r.shape[0]):
        beta *= 1.0 - alpha * alpha
        alpha = -(r[k] + np.dot(np.flip(r[:k]), y[:k])) / beta
        y[:k] += alpha * np.flip(y[:k])
        y[k] = alpha
    return y


def doitgen(np, a, c):
    """A tensor times a matrix, slice by slice in place."""
    for i in range(a.shape[0]):
        a[i] = a[i] @ c
    return a


# -- elements ------------------------------------------------------------------------------------


def symm(np, alpha, beta, c, a, b):
    """A symmetric matrix, of which the lower half is read, times another one."""
    below = np.empty(c.shape[1])
    c *= beta
    for i in range(c.shape[0]):
        for j in range(c.shape[1]):
            c[:i, j] += alpha * b[i, j] * a[i, :i]
            below[j] = b[:i, j] @ a[i, :i]
        c[i] += alpha * b[i] * a[i, i] + alpha * below
    return c


def trmm(np, alpha, lower, b):
    """The transpose of a triangle with ones on its diagonal, times a matrix in place."""
    for i in range(b.shape[0]):
        for j in range(b.shape[1]):
            b[i, j] += np.dot(lower[i + 1 :, i], b[i + 1 :, j])
    b *= alpha
    return b


def cholesky(np, a):
    """The triangle of Cholesky's decomposition, by elements."""
    lower = np.zeros_like(a)
    for i in range(a.shape[0]):
        for j in range(i):
            lower[i, j] = (a[i, j] - lower[i, :j] @ lower[j, :j]) / lower[j, j]
        lower[i, i] = np.sqrt(a[i, i] - lower[i, :i] @ lower[i, :i])
    return lower


def lu(np, a):
    """Both triangles of the LU decomposition, by elements in place."""
    n = a.shape[0]
    for i in range(n):
        for j in range(i):
            a[i, j] -= a[i, :j] @ a[:j, j]
            a[i, j] /= a[j, j]
        for j in range(i, n):
            a[i, j] -= a[i, :i] @ a[:i, j]
    return a


def lu_and_solve(np, a, b):
    """A system that is solved by its LU decomposition (ludcmp)."""
    lu(np, a)
    x, y = np.zeros_like(b), np.zeros_like(b)
    n = b.shape[0]
    for i in range(n):
        y[i] = b[i] - a[i, :i] @ y[:i]
    for i in range(n - 1, -1, -1):
        x[i] = (y[i] - a[i, i + 1 :] @ x[i + 1 :]) / a[i, i]
    return x, y


# -- data ----------------------------------------------------------------------------------------


def triangle(np, n):
    """A lower triangle far from singular, and some right sides."""
    rng = numpy.random.default_rng(1)
    lower = numpy.tril(rng.random((n, n))) / n + numpy.eye(n)
    return np.array(lower), np.array(rng.random((n // 16 + 1, n)))


def upper_triangle(np, n):
    """An upper triangle, and a matrix of right sides."""
    rng = numpy.random.default_rng(1)
    upper = numpy.triu(rng.random((n, n))) / n + numpy.eye(n)
    return np.array(upper), np.array(rng.random((n, n // 2)))


def definite(np, n):
    """A symmetric matrix with positive eigenvalues."""
    places = numpy.arange(n)
    return (np.array(1.0 / (1.0 + abs(places[:, None] - places))),)


def definite_system(np, n):
    """One of these, and a right side."""
    return *definite(np, n), np.linspace(0.5, 2.0, n)


def correlations(np, n):
    """The correlations of a signal with itself, in noise."""
    return (0.6 * 0.9 ** np.arange(1.0, n + 1),)


PROGRAMS = (
    Program("gemm", gemm, uniform("n,m n,k k,m", 1.5, 1.2), (610, 1500, 3200), 6),
    Program(
        "two products", two_products, uniform("n,m m,k k,n n,n", 1.5, 1.2), (510, 1200, 2600), 6
    ),
    Program("three products", three_products, uniform("n,m m,k k,m m,n"), (460, 1000, 2200), 6),
    Program("gemver", gemver, uniform("n,n n,n n,n n,n n,n n n n n", 1.5, 1.2), (140, 300, 560), 6),
    Program("gesummv", gesummv, uniform("n,m n,m n,m", 1.5, 1.2), (210, 480, 860), 6),
    Program("atax", atax, uniform("n,m k,m"), (260, 720, 1300), 6),
    Program("bicg", bicg, uniform("n,m n,m n,n"), (270, 680, 1300), 6),
    Program("mvt", mvt, uniform("n n m,n n,n"), (260, 670, 1300), 6),
    Program("conjugate gradient", conjugate_gradient, definite_system, (890, 2000, 5600), 6),
    Program("power iteration", power_iteration, definite, (320, 870, 1500), 6),
    Program("syrk", syrk, uniform("n,n n,m", 1.5, 1.2), (66, 230, 480), 3),
    Program("syr2k", syr2k, uniform("n,n n,m n,m", 1.5, 1.2), (45, 150, 420), 3),
    Program("forward substitution", forward_substitution, triangle, (290, 860, 2300), 5),
    Program("back substitution", back_substitution, upper_triangle, (460, 1200, 2400), 6),
    Program("Gram-Schmidt", gram_schmidt, uniform("m,n"), (70, 190, 500), 4),
    Program("Durbin", durbin, correlations, (1500, 8500, 30000), 5),
    Program("doitgen", doitgen, uniform("16,n,n n,n"), (270, 590, 1300), 5),
    Program("symm", symm, uniform("n,m n,n n,m", 1.5, 1.2), (40, 130, 400), 3),
    Program("trmm", trmm, uniform("n,n n,m", 1.5), (78, 230, 580), 3),
    Program("Cholesky", cholesky, definite, (100, 310, 820), 4),
    Program("LU", lu, definite, (72, 200, 580), 3),
    Program("LU and solve", lu_and_solve, definite_system, (72, 220, 660), 3),
)
