"""What a report shows: complete and small pages, pictures, traces, and what changed."""

import copy
import json
import pickle
import re
import xml.etree.ElementTree as ET
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given

from distnb.client.reports.scaling import Run, Scaling
from distnb.measure.events import (
    CLASSES,
    COMPUTE,
    IDLE,
    Account,
    CommandTime,
    Moment,
    Notebook,
    OpTime,
    Report,
)
from distnb.widgets import TimeReport
from distnb.widgets.drawing import matrices
from distnb.widgets.drawing.bars import FRAME
from distnb.widgets.times import account, glance
from distnb.widgets.times.account import STYLES, bars_svg
from distnb.widgets.times.scaling import ScalingReport
from tests.tiers import examples, some
from tests.unit.pages import SVG, check_svg, contrast, marks, parse, rgb, table, text_rows
from tests.unit.runs import MS, reports, span, step
from tests.unit.runs import report as made

EVIL = '<script>alert("1")</script>&\'\x00\n$'


@pytest.fixture
def pyplot():
    """Matplotlib without a display; leaves no figure open."""
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot

    yield pyplot
    pyplot.close("all")


def report(n, ops=(), seed=0, wall=0.05):
    """Return a report of n engines whose account is closed."""
    rng = np.random.default_rng(seed)
    engines = []
    for _ in range(n):
        cuts = sorted(int(x) for x in rng.integers(0, int(wall * 1e9) + 1, 4))
        spent = [b - a for a, b in zip([0, *cuts], [*cuts, int(wall * 1e9)], strict=True)]
        engines.append(Account(sum(spent), tuple(spent), 3, 1000))
    return Report(wall, tuple(engines), tuple(ops), 17, 2)


def operations(count, n=2, line="cell 3:1  B = A[1:] + A[:-1]"):
    rng = np.random.default_rng(1)
    return tuple(
        OpTime(
            f"op{i}",
            line,
            i + 1,
            tuple(CommandTime(*(int(x) for x in rng.integers(0, 10**7, 6))) for _ in range(n)),
        )
        for i in range(count)
    )


def ring(n, steps=9, line="In [12] line {}: t[:] = 0.2 * (a[1:-1, 1:-1] + a[1:-1, :-2])"):
    """A run in which each engine waits for the next, and sends it a megabyte."""
    return made(
        [
            step(
                *(
                    span(
                        10 * s,
                        4 + (r % 3),
                        2,
                        1,
                        3 - (r % 3),
                        touched=5 * 10**6,
                        waits=[((r + 1) % n, 2)] * (n > 1),
                        sent=[((r + 1) % n, 1, 10**6)] * (n > 1),
                    )
                    for r in range(n)
                ),
                op=("add", "multiply", "copy")[s % 3],
                line=line.format(s % 14),
            )
            for s in range(steps)
        ],
        memory_bandwidth=2e9,
    )


# -- Text ------------------------------------------------------------------------------------------

GOLDEN = """\
Load balance: engine 1 holds 1.5 times the mean of what `t[1:] = a + b` works on; deal its arrays
evenly, as t = t.redistribute() does: about -30 % (100 ms -> 70 ms).
wall 100 ms on 2 engines: 2 commands in 1 batch

engine 0  ████████████////////////////////////····  computes 30 %, waits 60 % for 1
engine 1  ████████████████████████████████████····  computes 90 %, idle 10 %
█ compute  / waiting  = transfer  : overhead  · idle

line                          time  share  mostly
t[1:] = a + b                60 ms   60 %  compute: add
t[1:] = 2 * (t[1:] + t[1:])  30 ms   30 %  compute: multiply
report.details() has all numbers"""

DETAILS = """\
wall 100 ms on 2 engines: 2 commands in 1 batch
Load balance: engine 1 holds 1.5 times the mean of what `t[1:] = a + b` works on; deal its arrays \
evenly, as t = t.redistribute() does: about -30 % (100 ms -> 70 ms).

engine       compute       waiting  transfer  overhead          idle     sum  accounted  waiting mostly for
     0  30 ms   30 %  60 ms   60 %  0    0 %  0    0 %  10 ms   10 %  100 ms      100 %            \
engine 1  █████/////////··
     1  90 ms   90 %      0    0 %  0    0 %  0    0 %  10 ms   10 %  100 ms      100 %             \
      -  ██████████████··
  mean  60 ms   60 %  30 ms   30 %  0    0 %  0    0 %  10 ms   10 %  100 ms      100 %            \
engine 1  ██████████////··
█ compute  / waiting  = transfer  : overhead  · idle

rung           efficiency          lost              what is lost
dispatch             0.90         10 ms  █████████   no engine had a command: all waited for the notebook
overhead             1.00             0  ██████████  engines decoded, planned and got memory
transfer             1.00             0  ██████████  engines moved bytes, or these were on their way
serialisation        1.00             0  ██████████  engines waited for what others had to do first
load balance         0.67  30 ms (most)  ██████▋     engines had less to compute than the one that \
computed longest
parallel efficiency 0.60 = 0.90 x 1.00 x 1.00 x 1.00 x 0.67 (mean compute / window; POP's: 0.67)
load balance 0.67 = layout 0.67 x speed 1.00; about 1.2 times as fast as one engine; computing \
touches 1 GB/s on each engine, 50 % of the memory bandwidth

waiting: the engine of the row waited for that of the column
engine  0      1    sum
     0  -  60 ms  60 ms
     1  -      -      -
   sum  -  60 ms  60 ms

sent: the engine of the row to that of the column
engine     0  1   sum
     0     -  -     -
     1  6 MB  -  6 MB
   sum  6 MB  -  6 MB

waited for  while it was at  line                                      in all
         1  add              In [2] line 4: t[1:] = a + b               40 ms
         1  multiply         In [2] line 5: t[1:] = 2 * (t[1:] + t...   20 ms

op        line                                      calls   mean  share  balance  waiting  messages \
 sent  GB/s
add       In [2] line 4: t[1:] = a + b                  1  60 ms   60 %     0.67     33 %         2 \
 6 MB     1
multiply  In [2] line 5: t[1:] = 2 * (t[1:] + t...      1  30 ms   30 %     0.67     33 %         - \
    -     1"""


def golden():
    steps = [
        step(
            span(0, 20, 40, waits=[(1, 40)], touched=20 * MS),
            span(0, 60, touched=60 * MS, sent=[(0, 2, 6_000_000)]),
            held=(100, 300),
            line="In [2] line 4: t[1:] = a + b",
        ),
        step(
            span(60, 10, 20, waits=[(1, 20)], touched=10 * MS),
            span(60, 30, touched=30 * MS),
            held=(100, 300),
            op="multiply",
            line="In [2] line 5: t[1:] = 2 * (t[1:] + t[1:])",
        ),
    ]
    return made(steps, window=100, memory_bandwidth=2e9)


def test_golden_text():
    assert repr(TimeReport(golden())) == GOLDEN
    assert repr(TimeReport(golden()).details()) == DETAILS


@pytest.mark.parametrize("n", [1, 4, 16, 200])
def test_the_text_is_at_a_glance(n):
    lines = repr(TimeReport(ring(n))).splitlines()
    assert len(lines) <= 16
    assert max(map(len, lines)) <= 100


def test_nothing_is_printed_on_hatches(pyplot):
    drawn = bars_svg(golden(), 8, "", "u")
    assert re.findall(r">(\d+ %)<", drawn) == ["30 %", "90 %"]  # not the 60 % of waiting
    ax = TimeReport(golden()).plot()
    assert [t.get_text() for t in ax.texts] == ["30 %", "90 %", "10 %", "10 %"]


def test_a_hole_in_the_account_is_seen():
    whole, missing = (5 * MS, 1 * MS, 0, 2 * MS, 2 * MS), (2 * MS, 2 * MS, 1 * MS, 2 * MS, 2 * MS)
    found = Report(0.01, tuple(Account(10 * MS, s, 0, 0) for s in (whole, missing)), (), 3, 1)
    rows = text_rows(TimeReport(found).details())
    assert [row[-2] for row in rows] == ["100 %", "90 %", "95 %"]


def folded(shown):
    """Return what a page shows only when it is asked to."""
    return parse(shown._repr_html_()).find(".//details")


UNITS = {"s": 1e3, "us": 1e-3, "ns": 1e-6, "kB": 1e3, "MB": 1e6, "GB": 1e9}


def numbers(cell):
    """Return all numbers of a text: times in ms, bytes, shares in percent."""
    found = re.findall(r"([\d.,]+)(?: (\w+|%))?", re.sub(r"engine \d+", "", cell))
    return [float(x.replace(",", "")) * UNITS.get(unit, 1) for x, unit in found]


@pytest.mark.parametrize("n", [1, 2, 4, 16, 64, 67, 200])
def test_the_classes_add_up(n):
    shown = TimeReport(report(n, operations(3)))
    for rows in (text_rows(shown.details()), table(folded(shown))):
        assert len(rows) <= 17
        for row in rows:
            *classes, accounted = numbers(" ".join(row[1:]))
            total = classes.pop() if len(classes) == 11 else 50
            assert accounted == 100.0
            assert len(classes) == 10
            assert sum(classes[::2]) == pytest.approx(total, abs=0.2)
            assert sum(classes[1::2]) == pytest.approx(100, abs=2)
            assert total == pytest.approx(50, abs=0.02)


def test_operations_beyond_the_twelfth_are_added_up():
    ops = operations(15, 3)
    text = TimeReport(report(3, ops)).details()
    last = re.split(r"  +", text.splitlines()[-1])
    rest = ops[12:]
    mean = sum(sum(r[:4]) for op in rest for r in op.ranks) / 3 / 1e6
    assert last[0] == "and 3 more"
    assert int(last[1]) == sum(op.calls for op in rest)
    assert numbers(last[2]) == [pytest.approx(mean, rel=0.005)]
    assert numbers(last[3]) == [pytest.approx(100 * mean / 50, abs=0.6)]
    assert int(last[4].replace(",", "")) == sum(r.messages for op in rest for r in op.ranks)
    sent = sum(r.bytes for op in rest for r in op.ranks)
    assert numbers(last[5]) == [pytest.approx(sent, rel=0.005)]
    rows = table(folded(TimeReport(report(3, ops))), 2)
    assert [row[0] for row in rows] == [*(f"op{i}" for i in range(12)), "and 3 more"]
    assert "more" not in TimeReport(report(3, ops[:12])).details()


@pytest.mark.parametrize("n", [9, 40])
def test_of_many_engines_the_worst_pairs_are_shown(n):
    found = matrices.Pairs("", np.arange(n * n).reshape(n, n), str, "sent to")
    head, *rows, rest = found.table(8, 6)
    assert head == ("engine", "sent to", "much")
    assert rows == [(str(n - 1), str(n - 1 - k), str(n * n - 1 - k)) for k in range(6)]
    assert int(rest[2]) + sum(int(row[2]) for row in rows) == sum(range(n * n))
    assert len(found.table(n)) == n + 2


# -- Pages -----------------------------------------------------------------------------------------


@pytest.mark.cases(9)
@pytest.mark.parametrize("n", [1, 2, 3, 4, 6, 8, 16, 64, 200])
@pytest.mark.parametrize("steps", [1, 14, 60])
def test_pages_are_small_and_say_what_the_text_says(n, steps):
    found = ring(n, steps)
    shown = TimeReport(found)
    root = parse(shown._repr_html_())
    svg = check_svg(root)
    assert marks(svg) <= 6 * account.BARS
    words = " ".join(root.itertext())
    assert found.advice in words
    assert [row[:2] for row in table(folded(shown), 1)] == [
        [rung.name, f"{rung.efficiency:.2f}"] for rung in found.ladder
    ]
    if n <= 3:
        cells = {"".join(cell.itertext()) for cell in root.iter() if cell.tag in {"td", "th"}}
        _, *tables = shown.details().split("\n\nwaiting: ")
        for line in tables[0].split("\n\nop")[0].splitlines()[1:] if tables else ():
            assert set(re.split(r"  +", line.strip())) <= cells | {
                "",
                matrices.pairs(found)[1].title,
            }


@pytest.mark.parametrize("n", [1, 2, 16, 64, 1000])
@pytest.mark.parametrize("ops", [0, 1, 12, 40])
def test_pages_stay_small(n, ops):
    found = report(n, operations(ops, min(n, 8), "<\"'&" * 30))
    svg = check_svg(parse(TimeReport(found)._repr_html_()))
    assert marks(svg) <= 6 * account.BARS


@given(reports())
@examples(25)
def test_any_run_can_be_shown(found):
    shown = TimeReport(found)
    parse(shown._repr_html_())
    assert found.advice in shown.details()
    ET.fromstring(shown.to_html().partition("\n")[2])
    json.loads(shown.to_json())
    assert repr(shown.diff(found))
    parse(shown.diff(shown)._repr_html_())


def test_sixteen_engines_have_rows_of_their_own():
    root = folded(TimeReport(ring(16)))
    assert [row[0] for row in table(root)] == [*map(str, range(16)), "mean"]
    assert len(table(root, 3)) >= 2


def test_bars_have_the_lengths_of_the_classes():
    found = report(3)
    svg = check_svg(parse(TimeReport(found)._repr_html_()))
    bars = [path for path in svg.findall(f"{SVG}path") if path.get("stroke-width")]
    lengths = [[int(w) for w in re.findall(r"M\d+ [\d.]+h(\d+)", b.get("d"))] for b in bars]
    want = [
        [w for e in found.engines if (w := e.spent[c] / e.now * 300) >= 1]
        for c in range(len(CLASSES))
        if c != IDLE and any(e.spent[c] / e.now * 300 >= 1 for e in found.engines)
    ]
    assert [len(row) for row in lengths] == [len(row) for row in want]
    for row, expected in zip(lengths, want, strict=True):
        assert row == pytest.approx(expected, abs=1)
    assert all(f"{CLASSES[c]} " in svg.find(f"{SVG}desc").text for c in range(len(CLASSES)))


def test_the_ladder_is_drawn_to_scale_and_marks_the_worst_rung():
    found = golden()
    _, svg = parse(TimeReport(found)._repr_html_()).iter(f"{SVG}svg")
    kept, frames = list(svg.iter(f"{SVG}path"))[::2], list(svg.iter(f"{SVG}path"))[1::2]
    left = [int(re.match(r"M\d+ \d+h(\d+)", path.get("d"))[1]) for path in kept]
    assert left == [round(300 * t / found.stages.window) for t in found.stages[1:]]
    words = [text.text for text in svg.iter(f"{SVG}text")]
    assert words[1::2] == ["0.90", "1.00", "1.00", "1.00", "0.67, 30 ms lost: most"]
    assert [path.get("stroke") == "currentColor" for path in frames] == [False] * 4 + [True]


def test_who_was_waited_for_is_told_beside_the_bar_and_by_an_arrow():
    svg = check_svg(parse(TimeReport(golden())._repr_html_()))
    assert "computes 30 %, waits 60 % for 1" in [text.text for text in svg.iter(f"{SVG}text")]
    (arrows,) = [p for p in svg.iter(f"{SVG}path") if p.get("stroke") == "currentColor"]
    assert arrows.get("d").count("M") == 2
    x, y = re.match(r"M([\d.]+) (\d+)V", arrows.get("d")).groups()
    assert float(x) == pytest.approx(glance.LEFT + 0.6 * glance.WIDTH)
    assert int(y) == 24 + glance.PITCH  # up from engine 1


def test_bars_are_along_time():
    found = golden()
    svg = check_svg(parse(TimeReport(found)._repr_html_()))
    (computing,) = [p for p in svg.iter(f"{SVG}path") if p.get("stroke") == STYLES[COMPUTE].colour][
        :1
    ]
    stretches = [(int(x), int(w)) for x, w in re.findall(r"M(\d+) \d+h(\d+)", computing.get("d"))]
    want = [(0, 20), (60, 10)]  # of engine 0, in a window of 100 ms
    assert stretches == pytest.approx(
        [(glance.LEFT + a * glance.WIDTH / 100, w * glance.WIDTH / 100) for a, w in want], abs=2
    )


@pytest.mark.parametrize("share", [0.1, 0.32, 0.5, 0.68, 0.97])
def test_a_bar_has_the_share_that_is_written_beside_it(share):
    spans = [span(t, share, 1 - share) for t in range(100)]  # shorter than a column of pixels
    found = made([step(each, each) for each in spans])
    did = round(share * 100 * MS)
    moments = Moment(0, 0, 0, 0), Moment(100 * MS, did, 0, 0)
    found = replace(found, notebook=Notebook(did / 1e9, moments=moments))
    svg = ET.fromstring(glance.time_axis(found, "k"))
    for colour, bars in ((STYLES[COMPUTE].colour, 2), (account.OWN[0].colour, 1)):
        paths = [p.get("d") for p in svg.iter(f"{SVG}path") if p.get("stroke") == colour]
        drawn = [sum(int(w) for w in re.findall(r"h(\d+)", path)) for path in paths]
        assert drawn == [pytest.approx(share * glance.WIDTH, abs=glance.WIDTHS[-1])] * bars
    assert "notebook" in [text.text for text in svg.iter(f"{SVG}text")][1:4]  # in the legend


def test_the_worst_lines_are_listed_with_their_share():
    rows = table(parse(TimeReport(golden())._repr_html_()))
    assert [row[:3] for row in rows] == [
        ["t[1:] = a + b", "60 ms", "60 %"],
        ["t[1:] = 2 * (t[1:] + t[1:])", "30 ms", "30 %"],
    ]


def test_what_the_notebook_did_itself_is_a_line():
    found = replace(golden(), notebook=Notebook(0.008))
    assert "the notebook itself" in [
        row[0] for row in table(parse(TimeReport(found)._repr_html_()))
    ]
    assert "8 ms computed by the notebook itself" in repr(TimeReport(found))


def test_what_the_notebook_did_is_drawn_above_the_engines():
    moments = [Moment(0, 0, 0, 0), Moment(30 * MS, 30 * MS, 0, 0), Moment(50 * MS, 30 * MS, 0, 0)]
    moments += [Moment(90 * MS, 30 * MS, 0, 40 * MS), Moment(100 * MS, 30 * MS, 0, 40 * MS)]
    found = replace(golden(), notebook=Notebook(0.03, 0.0, 0.04, tuple(moments)))
    lines = repr(TimeReport(found)).splitlines()
    assert any(line.startswith("notebook  " + "▓" * 12 + "o" * 16 + "·" * 12) for line in lines)
    svg = ET.fromstring(glance.time_axis(found, "k"))
    texts = [text.text for text in svg.iter(f"{SVG}text")]
    assert "computes 30 %, disk 40 %" in texts
    assert texts[:5] == ["compute", "waiting", "idle", "notebook", "disk"]
    lengths = {p.get("stroke"): p.get("d") for p in svg.iter(f"{SVG}path") if p.get("stroke")}
    a, b = glance.LEFT, glance.LEFT + glance.WIDTH // 2
    assert lengths[account.OWN[0].colour] == f"M{a} 31h{round(0.3 * glance.WIDTH)}"
    assert lengths["url(#k6)"] == f"M{b} 31h{round(0.4 * glance.WIDTH)}"


def test_hatches_are_defined_once_for_all_pictures():
    page = TimeReport(ring(3))._repr_html_()
    used, defined = re.findall(r"url\(#(\w+)\)", page), re.findall(r'pattern id="(\w+)"', page)
    assert set(used) == set(defined)
    assert len(defined) == 2
    assert not set(defined) & set(re.findall(r'id="(\w+)"', TimeReport(ring(4))._repr_html_()))


def test_pages_escape_what_users_name():
    found = ring(2, 3, EVIL + "{}" + EVIL * 100)
    for page in (TimeReport(found)._repr_html_(), TimeReport(found).diff(ring(2))._repr_html_()):
        assert "<script>" in "".join(parse(page).itertext())
    ET.fromstring(TimeReport(found).to_html().partition("\n")[2])


def test_colours_can_be_read_on_light_and_dark_paper():
    inks = {"white": (255, 255, 255), "black": (0, 0, 0)}
    for c, style in enumerate(account.STYLES):
        if c != IDLE:
            assert contrast(rgb(style.colour), inks[style.ink]) >= 4.5
    for paper in ((255, 255, 255), (17, 17, 17)):
        assert contrast(rgb(FRAME), paper) >= 3
        for c in (COMPUTE,):  # drawn without a frame in the ladder
            assert contrast(rgb(account.STYLES[c].colour), paper) >= 3


# -- Files -----------------------------------------------------------------------------------------


def test_a_page_of_its_own(tmp_path):
    shown = TimeReport(ring(5, 40))
    page = shown.to_html(tmp_path / "report.html")
    assert (tmp_path / "report.html").read_text(encoding="utf-8") == page
    assert page.startswith("<!DOCTYPE html>")
    assert not re.search("<script|https?://(?!www.w3.org/2000/svg)", page)
    root = ET.fromstring(page.partition("\n")[2])
    assert root.find(".//title").text.startswith("wall 400 ms on 5 engines")
    assert len(table(root.find(".//details[@open]"), 5)) == len(shown.ops)


def test_a_picture(tmp_path, pyplot):
    for n in some((3, 20), 1):
        data = TimeReport(ring(n)).to_png(tmp_path / "report.png")
        assert data.startswith(b"\x89PNG\r\n\x1a\n")
        assert (tmp_path / "report.png").read_bytes() == data
    assert not pyplot.get_fignums()


def test_a_trace(tmp_path):
    """The rules of the format: slices of a process nest or follow; arrows begin and end in one."""
    found = ring(3, 5)
    text = TimeReport(found).to_json(tmp_path / "trace.json")
    assert (tmp_path / "trace.json").read_text() == text
    events = json.loads(text)["traceEvents"]
    named = {e["pid"]: e["args"]["name"] for e in events if e["name"] == "process_name"}
    assert named == {0: "engine 0", 1: "engine 1", 2: "engine 2"}
    slices = [e for e in events if e["ph"] == "X"]
    assert len(slices) == 15
    for pid in range(3):
        mine = [e for e in slices if e["pid"] == pid]
        assert all(a["ts"] + a["dur"] <= b["ts"] + 1e-6 for a, b in pairwise(mine))
    assert sum(e["dur"] for e in slices) == pytest.approx(3 * 50_000)
    assert slices[0]["name"] == "add"
    assert slices[0]["args"]["line"].startswith("In [12] line 0")
    assert slices[0]["args"]["waiting ms"] == slices[0]["args"]["waited for engine 1 ms"] == 2
    arrows = [e for e in events if e.get("cat") == "message"]
    assert len(arrows) == 30
    for begin, end in zip(arrows[::2], arrows[1::2], strict=True):
        assert (begin["ph"], end["ph"], end["bp"]) == ("s", "f", "e")
        assert begin["id"] == end["id"]
        assert begin["ts"] <= end["ts"]
        assert end["pid"] == (begin["pid"] + 1) % 3
        for e in (begin, end):
            within = [
                s for s in slices if s["pid"] == e["pid"] and 0 <= e["ts"] - s["ts"] < s["dur"]
            ]
            assert len(within) == 1
    assert {e["id"] for e in arrows} == set(range(1, 16))
    assert not [
        e for e in json.loads(TimeReport(report(2)).to_json())["traceEvents"] if e["ph"] != "M"
    ]


# -- Values ----------------------------------------------------------------------------------------

NAMES = (
    "load_balance load_balance_layout load_balance_speed serialisation transfer_efficiency "
    "overhead_efficiency dispatch_efficiency parallel_efficiency pop_efficiency ladder waits sent "
    "messages memory_speed advice diff what_if delays speedup bandwidth worst stages"
).split()


def test_a_time_report_is_the_report():
    found = report(4, operations(2, 4))
    shown = TimeReport(found)
    assert shown.imbalance == found.imbalance
    assert shown.engines is found.engines
    assert shown.share(COMPUTE) == found.share(COMPUTE)
    assert {"engines", "imbalance", "plot", "share", "wall", *NAMES} <= set(dir(shown))
    for name in NAMES:
        assert getattr(shown, name) is not None or name == "memory_speed"
    assert shown == TimeReport(found)
    assert len({shown, TimeReport(found)}) == 1
    for again in (copy.copy(shown), copy.deepcopy(shown), pickle.loads(pickle.dumps(shown))):
        assert again == shown
    with pytest.raises(AttributeError):
        shown._repr_png_  # noqa: B018
    with pytest.raises(AttributeError):
        shown.nothing  # noqa: B018
    bundle = shown._repr_mimebundle_()
    assert bundle == {"text/plain": repr(shown), "text/html": shown._repr_html_()}


GOLDEN_DIFF = """\
2.00 times as fast: wall 100 ms -> 50 ms, most by waiting (-30 ms on each engine)
                     before  after           change
wall                 100 ms  50 ms   -50 ms (-50 %)
parallel efficiency    0.60   1.00            +0.40
dispatch efficiency    0.90   1.00            +0.10
overhead efficiency    1.00   1.00             0.00
transfer efficiency    1.00   1.00             0.00
serialisation          1.00   1.00             0.00
load balance           0.67   1.00            +0.33
load balance layout    0.67   1.00            +0.33
load balance speed     1.00   1.00             0.00
pop efficiency         0.67   1.00            +0.33
speedup                1.20   2.00            +0.80
memory speed           0.50      -
commands                  2      1               -1
batches                   1      1                0
compute               60 ms  50 ms   -10 ms (-17 %)
waiting               30 ms      0  -30 ms (-100 %)
transfer                  0      0                0
overhead                  0      0                0
idle                  10 ms      0  -10 ms (-100 %)

op        line                                       calls  before  after  change       sent
multiply  In [2] line 5: t[1:] = 2 * (t[1:] + t...  1 -> 0   30 ms      0  -30 ms          0
add       In [9] line 4: t[1:] = a + b                   1   60 ms  50 ms  -10 ms  6 MB -> 0"""


def test_golden_diff():
    after = made([step(span(0, 50), span(0, 50), line="In [9] line 4: t[1:] = a + b")])
    found = TimeReport(after).diff(TimeReport(golden()))
    assert repr(found) == GOLDEN_DIFF
    root = parse(found._repr_html_())
    assert root.find(".//b").text == GOLDEN_DIFF.splitlines()[0]
    assert len(table(root, 1)) == 19
    assert found.speedup == pytest.approx(2)
    assert "speedup" in dir(found)
    assert pickle.loads(pickle.dumps(found)) == found
    assert found._repr_mimebundle_()["text/plain"] == repr(found)
    worse = TimeReport(golden()).diff(after)
    assert repr(worse).startswith("2.00 times as long")


@pytest.mark.cases(1)
@pytest.mark.parametrize(
    "found",
    [
        Report(0.0, (), (), 0, 0),
        Report(0.0, (Account(0, (0,) * 5, 0, 0),), (), 0, 0),
        Report(1.0, (Account(0, (0,) * 5, 0, 0),) * 2, (OpTime("x", "", 0, ()),) * 20, 0, 0),
    ],
)
def test_reports_of_nothing(found, pyplot):
    shown = TimeReport(found)
    assert shown.details().startswith("wall ")
    parse(shown._repr_html_())
    shown.plot().figure.canvas.draw()
    shown.to_png()
    shown.to_json()
    assert repr(shown.diff(shown))


@pytest.mark.cases(2)
@pytest.mark.parametrize("n", [1, 4, 64, 200])
def test_plot_of_times(n, pyplot):
    shown = TimeReport(report(n))
    ax = shown.plot()
    ax.figure.canvas.draw()
    bars = len(ax.patches) // len(CLASSES)
    assert bars == (n if n <= 64 else 50)
    total = sum(patch.get_width() for patch in ax.patches)
    assert total == pytest.approx(50 * bars)
    for row in zip(*(c.patches for c in ax.containers), strict=True):
        ends = [0, *np.cumsum([patch.get_width() for patch in row])]
        assert [patch.get_x() for patch in row] == pytest.approx(ends[:-1], abs=1e-9)
    hatches = {c.get_label(): c.patches[0].get_hatch() for c in ax.containers}
    assert [c for c in CLASSES if hatches[c]] == ["waiting", "overhead"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == list(CLASSES)
    _, given_axes = pyplot.subplots()
    assert shown.plot(given_axes) is given_axes
    with pytest.raises(TypeError, match="ax: got ndarray of shape \\(2,\\), expected matplotlib"):
        shown.plot(pyplot.subplots(1, 2)[1])


def test_nothing_is_lost_where_more_engines_do_more_each():
    """Some class of time may have grown all the same, as waiting, by less than computing fell."""
    one = Run(1, 8.0, (8.0, 0.0, 0.0, 0.0, 0.0))
    two = Run(2, 3.5, (5.5, 1.5, 0.0, 0.0, 0.0))
    found = ScalingReport(Scaling((one, two))).finding
    assert found == "on 2 engines 2.29 times as fast as on 1, efficiency 114 %; nothing is lost"
    slower = Run(2, 5.0, (8.5, 1.5, 0.0, 0.0, 0.0))
    assert "most is lost by waiting" in ScalingReport(Scaling((one, slower))).finding
