"""distnb on engines that this process starts: the code of the workloads as it stands."""

from __future__ import annotations

from typing import Any

import numpy as np

import distnb as dnb
from benchmarks.peers import Peer
from benchmarks.workloads import Arrays, Case


class Distnb(Peer):
    """Arrays in their default layout. A run ends when the engines have done everything."""

    def __init__(self, ranks: int, scale: str) -> None:
        super().__init__(ranks, scale)
        self.session = dnb.start(ranks)
        self.before: dict[str, Any] = {}

    def without(self, case: Case) -> str | None:
        names = [f"{name}()" for name in case.needs if not hasattr(dnb, name)]
        names += [f"setting {name}" for name in case.settings if not hasattr(dnb.config, name)]
        return f"no {' and '.join(names)} yet" if names else None

    def load(self, case: Case, arrays: Arrays) -> None:
        self.before = {name: getattr(dnb.config, name) for name in case.settings}
        self.configure(case.settings)
        super().load(case, arrays)
        self.session.flush()

    def take(self, array: np.ndarray) -> dnb.DistArray:
        return dnb.array(array, session=self.session)

    def prepare(self) -> None:
        super().prepare()
        self.session.flush()

    def call(self, *arguments: Any) -> Any:
        found = self.case.code(dnb, *arguments)
        self.session.flush()
        return found

    def result(self) -> np.ndarray:
        found: Any = self.found
        return found.to_numpy() if isinstance(found, dnb.DistArray) else np.asarray(found)

    def unload(self) -> None:
        super().unload()
        self.session.flush()
        self.configure(self.before)

    def configure(self, settings: dict[str, Any]) -> None:
        for name, value in settings.items():
            setattr(dnb.config, name, value)

    def close(self) -> None:
        self.session.close()
