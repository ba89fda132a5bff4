"""The notebook's side: records what is asked, knows every shape, and talks to the engines.

No elements are computed here but those of arrays below the cutoff. Never imports ``engines``, and
mpi4py never; ``magics``, ``widgets`` and :mod:`distnb` itself may import it.
"""
