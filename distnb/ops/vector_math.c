/* NumPy's functions of one number as ufuncs whose loops the compiler vectorises.

   glibc's vector mathematics (libmvec) computes four to sixteen numbers at a time, to within 4 ulp.
   Without it these are the functions of libm, one number after the other. Special values are
   those of libm. No flags of floating point are left behind, as vectors raise some of their own.
*/
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#include <Python.h>
#include <numpy/ndarrayobject.h>
#include <numpy/ufuncobject.h>
#include <fenv.h>
#include <math.h>

/* One loop for each kind of processor; the loader takes the best. */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__GLIBC__)
#define CLONES __attribute__((target_clones("avx512f", "arch=haswell", "default")))
#else
#define CLONES
#endif

/* Numbers that are computed together. All of them always are, in vectors that are full, so that a
   result does not depend on its place, nor on strides. */
#define CHUNK 64

#define LOOP(name, function, T)                                                                 \
    CLONES static void name##_##T##_chunk(const T *x, T *y)                                     \
    {                                                                                           \
        _Pragma("GCC ivdep") for (int i = 0; i < CHUNK; i++) y[i] = function(x[i]);             \
    }                                                                                           \
    static void name##_##T(char **args, const npy_intp *n, const npy_intp *steps, void *unused) \
    {                                                                                           \
        const char *x = args[0];                                                                \
        char *y = args[1];                                                                      \
        const int together = steps[0] == sizeof(T) && steps[1] == sizeof(T);                    \
        npy_intp left = *n;                                                                     \
        T some[CHUNK];                                                                          \
        for (; left >= CHUNK && together; left -= CHUNK) {                                      \
            name##_##T##_chunk((const T *)x, (T *)y);                                           \
            x += CHUNK * sizeof(T);                                                             \
            y += CHUNK * sizeof(T);                                                             \
        }                                                                                       \
        for (; left > 0; left -= CHUNK) {                                                       \
            const int k = left < CHUNK ? (int)left : CHUNK;                                     \
            for (int i = 0; i < CHUNK; i++) some[i] = i < k ? *(const T *)(x + i * steps[0]) : 1; \
            name##_##T##_chunk(some, some);                                                     \
            for (int i = 0; i < k; i++) *(T *)(y + i * steps[1]) = some[i];                     \
            x += k * steps[0];                                                                  \
            y += k * steps[1];                                                                  \
        }                                                                                       \
        feclearexcept(FE_ALL_EXCEPT);                                                           \
    }

#define LOOPS(name, function)                                                                   \
    LOOP(name, function##f, float)                                                              \
    LOOP(name, function, double)                                                                \
    static PyUFuncGenericFunction name##_loops[] = {name##_float, name##_double};

/* NumPy's name, and libm's */
#define FUNCTIONS(X)                                                                            \
    X(exp, exp)                                                                                 \
    X(exp2, exp2)                                                                               \
    X(expm1, expm1)                                                                             \
    X(log, log)                                                                                 \
    X(log2, log2)                                                                               \
    X(log10, log10)                                                                             \
    X(log1p, log1p)                                                                             \
    X(sin, sin)                                                                                 \
    X(cos, cos)                                                                                 \
    X(tan, tan)                                                                                 \
    X(arcsin, asin)                                                                             \
    X(arccos, acos)                                                                             \
    X(arctan, atan)                                                                             \
    X(sinh, sinh)                                                                               \
    X(cosh, cosh)                                                                               \
    X(tanh, tanh)                                                                               \
    X(cbrt, cbrt)

FUNCTIONS(LOOPS)

static const char types[] = {NPY_FLOAT, NPY_FLOAT, NPY_DOUBLE, NPY_DOUBLE};

#define ADD(name, function)                                                                     \
    ufunc = PyUFunc_FromFuncAndData(name##_loops, NULL, types, 2, 1, 1, PyUFunc_None, #name,    \
                                    "See the function of NumPy of this name.", 0);              \
    if (ufunc == NULL || PyModule_AddObject(module, #name, ufunc) < 0) return NULL;

static struct PyModuleDef definition = {PyModuleDef_HEAD_INIT, "vector_math", NULL, -1, NULL};

PyMODINIT_FUNC PyInit_vector_math(void)
{
    PyObject *module = PyModule_Create(&definition), *ufunc;
    import_array();
    import_umath();
    if (module == NULL) return NULL;
    FUNCTIONS(ADD)
    return module;
}
