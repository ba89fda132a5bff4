"""Sparse arrays: SciPy's classes, whose parts are SciPy's own on each engine.

What is sparse is three dense bases of one axis and what the notebook knows of them; commands are
those of ``engines.sparse``. Rooms of the client after it may import it.
"""
