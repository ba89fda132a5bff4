cimport distnb.common.ndarrays as nd
from distnb.client.handle.fields cimport Fields, fresh, is_away, near_of
from distnb.client.reach.rehearsal cimport part
from distnb.client.reach.small_steps cimport refused
from distnb.client.reach.small_views cimport laid

cpdef step(object numpys, object function, object kind, tuple args, dict options)
cdef _with_ours(object numpys, object function, object kind, tuple args, dict options)
cpdef into_given(object out, object numpys, object kind, tuple args, dict options)
cdef _near(object x, list arrays, object what)
cdef _home(object kind, object arrays, tuple args, dict options)
cdef _named(dict options, list arrays, object kind)
cdef _alone(object kind, tuple args, dict options)
cdef bint _is_shape(object x)
cdef bint _is_result(object found)
cdef bint _shows(object found, object nears)
cdef _results(object session, object found, object promised)
