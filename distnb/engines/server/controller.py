"""The process of the controller: ipyparallel's, which writes errors only, however long it runs.

Run as a script (``python -P controller.py``) in place of ``python -m ipyparallel.controller``. Of
what listens to hearts the level of messages cannot be set. It writes a line for each engine that
died, at every beat and for ever: some 40 MB a day, into the session's temporary folder.
"""

from __future__ import annotations

import logging

from ipyparallel.controller import app

__all__: list[str] = []

logging.disable(logging.WARNING)  # here: a process that it starts may not be a fork of it

if __name__ == "__main__":
    app.main()
