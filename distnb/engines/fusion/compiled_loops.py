"""Loops compiled by Numba for the steps of a group that come back again and again.

A *segment* is a run of steps whose compiled results equal NumPy's bit for bit: arithmetic that
IEEE 754 rounds correctly, comparisons, logic, choice and casts. Everything else, such as `exp`,
stays with NumPy's own loops. The source of a segment depends on types, axes and unit strides only;
it is compiled once, in another process (:mod:`distnb.engines.fusion.compiler`), and kept on disk.

A store to what is not in a cache reads it first. So large results go to memory in whole lines past
the caches (*streaming* stores), of which each byte is moved once in place of twice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from distnb.engines.fusion.machine_code import MachineCode, name_of, raised_flags
from distnb.engines.fusion.reduction_blocks import Tile
from distnb.geometry.layout import Ints, strides_of
from distnb.ops import table

__all__ = [
    "STRIDES",
    "Body",
    "Call",
    "Compiled",
    "Segment",
    "Source",
    "row_of",
    "segments",
]

#: Operation -> expression on inputs ``{0}``, ``{1}``, ``{2}``, and the kinds of dtypes it is for.
EXPRESSIONS: dict[str, tuple[str, str]] = {
    "add": ("{0} + {1}", "if"),
    "subtract": ("{0} - {1}", "if"),
    "multiply": ("{0} * {1}", "if"),
    "divide": ("{0} / {1}", "f"),
    "negative": ("-{0}", "if"),
    "positive": ("{0}", "if"),
    "square": ("{0} * {0}", "if"),
    "reciprocal": ("1 / {0}", "f"),
    "sqrt": ("np.sqrt({0})", "f"),
    "absolute": ("abs({0})", "f"),
    "fabs": ("abs({0})", "f"),
    "greater": ("{0} > {1}", "if"),
    "greater_equal": ("{0} >= {1}", "if"),
    "less": ("{0} < {1}", "if"),
    "less_equal": ("{0} <= {1}", "if"),
    "equal": ("{0} == {1}", "if"),
    "not_equal": ("{0} != {1}", "if"),
    "logical_and": ("{0} and {1}", "b"),
    "logical_or": ("{0} or {1}", "b"),
    "logical_not": ("not {0}", "b"),
    "copy": ("{0}", "bif"),
    "where": ("({1} if {0} else {2})", "bif"),
}

#: Strides of the last axis that loops are made for, each in a text of its own.
STRIDES = range(-4, 5)
#: Dtypes that compiled loops work on: their arithmetic is the same everywhere.
_DTYPES = {"bool", "int32", "int64", "float32", "float64"}
#: Which warning of NumPy an operation can cause.
RAISES = {"divide": "divide by zero", "reciprocal": "divide by zero", "sqrt": "invalid value"}


#: Bytes of a line of the caches, and elements that a loop computes before it stores their lines.
_LINE, _CHUNK = 64, 64
#: Where an array begins; a line that is stored past the caches; the wait until others see them all.
_STREAM = """from llvmlite import ir
from numba import types
from numba.extending import intrinsic

LINE = ir.VectorType(ir.IntType(64), 8).as_pointer()


def data(context, builder, kind, value):
    return context.make_array(kind)(context, builder, value).data


@intrinsic
def address(typing, array):
    def code(context, builder, signature, args):
        return builder.ptrtoint(data(context, builder, signature.args[0], args[0]), ir.IntType(64))

    return types.int64(array), code


@intrinsic
def line(typing, target, i, source, j):
    def code(context, builder, signature, args):
        into = data(context, builder, signature.args[0], args[0])
        made = data(context, builder, signature.args[2], args[2])
        value = builder.load(builder.bitcast(builder.gep(made, [args[3]]), LINE))
        value.align = 4
        stored = builder.store(value, builder.bitcast(builder.gep(into, [args[1]]), LINE))
        stored.align = 64
        once = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        stored.set_metadata("nontemporal", once)
        return context.get_dummy_value()

    return types.void(target, i, source, j), code


@intrinsic
def fence(typing):
    def code(context, builder, signature, args):
        builder.fence("seq_cst")
        return context.get_dummy_value()

    return types.void(), code
"""


class Source(NamedTuple):
    """A compiled loop's text, and the name under which it is kept."""

    name: str
    text: str


def loop_dtypes(
    op: str, ins: Sequence[Any], outs: Sequence[np.dtype]
) -> tuple[tuple[np.dtype, ...], np.dtype]:
    """Return the dtypes in which NumPy computes: of the inputs, and of the result.

    ``ins`` are dtypes, and the classes of Python scalars, which are weak.
    """
    row = table.ELEMENTWISE[op]
    if isinstance(row.run, np.ufunc):
        found = row.run.resolve_dtypes((*ins, *[None] * len(outs)))
        inner = found[: len(ins)]
        if found[-1].kind == "b" and int in ins and all(d.kind == "i" for d in inner):
            # NumPy compares with the number itself, also with one that the dtype has not.
            inner = (np.dtype(np.int64),) * len(ins)
        return inner, found[-1]
    if op == "where":
        fixed = tuple(outs[0] if isinstance(x, type) else x for x in ins)
        return (fixed[0], outs[0], outs[0]), outs[0]
    return (outs[0],), outs[0]


def can_compile(op: str, ins: Sequence[Any], outs: Sequence[np.dtype], plain: bool) -> bool:
    """Tell whether a step's compiled result equals NumPy's; ``plain``: no mask, no options."""
    if op not in EXPRESSIONS or len(outs) != 1 or not plain:
        return False
    try:
        inner, result = loop_dtypes(op, ins, outs)
    except TypeError:
        return False
    kinds = EXPRESSIONS[op][1]
    data = inner[1:] if op == "where" else inner
    if any(d.kind not in kinds for d in data) or (op == "where" and inner[0].kind != "b"):
        return False
    every = [x for x in (*ins, *inner, result, *outs) if not isinstance(x, type)]
    pairs = [*zip(ins, inner, strict=True), (result, outs[0])]
    return all(d.name in _DTYPES for d in every) and all(_exact(a, b) for a, b in pairs)


def _exact(a: Any, b: np.dtype) -> bool:
    """Tell whether the compiled cast is NumPy's: none of a float to an integer, or to bool."""
    if isinstance(a, type):
        return True
    return a == b or (b.kind == "f") or (a.kind in "bi" and b.kind == "i")


class Call(NamedTuple):
    """One step on registers, done by NumPy; ``kinds`` are the inputs' dtypes or scalar classes."""

    step: int
    run: Callable[..., Any]
    ins: Ints
    outs: Ints
    options: dict[str, Any]
    mask: int | None
    op: str
    kinds: tuple[Any, ...]
    dtypes: tuple[np.dtype, ...]

    def __call__(self, registers: list[Any], tile: Tile) -> None:
        """Run it on the registers."""
        into = tuple([registers[o] for o in self.outs])
        ins = [registers[i] for i in self.ins]
        if self.mask is None:
            self.run(*ins, out=into, **self.options)
        else:
            self.run(*ins, out=into, where=registers[self.mask], **self.options)

    @property
    def exact(self) -> bool:
        """Whether its compiled result equals NumPy's."""
        plain = self.mask is None and not self.options
        return can_compile(self.op, self.kinds, self.dtypes, plain)


class Segment:
    """Calls that become one compiled loop.

    Parameters
    ----------
    calls : sequence of Call
        What to do for each element.
    stored : sequence of int
        The registers whose new values are needed afterwards.
    scalars : range
        The registers that hold scalars.
    """

    def __init__(self, calls: Sequence[Call], stored: Sequence[int], scalars: range) -> None:
        self.calls = tuple(calls)
        self.stored = tuple(stored)
        self.kinds: dict[int, Any] = {}
        made: set[int] = set()
        loaded: list[int] = []
        for call in calls:
            for r, kind in zip(call.ins, call.kinds, strict=True):
                self.kinds.setdefault(r, kind)
                if r not in made and r not in loaded and r not in scalars:
                    loaded.append(r)
            made.add(call.outs[0])
            self.kinds[call.outs[0]] = call.dtypes[0]
        self.loaded = loaded
        self.arrays = tuple(dict.fromkeys([*loaded, *self.stored]))
        self.scalars = tuple(dict.fromkeys(r for c in calls for r in c.ins if r in scalars))
        self._sources: dict[Any, Source] = {}

    def source(
        self, ndim: int, inner: dict[Any, str], rings: Ints = (), stream: int = -1
    ) -> Source:
        """Return its source for loops over ``ndim`` axes.

        ``inner`` says for each of its arrays which of :data:`STRIDES` that of the last axis is, or
        that it is another (``"s"``). The results in ``rings`` are delayed in a ring of rows on
        their way to their targets, ``("t", register)`` in ``inner``. That of ``stream`` goes to
        memory past the caches.
        """
        key = ndim, tuple(inner.items()), rings, stream
        if key not in self._sources:
            named = {_name(r): kind for r, kind in inner.items()}
            text = Body(self, ndim, named, rings, stream).text()
            self._sources[key] = Source(name_of(text), text)
        return self._sources[key]


def _name(array: Any) -> str:
    """Return the name of an array in compiled code: a register, or the target of a ring."""
    return f"t{array[1]}" if isinstance(array, tuple) else str(array)


class Body:
    """Writes the source of one loop; its arguments are as :class:`Compiled` passes them.

    For each array: ``p`` is flat memory, ``o`` an offset and ``s`` a stride for each axis. ``n``
    are the lengths of the axes, ``c`` scalars, ``m`` is the number of rows of a ring, and ``w`` is
    what is computed before its lines are stored past the caches.
    """

    def __init__(
        self, segment: Segment, ndim: int, inner: dict[str, str], rings: Ints, stream: int
    ) -> None:
        self.segment, self.ndim, self.inner = segment, ndim, inner
        self.rings = [str(r) for r in rings]
        self.stream = str(stream)

    def text(self) -> str:
        """Return all of it."""
        names = [f"n{d}" for d in range(self.ndim)] + ["m"]
        kinds = ["int64"] * len(names)
        for x in self.inner:
            dtype = self.segment.kinds[int(x.removeprefix("t"))]
            names += [f"p{x}", f"o{x}", *(f"s{x}_{d}" for d in range(self.ndim))]
            kinds += [f"{_numba(dtype)}[::1]", *["int64"] * (self.ndim + 1)]
        names += [f"c{r}" for r in self.segment.scalars]
        kinds += [_numba(self.segment.kinds[r]) for r in self.segment.scalars]
        body = self.loops()
        streams = self.stream in self.inner
        if streams:
            names.append("w")
            kinds.append(f"{_numba(self.segment.kinds[int(self.stream)])}[::1]")
            body.append("fence()")
        return (
            f"import numpy as np\nfrom numba import njit\n{_STREAM * streams}\n\n"
            f'@njit("void({", ".join(kinds)})", nogil=True, error_model="numpy")\n'
            f"def kernel({', '.join(names)}):\n" + "\n".join(_indented(body)) + "\n"
        )

    def loops(self) -> list[str]:
        """Return the loops."""
        return self._with_rings() if self.rings else self.nest(0, self._origins(), self.element)

    def _origins(self) -> dict[str, str]:
        return {x: f"o{x}" for x in self.inner if not x.startswith("t")}

    def nest(
        self, axis: int, before: dict[str, str], body: Callable[[dict[str, str]], list[str]]
    ) -> list[str]:
        """Return a nest of loops from an axis on; ``before`` is where each array stands there."""
        if axis < self.ndim - 1:
            moved = [f"b{x}_{axis} = {b} + i{axis} * s{x}_{axis}" for x, b in before.items()]
            inside = self.nest(axis + 1, {x: f"b{x}_{axis}" for x in before}, body)
            return [f"for i{axis} in range(n{axis}):", *_indented([*moved, *inside])]
        if self.stream in before:
            return self._in_lines(axis, before, body)
        return self.run(axis, before, f"n{axis}", body)

    def run(
        self,
        axis: int,
        before: dict[str, str],
        length: str,
        body: Callable[[dict[str, str]], list[str]],
        others: dict[str, str] | None = None,
    ) -> list[str]:
        """Return a loop along the last axis; ``others`` are elements that are not in memory."""
        pairs = {x: row_of(x, self.inner[x], b, axis, length) for x, b in before.items()}
        first = [row for row, _ in pairs.values() if row]
        at = {x: element for x, (_, element) in pairs.items()} | (others or {})
        return [*first, f"for i{axis} in range({length}):", *_indented(body(at))]

    def _in_lines(
        self, axis: int, before: dict[str, str], body: Callable[[dict[str, str]], list[str]]
    ) -> list[str]:
        """Return a loop over chunks, whose lines are stored; the first ends where a line does."""
        x, i, n = self.stream, f"i{axis}", f"n{axis}"
        size = self.segment.kinds[int(x)].itemsize
        moved = [f"k{y} = {b} + k * s{y}_{axis}" for y, b in before.items()]
        near = {y: f"k{y}" for y in before if y != x}
        computed = self.run(axis, near, "e", body, {x: f"w[{i}]"})
        chunk = [
            *moved,
            *computed,
            f"if e == {_CHUNK}:",
            f"    for {i} in range(0, {_CHUNK}, {_LINE // size}):",
            f"        line(p{x}, k{x} + {i}, w, {i})",
            "else:",
            f"    for {i} in range(e):",
            f"        p{x}[np.uint64(k{x} + {i})] = w[{i}]",
            f"k, e = k + e, min({_CHUNK}, {n} - k - e)",
        ]
        return [
            f"e = (-(address(p{x}) + {before[x]} * {size}) & {_LINE - 1}) // {size}",
            f"k, e = 0, min({n}, e if e else {_CHUNK})",
            f"while k < {n}:",
            *_indented(chunk),
        ]

    def _with_rings(self) -> list[str]:
        """Return loops that compute a row into the rings, and store that which is m - 1 behind."""
        where = {x: o if x not in self.rings else "0" for x, o in self._origins().items()}
        rows = {x: "i0 % m" if x in self.rings else "i0" for x in where}
        moved = [f"b{x}_0 = {o} + {rows[x]} * s{x}_0" for x, o in where.items()]
        row = [*moved, *self.nest(1, {x: f"b{x}_0" for x in where}, self.element)]
        late = ["if i0 >= m - 1:", *_indented(self._store("(i0 - m + 1)"))]
        rest = ["for j in range(max(0, n0 - m + 1), n0):", *_indented(self._store("j"))]
        return ["for i0 in range(n0):", *_indented([*row, *late]), *rest]

    def _store(self, row: str) -> list[str]:
        found = []
        for r in self.rings:
            from_to = {r: f"{row} % m * s{r}_0", f"t{r}": f"ot{r} + {row} * st{r}_0"}
            found += self.nest(1, from_to, partial(_assignment, r))
        return found

    def element(self, at: dict[str, str]) -> list[str]:
        """Return what is done for each element."""
        segment = self.segment
        found = [f"v{r} = {at[str(r)]}" for r in segment.loaded]
        kinds = {r: segment.kinds[r] for r in (*segment.loaded, *segment.scalars)}
        for call in segment.calls:
            out = call.outs[0]
            found.append(f"v{out} = {self._expression(call)}")
            kinds[out] = call.dtypes[0]
        return found + [f"{at[str(r)]} = v{r}" for r in segment.stored]

    def _expression(self, call: Call) -> str:
        inner, result = loop_dtypes(call.op, call.kinds, call.dtypes)
        ins = [
            _cast(f"c{r}" if r in self.segment.scalars else f"v{r}", kind, d)
            for r, kind, d in zip(call.ins, call.kinds, inner, strict=True)
        ]
        value = EXPRESSIONS[call.op][0].format(*ins)
        rounded = value if result.kind == "b" else f"np.{result.name}({value})"
        return _cast(rounded, result, call.dtypes[0])


def row_of(x: str, kind: str, begin: str, axis: int, length: str) -> tuple[str, str]:
    """Return how to prepare a row of an array, if at all, and how to get at element i of it.

    Numba counts a negative index from the end. Where it cannot know that there is none it looks
    each time, which took half of a loop over strided rows; an unsigned index is none for sure.
    """
    i = f"i{axis}"
    if kind == "0":
        return f"r{x} = p{x}[{begin}]", f"r{x}"
    if kind == "1":  # as slices rows become vectors
        return f"r{x} = p{x}[{begin}:{begin} + {length}]", f"r{x}[{i}]"
    step = f"s{x}_{axis}" if kind == "s" else kind
    return "", f"p{x}[np.uint64({begin} + {i} * {step})]"


def _assignment(ring: str, at: dict[str, str]) -> list[str]:
    return [f"{at['t' + ring]} = {at[ring]}"]


def _indented(lines: Sequence[str]) -> list[str]:
    return [f"    {line}" for line in lines]


def _cast(value: str, have: Any, want: np.dtype) -> str:
    if have is int and want == np.float32:  # as NumPy, which rounds twice
        value = f"np.float64({value})"
    return value if have == want else f"np.{want.name}({value})"


def _numba(kind: Any) -> str:
    """Return Numba's name of a dtype, or of what a Python scalar is passed as."""
    if isinstance(kind, type):
        return {bool: "boolean", int: "int64", float: "float64"}[kind]
    return "boolean" if kind.kind == "b" else str(kind.name)


class Compiled:
    """A segment on one piece, done by a compiled loop.

    ``windows`` are those of the arrays in memory, and ``rings`` the buffers of results that are
    delayed, each a number of rows; all other arrays are buffers in registers. The result
    ``stream`` goes to memory past the caches.
    """

    def __init__(
        self,
        kernel: MachineCode,
        segment: Segment,
        windows: dict[Any, Any],
        run: Any,
        rings: dict[int, np.ndarray],
        stream: int = -1,
    ) -> None:
        self.kernel, self.segment, self.windows, self.run = kernel, segment, windows, run
        self.rings = rings
        self.step = segment.calls[0].step
        #: What is passed to the loop, in order.
        self.arrays: list[Any] = [*segment.arrays, *(("t", r) for r in rings)]
        streams = (stream,) if stream >= 0 else ()
        self.chunks = [np.empty(_CHUNK, segment.kinds[r]) for r in streams]

    def __call__(self, registers: list[Any], tile: Tile) -> None:
        """Run it on a tile; registers hold its buffers and scalars."""
        rows = next((len(ring) for ring in self.rings.values()), 1)
        args: list[Any] = [*(s.stop - s.start for s in tile), rows]
        for r in self.arrays:
            window = self.windows.get(r)
            if window is None:
                buffer = self.rings[r] if r in self.rings else registers[r]
                args += [buffer.reshape(-1), 0, *strides_of(buffer.shape)]
            else:
                moved = sum(s.start * step for s, step in zip(tile, window.strides, strict=True))
                args += [window.flat, window.offset + moved, *window.strides]
        args += [registers[r] for r in self.segment.scalars]
        self.kernel(*args, *self.chunks)
        for kind in raised_flags():
            self.run.warn(self._blamed(kind), kind)

    def _blamed(self, kind: str) -> int:
        """Return the step that a floating point error most likely comes from."""
        may = [c.step for c in self.segment.calls if RAISES.get(c.op) == kind]
        return may[0] if may else self.step


def segments(calls: Sequence[Call], kept: Callable[[int], bool], scalars: range) -> list[Any]:
    """Return the calls, runs of two or more that can be compiled as segments.

    ``kept`` tells which registers are needed after all calls.
    """
    found: list[Any] = []
    run: list[Call] = []

    def end(at: int) -> None:
        if len(run) > 1:
            later = {r for c in calls[at:] for r in (*c.ins, c.mask)}
            made = dict.fromkeys(c.outs[0] for c in run)
            stored = [r for r in made if kept(r) or r in later]
            found.append(Segment(run, stored, scalars))
        else:
            found.extend(run)
        run.clear()

    for at, call in enumerate(calls):
        if call.exact:
            run.append(call)
        else:
            end(at)
            found.append(call)
    end(len(calls))
    return found
