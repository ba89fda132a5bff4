"""What all tests share: hypothesis profiles; ``HYPOTHESIS_PROFILE=ci`` repeats its examples.

Small arrays are on engines in the tests, for these are small and about engines. Tests of the cutoff
set it.
"""

import os

os.environ.setdefault("DISTNB_CUTOFF", "0")  # before distnb is imported, here and by engines
# Compiled loops have tests of their own; elsewhere nothing is to be compiled in the background.
os.environ.setdefault("DISTNB_JIT", "0")

# All that engines of one node have for each other is lent, small as it is.
os.environ.setdefault("DISTNB_SHARED", "1")

from hypothesis import settings

settings.register_profile("default", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "default"))
