"""Loops of a traced function as calls: its source with each ``for`` loop over a range rewritten.

``for i in range(n): body`` becomes a function of the names that the body assigns, and a call of
:func:`.python_loops.run`, which runs the body once to trace a loop, or as often as Python would.
A loop stays as it is if its body does what such a function cannot: ``break``, ``return``, ``try``,
calls whose result is not used, assignments to attributes.
"""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections.abc import Callable, Iterator
from functools import lru_cache
from types import CellType, FunctionType
from typing import Any

from relgraph.api.tracing import python_loops

_RUN, _RANGE, _GET, _NOTHING, _CALLED = [
    f"__relgraph_{x}__" for x in ("run", "range", "get", "nothing", "called")
]
_NAMES: dict[str, Any] = {
    _RUN: python_loops.run,
    _RANGE: python_loops.range_of,
    _GET: python_loops.value_of_name,
    _NOTHING: python_loops.NOTHING,
}
_FUNCTION = "__relgraph_function__"
_LIBRARIES = ("numpy", "scipy", "relgraph", "math", "itertools", "functools")
_STAY = (
    ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.With,
    ast.Delete, ast.Global, ast.Nonlocal, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef,
    ast.ClassDef, ast.Import, ast.ImportFrom, ast.NamedExpr, ast.While, ast.AsyncFor, ast.Raise,
    ast.Match, ast.GeneratorExp,
)  # fmt: skip


@lru_cache(maxsize=256)
def with_loops(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose loops are calls; the function itself if it has none.

    Parameters
    ----------
    function : callable
        The function to trace.
    """
    if type(function) is not FunctionType or _is_of_a_library(function):
        return function
    try:
        lines, first = inspect.getsourcelines(function.__code__)
        tree = ast.parse(textwrap.dedent("".join(lines)))
    except (OSError, TypeError, SyntaxError):  # no source, or only a part of a statement
        return function
    (definition,) = tree.body if len(tree.body) == 1 else (None,)
    if not isinstance(definition, ast.FunctionDef) or definition.name != function.__code__.co_name:
        return function
    definition.decorator_list = []
    converter = _Converter(definition)
    converter.visit(definition)
    if not converter.changed:
        return function
    return _compiled(function, tree, definition, first)


def called(function: Any) -> Any:
    """Return what a traced function calls by its name: a function of the user with its loops."""
    return with_loops(function) if type(function) is FunctionType else function


def _is_of_a_library(function: FunctionType) -> bool:
    name = function.__globals__.get("__name__")
    return str(name).partition(".")[0] in _LIBRARIES


_NAMES[_CALLED] = called


def _compiled(
    function: FunctionType, tree: ast.Module, definition: ast.FunctionDef, first: int
) -> Callable[..., Any]:
    """Return the function of a changed definition, with the closure and defaults of the old one."""
    free = function.__code__.co_freevars
    outer = ast.parse("def outer():\n    pass").body[0]
    assert isinstance(outer, ast.FunctionDef)
    outer.args.args = [ast.arg(name) for name in (*free, *_NAMES)]
    definition.args.defaults = [ast.Constant(None) for _ in definition.args.defaults]
    definition.args.kw_defaults = [x and ast.Constant(None) for x in definition.args.kw_defaults]
    for arg in ast.walk(definition.args):
        if isinstance(arg, ast.arg):
            arg.annotation = None
    definition.returns = None
    definition.name = _FUNCTION  # its own name, in its body, is that of the module or of a closure
    outer.body = [definition]
    tree.body = [outer]
    ast.increment_lineno(tree, first - 1)
    ast.fix_missing_locations(tree)
    code = compile(tree, function.__code__.co_filename, "exec")
    (outer_code,) = [x for x in code.co_consts if hasattr(x, "co_code")]
    (inner,) = [x for x in outer_code.co_consts if getattr(x, "co_name", "") == _FUNCTION]
    inner = inner.replace(co_name=function.__code__.co_name)
    cells = dict(zip(free, function.__closure__ or (), strict=True))
    cells |= {name: CellType(value) for name, value in _NAMES.items()}
    closure = tuple([cells[name] for name in inner.co_freevars])
    made = FunctionType(inner, function.__globals__, function.__name__, None, closure)
    made.__defaults__, made.__kwdefaults__ = function.__defaults__, function.__kwdefaults__
    made.__module__, made.__qualname__ = function.__module__, function.__qualname__
    return made


class _Converter(ast.NodeTransformer):
    """Rewrites loops; ``changed`` says whether there was one."""

    def __init__(self, definition: ast.FunctionDef) -> None:
        self.changed = False
        loops = [x for x in ast.walk(definition) if isinstance(x, ast.For)]
        self._elsewhere = {x: set(_read_elsewhere(definition, x)) for x in loops}
        self._number = 0

    def visit_For(self, node: ast.For) -> Any:
        """Rewrite a loop, after those in its body."""
        names = _assigned(node) if _converts(node) else None
        first = _first_uses(node.body)
        self.generic_visit(node)
        if names is None:
            return node
        self.changed = True
        self._number += 1
        assert isinstance(node.target, ast.Name)
        assert isinstance(node.iter, ast.Call)
        index = node.target.id
        others = sorted(names - {index})
        order = [index, *others]
        body = f"__relgraph_body_{self._number}__"
        # Values that an iteration does not take from the one before it.
        own = [x for x in others if first.get(x) == "write"]
        later = [x for x in order if x in self._elsewhere[node]]
        values = f"({', '.join(f'{_GET}(lambda: {x})' for x in order)},)"
        made = ast.parse(
            f"def {body}({', '.join(order)}):\n    return {values}\n"
            f"({', '.join(order)},) = "
            f"{_RUN}({_RANGE}(), {body}, {values}, {order!r}, {own!r}, {later!r})\n"
            + "".join(f"if {x} is {_NOTHING}: del {x}\n" for x in order)
        ).body
        function, call = made[0], made[1]
        assert isinstance(function, ast.FunctionDef)
        assert isinstance(call, ast.Assign)
        assert isinstance(call.value, ast.Call)
        function.body[:0] = node.body
        call.value.args[0] = ast.Call(
            ast.Name(_RANGE, ast.Load()), [node.iter.func, *node.iter.args], []
        )
        for statement in made:
            _located(statement, node)
        return made

    def visit_Call(self, node: ast.Call) -> Any:
        """Call functions of the user with their loops rewritten, too."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and not node.func.id.startswith("__relgraph_"):
            function = ast.Name(_CALLED, ast.Load(), **_place_of(node.func))
            node.func = ast.Call(function, [node.func], [], **_place_of(node.func))
            self.changed = True
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """Leave functions within an expression."""
        return node


def _located(statement: ast.stmt, node: ast.For) -> None:
    """Give the nodes of a new statement the place of the loop, but for those of its body."""
    kept = {id(x) for part in node.body for x in ast.walk(part)}
    kept |= {id(x) for x in ast.walk(node.iter)}
    for x in ast.walk(statement):
        if id(x) not in kept and "lineno" in x._attributes:
            x.lineno, x.end_lineno = node.lineno, node.lineno  # type: ignore[attr-defined]
            x.col_offset, x.end_col_offset = node.col_offset, node.col_offset  # type: ignore[attr-defined]


def _place_of(node: ast.expr) -> dict[str, Any]:
    return {name: getattr(node, name) for name in node._attributes}


def _converts(node: ast.For) -> bool:
    """Return True for a loop over a range whose body can be a function."""
    call = node.iter
    if node.orelse or not isinstance(node.target, ast.Name) or not isinstance(call, ast.Call):
        return False
    if not isinstance(call.func, ast.Name) or call.func.id != "range" or call.keywords:
        return False
    if any(isinstance(x, ast.Starred) for x in call.args):
        return False
    return all([_is_plain(x) for part in node.body for x in ast.walk(part)])


def _is_plain(x: ast.AST) -> bool:
    if isinstance(x, _STAY):
        return False
    if isinstance(x, ast.Attribute | ast.Starred) and isinstance(x.ctx, ast.Store):
        return False
    if isinstance(x, ast.Expr):  # a call that is made for what it changes
        return isinstance(x.value, ast.Constant) or _is_of_numpy(x.value)
    return not isinstance(x, ast.For) or isinstance(x.target, ast.Name | ast.Tuple)


def _is_of_numpy(x: ast.expr) -> bool:
    function = x.func if isinstance(x, ast.Call) else None
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in ("np", "numpy")


def _assigned(node: ast.AST) -> set[str]:
    names = [x for x in ast.walk(node) if isinstance(x, ast.Name)]
    return {x.id for x in names if isinstance(x.ctx, ast.Store)}


def _loads(node: ast.AST) -> Iterator[str]:
    for x in ast.walk(node):
        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load):
            yield x.id
        elif isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name):
            yield x.target.id


def _read_elsewhere(node: ast.AST, loop: ast.For) -> Iterator[str]:
    """Yield the names that are read outside of a loop, but for what other loops assign first."""
    if node is loop:
        return
    if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
        yield node.id
    elif isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name):
        yield node.target.id
    names: set[str] = set()
    if isinstance(node, ast.For) and all(x is not loop for x in ast.walk(node)):
        names = {name for name, use in _first_uses([node]).items() if use == "write"}
    for child in ast.iter_child_nodes(node):
        for name in _read_elsewhere(child, loop):
            if name not in names:
                yield name


def _first_uses(body: list[ast.stmt]) -> dict[str, str]:
    """Return for each name what a body does first: "read" it, or "write" it in any case."""
    first: dict[str, str] = {}

    def read(node: ast.AST) -> None:
        for name in _loads(node):
            first.setdefault(name, "read")

    for statement in body:
        if isinstance(statement, ast.Assign):
            read(statement.value)
            for target in statement.targets:
                read(target)
                for name in _assigned(target):
                    first.setdefault(name, "write")
        elif isinstance(statement, ast.For) and isinstance(statement.target, ast.Name):
            read(statement.iter)
            inner = _first_uses(statement.body)
            first.setdefault(statement.target.id, "write")
            for name, use in inner.items():
                first.setdefault(name, use)
        else:
            read(statement)
            for name in _assigned(statement):
                first.setdefault(name, "read")
    return first


__all__ = ["with_loops"]
