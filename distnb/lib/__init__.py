"""``distnb.lib``: the modules of ``numpy.lib`` that are about arrays.

Only what has NumPy's name there belongs here, and nothing of distnb imports it but the root.
"""

from numpy.lib import NumpyVersion

from distnb.left_out import refusal
from distnb.lib import array_utils, format, mixins, scimath, stride_tricks

__all__ = ["NumpyVersion", "array_utils", "format", "mixins", "scimath", "stride_tricks"]

__getattr__ = refusal(__name__)
