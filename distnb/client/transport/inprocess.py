"""Engines in this process, without MPI."""

from __future__ import annotations

import importlib
import queue
import threading
import time
from collections import deque
from collections.abc import Sequence
from typing import Any

from distnb.client.transport.contract import ANSWER, ENTRY, Buffers, Transport, late, unanswered
from distnb.common.config import config
from distnb.common.errors import EngineError
from distnb.measure.snapshot import Sample
from distnb.wire.messages import Reply

__all__ = ["InProcess"]


def _entry() -> Any:
    return importlib.import_module(ENTRY)


class _Outbox:
    """Replies of one engine of this process. Waiting takes none out: an interrupt loses nothing."""

    def __init__(self, arrived: threading.Event) -> None:
        self.replies: deque[Any] = deque()
        self._arrived = arrived

    def put(self, reply: Reply | BaseException) -> None:
        self.replies.append(reply)
        self._arrived.set()


class InProcess(Transport[int]):
    """Engines in this process, without MPI: one runs where it is called, more are threads."""

    kind = "in this process"

    def __init__(self, n: int, users: Sequence[dict[str, Any]] = ()) -> None:
        made = _entry().inprocess(n, config.pool_bytes, users)
        self.size = n
        self.workers = [worker for worker, _ in made]
        self.about = [about for _, about in made]
        self._threads: list[Any] = []
        self._inboxes: list[queue.SimpleQueue[Any]] = [queue.SimpleQueue() for _ in made]
        self._arrived = threading.Event()
        self._outboxes = [_Outbox(self._arrived) for _ in made]
        self.inline = n == 1
        self._submitted = 0
        if n > 1:
            triples = zip(self.workers, self._inboxes, self._outboxes, strict=True)
            self._threads = [_entry().start_thread(*t) for t in triples]

    def submit(self, message: bytes, buffers: Buffers) -> int:
        self._submitted += 1
        if self._threads:
            for rank, inbox in enumerate(self._inboxes):
                inbox.put((message, buffers[rank] if buffers else []))
        else:
            self._outboxes[0].put(self.workers[0].run(message, buffers[0] if buffers else []))
        return self._submitted

    def done(self, ticket: int) -> bool:
        return all(box.replies for box in self._outboxes)

    def wait(self, ticket: int) -> None:
        start = time.monotonic()
        while not self.done(ticket):
            if config.timeout and time.monotonic() - start > config.timeout:
                raise late()
            self._pause(ticket)

    def _pause(self, ticket: int) -> None:
        self._arrived.clear()
        if not self.done(ticket):
            self._arrived.wait(0.1)

    def collect(self, ticket: int) -> list[Reply]:
        replies = [box.replies.popleft() for box in self._outboxes]
        for reply in replies:
            if isinstance(reply, BaseException):
                raise EngineError(f"engines: got {reply!r}, expected a reply") from reply
        return replies

    def define(self, number: int, text: bytes) -> None:
        for worker in self.workers:
            worker.define(number, text)

    def stop(self) -> None:
        for worker in self.workers:
            worker.stop(self.latest)

    def interrupt(self, ticket: int) -> str:
        end = time.monotonic() + ANSWER
        while not self.done(ticket):
            if time.monotonic() > end:
                silent = [rank for rank, box in enumerate(self._outboxes) if not box.replies]
                return unanswered(silent, self.starts)
            for worker in self.workers:
                worker.comm.abort()
            self._pause(ticket)
        return ""

    def samples(self, seconds: float) -> dict[int, tuple[Sample | None, float]]:
        return {rank: (_entry().sample(w), 0.0) for rank, w in enumerate(self.workers)}

    def subset(self, engines: int) -> InProcess:
        return InProcess(engines, [w.executor.user for w in self.workers[:engines]])

    def close(self) -> None:
        for inbox in self._inboxes:
            inbox.put(None)
        for thread in self._threads:
            thread.join(timeout=5)
        if not self._threads:
            self.workers[0].close()
