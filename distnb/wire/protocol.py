"""What travels between the client and the engines: commands, batches and replies.

Commands are data: tuples of numbers, strings and tuples, and the frozen classes of the layout
vocabulary. :mod:`distnb.wire.encoding` makes bytes of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

from distnb.geometry.layout import Ints, Layout
from distnb.geometry.views import View

__all__ = [
    "PROTOCOL",
    "Apply",
    "Ask",
    "Bind",
    "Bound",
    "Collective",
    "Command",
    "Create",
    "Fetch",
    "Free",
    "Function",
    "InNotebook",
    "Lay",
    "Local",
    "Operand",
    "Reduce",
    "Typed",
    "bases_of",
    "described",
    "title",
]

#: Version of the messages; client and engines must agree.
PROTOCOL = 11

#: Handles of bases, or their numbers in a batch, under the other ones.
Numbers = Mapping[int, int] | Sequence[int]


class Operand(NamedTuple):
    """A view of a base on the engines."""

    base: int
    view: View

    def renumbered(self, numbers: Numbers) -> Operand:
        """Return the same view of the base that has a number in place of this handle."""
        return Operand(numbers[self.base], self.view)


#: Several of them.
Operands: TypeAlias = tuple[Operand, ...]


class InNotebook(NamedTuple):
    """An array that no engine holds, as ``%px`` is told of it."""

    shape: Ints
    dtype: str


class Typed(NamedTuple):
    """A NumPy scalar: it has a dtype of its own, unlike a Python number, which is weak."""

    dtype: str
    value: Any


class Function(NamedTuple):
    """A function of the user's, which engines have under a number; only the number travels."""

    number: int
    name: str = ""


# Every command says itself which views it ``reads`` and which bases it ``writes``, and what it is
# with other numbers for its bases; those of a batch that travels have no source line.


class Create(NamedTuple):
    """Make a base. ``how`` is a row of ``ops.CREATIONS`` with its arguments.

    ``('empty',)``, ``('fill', value)``, ``('index', axis, start, step)``: the global index along
    an axis, scaled; ``('random', kind, key, args)``; ``('data', slot)``: buffer ``slot`` of the
    message holds this rank's part; ``('local', name)``; ``('at', place, *how)``: it lies in
    the notebook's segment. ``('room', place)``: there, with undefined content; ``('same',
    place)``, with the content that is there; ``('lost', place)``, as one whose content is lost.
    """

    base: int
    shape: Ints
    dtype: str
    layout: Layout
    how: tuple[Any, ...]
    site: int

    @property
    def bare(self) -> bool:
        """Whether the content is undefined until it is written, so that making it is no work."""
        return self.how[0] in ("empty", "room")

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        return ()

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return (self.base,)

    def renumbered(self, numbers: Numbers) -> Create:
        """Return the same on other bases."""
        return self._replace(base=numbers[self.base], site=0)


class Apply(NamedTuple):
    """Apply an elementwise operation to operands of one shape (already broadcast).

    ``ins`` holds Operands, Typed scalars and Python scalars, and first of all the Function that
    ``'map'`` calls; ``where`` a mask or None; ``options`` the ufunc's ``casting`` and ``dtype``.
    """

    op: str
    outs: tuple[Operand, ...]
    ins: tuple[Any, ...]
    where: Operand | None
    options: tuple[tuple[str, str], ...]
    site: int

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        found = tuple([x for x in self.ins if type(x) is Operand])
        return found if self.where is None else (*found, self.where)

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return tuple([o.base for o in self.outs])

    def renumbered(self, numbers: Numbers) -> Apply:
        """Return the same on other bases."""
        ins = tuple([x.renumbered(numbers) if type(x) is Operand else x for x in self.ins])
        where = None if self.where is None else self.where.renumbered(numbers)
        return Apply(self.op, _all(self.outs, numbers), ins, where, self.options, 0)


class Reduce(NamedTuple):
    """Reduce a view along ``axes`` into a new base, whose axes are the kept ones in order."""

    op: str
    out: int
    operand: Operand
    axes: Ints
    dtype: str
    site: int

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        return (self.operand,)

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return (self.out,)

    def renumbered(self, numbers: Numbers) -> Reduce:
        """Return the same on other bases."""
        operand = self.operand.renumbered(numbers)
        return self._replace(out=numbers[self.out], operand=operand, site=0)


class Local(NamedTuple):
    """Apply a function to what each rank holds of whole bases that were brought into place.

    ``op`` is a row of ``ops.LOCALS``; ranks that hold nothing of the output do nothing. Or it is
    ``'adopt'``: the output gets the memory of the one input, whose elements it has in C order.
    """

    op: str
    out: Operand
    ins: tuple[Operand, ...]
    site: int

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        return self.ins

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return (self.out.base,)

    def renumbered(self, numbers: Numbers) -> Local:
        """Return the same on other bases."""
        return Local(self.op, self.out.renumbered(numbers), _all(self.ins, numbers), 0)


class Collective(NamedTuple):
    """Fill whole bases by messages between the ranks that depend on the elements.

    ``op`` is a row of ``COLLECTIVES`` in :mod:`distnb.engines.worker.executor`; ``args`` are its
    own. A base in both ``outs`` and ``ins`` is worked on in place.
    """

    op: str
    outs: tuple[Operand, ...]
    ins: tuple[Operand, ...]
    args: tuple[Any, ...]
    site: int

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        return self.ins

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return tuple([o.base for o in self.outs])

    def renumbered(self, numbers: Numbers) -> Collective:
        """Return the same on other bases."""
        outs, ins = _all(self.outs, numbers), _all(self.ins, numbers)
        return Collective(self.op, outs, ins, self.args, 0)


class Fetch(NamedTuple):
    """Send this rank's part of a view with the reply, as value ``slot``.

    With a ``place``, copy it there in the notebook's segment, where the whole view is to lie.
    """

    slot: int
    operand: Operand
    site: int
    place: int = 0

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        return (self.operand,)

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return ()

    def renumbered(self, numbers: Numbers) -> Fetch:
        """Return the same on other bases."""
        return self._replace(operand=self.operand.renumbered(numbers), site=0)


class Lay(NamedTuple):
    """Move a base to a place of the notebook's segment, where its parts lie one after the other.

    Sends as value ``slot`` whether this rank's part is there; if not, it is where it was.
    """

    slot: int
    operand: Operand
    place: int
    site: int

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        return (self.operand,)

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return ()

    def renumbered(self, numbers: Numbers) -> Lay:
        """Return the same on other bases."""
        return self._replace(operand=self.operand.renumbered(numbers), site=0)


class Free(NamedTuple):
    """Drop bases, and functions, whose numbers are negative."""

    bases: Ints

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        return ()

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return ()

    def renumbered(self, numbers: Numbers) -> Free:
        """Return the same on other bases."""
        return Free(tuple([numbers[h] for h in self.bases]))


#: What ``%px`` has under a name: an array on engines, or one that is not there.
Bound: TypeAlias = "Operand | InNotebook"


class Bind(NamedTuple):
    """Give arrays names in the engines' user namespace, for ``%px``; drop the names before.

    Each name comes with an Operand, or with InNotebook. Those that are ``sealed`` are only read.
    """

    names: tuple[tuple[str, Any], ...]
    sealed: tuple[str, ...] = ()

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        return tuple([x for _, x in self.names if type(x) is Operand])

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return ()

    def renumbered(self, numbers: Numbers) -> Bind:
        """Return the same on other bases."""
        return Bind(
            tuple([(n, x.renumbered(numbers) if type(x) is Operand else x) for n, x in self.names]),
            self.sealed,
        )


class Ask(NamedTuple):
    """Send something about the engine with the reply, as value ``slot``.

    ``what``: ``'clocks'``, its time account; ``'survey'``, what is in its memory; ``'describe'``,
    the shape and dtype of a variable of the user namespace, whose name is in ``args``; ``'share'``,
    whether it could map the notebook's shared segment, whose card ``args`` are
    (:class:`distnb.common.shared_segments.Card`); ``'looked'``, at which of some places there,
    where bases lay that are gone, somebody looks (``%px``); ``'busy'``, at which of some bases'
    blocks anything looks besides: what was made of them, functions of the user's, ``%px``.
    """

    slot: int
    what: str
    args: tuple[Any, ...] = ()

    @property
    def reads(self) -> Operands:
        """The views that it reads."""
        return ()

    @property
    def writes(self) -> Ints:
        """The bases that it writes."""
        return ()

    def renumbered(self, numbers: Numbers) -> Ask:
        """Return the same on other bases."""
        return self


Command = Create | Apply | Reduce | Local | Collective | Fetch | Lay | Free | Bind | Ask


#: Those that call a function of the user's, whose number and name come first in their ``args``.
_OF_USERS = frozenset(("apply_along_axis", "foreach", "map_blocks", "map_stacks"))


def bases_of(command: Command) -> set[int]:
    """Return the bases that a command reads or writes."""
    return {*command.writes, *[x.base for x in command.reads]}


def _all(operands: Operands, numbers: Numbers) -> Operands:
    return tuple([x.renumbered(numbers) for x in operands])


def described(command: Command) -> str:
    """Return what a command does, and how large its first array is.

    >>> described(Create(1, (9, 4), "<f8", None, ("empty",), 0))
    'create (9, 4)'
    """
    shapes = [command.shape] if isinstance(command, Create) else []
    shapes += [x.view.shape for x in command.reads if isinstance(x.view, View)]  # or a Param
    return " ".join([title(command), *map(str, shapes[:1])])


def title(command: Command) -> str:
    """Return what a command does, as reports and messages name it."""
    if isinstance(command, Apply) and command.op == "map":
        return f"map ({command.ins[0].name})"
    if isinstance(command, Collective) and command.op in _OF_USERS:
        return f"{command.op} ({command.args[1]})"
    if isinstance(command, Ask):
        return command.what
    return str(getattr(command, "op", type(command).__name__.lower()))
