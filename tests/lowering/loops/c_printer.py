"""A printer of the loop language as C99: a test that a printer is one file and needs no other one.

Integers wrap around and products are not contracted with sums, as the compiler is told.
"""

import ctypes
import math
import subprocess

import numpy as np

from relgraph.lowering.loops.nodes import (
    Const,
    If,
    Let,
    Load,
    Loop,
    Store,
    Var,
    While,
    buffers_of,
)
from relgraph.ops.elementwise import Cast

FLAGS = ("-std=c99", "-O1", "-fwrapv", "-ffp-contract=off", "-fPIC", "-shared")
_TYPES = {"bool": "bool", "float32": "float", "float64": "double"}
_INT64_MIN = "(-INT64_C(9223372036854775807) - 1)"

_PRIMITIVES = {
    "add": "{0} + {1}", "sub": "{0} - {1}", "mul": "{0} * {1}", "div": "{0} / {1}",
    "rem": "{0} % {1}", "min": "{0} < {1} ? {0} : {1}", "max": "{0} > {1} ? {0} : {1}",
    "less": "{0} < {1}", "equal": "{0} == {1}", "and": "{0} && {1}", "or": "{0} || {1}",
    "not": "!{0}", "select": "{0} ? {1} : {2}", "sum": "{0} + {1}",
}  # fmt: skip

_MATH = (
    "sqrt", "cbrt", "floor", "ceil", "trunc", "rint", "isnan", "isinf", "isfinite", "signbit",
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan", "sinh", "cosh",
    "tanh", "erf", "erfc",
)  # fmt: skip
_RENAMED = {
    "absolute": "fabs", "gamma": "tgamma", "gammaln": "lgamma",
    **{f"arc{f}": f"a{f}" for f in ("sin", "cos", "tan", "sinh", "cosh", "tanh")},
}  # fmt: skip
FLOATS = {
    **{name: f"{name}({{0}})" for name in _MATH},
    **{name: f"{function}({{0}})" for name, function in _RENAMED.items()},
    "hypot": "hypot({0}, {1})", "copysign": "copysign({0}, {1})", "power": "pow({0}, {1})",
    "arctan2": "atan2({0}, {1})", "reciprocal": "1 / {0}", "true_divide": "{0} / {1}",
    "maximum": "{0} > {1} || {0} != {0} ? {0} : {1}",
    "minimum": "{0} < {1} || {0} != {0} ? {0} : {1}",
    "floor_divide": "f_quotient({0}, {1})", "remainder": "f_rest({0}, {1})",
    "sign": "{0} != {0} ? {0} : ({0} > 0) - ({0} < 0)",
}  # fmt: skip
INTEGERS = {
    "absolute": "{0} < 0 ? -{0} : {0}", "sign": "({0} > 0) - ({0} < 0)",
    "maximum": "{0} > {1} ? {0} : {1}", "minimum": "{0} < {1} ? {0} : {1}",
    **dict.fromkeys(("floor", "ceil", "trunc"), "{0}"), "isnan": "0", "isinf": "0",
    "isfinite": "1", "floor_divide": "i_quotient({0}, {1})", "remainder": "i_rest({0}, {1})",
    "bitwise_and": "{0} & {1}", "bitwise_or": "{0} | {1}", "bitwise_xor": "{0} ^ {1}",
    "left_shift": "{1} >= 0 && {1} < {bits} ? {0} << {1} : 0",
    "right_shift": "{1} >= 0 && {1} < {bits} ? {0} >> {1} : -({0} < 0)",
}  # fmt: skip
TRUTHS = {**INTEGERS, "invert": "!{0}"}
INTEGERS["invert"] = "~{0}"
UNSIGNED = {
    **INTEGERS, "absolute": "{0}", "floor_divide": "{1} == 0 ? 0 : {0} / {1}",
    "remainder": "{1} == 0 ? 0 : {0} % {1}", "right_shift": "{1} < {bits} ? {0} >> {1} : 0",
}  # fmt: skip
ALL = {
    "add": "{0} + {1}", "subtract": "{0} - {1}", "multiply": "{0} * {1}", "negative": "-{0}",
    "square": "{0} * {0}", "where": "{0} ? {1} : {2}", "equal": "{0} == {1}",
    "not_equal": "{0} != {1}", "less": "{0} < {1}", "less_equal": "{0} <= {1}",
    "greater": "{0} > {1}", "greater_equal": "{0} >= {1}", "logical_and": "({0} != 0) & ({1} != 0)",
    "logical_or": "({0} != 0) | ({1} != 0)", "logical_xor": "({0} != 0) != ({1} != 0)",
    "logical_not": "{0} == 0",
}  # fmt: skip
SKIPPED = {
    "clip": "is two others",
    **dict.fromkeys(
        ("logaddexp", "log1mexp", "sigmoid", "softplus", "xlogy", "xlog1py", "logit"),
        "is a formula of several functions of math.h",
    ),
    **dict.fromkeys(
        ("erfcx", "logerfc", "digamma", "trigamma", "polygamma", "kv", "kve", "iv", "ive", "ndtr",
         "log_ndtr", "ndtri", "betaln"), "is a function of SciPy that math.h does not have",
    ),
}  # fmt: skip
"""The elementwise ops that this printer does not spell, and why."""

PRELUDE = f"""#include <stdbool.h>
#include <stdint.h>
#include <tgmath.h>
static int64_t to_int64(double x) {{
    return fabs(x) < 9223372036854775808.0 ? (int64_t)x : {_INT64_MIN};
}}
static int32_t to_int32(double x) {{
    return x < 2147483648.0 && x > -2147483649.0 ? (int32_t)x : INT32_MIN;
}}
static uint64_t to_uint64(double x) {{
    return x < 9223372036854775808.0 ? (uint64_t)to_int64(x)
        : (uint64_t)to_int64(x - 9223372036854775808.0) ^ UINT64_C(9223372036854775808);
}}
static int64_t i_quotient(int64_t a, int64_t b) {{
    return b == 0 ? 0 : b == -1 ? -a : a / b - (a % b != 0 && (a < 0) != (b < 0));
}}
static int64_t i_rest(int64_t a, int64_t b) {{
    return b == 0 || b == -1 ? 0 : a % b + (a % b != 0 && (a < 0) != (b < 0) ? b : 0);
}}
static double f_rest(double a, double b) {{
    double r = fmod(a, b);
    return r == 0 ? copysign(0.0, b) : (r < 0) != (b < 0) ? r + b : r;
}}
static double f_quotient(double a, double b) {{
    double r = fmod(a, b), q = (a - r) / b;
    if (b == 0) return a / b;
    if (r != 0 && (b < 0) != (r < 0)) q -= 1;
    double whole = floor(q);
    return q == 0 ? copysign(0.0, a / b) : q - whole > 0.5 ? whole + 1 : whole;
}}
"""


class NoSpelling(Exception):
    """An op that the printer does not spell, by name."""


def spelling(name, dtype):
    """Return the expression of an elementwise op that computes in a dtype, or None."""
    kind = {"f": FLOATS, "b": TRUTHS, "i": INTEGERS, "u": UNSIGNED}[dtype.kind]
    return kind.get(name, ALL.get(name))


def type_of(dtype):
    return _TYPES.get(dtype, f"{dtype}_t")


def printed(function, name):
    """Return the C function ``name(arrays, integers)``."""
    lines = [f"{type_of(b.dtype)} *restrict b_{b.name} = arrays[{k}];"
             for k, b in enumerate(function.arrays)]  # fmt: skip
    lines += [f"int64_t v_{x.name} = integers[{k}];" for k, x in enumerate(function.integers)]
    for b in sorted(buffers_of(function.body) - set(function.arrays), key=lambda b: b.name):
        count = math.prod([size.value for size in b.shape])
        lines.append(f"{type_of(b.dtype)} b_{b.name}[{max(count, 1)}];")
    lines += body(function.body)
    head = f"void {name}(void **arrays, const int64_t *integers) {{"
    return "\n".join([head, *lines, "}\n"])


def body(statements):
    return [line for s in statements for line in statement(s)]


def bound(variable, value):
    return f"{type_of(variable.dtype)} v_{variable.name} = {value};"


def following(carried):
    """Compute the next values of what a loop carries, of which none is in its place too early."""
    for c in carried:
        yield f"{type_of(c.var.dtype)} next_{c.var.name} = {scalar(c.next)};"
    for c in carried:
        yield f"v_{c.var.name} = next_{c.var.name};"


def statement(s):
    """Yield the lines of a statement."""
    if isinstance(s, Let):
        yield bound(s.var, scalar(s.value))
    elif isinstance(s, Store):
        yield f"{element(s.buffer, s.index)} = {scalar(s.value)};"
    elif isinstance(s, Loop):
        yield from [bound(c.var, scalar(c.start)) for c in s.carried]
        i = f"v_{s.index.name}"
        yield f"for (int64_t {i} = {scalar(s.low)}, end = {scalar(s.high)}; {i} < end; {i}++) {{"
        yield from [*body(s.body), *following(s.carried), "}"]
    elif isinstance(s, While):
        yield from [bound(c.var, scalar(c.start)) for c in s.carried]
        yield from ["for (;;) {", *body(s.head), f"if (!({scalar(s.test)})) break;"]
        yield from [*body(s.body), *following(s.carried), "}"]
    else:
        assert isinstance(s, If)
        yield from [f"{type_of(r.var.dtype)} v_{r.var.name};" for r in s.results]
        yield from [f"if ({scalar(s.test)}) {{", *body(s.then)]
        yield from [f"v_{r.var.name} = {scalar(r.then)};" for r in s.results]
        yield from ["} else {", *body(s.other)]
        yield from [*[f"v_{r.var.name} = {scalar(r.other)};" for r in s.results], "}"]


def element(buffer, at):
    """Return an element of a buffer."""
    offset = "0"
    for i, size in zip(at, buffer.shape, strict=True):
        offset = f"({offset} * {scalar(size)} + {scalar(i)})"
    return f"b_{buffer.name}[{offset}]"


def scalar(x):
    """Return the expression of a scalar."""
    if isinstance(x, Var):
        return f"v_{x.name}"
    if isinstance(x, Const):
        return number(x)
    if isinstance(x, Load):
        return element(x.buffer, x.index)
    args = [scalar(y) for y in x.args]
    if isinstance(x.op, str):
        return f"(({type_of(x.dtype)})({_PRIMITIVES[x.op].format(*args)}))"
    sources = tuple([np.dtype(y.dtype) for y in x.args])
    if isinstance(x.op, Cast):
        return converted(args[0], sources[0], np.dtype(x.dtype))
    loop = x.op.row.loop(x.op.name, sources)
    template = spelling(x.op.name, loop[-2])
    if template is None or (x.op.name == "power" and loop[0].kind != "f"):
        raise NoSpelling(x.op.name)
    args = [converted(*item) for item in zip(args, sources, loop, strict=False)]
    return f"(({type_of(x.dtype)})({template.format(*args, bits=8 * loop[0].itemsize)}))"


def number(x):
    """Return a constant."""
    if x.dtype == "bool":
        return str(int(x.value))
    if x.dtype[0] == "f":
        special = {"nan": "NAN", "inf": "INFINITY", "-inf": "-INFINITY"}.get(x.text, x.text)
        return f"(({type_of(x.dtype)}){special})"
    if x.dtype == "uint64":
        return f"UINT64_C({x.value})"
    return _INT64_MIN if x.value == -(2**63) else f"(({type_of(x.dtype)})INT64_C({x.value}))"


def converted(text, source, target):
    """Return a conversion that means what ``astype`` of NumPy does."""
    if source == target:
        return text
    if source.kind == "f" and target.kind in "iu":
        through = (
            target.name if target.itemsize == 8 else "int64" if target.kind == "u" else "int32"
        )
        through = "int32" if target.itemsize < 4 else through
        text = f"to_{through}({text})"
    return f"(({type_of(target.name)}){text})"


def compiled(functions, folder):
    """Compile functions, and return what runs each of them on integers and arrays."""
    texts = [printed(f, f"f{k}") for k, f in enumerate(functions)]
    source, library = folder / "loops.c", folder / "loops.so"
    source.write_text("\n".join([PRELUDE, *texts]))
    subprocess.run(["cc", *FLAGS, source, "-o", library, "-lm"], check=True)
    loaded = ctypes.CDLL(library)

    def runner(symbol):
        def run(function, integers, arrays):
            pointers = (ctypes.c_void_p * len(arrays))(*[x.ctypes.data for x in arrays])
            symbol(pointers, (ctypes.c_int64 * len(integers))(*integers))

        return run

    return [runner(getattr(loaded, f"f{k}")) for k in range(len(texts))]


__all__ = ["SKIPPED", "NoSpelling", "compiled", "printed", "spelling"]
