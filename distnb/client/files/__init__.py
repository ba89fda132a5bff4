"""Files as users read and write them: NumPy's functions and others, files that look like arrays.

Each engine reads and writes its own part (``engines.files``); the notebook reads headers, and gives
a file its name when it is whole. Rooms of the client after it may import it.
"""
