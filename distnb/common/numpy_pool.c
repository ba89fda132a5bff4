/* NumPy's memory for elements from a pool of what came back: a loop pays its page faults once.

   What NumPy allocates in a context that uses the pool comes from it, and goes back to it, wherever
   and whenever it is freed: arrays remember who gave them their memory. Below LEAST bytes it is
   malloc's. In front of all of it lies a header; where many huge pages fit, memory begins with one.
*/
#define NPY_NO_DEPRECATED_API NPY_2_0_API_VERSION
#define _GNU_SOURCE
#include <Python.h>
#include <numpy/ndarrayobject.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* Bytes: of the header, from which on memory is kept, of a huge page, and up to which zeros are
   written into what is kept; new pages, which are zero, come one by one as they are touched. */
#define HEADER 64
#define LEAST (1 << 16)
#define HUGE_PAGE (1 << 21)
#define MOST_ZEROED (1 << 25)

/* Bytes for which memory that is larger will do, as in memory_pool.py. */
#define LEAST_LARGER (1 << 20)
#define MOST_LARGER (1 << 28)

/* Sizes are an eighth apart: eight for each power of two. */
#define KINDS (64 * 8)

typedef struct Block {
    size_t size;                 /* of all of it, and which kind that is */
    int kind;
    struct Block *next, *before; /* of its kind: kept after, and before this one */
    struct Block *newer, *older; /* of all kinds */
} Block;

_Static_assert(sizeof(Block) <= HEADER, "a header must hold a block");

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Block *kept[KINDS];      /* of each kind, that which came last */
static Block *newest, *oldest;
static size_t held, limit;

/* Round up to a size of which memory is taken, and tell which kind that is. */
static size_t size_of(size_t n, int *kind)
{
    const int power = 63 - __builtin_clzll(n);
    const int shift = power - 3;
    const size_t parts = (n + ((size_t)1 << shift) - 1) >> shift; /* 8 to 16 */
    *kind = parts == 16 ? (power + 1) * 8 : power * 8 + (int)(parts - 8);
    return parts << shift;
}

/* Take a block from what is kept; the lock is held. */
static void take_out(Block *b)
{
    *(b->before ? &b->before->next : &kept[b->kind]) = b->next;
    if (b->next) b->next->before = b->before;
    *(b->newer ? &b->newer->older : &newest) = b->older;
    *(b->older ? &b->older->newer : &oldest) = b->newer;
    held -= b->size;
}

static void let_go(Block *b)
{
    if (b && b->size >= HUGE_PAGE) munmap(b, b->size);
    else free(b);
}

/* Let go what was not used for longest, until no more than so much is kept; the lock is held. */
static void make_room(size_t most)
{
    while (held > most && oldest) {
        Block *b = oldest;
        take_out(b);
        let_go(b);
    }
}

/* Return what is kept of a kind; rather than new pages up to seven kinds more, which is less than
   twice as large: arrays that shrink in a loop have the memory of those before. */
static Block *found(int kind, size_t size)
{
    const int last = kind + (size >= LEAST_LARGER && size <= MOST_LARGER ? 7 : 0);
    Block *b = NULL;
    pthread_mutex_lock(&lock);
    for (int k = kind; !b && k <= last; k++) b = kept[k];
    if (b) take_out(b);
    pthread_mutex_unlock(&lock);
    return b;
}

/* Return new pages that begin with a huge one; they are zero. */
static void *pages(size_t size)
{
    char *all = mmap(NULL, size + HUGE_PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (all == MAP_FAILED) return NULL;
    const size_t before = -(size_t)all & (HUGE_PAGE - 1);
    if (before) munmap(all, before);
    munmap(all + before + size, HUGE_PAGE - before);
#ifdef MADV_HUGEPAGE
    madvise(all + before, size, MADV_HUGEPAGE);
#endif
    return all + before;
}

static Block *system_has(size_t size, int zeros)
{
    return size >= HUGE_PAGE ? pages(size) : zeros ? calloc(1, size) : malloc(size);
}

/* Return a block of the system's, for which what is kept goes back to it if need be. */
static Block *fresh(size_t size, int kind, int zeros)
{
    Block *b = system_has(size, zeros);
    if (!b) {
        pthread_mutex_lock(&lock);
        make_room(0);
        pthread_mutex_unlock(&lock);
        b = system_has(size, zeros);
    }
    if (!b) return NULL;
    b->size = size;
    b->kind = kind;
    return b;
}

static Block *block(void *p)
{
    return (Block *)((char *)p - HEADER);
}

static void *elements(Block *b)
{
    return b ? (char *)b + HEADER : NULL;
}

/* Return memory for elements, of the pool if it has any. */
static void *taken(size_t n, int zeros)
{
    int kind = -1;
    if (n > SIZE_MAX / 2) return NULL;
    if (n < LEAST) return elements(fresh(n + HEADER, kind, zeros));
    const size_t size = size_of(n + HEADER, &kind);
    Block *b = zeros && n > MOST_ZEROED ? NULL : found(kind, size);
    if (!b) return elements(fresh(size, kind, zeros));
    return zeros ? memset(elements(b), 0, n) : elements(b);
}

static void *get(void *unused, size_t n)
{
    return taken(n, 0);
}

static void *get_zeros(void *unused, size_t count, size_t each)
{
    size_t n;
    return __builtin_mul_overflow(count, each, &n) ? NULL : taken(n, 1);
}

static void give_back(void *unused, void *p, size_t n)
{
    if (!p) return;
    Block *b = block(p);
    pthread_mutex_lock(&lock);
    if (b->kind >= 0 && b->size <= limit) {
        make_room(limit - b->size);
        b->before = b->newer = NULL;
        b->next = kept[b->kind];
        b->older = newest;
        if (b->next) b->next->before = b;
        *(newest ? &newest->newer : &oldest) = b;
        kept[b->kind] = newest = b;
        held += b->size;
        b = NULL;
    }
    pthread_mutex_unlock(&lock);
    let_go(b);
}

static void *resized(void *unused, void *p, size_t n)
{
    if (!p) return taken(n, 0);
    Block *b = block(p);
    const size_t room = b->size - HEADER;
    if (n <= room && n > room / 2) return p;
    void *other = taken(n, 0);
    if (!other) return NULL;
    memcpy(other, p, n < room ? n : room);
    give_back(NULL, p, room);
    return other;
}

static PyDataMem_Handler pool = {
    "distnb_pool", 1, {NULL, get, get_zeros, resized, give_back}
};
static PyObject *capsule;

static PyObject *use(PyObject *module, PyObject *unused)
{
    PyObject *before = PyDataMem_SetHandler(capsule);
    if (!before) return NULL;
    Py_DECREF(before);
    Py_RETURN_NONE;
}

static PyObject *keep_at_most(PyObject *module, PyObject *nbytes)
{
    const size_t most = PyLong_AsSize_t(nbytes);
    if (most == (size_t)-1 && PyErr_Occurred()) return NULL;
    pthread_mutex_lock(&lock);
    limit = most;
    make_room(most);
    pthread_mutex_unlock(&lock);
    Py_RETURN_NONE;
}

static PyObject *held_(PyObject *module, PyObject *unused)
{
    return PyLong_FromSize_t(held);
}

static PyMethodDef methods[] = {
    {"use", use, METH_NOARGS, "Let NumPy take memory for elements from the pool, in this context."},
    {"keep_at_most", keep_at_most, METH_O, "Keep no more than so many bytes from now on."},
    {"held", held_, METH_NOARGS, "Return how many bytes are kept."},
    {NULL}
};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "numpy_pool", "NumPy's memory for elements from a pool.", -1, methods
};

PyMODINIT_FUNC PyInit_numpy_pool(void)
{
    import_array();
    capsule = PyCapsule_New(&pool, "mem_handler", NULL);
    return capsule ? PyModule_Create(&definition) : NULL;
}
