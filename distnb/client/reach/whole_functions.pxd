cimport distnb.common.ndarrays as nd
from distnb.client.handle.fields cimport Fields, fresh, is_away, near_of
from distnb.client.reach.rehearsal cimport part
from distnb.client.reach.small_steps cimport refused
from distnb.client.reach.small_views cimport laid

cpdef step(object numpys, object function, object kind, tuple args, dict options)
cdef _with_ours(object numpys, object function, object kind, tuple args, dict options)
cdef _into(object out, object numpys, object kind, tuple args, dict options)
cdef _near(object x, list arrays, object what)
cdef _home(object kind, object arrays, tuple args, dict options)
