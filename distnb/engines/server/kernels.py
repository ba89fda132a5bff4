"""What the notebook calls of the engines' code where it computes as they would.

Apart from :mod:`~distnb.engines.server.entry`: all that engines are takes five times as long to
import, and a first small sum would wait for it.
"""

from distnb.engines.collectives.fourier import transform_slices
from distnb.engines.collectives.reductions import OneProcess, tree_of
from distnb.engines.collectives.segmented import one_after_the_other
from distnb.engines.fusion.reduction_blocks import reduction_blocks

__all__ = [
    "OneProcess",
    "one_after_the_other",
    "reduction_blocks",
    "transform_slices",
    "tree_of",
]
