"""Runs a group of elementwise operations over tiles that fit a core's cache.

All steps of a group are done on one tile before the next, with NumPy's own ufuncs, so every
element goes through the same operations as in NumPy, bit for bit, while temporaries stay in the
cache in a few buffers used again and again (as in Kristensen, Lund, Blum and Skovhede, "Separating
NumPy API from implementation", 2014, and numexpr's blocks).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from functools import lru_cache
from math import prod
from typing import Any, NamedTuple

import numpy as np

from distnb.engines.fusion import loops
from distnb.engines.fusion.compiled_loops import (
    STRIDES,
    Call,
    Compiled,
    Segment,
    segments,
)
from distnb.engines.fusion.compiled_rows import CompiledSums, RowSums, sums_rows
from distnb.engines.fusion.compressed import Compressed
from distnb.engines.fusion.groups import COMPRESS, GroupSignature, GroupStep
from distnb.engines.fusion.loops import Loop, hazards, sources
from distnb.engines.fusion.reduction_blocks import Combiner, Scratch, Tile
from distnb.engines.fusion.windows import BlockWindow
from distnb.geometry.layout import Ints
from distnb.ops import table
from distnb.ops.scalars import PYTHON_SCALARS
from distnb.wire.messages import FUNCTION

__all__ = [
    "GroupRun",
    "Job",
    "Program",
    "program",
]

#: A program that runs for the second time is one that comes back.
_COMES_BACK = 2
#: Bytes of a result from which it goes to memory past the caches, and how long its rows are then.
#: A store to what is not in a cache reads it first: of three bytes that a copy moves one is saved.
_STREAMED = 1 << 25
_ROW = 512


def _touches(step: GroupStep, slot: int) -> bool:
    return slot in step.outs or slot in sources(step)


def _without_copies(signature: GroupSignature) -> dict[int, GroupStep]:
    """Return the steps to run, by number; what is only made to be copied is made in its place.

    So the assignment of a result costs no pass of its own.
    """
    steps = dict(enumerate(signature.steps))
    for k, step in list(steps.items()):
        if step.op == "copy" and step.mask is None and step.ins[0] >= 0:
            made, target = step.ins[0], step.outs[0]
            if _can_be_made_in(signature, steps, k, made, target):
                del steps[k]
                for j, st in steps.items():
                    if made in st.outs or made in sources(st):
                        steps[j] = _renamed(st, made, target)
    return steps


def _can_be_made_in(
    signature: GroupSignature, steps: dict[int, GroupStep], k: int, made: int, target: int
) -> bool:
    """Tell whether a value that step ``k`` copies can be computed right where it goes."""
    a, b = signature.slots[made], signature.slots[target]
    if a.kept or a.dtype != b.dtype:
        return False
    first = next((j for j, st in steps.items() if made in st.outs), k)
    free = target in hazards(signature)  # the old value stays in memory, the new one is delayed
    for j, st in steps.items():
        if j > k and _touches(st, made):
            return False
        if j < k and target in st.outs:
            return False
        if target in sources(st) and (first < j < k or (j == first and not free)):
            return False
    return first < k and steps[first].mask is None


def _renamed(step: GroupStep, old: int, new: int) -> GroupStep:
    outs = tuple(new if s == old else s for s in step.outs)
    ins = tuple(new if s == old else s for s in step.ins)
    return step._replace(outs=outs, ins=ins, mask=new if step.mask == old else step.mask)


class GroupRun:
    """One run of a group's steps: which of them runs, and which are left out.

    Attributes
    ----------
    warned : callable
        Is told of floating point errors in compiled loops, as NumPy tells of them.
    compiler : Compiler or None
        Gives compiled loops, if there are to be any.
    step : int
        The step that runs, for whoever hears of floating point errors.
    skipped : set of int
        Steps that are left out, because they or what they need failed.
    """

    warned: Callable[[str, int], None]
    compiler: Any
    step = 0
    skipped: Set[int] = frozenset()

    def step_failed(self, error: Exception) -> None:
        """Take the exception of the step that runs; may have it and others left out."""
        raise error

    def warn(self, step: int, kind: str) -> None:
        """Tell of a floating point error that a step has met."""
        self.step = step
        self.warned(kind, 0)

    def on_tile(self, calls: Sequence[Any], registers: list[Any], tile: Tile) -> None:
        """Make calls for a tile."""
        for call in calls:
            if call.step in self.skipped:
                continue
            self.step = call.step
            try:
                call(registers, tile)
            except Exception as error:
                self.step_failed(error)


class Job(NamedTuple):
    """One piece for a program, and what it works with on this rank.

    ``windows`` are what is read (and written, if it is not delayed), a :class:`BlockWindow` for
    each reference; ``targets`` is where delayed results go in the end. Those that could not be made
    are None: no step that runs needs them. ``tail`` takes in the tiles of what is reduced at the
    end.
    """

    loop: Loop
    windows: Sequence[Any]
    targets: Sequence[Any]
    scalars: Sequence[Any]
    scratch: Scratch
    run: GroupRun
    tail: Combiner | None = None


class Tail(NamedTuple):
    """The last call of a group that ends in a reduction: it takes in a tile."""

    step: int
    register: int
    combiner: Combiner

    def __call__(self, registers: list[Any], tile: Tile) -> None:
        """Take in a tile."""
        self.combiner.add(tile, registers[self.register])


class Pull(Call):
    """A step that takes the elements of a tile from blocks, by their positions in the result."""

    def __call__(self, registers: list[Any], tile: Tile) -> None:
        """Take them; results lie in the order of their base, so a tile is a stretch."""
        registers[self.ins[0]].fill(tile[0].start if tile else 0, registers[self.outs[0]])


class Program:
    """The steps of a signature on registers: windows of memory, scalars, buffers.

    Parameters
    ----------
    signature : GroupSignature
        What to do.
    inputs : tuple of int
        The slots in memory, in the order of the references of pieces.
    taken : int, optional
        The slot that is never stored, because the group's tail takes it in.
    """

    def __init__(self, signature: GroupSignature, inputs: Ints, taken: int | None = None) -> None:
        self.signature = signature
        self.taken = taken
        self._kept = {s: i for i, s in enumerate(inputs) if signature.slots[s].kept and s != taken}
        self.memory = list(self._kept.values())
        self.first_scalar = len(inputs)
        self.first_buffer = self.first_scalar + len(signature.scalars)
        #: dtype of each buffer; results that are delayed have two, for every other tile
        self.buffers: list[np.dtype] = []
        #: reference -> its two buffers, and the references that are written in part
        self.delayed: dict[int, tuple[int, int]] = {}
        self.partial: list[int] = []
        self._hazards = hazards(signature)
        self._now = dict(self._kept)
        self._free: dict[np.dtype, list[int]] = {}
        #: How often it ran on large pieces, how many numbers it has made there, and its calls in
        #: segments that can be compiled.
        self.runs = 0
        self.numbers = 0
        #: Whether elements are made of blocks, by their numbers.
        self.pulls = any(step.op == COMPRESS for step in signature.steps)
        self.parts: Any = None
        #: All of them as one, if they can be compiled.
        self.only: Segment | None = None
        self._steps = _without_copies(signature)
        self.calls = tuple(self._call(k) for k in self._steps)
        self.size = self.first_buffer + len(self.buffers)
        #: The register of what is taken in.
        self.tail = -1 if taken is None else self._now[taken]

    def _call(self, k: int) -> Call:
        """Give each value of a step a register, and free those that nobody needs any more."""
        step = self._steps[k]
        row = _PULL if step.op == COMPRESS else table.ELEMENTWISE[step.op]
        ins = tuple(self._now[s] if s >= 0 else self.first_scalar - 1 - s for s in step.ins)
        mask = None if step.mask is None else self._now[step.mask]
        ends = [s for s in {*sources(step), *step.outs} if self._ends(s, k)]
        in_place = isinstance(row.run, np.ufunc) and mask is None and row.nout == 1
        if in_place:  # the result may go where an input that dies here was
            self._drop(s for s in ends if s not in step.outs)
        outs = tuple(self._target(s, mask is not None) for s in step.outs)
        self._drop(ends)
        kinds = tuple(self._kind(s) for s in step.ins)
        dtypes = tuple(self.signature.slots[s].dtype for s in step.outs)
        run = _SAFE.get(step.op, row.run)
        make = Pull if row is _PULL else Call
        return make(k, run, ins, outs, dict(step.options), mask, step.op, kinds, dtypes)

    def _kind(self, source: int) -> Any:
        """Return the dtype of an input, or the class of what is no array and no NumPy scalar."""
        if source >= 0:
            return self.signature.slots[source].dtype
        name = self.signature.scalars[-1 - source]
        return object if name == FUNCTION else PYTHON_SCALARS.get(name) or np.dtype(name)

    def _ends(self, slot: int, k: int) -> bool:
        later = (st for j, st in self._steps.items() if j > k)
        return (
            slot not in self._kept
            and slot != self.taken
            and not any(_touches(st, slot) for st in later)
        )

    def _drop(self, slots: Iterable[int]) -> None:
        for s in slots:
            register = self._now.pop(s, None)
            if register is not None:
                self._free.setdefault(self.signature.slots[s].dtype, []).append(register)

    def _target(self, slot: int, masked: bool) -> int:
        """Return the register that a result goes to."""
        if slot in self._hazards:
            return self._delay(slot, masked)
        if slot not in self._now:
            dtype = self.signature.slots[slot].dtype
            free = self._free.get(dtype)
            self._now[slot] = free.pop() if free else self._buffer(dtype)
        return self._now[slot]

    def _delay(self, slot: int, masked: bool) -> int:
        i = self._kept[slot]
        if i not in self.delayed:
            dtype = self.signature.slots[slot].dtype
            self.delayed[i] = self._buffer(dtype), self._buffer(dtype)
            if masked:
                self.partial.append(i)
            self._now[slot] = self.delayed[i][0]
        return self._now[slot]

    def _buffer(self, dtype: np.dtype) -> int:
        self.buffers.append(dtype)
        return self.first_buffer + len(self.buffers) - 1

    def run(self, job: Job) -> None:
        """Run all steps on all tiles of a piece."""
        loop, windows, targets, scalars, scratch, run, _ = job
        if loop.small and not (self.delayed or self.pulls):
            return self._run_small(job)
        registers: list[Any] = [None] * self.size
        registers[self.first_scalar : self.first_buffer] = scalars
        here = [i for i in self.memory if windows[i] is not None]
        calls, once = self._chosen(job)
        if job.tail is not None and not once:
            calls = [*calls, self._last(job.tail)]
        shape: Ints | None = None
        waiting: list[tuple[Any, Any]] = []
        for turn, tile in enumerate(loop.tiles(once)):
            lengths = tuple([s.stop - s.start for s in tile])
            if lengths != shape:
                if not once:
                    registers[self.first_buffer :] = scratch.take(self.buffers, lengths)
                shape = lengths
                if turn % 2:  # the last tile waits in the first buffers
                    self._swap(registers)
            for i in here:
                registers[i] = windows[i].array[(*tile, ...)]
            for i in self.partial:
                if i in here:
                    registers[self.delayed[i][0]][...] = registers[i]
            run.on_tile(calls, registers, tile)
            self._flush(waiting)
            if once:
                break
            for i, (a, _) in self.delayed.items():
                if targets[i] is not None:
                    waiting.append((targets[i].array[(*tile, ...)], registers[a]))
            self._swap(registers)
        self._flush(waiting)

    def _last(self, combiner: Combiner) -> Tail:
        return Tail(len(self.signature.steps), self.tail, combiner)

    def _run_small(self, job: Job) -> None:
        """Run all steps on a piece that is one tile: its windows are the registers."""
        arrays = [None if window is None else window.array for window in job.windows]
        buffers = job.scratch.take(self.buffers, job.loop.shape)
        registers = [*arrays, *job.scalars, *buffers]
        job.run.on_tile(self.calls, registers, ())
        if job.tail is not None:
            whole = tuple([slice(0, n) for n in job.loop.shape])
            job.run.on_tile([self._last(job.tail)], registers, whole)

    def _chosen(self, job: Job) -> tuple[Sequence[Any], bool]:
        """Return the calls to make on a tile: NumPy's, or compiled loops where they are ready.

        Also tells whether one compiled loop does everything, so that no tiles are needed.
        """
        run, shape = job.run, job.loop.shape
        small = not shape or prod(shape) < loops.TILE
        if run.compiler is None or run.skipped or small or not all(map(_fits, job.scalars)):
            return self.calls, False
        self.runs += 1
        self.numbers += prod(shape) * len(self.calls)
        if self.runs < _COMES_BACK:
            run.compiler.prepare()
            return self.calls, False
        if self.parts is None:
            scalar_registers = range(self.first_scalar, self.first_buffer)
            self.parts = segments(self.calls, self._is_kept, scalar_registers)
            self.only = _as_one(self.parts, scalar_registers)
        if not run.compiler.counts(self.numbers):
            run.compiler.young = run.compiler.young or not all(type(p) is Call for p in self.parts)
            return self.calls, False
        windows = {i: job.windows[i] for i in self.memory}
        if self.only is not None and self._can_be_whole(self.only, job.loop):
            stream = self._stream(self.only, job.loop, windows)
            if stream >= 0 or self.only is self.parts[0]:
                whole = self._whole(self.only, job, windows, stream)
                return (self.calls, False) if whole is None else ([whole], True)
        if job.tail is not None and self.only is not None:
            sums = self._sums(self.only, job, windows)
            if sums is not None:
                return [sums], True
        found: list[Any] = []
        for part in self.parts:
            found += [part] if isinstance(part, Call) else self._loops(part, job, windows)
        return found, False

    def _is_kept(self, register: int) -> bool:
        delayed = [a for a, _ in self.delayed.values()]
        return register < self.first_scalar or register in delayed or register == self.tail

    def _can_be_whole(self, segment: Segment, loop: Loop) -> bool:
        """Tell whether one loop can do all of a piece, with no buffers but rings of rows.

        Not where an operand runs across memory: then tiles are better than long rows.
        """
        if loop.tile[1:] != loop.shape[1:] or self.taken is not None:
            return False
        delayed = {a for a, _ in self.delayed.values()}
        buffers = {r for r in segment.arrays if r >= self.first_buffer}
        return buffers <= delayed and not (delayed and len(loop.shape) < 2)

    def _stream(self, segment: Segment, loop: Loop, windows: dict[Any, BlockWindow]) -> int:
        """Return the result that goes to memory past the caches, a large one that is not read."""
        if self.delayed or loop.shape[-1] < _ROW:
            return -1
        if any(_inner(windows[r].strides) == "s" for r in segment.arrays):
            return -1
        found = (
            r
            for r in segment.stored
            if r not in segment.loaded
            and windows[r].strides[-1] == 1
            and segment.kinds[r].itemsize in (4, 8)
            and prod(loop.shape) * segment.kinds[r].itemsize >= _STREAMED
        )
        return next(found, -1)

    def _whole(
        self, segment: Segment, job: Job, windows: dict[Any, BlockWindow], stream: int
    ) -> Compiled | None:
        """Return one compiled loop for all of a piece, if it is ready."""
        delayed = {self.delayed[i][0]: i for i in self.delayed}
        windows |= {("t", r): job.targets[i] for r, i in delayed.items()}
        inner: dict[Any, str] = {
            r: _inner(windows[r].strides) if r in windows else "1" for r in segment.arrays
        }
        inner |= {("t", r): _inner(windows["t", r].strides) for r in delayed}
        source = segment.source(len(job.loop.shape), inner, tuple(delayed), stream)
        kernel = job.run.compiler.get(source, self.numbers)
        if kernel is None:
            return None
        shape = (job.loop.lag + 1, *job.loop.shape[1:])
        rings = job.scratch.take([self.buffers[r - self.first_buffer] for r in delayed], shape)
        delays = dict(zip(delayed, rings, strict=True))
        return Compiled(kernel, segment, windows, job.run, delays, stream)

    def _sums(self, segment: Segment, job: Job, windows: dict[Any, BlockWindow]) -> Compiled | None:
        """Return one compiled loop that sums all rows of a piece, if there can be one, and is."""
        assert job.tail is not None
        if not sums_rows(job.tail, segment, self.tail):
            return None
        inner = {str(r): _inner(windows[r].strides) for r in segment.loaded}
        source = RowSums(segment, inner | {f"t{self.tail}": "1"}, job.loop.shape).source()
        kernel = job.run.compiler.get(source, self.numbers)
        return None if kernel is None else CompiledSums(kernel, segment, windows, job.run, job.tail)

    def _loops(self, segment: Segment, job: Job, windows: dict[Any, BlockWindow]) -> Sequence[Any]:
        """Return the compiled loop of a segment, or its calls as long as there is none."""
        inner = {r: _inner(windows[r].strides) if r in windows else "1" for r in segment.arrays}
        source = segment.source(len(job.loop.shape), inner)
        kernel = job.run.compiler.get(source, self.numbers)
        if kernel is None:
            return segment.calls
        return [Compiled(kernel, segment, windows, job.run, {})]

    def _swap(self, registers: list[Any]) -> None:
        for a, b in self.delayed.values():
            registers[a], registers[b] = registers[b], registers[a]

    @staticmethod
    def _flush(waiting: list[tuple[Any, Any]]) -> None:
        """Store the results that were delayed."""
        for target, result in waiting:
            target[...] = result
        waiting.clear()


def _as_one(parts: Sequence[Any], scalars: range) -> Segment | None:
    """Return all calls as one segment, if they can be compiled."""
    if len(parts) != 1:
        return None
    part = parts[0]
    if isinstance(part, Segment):
        return part
    return Segment((part,), part.outs, scalars) if part.exact else None


def _inner(strides: Ints) -> str:
    """Return the kind of the last axis' stride, which compiled loops are made for."""
    return str(strides[-1]) if strides[-1] in STRIDES else "s"


def _fits(scalar: Any) -> bool:
    """Tell whether compiled loops can take a scalar: larger integers would round otherwise."""
    return not isinstance(scalar, int) or abs(scalar) <= 1 << 53


def _negative(x: Any, out: tuple[np.ndarray], where: Any = True, **options: Any) -> None:
    """Negate, not from some strided memory to other.

    NumPy's loop is wrong there: up to 2.4, at least, ``np.negative(x[::8], out=y[::2])`` takes
    wrong elements of float64.
    """
    (target,) = out
    if target.flags.c_contiguous and np.asarray(x).flags.c_contiguous:
        np.negative(x, out=out, where=where, **options)
    else:
        casting = options.get("casting", "same_kind")
        np.copyto(target, np.negative(x, **options), where=where, casting=casting)


#: What takes elements from blocks is in no table: it is not applied to operands.
_PULL = table.Elementwise(COMPRESS, 1, 1, Compressed.fill)
#: op -> what is called in place of NumPy's ufunc.
_SAFE: dict[str, Any] = {"negative": _negative}


@lru_cache(maxsize=1024)
def program(signature: GroupSignature, inputs: Ints, taken: int | None) -> Program:
    """Return the program of a signature (the same object every time)."""
    return Program(signature, inputs, taken)
