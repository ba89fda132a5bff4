"""NumPy in this process: the code of the workloads as it stands, BLAS on all cores."""

from __future__ import annotations

from typing import Any

import numpy as np

from benchmarks.peers import Peer
from benchmarks.workloads import Case


class NumPy(Peer):
    """Whom the others are compared with."""

    def without(self, case: Case) -> str | None:
        return None

    def call(self, *arguments: Any) -> Any:
        return self.case.code(np, *arguments)
