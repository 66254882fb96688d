"""Docstrings of public functions: what they have in common is written once.

A function writes down only what is its own, as fields below the summary::

    @documented("reduction")
    def nansum(a, axis=None, keepdims=False, *, initial=None):
        \"\"\"Add up the elements that are not NaN, as ``numpy.nansum``.

        initial (scalar, optional): What the sum starts with.
        Returns: The dtype of ``sum``; 0 where every element is NaN.
        DTypeError: For an ``initial`` that is not a number.
        \"\"\"

:func:`documented` makes the sections of numpydoc from the signature, the fields, the fields of
another function (``like``) and the vocabulary below.  Sections that a docstring has already, such
as Examples, follow unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple, ParamSpec, TypeVar

from relgraph.ir.dispatch import traceable

_P = ParamSpec("_P")
_R = TypeVar("_R")


class Parameter(NamedTuple):
    """The type and meaning of parameters of one name, and the errors that they cause."""

    type: str
    meaning: str
    raises: tuple[tuple[str, str], ...] = ()


_AXIS = ("DomainError", "For an axis out of range.")
_AXES = ("DomainError", "For an axis out of range, or one given twice.")
_ARRAY = Parameter("Variable or array-like", "Any dtype and shape.")
_OPERAND = _ARRAY._replace(type="Variable, array-like or pattern")
_BROADCAST = Parameter("Variable or array-like", "Any dtype; shapes broadcast.")
_FREEDOM = Parameter(
    "int or float",
    "What is subtracted from the number of elements to divide by, under either name.",
)
_DIAGONAL = Parameter("int", "The diagonal: 0 the main one, positive above it, negative below.")
_DTYPE = ("DTypeError", "For a dtype that relgraph does not compute with.")
_COMPUTED = Parameter(
    "dtype-like, optional", "The dtype to compute in, and of the result.", (_DTYPE,)
)
_RAVELED = Parameter("int or None", "The axis; None for the raveled array.", (_AXIS,))
_CUT = Parameter(
    "int or sequence of int", "The number of equal parts, or the indices where to cut."
)
_TOLERANCE = Parameter(
    "scalar, Variable or array-like", "The tolerance is ``atol + rtol * abs(b)``."
)
_SQUARE = Parameter(
    "Variable, array-like or pattern, [..., n, n]",
    "A square matrix or a batch of them.",
    (("ShapeError", "For an operand that is not a square matrix or a batch of them."),),
)
_TRIANGLE = _SQUARE._replace(meaning="One triangle of it is read.")
_MATRIX = Parameter(
    "Variable, array-like or pattern, [..., m, n]",
    "A matrix or a batch of them.",
    (("ShapeError", "For a scalar or a vector."),),
)
_NAME = ("DomainError", "For a name that is no identifier.")
_FACTS = ("DomainError", "For facts that do not exist, do not apply, or exclude each other.")

# Parameters by name; those of a kind of functions come before the common ones.
PARAMETERS: dict[str, dict[str, Parameter]] = {
    "": {
        **dict.fromkeys(("a", "x", "m", "array", "arys"), _ARRAY),
        **dict.fromkeys(("x1", "x2", "b"), _BROADCAST),
        **dict.fromkeys(("ddof", "correction"), _FREEDOM),
        **dict.fromkeys(("k", "offset"), _DIAGONAL),
        **dict.fromkeys(("rtol", "atol"), _TOLERANCE),
        "UPLO": Parameter(
            '{"L", "U"}',
            "Which triangle.",
            (("DomainError", 'For another triangle than "L" and "U".'),),
        ),
        "copy": Parameter(
            "bool",
            "Accepted as in NumPy; values of a graph cannot be changed, so it makes no difference.",
        ),
        "dtype": Parameter("dtype-like, optional", "The dtype of the result.", (_DTYPE,)),
        "equal_nan": Parameter("bool", "Whether NaN equals NaN."),
        "full_matrices": Parameter("bool", "Whether U and V are square."),
        "indices_or_sections": _CUT,
        "keepdims": Parameter("bool", "Whether reduced axes stay, with size 1."),
        "lower": Parameter("bool", "Which triangle."),
        "num": Parameter("int", "How many numbers, known when the graph is built."),
        "rowvar": Parameter("bool", "False where each column is a variable."),
    },
    "elementwise": dict.fromkeys(
        ("a", "b", "x1", "x2"),
        _BROADCAST._replace(raises=(("ShapeError", "When the shapes do not broadcast."),)),
    ),
    "pattern": {"a": _OPERAND, "x": _OPERAND},
    "reduction": {
        "axis": Parameter(
            "int, tuple of int or None", "The axes to reduce; None for all.", (_AXES,)
        ),
        "dtype": _COMPUTED,
        "where": Parameter(
            "bool array, optional",
            "Which elements count; broadcast to the shape of the array.",
            (
                ("DTypeError", "For a ``where`` that is not bool."),
                (
                    "ShapeError",
                    "For a ``where`` that does not broadcast to the shape of the array.",
                ),
            ),
        ),
    },
    "search": {
        "axis": Parameter(
            "int or None", "The axis to search; None for the raveled array.", (_AXIS,)
        )
    },
    "cumulative": {"axis": _RAVELED, "dtype": _COMPUTED},
    "creation": {
        "dtype": Parameter("dtype-like", "The dtype of the result.", (_DTYPE,)),
        "shape": Parameter(
            "int, or tuple of int and integer scalar Variables",
            "Sizes; those that only a call knows are given as in ``rg.shape(x)``.",
            (
                ("ArgumentError", "For a size that is no int."),
                ("DomainError", "For a negative size."),
            ),
        ),
    },
    "like": {
        "x": Parameter("Variable, array-like or pattern", "Its values are not used."),
        "dtype": Parameter(
            "dtype-like, optional", "The dtype of the result; by default that of ``x``.", (_DTYPE,)
        ),
        "shape": Parameter(
            "int or tuple, optional",
            "The shape of the result, as for :func:`full`; by default that of ``x``.",
            (("PatternError", "For a pattern, together with a dtype or shape."),),
        ),
    },
    "square": {"a": _SQUARE},
    "triangle": {"a": _TRIANGLE},
    "matrix": {"a": _MATRIX, "x": _MATRIX},
    "input": {
        "name": Parameter("str", "An identifier.", (_NAME,)),
        "names": Parameter(
            "str", "Names between spaces or commas, or an iterable of names.", (_NAME,)
        ),
        "dtype": Parameter("dtype-like", "bool, an integer type, float32 or float64.", (_DTYPE,)),
        "facts": Parameter(
            "iterable of str", 'What is known of the values, such as "positive".', (_FACTS,)
        ),
    },
}
# Why a function that calls one of these raises PatternError, unless it says so itself.
_NO_TYPE = "For a pattern, which has no type."
_NO_RANK = "For a pattern, whose rank is not known."
_NEEDS = {
    **dict.fromkeys(("typed", "of_rank", "together", "as_floats"), _NO_TYPE),
    **dict.fromkeys(("no_rank", "as_array"), _NO_RANK),
}

_WIDTH = 92  # of the lines below an entry
_VARARGS = 0x04  # inspect.CO_VARARGS
Fields = dict[str, tuple[str, str]]
Entries = list[tuple[str, str]]  # of a section: what stands in front, and the indented text

# The kinds and the fields of each function, for those that are documented like it.
_documented: dict[Callable[..., Any], tuple[tuple[str, ...], Fields]] = {}


def documented(
    *kinds: str, like: Callable[..., Any] | None = None
) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Complete the docstring of a public function, and make the function traceable.

    ``kinds`` are those of :data:`PARAMETERS` that the function is of; earlier ones come first.
    Kinds and fields that it does not state are those of ``like``, another documented function.
    """

    def decorate(function: Callable[_P, _R]) -> Callable[_P, _R]:
        if function.__doc__:  # there is none under -OO
            function.__doc__ = completed(function, kinds, getattr(like, "__wrapped__", None))
        return traceable(function)

    return decorate


def completed(function: Any, kinds: tuple[str, ...], like: Callable[..., Any] | None = None) -> str:
    """Return the docstring of a function with all sections of numpydoc."""
    text: str = function.__doc__.rstrip().replace("\n    ", "\n")  # of the top of a module
    rule = text.find("\n---")
    end = text.rfind("\n\n", 0, rule) if rule > 0 else len(text)
    names = parameters_of(function)
    prose, fields = _fields(text[:end], {*names, "Returns"})
    for called in function.__code__.co_names:
        if called in _NEEDS:
            fields.setdefault("PatternError", ("", _NEEDS[called]))
    if like is not None:
        like_kinds, like_fields = _documented[like]
        kinds = kinds or like_kinds
        shared = {*names, "Returns"}
        fields = {
            heads: field
            for heads, field in like_fields.items()
            if heads.endswith("Error") or shared.issuperset(heads.split(", "))
        } | fields
    _documented[function] = kinds, fields
    parameters, raises = _parameters(names, fields, kinds)
    kind, meaning = fields.get("Returns", ("", ""))
    returns = [(kind or "Variable", meaning)] if "Returns" in fields else []
    return "".join((
        prose,
        _section("Parameters", parameters),
        _section("Returns", returns),
        _section("Raises", _joined(raises)),
        text[end:],
        "\n",
    ))  # fmt: skip


def parameters_of(function: Any) -> list[str]:
    """Return the names of parameters in order; ``*args`` with its star."""
    code = function.__code__
    plain, named = code.co_argcount, code.co_argcount + code.co_kwonlyargcount
    names = list(code.co_varnames[:named])
    if code.co_flags & _VARARGS:
        names.insert(plain, "*" + code.co_varnames[named])
    return names


def _fields(text: str, names: set[str]) -> tuple[str, Fields]:
    """Return the prose of a docstring, and its fields: for each the type and the meaning."""
    prose, *lines = text.split("\n")
    fields: Fields = {}
    last = ""  # the field that a line may continue
    for line in lines:
        if last and line[:4] == "    ":
            kind, meaning = fields[last]
            fields[last] = (kind, f"{meaning} {line[4:]}".lstrip())
            continue
        head, colon, meaning = line.partition(":")
        last, _, kind = head.partition(" (")
        if colon and (
            last in names or last.endswith("Error") or names.issuperset(last.split(", "))
        ):
            fields[last] = (kind.removesuffix(")"), meaning.lstrip())
        else:
            last = ""
            prose += f"\n{line}"
    return prose.rstrip(), fields


def _parameters(
    names: list[str], fields: Fields, kinds: tuple[str, ...]
) -> tuple[Entries, Entries]:
    """Return the entries of the section Parameters, and of Raises."""
    of_name = {name: field for heads, field in fields.items() for name in heads.split(", ")}
    vocabulary = _vocabulary(kinds)
    alike: dict[tuple[str, str], list[str]] = {}  # names by their type and meaning
    raises: Entries = []
    for name in names:
        kind, meaning = of_name.get(name, ("", ""))
        if common := vocabulary.get(name.lstrip("*")):
            raises += common.raises
            kind, meaning = kind or common.type, meaning or common.meaning
        alike.setdefault((kind, meaning), []).append(name)
    raises += [(error, when) for error, (_, when) in fields.items() if error.endswith("Error")]
    return [(f"{', '.join(x)} : {kind}", text) for (kind, text), x in alike.items()], raises


@cache
def _vocabulary(kinds: tuple[str, ...]) -> dict[str, Parameter]:
    """Return the parameters that functions of these kinds have in common."""
    tables = [PARAMETERS[kind] for kind in (*kinds, "")]
    return {name: known for table in reversed(tables) for name, known in table.items()}


def _joined(entries: Entries) -> Entries:
    """Return entries with one for each head."""
    texts: dict[str, str] = {}
    for head, text in entries:
        before = texts.get(head, "")
        if text not in before:
            texts[head] = f"{before} {text}" if before else text
    return list(texts.items())


def _section(title: str, entries: Entries) -> str:
    """Return a section with an empty line in front, or "" for one without entries."""
    if not entries:
        return ""
    lines = ["", "", title, "-" * len(title)]
    for head, meaning in entries:
        lines.append(head)
        if len(meaning) <= _WIDTH:
            lines.append(f"    {meaning}")
            continue
        line = "   "
        for word in meaning.split(" "):
            if len(line) + len(word) >= _WIDTH + 4:
                lines.append(line)
                line = "   "
            line += f" {word}"
        lines.append(line)
    return "\n".join(lines)
