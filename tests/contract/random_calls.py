"""Random calls of NumPy's functions: a line of code, run on NumPy's arrays and on distnb's.

A call is text, so that one that fails is its own example. Which keywords a function has stands in
one table; what each may be is a function of its name.
"""

import contextlib
import random
import warnings

import numpy as np

import distnb as dnb

DTYPES = "? b h i q B H I Q e f d F D".split()
SHAPES = [(), (1,), (4,), (3, 4), (4, 1), (1, 4), (3, 1, 4), (2, 3, 4), (0,), (0, 4), (3, 0), (7,)]

#: Functions, the operands that they take, and their keywords. ``x`` is an array or alike of any
#: shape, ``y`` one that broadcasts against it, ``s`` the same as ``x`` is, ``v`` of one axis, ``m``
#: a matrix, ``n`` an integer, ``i`` an array of indices, ``q`` fractions, ``p`` a shape.
CALLS = """
{unary} x out where dtype casting
{binary} x y out where dtype casting
{binary} y x
{binary}.reduce x axis dtype out keepdims initial where
{binary}.accumulate x axis1 dtype
{binary}.outer v v
add.reduceat v i
sum prod x axis dtype out keepdims initial where
max min amax amin x axis out keepdims initial where
any all x axis out keepdims where
mean x axis dtype out keepdims where
std var x axis dtype out ddof keepdims where correction
ptp x axis out keepdims
nansum nanprod x axis dtype out keepdims where
nanmax nanmin x axis out keepdims initial where
nanmean x axis dtype out keepdims where
nanstd nanvar x axis ddof keepdims where
median nanmedian x axis keepdims
quantile nanquantile x q axis method keepdims
percentile x q axis method keepdims
argmax argmin x axis keepdims
nanargmax nanargmin x axis keepdims
cumsum cumprod x axis dtype out
nancumsum nancumprod x axis dtype
cumulative_sum cumulative_prod x axis1 dtype include_initial
diff x one axis prepend append
ediff1d x to_end to_begin
gradient x axis
sort x axis kind stable
argsort x axis kind_stable
unique x return_index return_inverse return_counts axis equal_nan
unique_all unique_counts unique_inverse x
searchsorted rising x side
digitize x rising right
bincount v minlength weights
histogram x bins range density weights
histogram_bin_edges x bins range
count_nonzero x axis keepdims
nonzero argwhere flatnonzero x
where x y y
clip x lo hi out dtype
round around x decimals
nan_to_num x copy nan posinf neginf
isclose x y rtol atol equal_nan
allclose array_equal array_equiv x y
isin x v assume_unique invert kind_isin
intersect1d setdiff1d setxor1d v v
reshape x p order copy
ravel x order
transpose x axes
moveaxis x axis1 axis1
swapaxes x axis1 axis1
rollaxis x axis1
squeeze expand_dims x axis
broadcast_to x p
atleast_1d atleast_2d atleast_3d x
flip x axis
fliplr flipud x
rot90 x k axes2
roll x shift axis
repeat x one axis
tile x reps
concatenate pair axis dtype casting
stack pair axis dtype casting
vstack hstack dstack column_stack pair
split array_split x n axis
hsplit vsplit dsplit x n
append x y axis
insert x n1 y axis1
delete x n1 axis
pad x width mode
take x i axis mode_take out
choose i pair mode_take
compress cond x axis out
extract x x
diag diagflat x k
diagonal trace x k
tril triu x k
vander v N increasing
outer kron x y
dot inner vdot x s
matmul vecdot x s
cross v3 v3
tensordot m m axes_td
convolve correlate v v mode_conv
interp x rising v left right
trapezoid x dx axis
cov corrcoef x rowvar bias ddof dtype_float
average x axis keepdims
full_like x fill dtype shape_like
zeros_like ones_like x dtype shape_like
linspace logspace geomspace num num N endpoint dtype_float
arange num num dtype
eye N M k dtype
full p fill dtype
ones zeros p dtype
tri N M k dtype
fill_diagonal m fill wrap
copyto x y where casting
put x ok y mode_take
putmask x cond y
place x cond v
iscomplex isreal isneginf isposinf iscomplexobj isrealobj x
real imag angle conj x
real_if_close x
sinc i0 x
unwrap v
trim_zeros v
result_type can_cast min_scalar_type x
shape ndim size x
apply_along_axis np.sum axis1 x
meshgrid v v indexing sparse
unravel_index i p
packbits unpackbits x axis
fft.fft fft.ifft x nfft axis norm
fft.rfft x nfft axis norm
fft.fftn fft.ifftn m norm
fft.fftshift fft.ifftshift x axes_sh
linalg.norm x ord axis keepdims
linalg.det linalg.slogdet linalg.matrix_rank mm
linalg.trace linalg.diagonal x offset
linalg.vector_norm x keepdims
linalg.multi_dot mms
linalg.matrix_power mm k
bitwise_count x
nextafter spacing heaviside x y
frexp modf x
divmod x y
ldexp x i
float_power fmod x y out where
astype x dtype_pos copy
"""

UNARY = """negative positive absolute fabs sign sqrt square cbrt reciprocal exp exp2 expm1 log log2
log10 log1p sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh deg2rad rad2deg
floor ceil trunc rint isnan isinf isfinite signbit invert logical_not conjugate""".split()
BINARY = """add subtract multiply divide floor_divide remainder power maximum minimum fmax fmin
equal not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and
bitwise_or bitwise_xor left_shift right_shift hypot arctan2 copysign logaddexp logaddexp2 gcd
lcm""".split()

ELEMENTWISE = frozenset((*UNARY, *BINARY, "float_power", "fmod", "clip"))

#: Methods of arrays, with operands and keywords as above, and statements.
METHODS = """
sum prod axis dtype out keepdims initial where
max min axis keepdims initial where
mean axis dtype out keepdims where
std var axis dtype out ddof keepdims where
any all axis out keepdims where
argmax argmin axis out keepdims
cumsum cumprod axis dtype out
sort axis kind
argsort axis kind_stable
round decimals
clip lo hi
ravel flatten order
reshape p
transpose axes
swapaxes axis1 axis1
squeeze axis
repeat one axis
take i axis mode_take
put ok y mode_take
choose pair
compress cond axis
diagonal trace k
nonzero
dot s
astype dtype_pos copy
copy
fill fill
item
tolist
conj conjugate
tobytes
__len__ __bool__ __float__ __int__ __index__ __complex__
"""
STATEMENTS = """
x[key] = y
x[key] += y
x[key] *= 2
x += y
x -= y
x *= y
x /= y
x //= y
x **= 2
x &= y
x |= cond
x @= m
x.T[key] = y
x.flat[key1] = y
x.real = y
x.reshape(-1)[key1] = y
x[cond] = y
x[x > 0] = 1
x[i] = y
x.shape = p
r = x[key]
r = x[cond]
r = x[i]
r = x[i, i]
r = x.T[key]
r = x[key][key]
r = x @ s
r = x + y
r = x - y
r = x * y
r = x / y
r = x // y
r = x % y
r = x ** y
r = - x
r = ~ x
r = abs(x)
r = x < y
r = x == y
r = x != y
r = x & y
r = x << y
r = divmod(x, y)
r = 2 - x
r = 2 ** x
r = x ** half
r = list(x)
r = len(x)
r = bool(x)
r = float(x)
r = int(x)
r = [ row for row in x ]
r = x.real
r = x.imag
r = x.T
r = x.flat[key1]
""".strip().splitlines()


def _calls():
    """Return every function with its arguments: (name, names of arguments)."""
    found = []
    for line in CALLS.strip().splitlines():
        names, arguments = [], []
        for word in line.split():
            of_ufuncs = "{" in word
            if not arguments and (of_ufuncs or _is_function(word)):
                kinds = UNARY if "{unary}" in word else BINARY
                rest = word.rpartition("}")[2]
                names += [k + rest for k in kinds] if of_ufuncs else [word]
            else:
                arguments.append(word)
        found.append((names, arguments))
    return found


def _is_function(word):
    found = np
    for part in word.split("."):
        found = getattr(found, part, None)
    return callable(found) and word != "copy" and len(word) > 1


class Maker:
    """Makes a call: a line of code, and the arrays that it names."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.arrays = {}
        self.shape = self.pick(SHAPES)

    def pick(self, items):
        return self.random.choice(list(items))

    def chance(self, p):
        return self.random.random() < p

    # -- arrays ------------------------------------------------------------------------------

    def values(self, shape, dtype):
        """Return elements that are interesting more often than not."""
        rng = np.random.default_rng(self.random.randrange(1 << 30))
        kind = np.dtype(dtype).kind
        low = 0 if kind in "ub" else -5
        x = rng.integers(low, 6 if kind != "b" else 2, shape)
        if kind in "fc":
            x = x + rng.choice([0, 0.5, 0.25], shape)
            if self.chance(0.2) and x.size:
                x = np.where(
                    rng.random(shape) < 0.2, rng.choice([np.nan, np.inf, -np.inf, -0.0]), x
                )
            if kind == "c":
                x = x + 1j * rng.integers(-3, 4, shape)
        with np.errstate(all="ignore"):
            return np.array(x, dtype)

    def array(self, shape, dtype=None, seen=True):
        """Return the name of a new array, or an expression of one, a list or a number."""
        dtype = dtype or self.pick(DTYPES)
        kind = self.pick("dddddddnlp" if self.arrays else "d")
        if kind == "p":
            return self.pick(["2", "-1", "0.5", "True", "1j", "np.float32(2)", "np.int8(3)", "300"])
        name = "abcdefgh"[len(self.arrays)]
        flipped = seen and shape and kind == "d" and self.chance(0.25)
        self.arrays[name] = (self.values(shape, dtype), kind)
        if not flipped:
            return name
        if self.chance(0.5):
            self.arrays[name] = (self.values(shape[::-1], dtype), kind)
            return f"{name}.T"
        long = (2 * shape[0], *shape[1:])
        self.arrays[name] = (self.values(long, dtype), kind)
        return f"{name}[::{self.pick(['-2', '2'])}]"

    def like(self, shape):
        """Return a shape that broadcasts against another one, most often."""
        if self.chance(0.08):
            return self.pick(SHAPES)
        cut = self.random.randrange(len(shape) + 1) if self.chance(0.4) else 0
        return tuple(1 if self.chance(0.2) else n for n in shape[cut:])

    # -- arguments ---------------------------------------------------------------------------

    def argument(self, word):
        """Return the text of an argument; None if it is to be left out."""
        make = getattr(self, f"_{word}", None)
        if make is not None:
            return make()
        positional = {
            "x": lambda: self.array(self.shape),
            "s": lambda: self.array(self.pick([self.shape, self.shape[::-1], self.shape[-1:]])),
            "y": lambda: self.array(self.like(self.shape)),
            "v": lambda: self.array(self.pick([(5,), (5,), (3,), (0,), (1,)])),
            "v3": lambda: self.array(self.pick([(3,), (4, 3), (2,)])),
            "vi": lambda: self.array(self.pick([(3,), (0,), (2,)]), self.pick("qB?")),
            "m": lambda: self.array(self.pick([(3, 4), (4, 3), (3, 3), (0, 3)])),
            "mm": lambda: self.array(
                self.pick([(3, 3), (2, 3, 3), (0, 0), (3, 4)]), self.pick("fdDi")
            ),
            "mms": lambda: (
                f"[{self.array((2, 3), 'd')}, {self.array((3, 4), 'd')}, {self.array((4,), 'd')}]"
            ),
            "n": lambda: self.pick(["0", "1", "2", "3", "-1"]),
            "rising": lambda: "[-3, -1, 0, 0, 2.5]",
            "ok": lambda: self.pick(["[0, 0]", "0", "[-1]"]),
            "one": lambda: self.pick(["1", "2", "3", "-1"]),
            "n1": lambda: self.pick(["0", "1", "-1", "9", "[0, 1]", "slice(0, 2)", "1.5"]),
            "i": lambda: self.pick(
                ["[0, 1]", "0", "[[0], [-1]]", "[0, 9]", "[]", self.array((2,), "q")]
            ),
            "cond": lambda: self.array(
                self.pick([self.shape, self.shape[:1], (3,)]), "?", seen=False
            ),
            "q": lambda: self.pick(["0.5", "[0, 0.3, 1]", "1", "1.5", "[[0.1], [0.9]]"]),
            "p": lambda: str(self.pick([self.shape, (4, 3), (-1,), (2, -1), (12,), (), 3, (3, 4)])),
            "axis1": lambda: self.pick(["0", "1", "-1", "5"]),
            "shift": lambda: self.pick(["1", "-2", "(1, 2)", "7"]),
            "reps": lambda: self.pick(["2", "(2, 1)", "0", "(1, 2, 2)"]),
            "pair": self.pair,
            "num": lambda: self.pick(["0", "1", "2.5", "-3", "10", "np.float32(3)", "np.inf"]),
            "N": lambda: self.pick(["3", "5", "0", "1"]),
            "fill": lambda: self.pick(["2", "-1", "0.5", "True", "1j", "300", "np.nan", "[1, 2]"]),
            "bins": lambda: self.pick(["3", "1", "[0, 1, 2.5, 4]", "[2, 1]", "'auto'", "0"]),
            "width": lambda: self.pick(["1", "(1, 2)", "((0, 1), (2, 0))", "-1", "0"]),
            "lo": lambda: self.pick(["0", "-1.5", "None", self.array(self.like(self.shape))]),
            "hi": lambda: self.pick(["2", "3.5", "None", "-3"]),
            "np.sum": lambda: "np.sum",
            "dtype_pos": lambda: self._dtype(),
            "key": self.key,
            "key1": lambda: self.pick(["0", "-1", "1:3", "::2", "[0, 0]", "99", "::-1"]),
        }
        made = positional.get(word)
        return None if made is None else made()

    def pair(self):
        shapes = [self.shape, self.shape if self.chance(0.8) else self.like(self.shape)]
        parts = ", ".join(self.array(shape) for shape in shapes)
        return f"[{parts}]" if self.chance(0.8) else f"({parts},)"

    def key(self):
        """Return an index of as many axes as there are, most often."""
        n = len(self.shape) + (self.pick([0, 0, 0, -1, 1]) if self.shape else 0)
        some = [
            "0",
            "-1",
            ":",
            "1:",
            "::-1",
            "::2",
            "...",
            "None",
            "1:1",
            "5",
            "[0, -1]",
            "True",
            "-3:-1",
        ]
        parts = [self.pick(some) for _ in range(max(n, 0))]
        return ", ".join(parts) if parts else self.pick(["...", "()", "None"])

    def _axis(self):
        n = len(self.shape)
        return self.pick(
            ["None", "0", "-1", "1", "(0, 1)", "()", "(-1,)", "0", str(n), "(0, 0)", "1.5"]
        )

    def _dtype(self):
        return self.pick(
            ["'d'", "'f'", "'i'", "'q'", "'?'", "'D'", "'b'", "'e'", "float", "int", "bool"]
        )

    _dtype_float = _dtype

    def _out(self):
        return self.pick(
            [
                self.array(self.shape, seen=False),
                self.array(self.like(self.shape), seen=False),
                "None",
            ]
        )

    def _where(self):
        return self.pick([self.array(self.like(self.shape), "?", seen=False), "True", "False"])

    KEYWORDS = {  # noqa: RUF012
        "casting": ["'safe'", "'same_kind'", "'unsafe'", "'no'"],
        "keepdims": ["True", "False"],
        "initial": ["0", "1", "2.5", "None", "-1"],
        "ddof": ["0", "1", "9", "0.5"],
        "correction": ["1", "0"],
        "method": ["'linear'", "'lower'", "'nearest'", "'hazen'", "'inverted_cdf'", "'nope'"],
        "include_initial": ["True", "False"],
        "prepend": ["0", "[1]", "1.5"],
        "append": ["0", "2"],
        "to_end": ["0", "[1, 2]"],
        "to_begin": ["0", "None"],
        "kind": ["'stable'", "'quicksort'", "None", "'heapsort'"],
        "stable": ["True", "None"],
        "kind_stable": ["'stable'"],
        "return_index": ["True"],
        "return_inverse": ["True"],
        "return_counts": ["True"],
        "equal_nan": ["True", "False"],
        "side": ["'left'", "'right'", "'middle'"],
        "sorter": ["None", "[0, 1]"],
        "right": ["True", "False"],
        "minlength": ["0", "8", "-1"],
        "weights": ["None", "[1, 2, 3, 4, 5]"],
        "range": ["None", "(0, 3)", "(2, 1)"],
        "density": ["True", "False"],
        "decimals": ["0", "1", "-1", "2"],
        "copy": ["True", "False", "None"],
        "nan": ["1.5", "0"],
        "posinf": ["9", "None"],
        "neginf": ["-9"],
        "rtol": ["0.1", "1e-5"],
        "atol": ["0.5", "0"],
        "assume_unique": ["True", "False"],
        "invert": ["True", "False"],
        "kind_isin": ["None", "'sort'"],
        "order": ["'C'", "'F'", "'A'", "'K'"],
        "axes": ["None", "(0, 1)", "(1, 0)", "(-1, 0)", "(0, 0)"],
        "k": ["0", "1", "-2", "9"],
        "offset": ["0", "1", "-1"],
        "axes2": ["(0, 1)", "(1, 0)", "(0, 0)"],
        "mode": [
            "'constant'",
            "'edge'",
            "'wrap'",
            "'reflect'",
            "'symmetric'",
            "'mean'",
            "'linear_ramp'",
            "'no'",
        ],
        "mode_take": ["'raise'", "'wrap'", "'clip'"],
        "mode_conv": ["'full'", "'same'", "'valid'", "'no'"],
        "increasing": ["True", "False"],
        "axes_td": ["1", "0", "2", "([0], [0])", "([1], [0])", "(0, 1)", "3"],
        "left": ["-1", "None"],
        "dx": ["0.5"],
        "rowvar": ["True", "False"],
        "bias": ["True", "False"],
        "shape_like": ["(2, 3)", "4", "()"],
        "endpoint": ["True", "False"],
        "M": ["2", "None", "4"],
        "wrap": ["True", "False"],
        "indexing": ["'ij'", "'xy'"],
        "sparse": ["True", "False"],
        "nfft": ["3", "8"],
        "norm": ["'ortho'", "None", "'forward'", "'x'"],
        "axes_sh": ["0", "-1", "None"],
        "ord": ["None", "1", "2", "np.inf", "'fro'", "-1", "0", "'nuc'"],
    }
    #: Keywords whose values are made for the call.
    MADE = frozenset(("axis", "out", "where", "dtype", "dtype_float"))
    NAMES = {  # noqa: RUF012
        "kind_stable": "kind",
        "kind_isin": "kind",
        "shape_like": "shape",
        "nfft": "n",
        "axes_sh": "axes",
        "mode_take": "mode",
        "mode_conv": "mode",
        "axes2": "axes",
        "axes_td": "axes",
        "dtype_float": "dtype",
    }

    def call(self):
        """Return a line of code."""
        what = self.random.random()
        if what < 0.3:
            words = _words(self.pick(STATEMENTS))
            if (
                len(words) == 3 and words[1].endswith("=") and words[1] != "="
            ):  # x.T += y is an error
                words[0] = self.array(self.shape, seen=False)
            return " ".join(self._word(w) for w in words)
        if what < 0.45:
            names, arguments = self.pick(_METHODS)
            x = self.array(self.shape)
            if x[0] not in self.arrays:
                x = f"np.asarray({x})"
            return f"r = {x}.{self.pick(names)}({self.arguments(arguments)})"
        names, arguments = self.pick(_CALLS)
        name = self.pick(names)
        line = f"r = np.{name}({self.arguments(arguments)})"
        if "where=" in line and name in ELEMENTWISE:  # without out= memory stays as it was
            line = line.replace(", out=None", "")
            if "out=" not in line:
                line = line[:-1] + f", out={self.array(self.shape, seen=False)})"
        return line

    def _word(self, word):
        found = self.argument(word) if word.isidentifier() and word in _OPERANDS else None
        return word if found is None else found

    def arguments(self, words):
        """Return the text of the arguments that words name: operands, and some of the keywords."""
        parts = []
        for word in words:
            if word in self.KEYWORDS or word in self.MADE:
                if word == "kind_stable" or self.chance(0.35):
                    choices = self.KEYWORDS.get(word)
                    made = self.pick(choices) if choices else self.argument(word)
                    parts.append(f"{self.NAMES.get(word, word)}={made}")
                continue
            made = self.argument(word)
            if made is None:
                raise KeyError(f"{word}: no operand and no keyword")
            parts.append(made)
        return ", ".join(parts)


_OPERANDS = frozenset("x y s v m i cond key key1 p".split())


def _words(line):
    for mark in "[]().,":
        line = line.replace(mark, f" {mark} ")
    return line.split()


_CALLS = _calls()
_METHODS = []
for _line in METHODS.strip().splitlines():
    _names = [w for w in _line.split() if hasattr(np.ndarray, w) and w != "copy"] or ["copy"]
    if _line.startswith(("copy", "astype")):
        _names = [_line.split()[0]]
    _METHODS.append((_names, [w for w in _line.split() if w not in _names]))


# -- running ---------------------------------------------------------------------------------------


def run(line, namespace, arrays, session=None):
    """Return what a line gives, or raises, and its arrays after it; the result is written into."""
    names = {"np": namespace, "half": 0.5, **arrays}
    names.pop("r", None)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        try:
            exec(line, names)
            if session is not None:  # let engines raise what they have to raise
                _read(names.get("r"))
                session.flush()
        except Exception as error:
            if session is not None:  # several things may be wrong, and some are found later
                with contextlib.suppress(type(error), *_REFUSALS):
                    session.flush()
                    _read([names[name] for name in arrays])
            return error, names, told
    return names.get("r"), names, told


def _read(x):
    """Read a result: what nobody reads may not have been computed yet."""
    if isinstance(x, list | tuple):
        for item in x:
            _read(item)
    elif isinstance(x, dnb.DistArray):
        x.to_numpy()


def given(arrays, make):
    """Return fresh arrays: distributed ones by ``make``, ndarrays, lists."""
    kinds = {"d": make, "n": np.copy, "l": lambda x: x.tolist()}
    return {name: kinds[kind](x) for name, (x, kind) in arrays.items()}


def is_left_out(line, arrays):
    """Tell whether a call is one on which NumPy and distnb agree to differ.

    NumPy sorts complex numbers into bins by chance; finds out later, or never, that a function
    cannot do what it is asked if there are no elements to do it with; rounds on the way where it
    computes in what it is given (half precision in ``fft``, ``out=`` of ``std``); takes for
    ``out=`` of a scan without an axis what has as many elements, and a fraction for an index if it
    is a single one. What ``put`` makes of an infinity in an array of integers C leaves open,
    and what negative numbers are without a sign; NumPy's quick sort the order of NaN, which number
    those of ``unique_inverse``; float16's comparison of records puts NaN first, and a product of
    some is inf * 0 in one order. With ``initial`` NumPy's ``power`` and its like see the last
    element alone, and ``nanquantile`` of no axes has those of ``q`` elsewhere than ``quantile``.
    """
    kinds = "".join(x.dtype.char for x, _ in arrays.values())
    empty = any(not x.size for x, _ in arrays.values())
    scalars = any(not x.ndim for x, _ in arrays.values())
    words = []
    if empty:
        words += [
            "average",
            "fill_diagonal",
            "flat",
            "dot",
            "inner",
            "repeat",
            "bincount",
            "insert",
            "shape",
        ]
        words += ["histogram", "take", "compress", "choose"]
    if scalars:
        words += ["take", "put", "insert", "compress"]
        words += ["mean(", "var(", "std("] if "where=" in line else []
    if any(x.dtype.kind in "fc" and not np.isfinite(x).all() for x, _ in arrays.values()):
        words += ["put(", "unique_inverse(", "unique_all("]
        words += ["unique("] if "e" in kinds else []
    if "out=" in line and any(x.dtype.kind == "u" for x, _ in arrays.values()):
        words += ["mean(", "nanmin(", "nanmax("]
        words += ["min", "max"] if "initial=-1" in line else []
    if "initial" in line:
        words += ["power.reduce", "arctan2.reduce", "hypot.reduce"]
    if "axis=()" in line:
        words += ["nanquantile", "nanpercentile"]
    if "np.float32(2)" in line or ", 0.5" in line:
        words += ["take("]
    if "out=" in line:
        words += ["std(", "var(", "cumsum(", "cumprod(", "round(", "ptp("]
    if any(k in kinds for k in "FD?"):
        words += ["histogram"]
    if "e" in kinds:
        words += ["fft", "prod("]
    return any(word in line for word in words)


class DiffersError(AssertionError):
    """A call does not do what NumPy does."""


def check(session, line, arrays):
    """Run a line on both; raise DiffersError where results, exceptions or arrays after it differ."""
    if is_left_out(line, arrays):
        return
    expected, after, _ = run(line, np, given(arrays, np.copy))
    found, mine, _ = run(line, dnb, given(arrays, dnb.array), session)
    if isinstance(expected, Exception) or isinstance(found, Exception):
        _same_error(expected, found)
    else:
        _same(expected, found)
        _write(expected)
        _write(found)
    for name, (before, kind) in arrays.items():
        if kind != "l" and not (isinstance(found, Exception) and _is_known(before, mine[name])):
            _same(after[name], mine[name])


def difference(session, seed):
    """Return in what a drawn call differs from NumPy's; None if in nothing."""
    maker = Maker(seed)
    line = maker.call()
    if "arctan2.reduce" in line:  # NumPy's own errs with AVX-512, as the memory of its axes lies
        return None
    try:
        check(session, line, maker.arrays)
    except DiffersError as error:
        shown = {name: (x.dtype.char, x.shape) for name, (x, _) in maker.arrays.items()}
        return f"seed {seed}: {line}\n    {shown}\n    {error}"
    return None


def _is_known(before, x):
    """Tell whether it is known what a failed command has not written: all, or none of an array.

    NumPy writes numbers of a list one by one, up to the one that it refuses.
    """
    if not isinstance(x, dnb.DistArray):
        return False
    return bool(x.dbase.lost) or np.array_equal(before, x.to_numpy(), equal_nan=True)


def _same_error(expected, found):
    both = isinstance(expected, Exception), isinstance(found, Exception)
    kind = {(True, False): "SILENT", (False, True): "REFUSED", (True, True): "OTHER"}[both]
    if kind == "OTHER" and isinstance(found, _REFUSALS):
        return
    raise DiffersError(f"{kind} {_said(expected)}; distnb: {_said(found)}")


#: Where several things are wrong with a call, it may be another one that is told.
_REFUSALS = (ValueError, TypeError, IndexError, ArithmeticError, AttributeError, RuntimeError)


def _said(x):
    return f"{type(x).__name__}: {x}"[:200] if isinstance(x, Exception) else f"{x!r}"[:200]


def _write(x):
    """Write into a result, which shows whether it aliases."""
    if isinstance(x, list | tuple):
        for item in x:
            _write(item)
    elif isinstance(x, np.ndarray | dnb.DistArray) and x.ndim and x.size:
        try:
            x[...] = 1
        except ValueError as error:
            if "read-only" not in str(error):
                raise


def _is_nan(x):
    return isinstance(x, float | complex) and bool(np.isnan(x))


_CLOSE = {"e": 2e-2, "f": 2e-5, "F": 2e-5, "d": 1e-9, "D": 1e-9}


def _same(expected, found):
    if isinstance(expected, list | tuple):
        if not isinstance(found, list | tuple) or len(found) != len(expected):
            raise DiffersError(f"{expected!r}; distnb: {found!r}"[:300])
        for e, f in zip(expected, found, strict=True):
            _same(e, f)
        return
    if not isinstance(expected, np.ndarray | np.generic):
        other = found.item() if isinstance(found, dnb.DistArray) and not found.ndim else found
        if expected != other and not (_is_nan(expected) and _is_nan(other)):
            raise DiffersError(f"{expected!r}; distnb: {found!r}"[:300])
        return
    values = found.to_numpy() if isinstance(found, dnb.DistArray) else np.asarray(found)
    if (values.shape, values.dtype) != (expected.shape, expected.dtype):
        raise DiffersError(
            f"{expected.shape} {expected.dtype}; distnb: {values.shape} {values.dtype}"
        )
    if isinstance(expected, np.generic) and not getattr(found, "single", True):
        raise DiffersError(f"{type(expected).__name__}; distnb: {type(found).__name__} {found}")
    close = _CLOSE.get(values.dtype.char, 0)
    with np.errstate(all="ignore"):
        if values.dtype.kind == "c":  # C leaves open which parts of a product are not finite
            finite = np.isfinite(expected)
            good = np.array_equal(finite, np.isfinite(values))
            values, expected = (values[finite], expected[finite]) if good else (values, expected)
        if not np.allclose(values, expected, close, close, equal_nan=True):
            raise DiffersError(f"{expected!r}; distnb: {values!r}"[:600])
