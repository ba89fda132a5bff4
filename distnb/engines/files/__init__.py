"""Files on engines: each reads and writes what is its own, by itself.

What is in a file, and how boxes of it are read and written, is for ``formats``. Rooms of the
engines after it may import it.
"""
