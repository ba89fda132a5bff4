"""Where the time went: records of engines, reports, metrics and advice.

Pure readers of records; drawing is for ``widgets``. Client, engines, magics and widgets may import
it.
"""

from distnb.common.native import first

__path__ = first(__name__, __path__)
