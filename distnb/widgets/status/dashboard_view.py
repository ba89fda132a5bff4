"""A session at one instant, in words and pictures: engines, the running cell, arrays.

Functions of values only, so that all of it is tested without a browser. Whatever comes from a user
or from an engine is escaped.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape
from itertools import pairwise
from typing import Any, NamedTuple

from distnb.client.reports.memory_report import roots
from distnb.client.reports.referrers import Referred
from distnb.geometry.views import Placed
from distnb.measure.events import CLASSES, COMPUTE
from distnb.measure.quantities import counted, duration, percent, size_text
from distnb.measure.snapshot import Engine, Live, Sample
from distnb.widgets.drawing.bars import FRAME, Bars, Fill, stacked
from distnb.widgets.drawing.markup import brief, element, svg
from distnb.widgets.drawing.page import Html, fitting, flow, folded, scrolled, table_html
from distnb.widgets.drawing.text import (
    ROWS,
    aligned,
    grouped,
    layout_in_words,
    numbers,
    shorten,
    squeezed,
    who,
)
from distnb.widgets.times.account import STYLES, Row, bars_of

__all__ = [
    "ARRAYS",
    "Cell",
    "Scene",
    "arrays_html",
    "cell_html",
    "engines_html",
    "holding",
    "page",
    "stored",
    "text",
]

#: Arrays that are listed; the others share a line.
ARRAYS = 12
#: Instants of which load and memory are shown.
HISTORY = 24
#: Less of a core than this part of the time it computes, and an engine counts as slow.
_SLOW = 0.7
#: Seconds of computing below which nobody can tell that.
_TELLING = 0.2
#: The parts of a process, and free memory.
MEMORY = (
    Fill("arrays", "#0072B2", "", "█"),
    Fill("pool", "#56B4E9", "", "="),
    Fill("other", "#777", "", ":"),
    Fill("free", "none", "", "·"),
)
#: What pictures beside tables say.
_NUMBERS = "the table has the numbers"
#: A node with less than this share of its memory left is short of it.
_SHORT = 0.1


class Cell(NamedTuple):
    """A cell: its number, its seconds so far, the session when it began and, if it has, ended."""

    number: int
    seconds: float
    start: Live
    end: Live | None


class Scene(NamedTuple):
    """All that is shown at one instant.

    ``about`` is what each engine said of itself when it was attached; ``arrays`` the largest first;
    ``history`` what engines told before and now; ``ended`` whether the session has, so that this
    was the last that it had.
    """

    live: Live
    about: Sequence[dict[str, Any]]
    cell: Cell | None
    arrays: Sequence[Referred]
    history: Sequence[Live] = ()
    ended: bool = False


class Spent(NamedTuple):
    """What an engine has spent of a cell: nanoseconds in each class, and of cores."""

    rank: int
    classes: tuple[int, ...]
    cpu: int

    @property
    def slow(self) -> bool:
        """Whether it shares its core, or sleeps, while it is to compute."""
        return self.classes[COMPUTE] > _TELLING * 1e9 and self.cpu < _SLOW * self.classes[COMPUTE]


def spent(scene: Scene) -> list[Spent]:
    """Return what the engines that answered have spent since the cell began."""
    if scene.cell is None:
        return []
    before = {e.rank: e.sample for e in scene.cell.start.engines}
    found = []
    for engine in (scene.cell.end or scene.live).engines:
        a, b = before.get(engine.rank), engine.sample
        if a is not None and b is not None:
            pairs = zip(b.account.spent, a.account.spent, strict=True)
            classes = tuple(max(0, x - y) for x, y in pairs)  # a sample may be an instant off
            found.append(Spent(engine.rank, classes, b.cpu - a.cpu))
    return found


# -- Words -----------------------------------------------------------------------------------------


def headline(scene: Scene) -> str:
    """Return how many engines there are, how they are reached, and what they run on."""
    live, about = scene.live, scene.about
    versions = sorted({f"{a['mpi']}, NumPy {a['numpy']}" for a in about})
    return f"{counted(len(live.engines), 'engine')}, {live.road}; {'; '.join(versions)}"


#: What becomes of dead engines, by ``config.recover``.
_CURES = {
    "auto": "new ones start, and take over the arrays",
    "ask": "session.recover() starts new ones, which take over the arrays",
    "never": "close the session and call dnb.start()",
    "theirs": "start as many again, as these were started, then go on",
}


def warnings(scene: Scene) -> list[str]:
    """Return what is wrong with the engines, the worst first."""
    engines = scene.live.engines
    dead = [e.rank for e in engines if not e.alive]
    found = []
    if dead:
        words = "is" if len(dead) == 1 else "are"
        found.append(f"{who(dead)} {words} dead: {_CURES[scene.live.recover]}")
    found += [f"engine {e.rank} is {e.state}" for e in engines if e.alive and e.state != "alive"]
    slow = [s.rank for s in spent(scene) if s.slow]
    if slow:
        words = "does not have a core of its own" if len(slow) == 1 else "do not have cores each"
        found.append(f"{who(slow)} {words} while computing")
    return [*found, *_short_of_memory(scene), *_oversubscribed(scene.about)]


def _short_of_memory(scene: Scene) -> list[str]:
    found = {}
    for engine in scene.live.engines:
        about = scene.about[engine.rank] if engine.rank < len(scene.about) else {}
        total, sample = about.get("memory"), engine.sample
        if total and sample is not None and 0 < sample.free < _SHORT * total:
            left = size_text(sample.free)
            found[about["host"]] = f"{about['host']} has {left} of memory left: free arrays"
    return list(found.values())


def _oversubscribed(about: Sequence[dict[str, Any]]) -> list[str]:
    """Say where engines and their threads outnumber the cores."""
    found = []
    for host in dict.fromkeys(a["host"] for a in about):
        here = [a for a in about if a["host"] == host and a.get("threads")]
        threads = sum(a["threads"] for a in here)
        if here and threads > here[0].get("cores", threads):
            found.append(
                f"{counted(len(here), 'engine')} with {counted(threads, 'thread')} share "
                f"{counted(here[0]['cores'], 'core')} of {host}: start fewer"
            )
    return found


def standing(scene: Scene) -> str:
    """Return how far the cell is, or was when it ended."""
    cell = scene.cell
    if scene.ended:
        return "this session has ended; engines and arrays as they were last"
    if cell is None:
        return "no cell has run since this was opened"
    live = cell.end or scene.live
    total = live.recorded - cell.start.recorded
    verb = "took" if cell.end else "has run for"
    words = [f"cell {cell.number} {verb} {duration(cell.seconds)}"]
    done = f"{max(0, total - live.left):,} of {counted(total, 'command')} done"
    words.append(done if total else "engines were asked for nothing")
    if live.queued:
        words.append(f"{live.queued:,} not sent")
    if live.slowest is not None:
        words.append(f"engine {live.slowest.rank} is behind")
    return ", ".join([*words, *filter(None, [live.running])])


_HEALTH = ("engine", "state", "pid", "host", "threads", "arrays", "pool", "process", "free")


def _health_rows(scene: Scene) -> list[tuple[str, ...]]:
    return [_health_row(e, scene.about) for e in _listed(scene.live.engines)]


def _listed(engines: Sequence[Engine]) -> list[Engine]:
    """Return at most ``ROWS`` engines: those with something to tell, then the first ones."""
    first = sorted(engines, key=lambda e: (e.state == "alive", e.rank))[:ROWS]
    return sorted(first, key=lambda e: e.rank)


def _health_row(engine: Engine, about: Sequence[dict[str, Any]]) -> tuple[str, ...]:
    known = about[engine.rank] if engine.rank < len(about) else {}
    start = (
        str(engine.rank),
        engine.state,
        str(known.get("pid", "?")),
        shorten(str(known.get("host", "?")), 24),
        str(known.get("threads", "-")),
    )
    sample = engine.sample
    if sample is None:
        return (*start, *["?"] * 4)
    sizes = (sample.held, sample.pooled, sample.resident, sample.free)
    return (*start, *map(size_text, sizes))


def _more_engines(engines: Sequence[Engine]) -> list[str]:
    more = len(engines) - ROWS
    return [f"and {more:,} more, which are alive or like these"] if more > 0 else []


_SPENT = ("engine", *CLASSES)


def _rows(found: Sequence[Spent]) -> list[Row]:
    """Return what engines have spent, neighbours together where there are many."""
    rows = []
    for some in grouped(found, ROWS):
        n = len(some)
        classes = tuple(sum(s.classes[c] for s in some) / n for c in range(len(CLASSES)))
        rows.append(Row(numbers([s.rank for s in some]), n, classes, sum(classes)))
    return rows


def _entries(row: Row) -> tuple[str, ...]:
    pairs = zip(row.spent, row.shares, strict=True)
    return row.label, *(f"{duration(ns / 1e9)}, {percent(share)}" for ns, share in pairs)


_ARRAY = ("array", "shape", "layout", "bytes", "made by", "held by")


def array_entries(x: Referred) -> tuple[str, ...]:
    """Return what the list says of an array."""
    kept = shorten(", ".join(roots(x.referrers)), 60)
    if not x.names and not x.referrers:
        kept = "another object, or a call that runs"
    shape = f"{shorten(str(x.shape), 40)} {x.dtype}"
    label = shorten(x.label, 40) + (" (content lost)" if x.lost else "")
    size = size_text(x.nbytes)
    layout = shorten(layout_in_words(Placed.whole(x.shape, x.layout)), 80)
    return label, shape, layout, size, shorten(x.line, 120), kept


def _array_rows(arrays: Sequence[Referred], most: int) -> list[tuple[str, ...]]:
    rows = [array_entries(x) for x in arrays[:most]]
    rest = arrays[most:]
    if rest:
        size = size_text(sum(x.nbytes for x in rest))
        rows.append((f"and {len(rest):,} more", "", "", size, "", ""))
    return rows


def text(scene: Scene) -> str:
    """Return all of it as plain text."""
    lines = [headline(scene), *warnings(scene), holding(scene.live.engines), ""]
    lines += aligned([_HEALTH, *_health_rows(scene)], left=[1, 3])
    lines += [*_more_engines(scene.live.engines), "", standing(scene)]
    found = _rows(spent(scene))
    if found:
        table = [
            (*_SPENT, ""),
            *((*_entries(row), stacked(row.shares, 1.0, STYLES, 16)) for row in found),
        ]
        lines += aligned(table, left=[len(_SPENT)])
    lines.append("")
    rows = _array_rows(scene.arrays, ARRAYS)
    lines += aligned(squeezed([_ARRAY, *rows], 4), left=[0, 1, 2, 4, 5]) if rows else ["no arrays"]
    return "\n".join(lines)


# -- Pages -----------------------------------------------------------------------------------------


def page(scene: Scene, note: str = "") -> str:
    """Return all of it as one HTML element of at most 10 kB, without scripts."""
    tries = ((ARRAYS, True), (6, True), (2, True), (6, False), (2, False))
    return fitting(_page(scene, note, *most) for most in tries)


def stored(scene: Scene) -> str:
    """Return the page behind a line on which to click."""
    return folded(f"The dashboard as a picture: {standing(scene)}", page(scene))


def _page(scene: Scene, note: str, most: int, drawn: bool) -> str:
    return (
        cell_html(scene, "s", drawn)
        + engines_html(scene, drawn)
        + arrays_html(scene.arrays, most)
        + (f"<p><small>{escape(note)}</small></p>" if note else "")
    )


def cell_html(scene: Scene, uid: str, drawn: bool = True) -> str:
    """Return how far the cell is, and what each engine has spent since it began.

    ``uid`` keeps the patterns of several such pictures on a page apart.
    """
    found = [row for row in _rows(spent(scene)) if row.now]
    head = f'<p class="lead"><b>{escape(standing(scene))}</b></p>{_progress_svg(scene)}'
    if not found:
        return head
    picture = scrolled(_spent_svg(found, f"dl{uid}"), "what engines spent") if drawn else ""
    table = table_html(_SPENT, map(_entries, found), label="what engines spent")
    return head + picture + folded("what each engine has spent of the cell", table)


def _progress_svg(scene: Scene) -> str:
    """Return a bar of the commands that are done, while a cell runs."""
    if scene.cell is None or scene.cell.end is not None:
        return ""
    total = scene.live.recorded - scene.cell.start.recorded
    if not total:
        return ""
    share = max(0.0, 1 - scene.live.left / total)
    name = f"{100 * share:.0f} % of the commands done"
    done = element("rect", x=1, y=1, width=brief(320 * share), height=9, fill="#0072B2")
    frame = element("rect", x=1, y=1, width=320, height=9, fill="none", stroke=FRAME)
    return f"<div>{svg(name, '', (324, 12), [done, frame])}</div>"


def _spent_svg(found: list[Row], uid: str) -> str:
    """Return one stacked bar for each row."""
    title = "What each engine has spent since the cell began"
    return bars_of(found, uid).draw(title, _NUMBERS)


def engines_html(scene: Scene, drawn: bool = True) -> str:
    """Return the engines: who is alive, who computes, who holds how much."""
    engines = scene.live.engines
    alarms = "".join(f'<p class="alarm">{escape(words)}</p>' for words in warnings(scene))
    more = "".join(f"<p>{escape(words)}</p>" for words in _more_engines(engines))
    rows = (_engine_row(scene, e, drawn) for e in _listed(engines))
    picture = scrolled(_memory_svg(_listed(engines)), "memory") if drawn else ""
    processes = table_html(_HEALTH, _health_rows(scene), (1, 3), "processes")
    return (
        f"{alarms}<p><b>{escape(holding(engines))}</b></p>"
        f"{table_html(_ENGINE, rows, (3,), 'engines')}{more}"
        + folded(f"processes and their memory: {headline(scene)}", flow(picture, processes))
    )


_ENGINE = ("engine", "computes", "arrays", "state")


def _engine_row(scene: Scene, engine: Engine, drawn: bool) -> tuple[str, ...]:
    """Return the line of an engine: its load and its arrays over time and now, and its state."""
    samples = [s for live in scene.history for r, s in _samples(live) if r == engine.rank]
    held = [float(s.held) for s in samples] or [float(s.held) for s in [engine.sample] if s]
    most = max((s.held for live in scene.history for _, s in _samples(live)), default=0)
    return (
        str(engine.rank),
        _over_time(loads(samples), 1.0, "load", drawn, lambda share: f"{100 * share:.0f} %"),
        _over_time(held, most or 1, "arrays", drawn, size_text),
        engine.state,
    )


def _samples(live: Live) -> list[tuple[int, Sample]]:
    return [(e.rank, e.sample) for e in live.engines if e.sample is not None]


def loads(samples: Sequence[Sample]) -> list[float]:
    """Return which share of the time an engine computed, from each sample to the next."""
    found = []
    for a, b in pairwise(samples):
        spent = [y - x for x, y in zip(a.account.spent, b.account.spent, strict=True)]
        if sum(spent) > 0:
            found.append(min(1.0, max(0.0, spent[COMPUTE] / sum(spent))))
    return found


def _over_time(
    values: Sequence[float], most: float, what: str, drawn: bool, words: Callable[[float], str]
) -> str:
    """Return the last value as text, and those before it as a line."""
    if not values:
        return "-"
    text = words(values[-1])
    if not drawn or len(values) < 2:
        return text
    step, high = 90 / (HISTORY - 1), 18
    start = 90 - step * (len(values) - 1)
    points = " ".join(
        f"{round(start + step * i)},{round(1 + high * (1 - v / most))}"
        for i, v in enumerate(values)
    )
    line = element("polyline", points=points, fill="none", stroke="#0072B2", stroke_width=2)
    ground = element("path", d="M0 20.5h90", stroke=FRAME)
    return Html(
        f"{svg(f'{what} over time, now {text}', '', (92, 22), [ground, line])} {escape(text)}"
    )


def holding(engines: Sequence[Engine]) -> str:
    """Return who holds most, in a sentence."""
    held = {e.rank: e.sample.held for e in engines if e.sample is not None}
    if not any(held.values()):
        return "no arrays on the engines"
    most, total = max(held, key=held.__getitem__), sum(held.values())
    if held[most] * len(held) > 1.1 * total:
        return f"engine {most} holds most: {size_text(held[most])} of {size_text(total)}"
    return f"engines hold about {size_text(total / len(held))} each, {size_text(total)} in all"


def arrays_html(
    arrays: Sequence[Referred],
    most: int = ARRAYS,
    key_of: Callable[[Referred], str] | None = None,
) -> str:
    """Return the arrays as a table; with ``key_of`` each has a button that frees it."""
    rows = _array_rows(arrays, most)
    if not rows:
        return "<p>no arrays</p>"
    if key_of is None:
        return table_html(_ARRAY, rows, (0, 1, 2, 4, 5), "arrays")
    buttons: list[str] = [_button(x, key_of(x)) for x in arrays[:most]]
    buttons += [""] * (len(rows) - len(buttons))  # what is not listed has none
    with_buttons = [(row[0], b, *row[1:]) for row, b in zip(rows, buttons, strict=True)]
    head = (_ARRAY[0], "free", *_ARRAY[1:])
    return table_html(head, with_buttons, (0, 1, 2, 3, 5, 6), "arrays")


def _button(x: Referred, key: str) -> Html:
    words = escape(f"del {x.label}")
    off = "" if x.can_drop else " disabled=''"
    name = f'title="{words}" aria-label="Free: {words}"'
    return Html(f'<button type="button" data-key="{escape(key)}" {name}{off}>Free</button>')


def _memory_svg(engines: Sequence[Engine]) -> str:
    """Return a bar for each engine: its process, and what its node can still give, to one scale."""
    rows = [(str(e.rank), _memory(e.sample)) for e in engines if e.sample is not None]
    most = max((sum(parts) for _, parts in rows), default=0)
    if not most:
        return ""
    title = "Memory of each process, and free memory of its node"
    return Bars(rows, MEMORY, most, "dm").draw(title, _NUMBERS)


def _memory(sample: Sample) -> tuple[int, ...]:
    """Return bytes of arrays, of the pool, of the rest of the process, and free ones."""
    other = max(0, sample.resident - sample.held - sample.pooled)
    return sample.held, sample.pooled, other, sample.free
