"""The calls that programs are made of, and how each rounds."""

from __future__ import annotations

import re

FLOATS = ("float64", "float32")
INTEGERS = ("int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64")
DTYPES = (*FLOATS, *INTEGERS, "bool")

# How steps round; judge.py says what each means.
EXACT, ARITHMETIC, DIVISION, FUNCTION, SUM, RUNNING, LOOSE, ZEROS, LOGARITHM = "EADFSRLZU"


def _table(text: str) -> list[tuple[str, str]]:
    """Return each function of a table, and the letter of its line."""
    lines = [line.split() for line in text.strip().splitlines()]
    return [(function, letter) for letter, *functions in lines for function in functions]


UNARY = _table("""
F np.exp np.exp2 np.expm1 np.log np.log2 np.log10 np.log1p np.sin np.cos np.tan np.arcsin np.arccos
F np.arctan np.sinh np.cosh np.tanh np.arcsinh np.arccosh np.arctanh np.cbrt np.deg2rad np.sinc
F rg.sigmoid rg.erf rg.erfc
U rg.gammaln
L rg.softplus
A np.sqrt np.square np.negative np.absolute np.sign np.fabs
D np.reciprocal
E np.floor np.ceil np.trunc np.rint np.fix np.isnan np.isinf np.isfinite np.isposinf np.signbit
E np.logical_not np.positive np.conjugate np.nan_to_num
""")
BINARY = _table("""
A + - * % np.fmod
D / np.true_divide
F ** np.power np.hypot np.arctan2 np.float_power
U np.logaddexp np.logaddexp2
Z np.maximum np.minimum np.fmax np.fmin
E // < <= > >= np.equal np.not_equal np.less np.greater_equal np.copysign np.heaviside
E np.logical_and np.logical_or np.logical_xor
""")
REDUCTIONS = _table("""
S np.sum
U rg.logsumexp
L np.mean np.prod np.var np.std np.nanmean np.nansum
Z np.max np.min np.nanmax
E np.any np.all np.count_nonzero
""")
OTHERS = _table("""
R np.cumsum np.cumprod
Z rg.cummax rg.cummin np.sort np.clip
S @ np.tensordot np.einsum np.outer np.trace
U rg.softmax rg.log_softmax
L np.linalg.norm np.linalg.inv np.linalg.det np.linalg.solve np.linalg.cholesky
A np.diff
D np.round
""")

_ROUNDING = dict([*UNARY, *BINARY, *REDUCTIONS, *OTHERS])
_OPERATORS = {"&", "|", "^", "@", *(f for f, _ in BINARY if "." not in f)}
_CALL = re.compile(r"([a-z.0-9_]+)\([^()]*(?:\([^()]*\)[^()]*)*\)$")


def called(function: str, count: int) -> str:
    """Return the template of a call, or of an operator between two operands."""
    if function in _OPERATORS:
        return f"{{0}} {function} {{1}}"
    return f"{function}({', '.join(f'{{{k}}}' for k in range(count))})"


def rounding_of(text: str) -> str:
    """Return how the call, or the operator, of a step rounds; several in one step are loose."""
    head = _CALL.match(text)
    operators = set(text.split()) & _OPERATORS
    if head is None and not operators:
        return RUNNING if ".add(" in text else ARITHMETIC
    if head is not None and not operators:
        return _ROUNDING.get(head[1], EXACT)
    return _ROUNDING.get(operators.pop(), EXACT) if head is None and len(operators) == 1 else LOOSE
