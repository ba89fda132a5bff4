"""Which worker of xdist runs which tests: those of a module run in one, which then imports, compiles
and opens what they need only once."""

from xdist.scheduler import LoadGroupScheduling

__all__ = ["ModuleScheduling"]


class ModuleScheduling(LoadGroupScheduling):
    """Sends groups of tests, and of all others whole modules, in the order in which they come."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        # Else by the number of their tests, which says nothing of what they take
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid):
        scope = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if scope == nodeid else scope
