"""``DistArray``, the public class, and what only it needs: reading, printing, moving in place.

Functions belong in the rooms before it, which work on :class:`distnb.client.handle.array.Array` and
may not import it; ``client.reports``, ``magics`` and ``widgets`` may.
"""
