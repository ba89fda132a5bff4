"""Pictures of large arrays: what engines reduce looks as the whole array does."""

import subprocess
import sys

import matplotlib as mpl
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.colors import CenteredNorm, LogNorm, Normalize, PowerNorm
from matplotlib.figure import Figure

import distnb as dnb
from distnb.pictures import arguments, axes, live, reducing
from distnb.pictures.binning import Window, block_means
from tests.contract.support import setting


@pytest.fixture(autouse=True)
def small(monkeypatch, session):
    """What is large is small here, and may not be gathered."""
    if not session.transport.concurrent:
        pytest.skip("a figure is the notebook's")
    monkeypatch.setattr(arguments, "LARGE", 1 << 10)
    monkeypatch.setattr(reducing, "_FETCHED", 1 << 6)
    monkeypatch.setattr(live, "_HEAD", 1 << 8)
    mpl.use("Agg")
    with setting(gather_budget=1 << 19):
        yield
    plt.close("all")


def matrix(rows=300, columns=230):
    i, j = np.ogrid[:rows, :columns]
    return np.sin(i / 20) * np.cos(j / 30)


def pixels(figure):
    """Return what a figure looks like."""
    figure.canvas.draw()
    return np.asarray(figure.canvas.buffer_rgba()).astype(int)


def looks(draw, x, atol=0.02, **options):
    """Draw distributed and NumPy's arrays; tell by how much the pictures differ, of 1."""
    found = []
    for how in (lambda y: dnb.array(y, **options), np.asarray):
        figure, ax = plt.subplots(figsize=(2, 2), dpi=50)
        draw(ax, *[how(y) for y in x])
        found.append(pixels(figure))
    assert np.abs(found[0] - found[1]).mean() / 255 <= atol
    return found


DISTS = ["block", ("*", "block"), "cyclic", "replicated", ("block", "block")]


@pytest.mark.parametrize("dist", DISTS, ids=str)
def test_pixels_are_means_of_their_elements(dist):
    x = matrix(103, 57)
    a = dnb.array(x, dist=dist)
    for window in (Window(0, 103, 0, 57, 10, 7), Window(13, 88, 5, 50, 4, 9)):
        found, low, high = reducing.image(a, window)
        part = x[window.top : window.bottom, window.left : window.right]
        if reducing._rows(a)[1]:
            assert np.allclose(found, block_means(part, window.height, window.width))
            assert (low, high) == (part.min(), part.max())
        else:  # one element stands for each pixel
            assert found.shape == window.shape
            assert np.isin(found, part).all()


def test_block_means_are_those_of_numpy():
    x = np.arange(7 * 9.0).reshape(7, 9)
    expected = [[x[i : i + 3, j : j + 4].mean() for j in (0, 4, 8)] for i in (0, 3, 6)]
    assert np.allclose(block_means(x, 3, 4), expected)
    x[:3, :4] = np.nan
    x[3, 4:] = np.inf
    found = block_means(x, 3, 4)
    assert np.isnan(found[0, 0])
    assert found[1, 1] == x[4:6, 4:8].mean()


@pytest.mark.ways("started")
@pytest.mark.parametrize("dist", DISTS[:3], ids=str)
def test_images_look_as_those_of_matplotlib(dist):
    x = matrix()
    looks(lambda ax, a: ax.imshow(a), [x], dist=dist)
    looks(lambda ax, a: ax.imshow(a, origin="lower", extent=(0, 2, 5, 9)), [x], dist=dist)
    looks(lambda ax, a: ax.pcolormesh(a), [x], atol=0.03, dist=dist)
    looks(lambda ax, a: ax.contourf(a, [-0.5, 0, 0.5]), [x], atol=0.03, dist=dist)
    steps = np.linspace(0, 1, 231) ** 2, np.linspace(3, 4, 301)
    looks(lambda ax, a: ax.pcolormesh(*steps, a), [x], atol=0.03, dist=dist)


def test_contours_reach_to_the_ends_of_the_grid():
    x = dnb.array(matrix())
    rows, columns = np.linspace(5, 1, x.shape[0]), dnb.linspace(0, 9, x.shape[1])
    for draw in (plt.contour, plt.contourf):
        plt.figure()
        draw(x)
        assert plt.axis() == (0, x.shape[1] - 1, 0, x.shape[0] - 1)
        plt.figure()
        draw(columns, rows, x)
        assert plt.axis() == (0, 9, 1, 5)


def test_images_of_other_dtypes():
    i, j = np.ogrid[:200, :200]
    colors = np.stack([i + 0 * j, j + 0 * i, i ^ j], axis=-1).astype(np.uint8)
    looks(lambda ax, a: ax.imshow(a), [colors])
    looks(lambda ax, a: ax.imshow(a), [i + j])
    looks(lambda ax, a: ax.imshow(a), [(i // 50 + j // 50) % 2 == 0])
    looks(lambda ax, a: ax.imshow(a), [matrix().astype(np.float32)])
    x = matrix()
    x[100:200, :60] = np.nan
    looks(lambda ax, a: ax.imshow(a, norm=Normalize(vmax=0.5)), [x])
    with pytest.raises(TypeError):
        Figure().subplots().imshow(np.zeros((2, 2), complex))
    with pytest.raises(TypeError):
        plt.imshow(dnb.zeros((200, 200), complex))


def test_colours_range_over_all_elements():
    x = matrix()
    x[17, 23] = 9
    assert plt.imshow(dnb.array(x)).get_clim() == (x.min(), 9)
    ax = plt.subplots(figsize=(1, 1))[1]  # with fewer pixels than elements
    with setting(cutoff=1 << 24):  # in the notebook
        assert ax.imshow(dnb.array(x)).get_clim() == (x.min(), 9)
    assert plt.imshow(dnb.array(x), vmax=2).get_clim() == (x.min(), 2)


@pytest.mark.parametrize(
    "make",
    [
        lambda: "log",
        LogNorm,
        lambda: "symlog",
        lambda: PowerNorm(0.5),
        CenteredNorm,
        lambda: Normalize(vmin=0.25),
    ],
)
def test_norms_range_over_all_elements(make):
    x = np.random.default_rng(3).random((300, 200)) - 0.01
    expected, found = (
        plt.subplots()[1].imshow(y, norm=make()).get_clim() for y in (x, dnb.array(x, dist="block"))
    )
    assert found == pytest.approx(expected, rel=1e-12)
    drawn = plt.subplots()[1].imshow(dnb.array(x), norm="log", vmin=0.5)
    assert drawn.get_clim() == (0.5, x.max())
    drawn = plt.subplots()[1].imshow(dnb.array(x), "gray", Normalize(0.5))
    assert drawn.get_clim() == (0.5, x.max())


def test_grids_have_the_limits_of_matplotlib():
    x = matrix()
    lines = np.arange(x.shape[1] + 1.0) ** 2, np.arange(x.shape[0] + 1.0)
    for draw in (
        lambda ax, z: ax.pcolormesh(z),
        lambda ax, z: ax.pcolor(z),
        lambda ax, z: ax.pcolormesh(z, shading="nearest"),
        lambda ax, z: ax.pcolormesh(*lines, z),
        lambda ax, z: ax.pcolormesh(*np.meshgrid(*lines), z),
    ):
        expected, found = plt.subplots()[1], plt.subplots()[1]
        draw(expected, x)
        draw(found, dnb.array(x, dist="block"))
        np.testing.assert_allclose(found.get_xlim(), expected.get_xlim())
        np.testing.assert_allclose(found.get_ylim(), expected.get_ylim())


def test_what_is_no_number_is_not_counted():
    y = np.sin(np.arange(6000.0))
    y[7] = np.nan
    (expected, _, _), (found, _, _) = plt.hist(y), plt.hist(dnb.array(y, dist="block"))
    assert np.array_equal(found, expected)
    weights = np.arange(12000.0).reshape(-1, 2)
    two = np.stack([y, y / 2], axis=1)
    expected, found = (
        plt.hist(a, weights=w)[0]
        for a, w in ((two, weights), (dnb.array(two, dist="block"), dnb.array(weights)))
    )
    np.testing.assert_allclose(found, expected)
    (expected, _, _), (found, _, _) = plt.hist(two), plt.hist(dnb.array(two, dist="block"))
    assert np.array_equal(found, expected)


def test_a_distribution_begins_with_the_least_element():
    y = np.random.default_rng(5).standard_normal(5000)
    assert plt.ecdf(dnb.array(y, dist="block")).get_xdata().min() == plt.ecdf(y).get_xdata().min()


@pytest.mark.ways("started")
def test_zooming_in_shows_more(session):
    x = matrix(400, 400)
    figure, ax = plt.subplots(figsize=(1, 1), dpi=50)
    picture = ax.imshow(dnb.array(x, dist="block"))
    figure.canvas.draw()
    assert picture.get_array().size < x.size / 16
    ax.set_xlim(99.5, 109.5)
    ax.set_ylim(219.5, 199.5)
    figure.canvas.draw()
    assert np.array_equal(picture.get_array(), x[200:220, 100:110])
    assert picture.get_extent() == [99.5, 109.5, 219.5, 199.5]
    assert ax.get_xlim() == (99.5, 109.5)
    before = session.batches
    figure.canvas.draw()
    assert session.batches == before  # nothing is read again
    ax.set_xlim(-0.5, 399.5)
    ax.set_ylim(399.5, -0.5)
    figure.canvas.draw()
    assert picture.get_array().size < x.size / 16


LINES = {
    "numbered": lambda n: (np.cumsum(np.random.default_rng(1).standard_normal(n)),),
    "spikes": lambda n: (np.where(np.arange(n) % 997 == 5, 7.0, 0.0),),
    "against x": lambda n: (np.linspace(0, 1, n) ** 3, np.sin(np.linspace(0, 60, n))),
    "a curve": lambda n: (np.cos(np.linspace(0, 6, n)), np.sin(np.linspace(0, 12, n))),
    "whole": lambda n: (np.arange(n) // 100,),
}


@pytest.mark.parametrize("name", LINES)
def test_lines_look_as_those_of_matplotlib(name):
    looks(lambda ax, *xy: ax.plot(*xy), LINES[name](20000), dist="block")


def test_lines_with_gaps_styles_and_columns():
    y = np.sin(np.linspace(0, 9, 6000))
    y[2000:3000] = np.nan
    looks(lambda ax, a: ax.plot(a, "r-"), [y], atol=0.03)
    looks(lambda ax, a: ax.plot(a), [np.stack([y, -y], axis=1)])
    looks(lambda ax, a, b: ax.plot(a, "g", b, y, "k"), [y, np.cos(y)])
    looks(lambda ax, a: ax.semilogx(a), [np.sin(np.geomspace(1, 50, 30000))], dist="cyclic")
    with pytest.raises(ValueError, match="same first dimension"):
        plt.plot(dnb.zeros(2000), dnb.zeros(2001))


def cloudy(n=30000):
    """Return points in a cloud over many decades, and their coordinates' logarithms."""
    rng = np.random.default_rng(7)
    a = rng.standard_normal(n)
    return a, a + rng.standard_normal(n) / 4


@pytest.mark.parametrize("style", [",", ".", "o", "+"])
def test_markers_that_no_line_joins_are_a_cloud(style):
    a, b = cloudy()
    for draw in (
        lambda ax, x, y: ax.plot(x, y, style),
        lambda ax, x, y: ax.plot(y, ls="none", marker=style, c="g", ms=4),
        lambda ax, x, y: ax.loglog(10**x, 10 ** (2 * y), style),
        lambda ax, x, y: ax.plot(10**x, y, style) and ax.set_xscale("log"),
        lambda ax, x, y: ax.plot(x, y, ls="", marker=[(-1, -1), (1, -1), (0, 1)], ms=5),
    ):
        looks(draw, [a, b], atol=0.03, dist="block")


def test_clouds_on_logarithmic_axes():
    a, b = cloudy()
    looks(lambda ax, x, y: (ax.scatter(10**x, y, 4), ax.set_xscale("log")), [a, b], atol=0.03)


def test_lines_that_go_to_and_fro():
    rng = np.random.default_rng(8)
    looks(lambda ax, x, y: ax.plot(x, y), rng.standard_normal((2, 20000)).cumsum(1), atol=0.03)


def test_points_of_a_line_are_points_of_the_array():
    y = np.random.default_rng(2).standard_normal(5000)
    (drawn,) = plt.plot(dnb.array(y, dist="block"))
    places, found = drawn.get_data()
    assert len(places) < len(y)
    assert np.array_equal(y[places.astype(int)], found)
    assert (found.min(), found.max()) == (y.min(), y.max())
    plt.xlim(1000, 1030)
    plt.gcf().canvas.draw()
    places, found = drawn.get_data()
    assert np.array_equal(y[places.astype(int)], found)
    assert set(range(1000, 1031)) <= {*places.astype(int)}
    assert (found.min(), found.max()) == (y.min(), y.max())


def test_histograms_count_all():
    y = np.random.default_rng(3).standard_normal(5000)
    a = dnb.array(y, dist="cyclic")
    for options in ({}, {"bins": 7, "density": True}, {"range": (0, 1), "bins": 20}):
        expected = Figure().subplots().hist(y, **options)
        found = plt.hist(a, **options)
        assert np.allclose(found[0], expected[0])
        assert np.allclose(found[1], expected[1])
    both = plt.hist([a, a * 2], 9)
    assert np.allclose(both[0], Figure().subplots().hist([y, y * 2], 9)[0])


def test_clouds_have_a_marker_for_each_cell():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((2, 20000))
    looks(lambda ax, a, b: ax.scatter(a, b, s=30), [x, y], atol=0.03)
    looks(lambda ax, a, b: ax.scatter(a, b, s=30, alpha=0.01), [x, y], atol=0.05, dist="cyclic")
    found = plt.scatter(dnb.array(x), dnb.array(y), c=dnb.array(x), s=9)
    offsets = np.asarray(found.get_offsets())
    assert len(offsets) < len(x)
    cell = (x.max() - x.min()) / 30
    assert np.abs(found.get_array() - offsets[:, 0]).max() < cell
    sizes = 5 + 50 * np.abs(x)
    looks(lambda ax, a, b, s: ax.scatter(a, b, s=s), [x, y, sizes], atol=0.05)
    with pytest.raises(ValueError, match="s must be a scalar"):
        plt.scatter(dnb.array(x), y, s=np.ones(19999))
    with pytest.raises(ValueError, match="same size"):
        plt.scatter(dnb.array(x), y[1:])


def _noise(n=20000):
    return np.random.default_rng(5).standard_normal(n)


def _sparse():
    return np.where(matrix() > 0.99, 1.0, 0.0)


#: Kinds of pictures -> how they are drawn, of which arrays, and by how much they may differ.
KINDS = {
    "matshow": (lambda ax, a: ax.matshow(a), lambda: [matrix()], 0.02),
    "pcolor": (lambda ax, a: ax.pcolor(a), lambda: [matrix(90, 70)], 0.03),
    "spy": (lambda ax, a: ax.spy(a), lambda: [_sparse()], 0.03),
    "spy, precisely": (
        lambda ax, a: ax.spy(a, precision=0.5, origin="lower"),
        lambda: [matrix()],
        0.03,
    ),
    "hexbin": (
        lambda ax, a, b: ax.hexbin(a, b, gridsize=9),
        lambda: [_noise(), _noise()[::-1]],
        0.03,
    ),
    "hexbin, many": (
        lambda ax, a, b: ax.hexbin(a, b, gridsize=(9, 5), mincnt=3, bins="log"),
        lambda: [_noise(), _noise()[::-1]],
        0.04,
    ),
    "fill_between": (
        lambda ax, x, a: ax.fill_between(x, a),
        lambda: [np.linspace(0, 9, 20000), _noise()],
        0.03,
    ),
    "fill_between two": (
        lambda ax, x, a: ax.fill_between(x, a, a + 1, color="r"),
        lambda: [np.linspace(0, 9, 20000), np.sin(np.linspace(0, 9, 20000)) + _noise() / 9],
        0.03,
    ),
    "errorbar": (
        lambda ax, x, a: ax.errorbar(x, a, abs(a) / 5),
        lambda: [np.linspace(0, 9, 20000), _noise()],
        0.03,
    ),
    "errorbar two": (
        lambda ax, x, a: ax.errorbar(x, a, yerr=[abs(a) / 5, abs(a)], xerr=0.1),
        lambda: [np.linspace(0, 9, 20000), _noise()],
        0.03,
    ),
    "errorbar limits": (
        lambda ax, x, a: ax.errorbar(x, a, yerr=[0.1] * len(x), uplims=a > 0, lolims=False),
        lambda: [np.linspace(0, 9, 30), _noise()[:30]],
        0.03,
    ),
    "streamplot": (
        lambda ax, a, b: ax.streamplot(np.arange(6), np.arange(5), a, b, color=a, linewidth=b),
        lambda: [np.ones((5, 6)), np.arange(30.0).reshape(5, 6) / 10],
        0.03,
    ),
    "ecdf": (lambda ax, a: ax.ecdf(a), lambda: [_noise()], 0.02),
}


@pytest.mark.parametrize("name", KINDS)
def test_other_kinds_look_as_those_of_matplotlib(name):
    draw, arrays, atol = KINDS[name]
    with setting(gather_budget=1 << 10):  # pictures do not count
        looks(draw, arrays(), atol=atol)


def test_kinds_have_functions_of_their_own():
    y = dnb.array(_noise())
    _, ax = plt.subplots()
    with setting(gather_budget=1 << 10):
        for name, args in {
            "matshow": (dnb.array(matrix()),),
            "pcolor": (dnb.array(matrix()),),
            "spy": (dnb.array(_sparse()),),
            "hexbin": (y, y),
            "fill_between": (np.arange(20000), y),
            "errorbar": (np.arange(20000), y, 0.1),
            "ecdf": (y,),
        }.items():
            assert getattr(dnb.plot, name)(*args, ax=ax) is not None
    assert plt.colorbar(dnb.plot.matshow(dnb.array(matrix())))


def test_what_pictures_fetch_does_not_count_against_the_budget():
    x = matrix()
    with setting(gather_budget=100):
        for draw in ("imshow", "pcolormesh", "contourf"):
            looks(lambda ax, a, draw=draw: getattr(ax, draw)(a), [x], atol=0.03)
        looks(lambda ax, a: ax.plot(a), [_noise()], atol=0.05)
        looks(lambda ax, a, b: ax.scatter(a, b, s=30), [_noise(), _noise()], atol=0.03)
        assert dnb.config.gather_budget == 100


def test_pyplots_spy_is_that_of_the_axes():
    with setting(gather_budget=100):  # what is gathered does count
        plt.spy(dnb.array(_sparse()))
    assert plt.gca().images[0].get_array().any()


def test_what_is_drawn_says_so_once(capsys, monkeypatch):
    monkeypatch.setattr(axes, "_TOLD", set())
    a = dnb.array(matrix())
    plt.imshow(a)
    plt.imshow(a)
    assert capsys.readouterr().out.count("means of the elements of a pixel") == 1


def test_a_picture_outlives_its_array(capsys):
    with dnb.inprocess(2) as other:
        figure, ax = plt.subplots()
        ax.imshow(dnb.array(matrix(), session=other))
    ax.set_xlim(0, 20)
    assert pixels(figure).any()
    assert "shows what it showed before" in capsys.readouterr().out
    ax.clear()
    assert ax._live == []


def test_all_that_follows_an_axes_change_are_kept():
    figure, ax = plt.subplots()
    drawn = ax.scatter(dnb.array(np.arange(5000.0)), np.arange(5000.0))
    first = len(drawn.get_offsets())
    ax.set_xlim(0, 50)
    ax.set_ylim(0, 50)
    figure.canvas.draw()
    assert np.asarray(drawn.get_offsets()).max() <= 50
    assert len(drawn.get_offsets()) != first
    assert isinstance(ax._live[0], live.Scattered)


SCRIPT = """
import {first}
import {second}
import matplotlib.pyplot as plt
import distnb as dnb
assert type(plt.subplots()[1]).__module__ == "distnb.pictures.axes"
assert dnb.plot.imshow is not plt.imshow
"""


@pytest.mark.tier("test")
@pytest.mark.ways
def test_matplotlib_makes_these_axes_whatever_is_imported_first():
    for first, second in (("distnb", "matplotlib.pyplot"), ("matplotlib.pyplot", "distnb")):
        script = "import matplotlib; matplotlib.use('Agg')" * (second == "distnb")
        script += SCRIPT.format(first=first, second=second)
        subprocess.run([sys.executable, "-c", script], check=True, timeout=60)
