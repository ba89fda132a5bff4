"""Plans: which elements an operation sends to whom, and the pieces that it computes.

From specs alone, the same on every rank and in the notebook; executing them is for ``engines``.
Everybody may import it but the rooms above it in :mod:`distnb`.
"""
