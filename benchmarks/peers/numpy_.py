"""NumPy in this process: the code of the workloads as it stands, BLAS on all cores."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.fft

from benchmarks.peers import Peer
from benchmarks.workloads import Case


class NumPy(Peer):
    """Whom the others are compared with; Fourier transforms are SciPy's, on all cores."""

    codes = {"F1": lambda a: scipy.fft.fft2(a, workers=-1)}

    def without(self, case: Case) -> str | None:
        return None

    def call(self, *arguments: Any) -> Any:
        code = self.codes.get(self.case.name)
        return code(*arguments) if code else self.case.code(np, *arguments)
