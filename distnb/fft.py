"""``distnb.fft``: the names of ``numpy.fft``, for distributed arrays."""

from distnb.client.signal.fft import *  # noqa: F403
from distnb.client.signal.fft import __all__  # noqa: F401
from distnb.left_out import refusal

__getattr__ = refusal(__name__)
