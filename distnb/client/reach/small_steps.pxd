cimport cython

cimport distnb.common.ndarrays as nd

from distnb.client.handle.fields cimport Fields, fresh, is_away, near_of, stayed
from distnb.client.reach.promised_layouts cimport promised
from distnb.client.reach.rehearsal cimport part
from distnb.client.reach.small_views cimport indexed, is_plain, laid

cpdef quick(object run, object inputs, bint seen=*)
@cython.locals(second=Fields, direct=bint, nbytes=Py_ssize_t, largest=Py_ssize_t)
cpdef quick_pair(object ufunc, object run, Fields x, object y, bint swap=*, bint seen=*)
@cython.locals(away=bint, nbytes=Py_ssize_t)
cpdef quick_one(object run, Fields x, bint seen=*)
@cython.locals(second=Fields)
cpdef bint quick_into(object run, Fields out, object other)
cpdef quick_out(object run, object inputs, object out, object where=*)
cpdef of_ufunc(object ufunc, tuple inputs, bint seen=*)
cpdef of_call(object ufunc, tuple inputs, dict options, bint seen=*)
cpdef of_scalars(object run, object inputs, bint seen=*)
cpdef done(object run, object args, bint seen=*)
@cython.locals(direct=bint)
cdef _done(object run, object args, bint seen)
cpdef bint store(Fields x, object key, object value)
@cython.locals(one=Fields, alike=bint, apart=bint, others=bint, total=Py_ssize_t, most=Py_ssize_t)
cdef _taken(object inputs)
cdef bint _is_theirs(object run, object args)
@cython.locals(nbytes=Py_ssize_t)
cdef bint _is_dear(object run, object near)
cdef Py_ssize_t _largest(object args)
cdef Py_ssize_t _line
cdef bint _is_users()
cpdef refused(object error)
@cython.locals(other=Fields)
cdef _given(Fields x, object value)
cdef bint _are_all(object items, object kinds)
@cython.locals(plain=bint)
cdef _index(Fields x, object near, object key)
@cython.locals(one=Fields)
cdef _positions(Fields x, object key)
cpdef chosen(Fields x, object key)
@cython.locals(away=bint)
cpdef picked(Fields x, Fields key, object long)
