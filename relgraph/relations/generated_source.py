"""Generated source: lists of lines, merged where neighbours agree, written as functions.

CPython compiles no more than 20 nested blocks and 100 levels of indentation.  Deeper lines become a
function of their own, whose parameters are the names that they use.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import chain
from types import CodeType
from typing import Any, NamedTuple

STEPS = 100_000  # steps that one match may take
LOOPS = 12  # nested loops in one function
DEPTH = 40  # levels of indentation in one function
BUDGET = frozenset({"steps", "refused"})  # what a match has left, and what it need not try again

Line = tuple[str, bool]  # a statement, and whether what follows is indented under it


_APART = str.maketrans("(,)*", "    ")


def names_in(text: str) -> frozenset[str]:
    """Return the names that occur in a piece of source."""
    return frozenset(re.findall(r"[A-Za-z_]\w*", text))


@lru_cache(maxsize=4096)
def bound_by(text: str) -> frozenset[str]:
    """Return the names that a line binds."""
    if text.startswith("for "):
        target = text[4:].partition(" in ")[0]
    else:
        target, equals, _ = text.partition(" = ")
        if not equals or text[0] == " ":
            return frozenset()
    return frozenset(target.translate(_APART).split())


class _Level:
    """The lines of one block during a merge: its last line, and its assignments so far.

    An assignment is left out if the same one stands above it in its block, and no line between
    them, in that block or in one inside it, changes a name on its left.  So ``assigned`` holds a
    line only as long as the names it binds keep their values.
    """

    def __init__(self, parent: _Level | None = None) -> None:
        self.parent = parent
        self.entries: list[tuple[str, _Level | None]] = []
        self.assigned: dict[frozenset[str], str] = {}

    def add(self, text: str, opens: bool) -> _Level:
        """Add a line unless it is there already; return the level below it.

        A loop is never shared: its first round would try later bodies before the second round
        tries earlier ones, which the declared order puts first.
        """
        if opens:
            loops = text.startswith("for ")
            if not loops and self.entries and self.entries[-1][0] == text:
                inner = self.entries[-1][1]
                assert inner is not None
                return inner
            inner = _Level(self)
            self.entries.append((text, inner))
            if loops:
                inner.overwrite(bound_by(text))
            return inner
        if bound := bound_by(text):
            if self.assigned.get(bound) == text:
                return self
            self.overwrite(bound)
            self.assigned[bound] = text
        self.entries.append((text, None))
        return self

    def overwrite(self, names: frozenset[str]) -> None:
        """Forget the assignments to these names, here and in the enclosing blocks."""
        level: _Level | None = self
        while level is not None:
            for others in [x for x in level.assigned if names & x]:
                del level.assigned[others]
            level = level.parent

    def texts(self) -> Iterable[str]:
        """Yield all lines, those of inner blocks too."""
        stack = [self]
        while stack:
            for text, inner in stack.pop().entries:
                yield text
                if inner is not None:
                    stack.append(inner)


class _Function(NamedTuple):
    """A function to be written."""

    name: str
    parameters: str
    level: _Level
    generates: bool


def _merged(bodies: Iterable[Sequence[Line]]) -> _Level:
    root = _Level()
    for lines in bodies:
        level = root
        for text, opens in lines:
            level = level.add(text, opens)
    return root


def parameters_of(level: Iterable[str], bound: Iterable[str]) -> str:
    """Return the names bound around some lines that they use, as parameters."""
    used: set[str] = set()
    for text in level:
        used |= names_in(text)
    return ", ".join(sorted(used.intersection(bound)))


def write(
    name: str,
    parameters: str,
    bodies: Sequence[Sequence[Line]],
    doc: str,
    generators: Mapping[Sequence[Line], str],
) -> str:
    """Merge lists of lines into the source of one function, after the functions that it calls.

    ``generators`` maps the lines of each generator that the bodies call to the call.
    """
    waiting = [_Function(name, parameters, _merged(bodies), False)]
    for lines, call in generators.items():
        head, _, rest = call.partition("(")
        waiting.append(_Function(head, rest[:-1], _merged([lines]), True))
    texts: list[str] = []
    for function in waiting:  # which grows
        first = function is waiting[0]
        opening = [f"def {function.name}({function.parameters}):"]
        if first:
            opening.append(f'    """{doc}"""')
        body = _body(function, waiting)
        if first and any("steps" in x for x in body):
            opening.append(f"    steps, refused = [{STEPS}], set()")
        closing = [] if function.generates else ["    return None"]
        texts.append("\n".join([*opening, *body, *closing]) + "\n")
    return "\n\n".join(reversed(texts))


def _body(function: _Function, waiting: list[_Function]) -> list[str]:
    """Return the lines of a function; lines that are too deep become functions to write."""
    out: list[str] = []
    around: list[list[str]] = [[]]  # the lines that bind names for what follows, by level
    stack = [(iter(function.level.entries), 0)]
    while stack:
        entries, loops = stack[-1]
        depth = len(stack)
        indent = "    " * depth
        before = around[-1]
        for text, inner in entries:
            out.append(indent + text)
            if inner is not None:
                break
            before.append(text)
        else:
            stack.pop()
            around.pop()
            continue
        loops += text.startswith("for ")
        if depth < DEPTH and loops < LOOPS:
            stack.append((iter(inner.entries), loops))
            around.append([text])
            continue
        part = f"part{len(waiting)}"
        bound = [bound_by(x) for x in chain(*around, [text])]
        bound += names_in(function.parameters), BUDGET
        parameters = parameters_of(inner.texts(), frozenset().union(*bound))
        waiting.append(_Function(part, parameters, inner, function.generates))
        tab = "    " * (depth + 1)
        if function.generates:
            out.append(f"{tab}yield from {part}({parameters})")
        else:
            out += [f"{tab}end = {part}({parameters})", f"{tab}if end is not None: return end"]
    return out


def load(source: str, name: str, variables: dict[str, Any]) -> Callable[..., Any]:
    """Compile generated source, and return one function of it; see :func:`run`."""
    return run(compile(source, f"<relgraph {name}>", "exec"), source, name, variables)


def run(code: CodeType, source: str, name: str, variables: dict[str, Any]) -> Callable[..., Any]:
    """Run the code of generated source among its global variables; return one function of it."""
    exec(code, variables)
    function: Any = variables[name]
    function.code, function.source = code, source
    return function  # type: ignore[no-any-return]
