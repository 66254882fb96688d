"""The row of an elementwise op: all that is known of it, in one record.

A back end, the checks, the order of terms and the pages of the documentation read rows; none of
them lists ops by name.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from relgraph.errors import DTypeError
from relgraph.ir.facts import NOTHING, Facts
from relgraph.ir.intervals import Interval
from relgraph.ir.node import Variable, as_variable, is_weak
from relgraph.ir.op import Measure

DTypes = tuple[np.dtype[Any], ...]
LoopRule = Callable[[str, DTypes], DTypes]
BoundsRule = Callable[[tuple[Interval, ...], Variable], "Interval | None"]
FactRule = Callable[[tuple[Facts, ...], Variable], Facts]
DefiniteRule = Callable[[tuple[Facts, ...], list[bool], list[bool]], Facts]
Prepare = Callable[[Any, tuple[Any, ...]], tuple[Variable, ...]]

_FLOAT16 = np.dtype("float16")
_FLOAT32 = np.dtype("float32")

CHEAP = 1  # flops an element: one instruction
DIVIDE = 4  # a division or a square root
TRANSCENDENTAL = 10  # a polynomial and its range reduction
SPECIAL = 20  # several of them

LONG = 8  # the share of a long expression in the limit of a kernel, where a short one has 1

COMMUTATIVE = ("commutative",)
AC = ("associative", "commutative")
ACI = ("associative", "commutative", "idempotent")


def no_facts(operands: tuple[Facts, ...], node: Variable) -> Facts:
    """Prove nothing beyond what the dtype says."""
    return NOTHING


class Ulps(NamedTuple):
    """Bounds of an error for each dtype, in units in the last place."""

    float32: float
    float64: float
    note: str = ""  # what the bounds refer to, if not to the result itself


class Polynomial(NamedTuple):
    """A polynomial of relgraph's own that computes an op on vectors."""

    formula: str  # "exponentials.exp": a function that you write in backends/numba/elementary/
    ulps: Ulps  # how far it may be from the exact result
    library: str = ""  # the name of the function in vendors' libraries of vector functions


class Cpu(NamedTuple):
    """How a kernel of the CPU spells an op: an expression for each kind of dtype.

    ``{0}`` to ``{2}`` stand for the operands, ``{one}`` for the number 1 and ``{bits}`` for the
    width of the dtype.  The most specific field that fits wins.

    Attributes
    ----------
    float, signed, unsigned, boolean : str
        The expression for one kind.
    integer : str
        For signed and unsigned integers.
    number : str
        For all dtypes but bool; written with operators only.
    any : str
        For all dtypes; written with operators only.
    truths : bool
        Whether the operands are tested against zero first.
    wide : bool
        Whether float32 operands are computed in float64 and the result is rounded once.  Set it for
        functions of Python's ``math`` and for those that exist for float64 only: without it a
        kernel calls the C library's float32 function, such as ``sinhf``, and may miss the bound.
    plain : bool
        Whether the expression of float32 operands is a float32 already.  Otherwise the kernel
        converts the result; a number written as ``1.0`` makes the expression a float64.
    share : int
        Its cost against the size limit of a kernel: about a tenth of its machine instructions.
    """

    float: str = ""
    signed: str = ""
    unsigned: str = ""
    boolean: str = ""
    integer: str = ""
    number: str = ""
    any: str = ""
    truths: bool = False
    wide: bool = False
    plain: bool = False
    share: int = 1

    def spelling(self, kind: str) -> str | None:
        """Return the expression for a kind of dtype: "f", "i", "u" or "b".

        It is None if a kernel cannot compute the op for that kind.
        """
        if kind == "f":
            text = self.float or self.number or self.any
        elif kind == "b":
            text = self.boolean or self.any
        else:
            text = self.signed if kind == "i" else self.unsigned
            text = text or self.integer or self.number or self.any
        return text or None


class Row(NamedTuple):
    """The definition of one elementwise op.

    A row without ``cpu`` is complete: compiled programs call ``compute`` for it.  Only a polynomial
    of relgraph's own (``elementary``) needs code elsewhere: see "An elementwise op" in
    CONTRIBUTING.md.

    Attributes
    ----------
    name : str
        NumPy's name, else SciPy's or the usual one; ``scipy`` holds SciPy's own names.
    compute : callable
        The NumPy meaning, on arrays of the dtypes that ``loop`` gives.
    arity : int
        The number of operands.
    loop : callable
        ``loop(name, dtypes)`` gives the dtypes to compute in and, last, that of the result.
    theme : str
        The kind of function, as docs/ops.md lists it.
    doc : str
        What it computes, in one line; by default the first line of the docstring of ``compute``.
    public : bool
        Whether its name is public.  It is not if a function of that name wraps the op and accepts
        more arguments.
    aliases : tuple of str
        NumPy's other names for it.
    scipy : tuple of str
        The names of the ufuncs in ``scipy.special`` that are this function.
    laws : tuple of str
        Which of associative, commutative and idempotent hold.
    difference, inverse : str
        The functions that undo it, by name: ``difference(x, y)`` is ``f(x, inverse(y))``.
    scale : str
        The function that repeats it, by name, as multiplication repeats addition.
    symbol, precedence : str, int
        The infix or prefix symbol, and how tightly it binds.
    latex : str
        The template of its LaTeX, as :attr:`Op.latex`; "" for a named function.
    tests : bool
        Whether the result is bool whatever the dtypes of the operands.
    prepare : callable or None
        How operands become nodes, where it differs from :meth:`Op.coerce`.
    facts : callable
        ``facts(operand_facts, node)``: what is proved of the computed result.
    bounds : callable or None
        ``bounds(operand_intervals, node)``: an interval of the result, or None for no statement.
    zero : str
        When the result is a zero: "all" of the operands are, "any" of them is (and the other
        one is finite), the "first" is (and the second neither zero nor NaN), both "branches" are,
        or "" for none of these.
    definite : callable or None
        Which results of definite matrices are definite.
    range : tuple of float
        The smallest and the largest possible result.
    decides : str
        What the op decides by, as :mod:`relgraph.checking.branches` calls it, or "".
    flops : int
        Floating-point operations for one element.
    constants : tuple of (number, int)
        The operations for one element if the last operand is a certain constant.
    measure : tuple
        The weight ``w`` and the coefficients ``a, b`` in the termination order, which reads
        ``f(x, y)`` as ``w + a x + b y``.  Every rewrite that relgraph ships decreases this number.
        Begin with the default.  If a check reports a relation as unmeasured, raise the weight of an
        op that its rewrite removes, or the coefficient of an operand that the rewrite copies or
        takes out of the op.
    meaning : callable or None
        ``meaning(mp, *operands)``: the exact value by mpmath, which is the first argument.
        It raises ValueError where it is not defined, or takes too long.
    rounding : str
        How exactly a library computes it: "none" for an op that picks, tests or changes a sign,
        "relative" to the result, "absolute" beside 1 near its roots, or "measured" where
        the library's own error has to be measured.
    derivative : callable or None
        ``derivative(op, result, *operands)``: the partial derivatives as graphs or numbers, None
        for an operand without one.  ``op`` is the namespace of the ops,
        :mod:`relgraph.ops.elementwise`, so a row may use any op.
    cpu : Cpu or None
        The spelling in a kernel of the CPU.
    cuda : str
        The expression of floats in a kernel of a GPU; "" if the CPU's works or there is none.
        ``{s}`` is the suffix of functions of the dtype ("f" for float32), ``{F}`` the dtype.
    spelled : mapping of str to str
        The expression in "numpy", "jax" or "torch", as :func:`relgraph.source` writes it; "" if the
        library has none.  By default it is the symbol, or a call of the library's function of this
        name, or of that in ``scipy``; JAX has the expression of NumPy.
    elementary : Polynomial or None
        The polynomial that computes it on the CPU.
    ulps : Ulps or None
        How far a kernel may be from NumPy; None where it is equal.
    """

    name: str
    compute: Callable[..., Any]
    arity: int
    loop: LoopRule
    theme: str = ""
    doc: str = ""
    public: bool = True
    aliases: tuple[str, ...] = ()
    scipy: tuple[str, ...] = ()
    laws: tuple[str, ...] = ()
    difference: str = ""
    inverse: str = ""
    scale: str = ""
    symbol: str = ""
    precedence: int = 0
    latex: str = ""
    tests: bool = False
    prepare: Prepare | None = None
    facts: FactRule = no_facts
    bounds: BoundsRule | None = None
    zero: str = ""
    definite: DefiniteRule | None = None
    range: tuple[float, float] = (-np.inf, np.inf)
    decides: str = ""
    flops: int = CHEAP
    constants: tuple[tuple[float, int], ...] = ()
    measure: Measure = (1, 1)
    meaning: Callable[..., Any] | None = None
    rounding: str = "relative"
    derivative: Callable[..., Any] | None = None
    cpu: Cpu | None = None
    cuda: str = ""
    spelled: Mapping[str, str] = MappingProxyType({})
    elementary: Polynomial | None = None
    ulps: Ulps | None = None

    def spelling(self, kind: str) -> str | None:
        """Return the expression in a kernel of the CPU for a kind of dtype, or None."""
        return None if self.cpu is None else self.cpu.spelling(kind)


def ufunc(function: np.ufunc, **fields: Any) -> Row:
    """Return the row of a NumPy ufunc: its own name, operands, dtype rule and summary."""
    row = {
        "name": function.__name__,
        "compute": function,
        "arity": function.nin,
        "loop": ufunc_loop(function),
        "doc": (function.__doc__ or "").partition("\n\n")[2].partition("\n\n")[0].strip(),
    }
    return Row(**{**row, **fields})


def themed(theme: str, *rows: Row) -> tuple[Row, ...]:
    """Return rows with the theme that they share."""
    return tuple([row._replace(theme=theme) for row in rows])


def ufunc_loop(function: np.ufunc) -> LoopRule:
    """Return the dtype rule of a NumPy ufunc, without float16.

    Where NumPy computes in float16, which it does for float functions of bool, int8 and uint8,
    the operands are taken as float32 first; every other result has exactly NumPy's dtype.
    """

    @lru_cache(maxsize=4096)
    def loop(name: str, dtypes: DTypes) -> DTypes:
        try:
            loop_dtypes = function.resolve_dtypes((*dtypes, None))
            if _FLOAT16 in loop_dtypes:
                wide = tuple(_FLOAT32 if d.kind in "biu" else d for d in dtypes)
                loop_dtypes = function.resolve_dtypes((*wide, None))
        except TypeError:
            raise DTypeError(
                f"{name} is not defined for {', '.join(d.name for d in dtypes)}",
                fix="Convert the operands with .astype(...), as for the same call in NumPy.",
            ) from None
        return tuple(d.newbyteorder("=") for d in loop_dtypes)

    return loop


def in_floats(row: Row, operands: tuple[Any, ...]) -> tuple[Variable, ...] | None:
    """Return operands as nodes, with a Python integer that does not fit their dtype as a float.

    So ``uint8_array / -1`` divides by -1.0.  The result is None if the op computes in integers.
    """
    strong = [as_variable(x).dtype for x in operands if not is_weak(x)]
    common = np.result_type(*strong) if strong else None
    if common is None:
        return None
    dtypes = tuple([common if is_weak(x) else as_variable(x).dtype for x in operands])
    loop = row.loop(row.name, dtypes)
    if any(is_weak(x) and d.kind != "f" for x, d in zip(operands, loop, strict=False)):
        return None
    return tuple([as_variable(x, [d]) for x, d in zip(operands, loop, strict=False)])


def promote_loop(name: str, dtypes: DTypes) -> DTypes:
    """Compute in the common dtype of all operands."""
    common = np.result_type(*dtypes)
    return (common,) * (len(dtypes) + 1)


def choice_loop(name: str, dtypes: DTypes) -> DTypes:
    """Compute in the common dtype of the two branches; the condition must be bool."""
    condition, *branches = dtypes
    if condition.kind != "b":
        raise DTypeError(
            f"the condition of {name} must be bool, not {condition}",
            fix="Compare it first, for instance with rg.not_equal(condition, 0).",
        )
    common = np.result_type(*branches)
    return (condition, common, common, common)
