"""Which worker of xdist runs which tests: those of a module run in one, which then imports, compiles
and opens what they need only once."""

from xdist.scheduler import LoadGroupScheduling

__all__ = ["ModuleScheduling"]


class ModuleScheduling(LoadGroupScheduling):
    """Sends groups of tests, and of all others whole modules, in the order in which they come."""

    def __init__(self, config, log=None):
        super().__init__(config, log)
        config.option.loadscopereorder = (
            False  # by their number, which says nothing of what they take
        )

    def _split_scope(self, nodeid):
        scope = super()._split_scope(nodeid)
        return nodeid.partition("::")[0] if scope == nodeid else scope
