"""Functions of the user's on parts of arrays: blocks with halos, slices, tasks.

What computes element by element belongs in ``engines.fusion``. Rooms of the engines after it may
import it.
"""
