"""``distnb.lib.format``: NumPy's functions for files with one array."""

from numpy.lib.format import *  # noqa: F403
from numpy.lib.format import __all__  # noqa: F401
