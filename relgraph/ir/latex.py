"""The LaTeX of a node, from the template of its op; see :attr:`relgraph.ir.op.Op.latex`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from relgraph.ir.infix import ATOM, SIGN, Style, brief, constant_text
from relgraph.viz.mathml import GREEK

if TYPE_CHECKING:
    from relgraph.ir.node import Variable
    from relgraph.ir.op import Op

_POSTFIX = 14  # as tightly as an exponent binds
_ARGUMENT = re.compile(r"(?P<before>.?)#(?P<number>\d)", re.DOTALL)
_NAME = re.compile(r"([^\W\d_]+)(?:_?(\d+))?$")
_POWER_OF_TEN = re.compile(r"(-?[\d.]+)e([+-]?)0*(\d+)$")
LETTERS = {letter: command for command, letter in GREEK.items()}
_SPECIAL = re.compile(r"([#$%&_{}])")


def latex_of(node: Variable, limit: int = 80, names: Mapping[Variable, str] | None = None) -> str:
    r"""Return a graph as LaTeX on one line; dots stand for the parts below ``limit`` nodes.

    Parameters
    ----------
    node : Variable
        The graph.
    limit : int
        How many nodes to write.
    names : mapping of Variable to str, optional
        Names to write for some nodes below it.

    Returns
    -------
    str
        LaTeX without dollar signs.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> print(latex_of(rg.sqrt(x) / 2))
    \frac{\sqrt{x}}{2}
    """
    known = {x: name_latex(name) for x, name in (names or {}).items()}
    return brief(node, limit, known, latex_text, r"\ldots")


def latex_text(node: Variable, operands: list[tuple[str, int]]) -> tuple[str, int]:
    """Return a node's LaTeX and the precedence of its outermost operator, given its operands'."""
    if node.op is not None:
        return applied_latex(node.op, operands)
    if is_named(node):
        return name_latex(node._leaf_text()), ATOM
    text = constant_latex(node)
    return text, 0 if text.startswith("-") else ATOM


def is_named(node: Variable) -> bool:
    """Return True for an input, and False for constants and applications."""
    return hasattr(type(node), "facts")  # of a node, a missing attribute is an error with advice


def applied_latex(op: Op, operands: list[tuple[str, int]]) -> tuple[str, int]:
    """Return the LaTeX of an op on operands, and its precedence, given those of the operands."""
    texts = [text for text, _ in operands]
    if not op.latex:
        special = op.infix(texts) if not op.params or op.symbol else None
        if special is not None:
            return special, ATOM
        pairs = zip(op.parameters, op.params, strict=True)
        return call_latex(op.name, operands, [(k, x) for k, x in pairs if x not in op.bodies])
    rank = op.precedence or _POSTFIX
    is_open = False

    def put(match: re.Match[str]) -> str:
        nonlocal is_open
        before, number = match["before"], int(match["number"]) - 1
        text, precedence = operands[number]
        if before in ("{", "(", "|"):
            return before + text
        is_open = True
        loose = precedence < rank or (precedence == rank and (number == 1 or rank == _POSTFIX))
        return before + (rf"\left({text}\right)" if loose else text)

    written = _ARGUMENT.sub(put, op.latex)
    if is_open:
        return written, rank
    return written, (SIGN if written.startswith(r"\frac") else ATOM)  # a power of it is bracketed


def call_latex(
    name: str, operands: list[tuple[str, int]], parameters: Iterable[tuple[str, Any]]
) -> tuple[str, int]:
    """Return the LaTeX of a call, with its parameters as a subscript."""
    shown = [f"{key}={_value(x)}" for key, x in parameters if x is not None and x is not False]
    below = rf"_{{{text_latex(', '.join(shown))}}}" if shown else ""
    inside = ", ".join([text for text, _ in operands])
    return rf"\operatorname{{{escaped(name)}}}{below}\left({inside}\right)", ATOM


def _value(x: Any) -> str:
    return repr(x[0]) if isinstance(x, tuple) and len(x) == 1 else repr(x)


def name_latex(name: str) -> str:
    """Return a name: a letter, a Greek letter, or a word; digits at its end are an index."""
    match = _NAME.match(name)
    if match is None:
        return rf"\mathrm{{{escaped(name)}}}"
    word, index = match.groups()
    if rf"\{word}" in GREEK:
        letter = rf"\{word}"
    elif word in LETTERS:
        letter = LETTERS[word]
    else:
        letter = word if len(word) == 1 else rf"\mathrm{{{word}}}"
    return rf"{letter}_{{{index}}}" if index else letter


def constant_latex(node: Any) -> str:
    """Return a constant; a power of ten is written as one."""
    return number_latex(constant_text(node))


def number_latex(text: str) -> str:
    """Return what Python prints of a number or an array as LaTeX."""
    match = _POWER_OF_TEN.match(text)
    if match is not None:
        digits, sign, power = match.groups()
        exponent = f"10^{{{'-' if sign == '-' else ''}{power}}}"
        return exponent if digits == "1" else rf"{digits} \cdot {exponent}"
    words = {"inf": r"\infty", "-inf": r"-\infty"}
    return words.get(text) or (text_latex(text) if re.search("[A-Za-z<]", text) else text)


def leaf_latex(x: Any) -> str:
    """Return a number or a graph that stands in a pattern."""
    if hasattr(x, "op") and hasattr(x, "inputs"):
        return latex_of(x)
    return number_latex(repr(x))


def text_latex(words: str) -> str:
    """Return words as text inside of a formula."""
    # Escapes stand outside, since MathJax shows the backslash of \text{a\_b}.
    inside = _SPECIAL.sub(r"}\\\1\\text{", words.replace("\\", ""))
    return rf"\text{{{inside}}}".replace(r"\text{}", "")


def escaped(words: str) -> str:
    """Return words with the characters escaped that are special in LaTeX."""
    return _SPECIAL.sub(r"\\\1", words.replace("\\", ""))


LATEX = Style(applied_latex, call_latex, name_latex, leaf_latex, r"\ldots")
