"""What a session says of itself: profiles, memory, scaling, and the rules of ``%distdoctor``.

Drawing is for ``widgets``. Only ``magics``, ``widgets`` and :mod:`distnb` may import it.
"""
