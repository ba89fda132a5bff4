"""Sparse arrays on engines: parts in SciPy's formats, what products need of a vector, exchanges.

What is sparse is three bases of one axis (elements, indices, pointers); dense arrays belong in
``engines.collectives``. Rooms of the engines after it may import it.
"""
