"""``distnb.fft``: the names of ``numpy.fft``, for distributed arrays."""

from distnb.client.signal.fft import *  # noqa: F403
from distnb.client.signal.fft import __all__
from distnb.left_out import listing, refusal

__getattr__ = refusal(__name__)
__dir__ = listing(__all__)
