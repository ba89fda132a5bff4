"""Linear algebra on engines: whole matrices, panels, ScaLAPACK.

``engines.worker`` may import it.
"""
