"""SPMD: every rank of one script is an engine, too."""

from __future__ import annotations

import importlib
from typing import Any, TypeVar, cast

from distnb.client.transport.contract import ENTRY, Buffers, Transport
from distnb.common.config import config
from distnb.measure.snapshot import Sample
from distnb.wire.messages import Reply
from distnb.wire.protocol import Operand

__all__ = ["Spmd"]

Shared = TypeVar("Shared")


class Spmd(Transport[list[Reply]]):
    """Every rank of ``mpiexec -n P python script.py`` runs the script and is an engine, too."""

    kind = "SPMD"
    concurrent = False
    inline = True
    rank: int

    def __init__(self, comm: object = None) -> None:
        self._entry: Any = importlib.import_module(ENTRY)
        self.worker, about, self._share = self._entry.spmd(config.pool_bytes, config.shared, comm)
        self.about = self._share(about)
        self.size = len(self.about)
        self.rank = about["rank"]

    def submit(self, message: bytes, buffers: Buffers) -> list[Reply]:
        reply = self.worker.run(message, buffers[self.rank] if buffers else [])
        # All ranks know whether anything failed or warns, which all are to raise or to tell; only
        # then, or for values, must they talk.
        if not reply.aborted and (reply.failed or reply.warned or reply.values):
            try:
                return self._share(reply)
            except KeyboardInterrupt:
                return [self.worker.reply()]
        return [reply]

    def done(self, ticket: list[Reply]) -> bool:
        return True

    def collect(self, ticket: list[Reply]) -> list[Reply]:
        return ticket

    def define(self, number: int, text: bytes) -> None:
        self.worker.define(number, text)

    def local(self, operand: Operand) -> Any:
        return self.worker.local(operand)

    def share(self, mine: Shared) -> list[Shared]:
        return cast("list[Shared]", self._share(mine))

    def samples(self, seconds: float) -> dict[int, tuple[Sample | None, float]]:
        return {self.rank: (self._entry.sample(self.worker), 0.0)}

    def close(self) -> None:
        self.worker.close()
