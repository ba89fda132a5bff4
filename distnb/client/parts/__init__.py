"""Functions of the user's on parts of arrays: tasks, what they get, and what becomes of it.

Functions of single elements, of blocks and of slices belong in ``client.math``. Rooms of the client
after it may import it.
"""
