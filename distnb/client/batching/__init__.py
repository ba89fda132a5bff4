"""Batches to the engines and what comes back: recorded, on their way, replied to, failed.

Nothing about operations belongs here. ``client.session`` puts it together; rooms after that may
import what they need of it.
"""

from distnb.common.native import first

__path__ = first(__name__, __path__)
