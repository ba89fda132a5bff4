"""What a session needs of the way to its engines: one contract, and one test suite for all.

A transport submits a message to all ranks and later collects one reply from each. It knows nothing
of arrays.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import numpy as np

from distnb.common.config import config
from distnb.common.errors import EngineError, SessionError, explain
from distnb.measure.snapshot import Sample
from distnb.wire.messages import Reply
from distnb.wire.protocol import Operand

if TYPE_CHECKING:
    from distnb.client.transport.turns import Turns

__all__ = [
    "ANSWER",
    "ENTRY",
    "KERNELS",
    "PAUSE",
    "AnyTransport",
    "Buffers",
    "Transport",
    "late",
    "poll",
    "share_of_node",
    "unanswered",
]

#: The engines' code that transports call, by its name only: the two sides share no module.
ENTRY = "distnb.engines.server.entry"
#: That which the notebook calls where it computes as they would.
KERNELS = "distnb.engines.server.kernels"
#: Seconds between two checks whether the engines live.
PAUSE = 0.01
#: Seconds that engines have to give up after Ctrl-C, before it comes back without them.
ANSWER = 0.7
Buffers = Sequence[list[np.ndarray]]
Ticket = TypeVar("Ticket")
Shared = TypeVar("Shared")


class Transport(Generic[Ticket]):
    """What a session needs of the way to its engines.

    Attributes
    ----------
    kind : str
        Name of the transport, as the status shows it.
    size : int
        Number of ranks.
    about : list of dict
        What each rank says of itself (pid, host, memory, MPI).
    concurrent : bool
        Whether a timer may send a batch (not where every rank must record the same batches).
    """

    kind = ""
    size = 0
    about: list[dict[str, Any]]
    concurrent = True
    #: Whether ``submit`` runs the batch itself, in the calling thread.
    inline = False
    #: The number of the last batch, as who submits counts them.
    latest = 0
    #: How often there were new engines in place of others.
    generation = 0
    #: The rank that the client is itself (SPMD): not all replies of others come to it.
    rank: int | None = None
    #: Those of notebooks on the same engines; None where there can be no others.
    turns: Turns | None = None

    def submit(self, message: bytes, buffers: Buffers) -> Ticket:
        """Send a message, and to each rank its own buffers (if any); return a ticket."""
        raise NotImplementedError

    def done(self, ticket: Ticket) -> bool:
        """Tell whether all replies have come."""
        raise NotImplementedError

    def wait(self, ticket: Ticket) -> None:
        """Wait for the replies to the oldest ticket; can be interrupted, and called again."""

    def collect(self, ticket: Ticket) -> list[Reply]:
        """Return the reply of each rank to the oldest ticket, once, after the wait for them."""
        raise NotImplementedError

    def define(self, number: int, text: bytes) -> None:
        """Give all engines a pickled function, before any batch that is submitted later."""
        raise NotImplementedError

    def local(self, operand: Operand) -> Any:
        """Return the rank's own part of an array (SPMD), as ``%px`` sees it on an engine."""
        raise NotImplementedError

    def share(self, mine: Shared) -> list[Shared]:
        """Return what each client of the engines has: one, but for SPMD."""
        return [mine]

    def stop(self) -> None:
        """Tell the engines to give up what was submitted (:attr:`latest`); waits for nothing."""

    def interrupt(self, ticket: Ticket) -> str:
        """Wait until the engines have replied to the oldest ticket, which they are to give up.

        Not for long: returns which of them do not reply, "" if all have.
        """
        return ""

    def alive(self) -> bool:
        """Tell whether all engines can be reached."""
        return True

    def gone(self) -> EngineError:
        """Return what is said of engines that cannot be reached."""
        return EngineError(explain("engines", "none", "all alive", "call dnb.start()"))

    def renew(self) -> None:
        """Reach new engines in place of those that died; raises EngineError if there are none."""
        raise self.gone()

    def start_others(self, generation: int, engines: int | None = None) -> None:
        """Start new engines in place of those of a generation, so that :meth:`renew` finds them.

        There are as many, if nothing else is asked for. Any thread may call it: who submits sees
        nothing of it.
        """

    @property
    def renewable(self) -> bool:
        """Whether there can be new engines in place of those that die."""
        return False

    @property
    def starts(self) -> bool:
        """Whether :meth:`start_others` starts them, on this host; else the user has to."""
        return False

    def look_out(self, tell: Callable[[int], None]) -> None:
        """Call a method, in another thread, as soon as an engine dies; where that can be known.

        It is called with the generation of these engines.
        """

    def living(self) -> set[int]:
        """Return the ranks whose processes are there."""
        return set(range(self.size))

    def samples(self, seconds: float) -> dict[int, tuple[Sample | None, float]]:
        """Return what ranks say of themselves now, and for how long each has been silent.

        Any thread may ask. None is for a rank that cannot be asked; under SPMD others are left out.
        """
        return dict.fromkeys(range(self.size), (None, 0.0))

    @property
    def foreign(self) -> int:
        """Messages to the engines that are no batches, and may change arrays on them (``%px``)."""
        return 0

    def subset(self, engines: int) -> Transport[Ticket]:
        """Return a transport to the first engines, on a communicator of their own."""
        raise SessionError(
            explain(
                "subset of engines",
                self.kind,
                "engines of ipyparallel, or in this process",
                "use dnb.start() or dnb.connect()",
            )
        )

    def close(self) -> None:
        """Leave the engines, with nothing of this session on them."""


AnyTransport = Transport[Any]


def late() -> TimeoutError:
    """Return the error for replies that do not come in time."""
    return TimeoutError(
        explain("engines", "no reply yet", f"one in {config.timeout} s", "raise dnb.config.timeout")
    )


def unanswered(ranks: Iterable[int], starts: bool) -> str:
    """Return what is said of engines that do not answer; ``starts``: others can be started."""
    found = list(ranks)
    do = "session.recover() ends it, and another one takes over the arrays"
    if not starts:
        do = "dnb.start(beside=True) starts others, without the arrays"
    return explain(
        f"engine{'s' * (len(found) > 1)} {', '.join(map(str, found))}",
        f"no answer in {ANSWER:g} s",
        "that it gives up",
        "go on: it may be stopped, or in a function that cannot be interrupted; what is asked of "
        f"engines waits until it is back, {do}",
    )


def poll(ready: Callable[[], bool], seconds: float) -> bool:
    """Wait until ``ready()`` for at most ``seconds``; return whether it is."""
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            return False
        time.sleep(0.002)
    return True


def share_of_node(about: list[dict[str, Any]]) -> int:
    """Return the memory that each engine may count on when all of its node's use as much."""
    hosts = [a["host"] for a in about]
    return min((a["memory"] // hosts.count(a["host"]) for a in about if a["memory"]), default=0)
