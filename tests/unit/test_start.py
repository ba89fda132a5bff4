"""What an engine's process does first; engines themselves are in ``tests/cluster``."""

import subprocess
import sys

from tests import tiers

LAZY = """
import runpy, sys
runpy.run_path("distnb/engines/server/start.py")["_lazy_package"]("distnb")
import distnb.engines.server.entry
from distnb.common.config import config
import distnb
assert not hasattr(distnb, "__wrapped__")
assert not [name for name in sys.modules if name.startswith("distnb.client")]
from distnb import *
with inprocess(1):
    assert ones(3).shape == (3,)
assert distnb.__version__ and distnb.config is config and distnb.learn and "ones" in dir(distnb)
assert not hasattr(distnb, "one")
"""


def test_the_notebooks_side_is_loaded_when_it_is_asked_for():
    found = subprocess.run(
        [sys.executable, "-c", LAZY], cwd=tiers.ROOT, capture_output=True, text=True, check=False
    )
    assert not found.returncode, found.stderr
