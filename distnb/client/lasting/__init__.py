"""What outlives engines, notebooks and machines: names, other numbers of engines, checkpoints.

How engines that died are followed by others is for ``client.session``. Here is what needs the
arrays themselves, and their names; ``client.sparse`` and those after it may import it.
"""
