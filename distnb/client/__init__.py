"""The notebook's side: records what is asked, knows every shape, and talks to the engines.

Elements are computed here only where that is a small step. Never imports ``engines``, and
mpi4py never; ``magics``, ``widgets`` and :mod:`distnb` itself may import it.
"""
