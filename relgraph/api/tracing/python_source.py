"""Loops and choices of a traced function as calls: its source with each of them rewritten.

``for i in range(n): body`` becomes a function of the names that the body assigns, and a call of
:func:`.python_loops.run`, which runs the body once to trace a loop, or as often as Python would.
``if test: body`` becomes two such functions and a call of :func:`.python_choices.choose`, and
``a if test else b`` one of :func:`.python_choices.either`.  A statement stays as it is if its body
does what such a function cannot: ``break``, ``return``, ``try``, calls whose result is not used,
assignments to attributes.
"""

from __future__ import annotations

import ast
import copy
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from types import CellType, FunctionType
from typing import Any

from relgraph.api.tracing import python_choices, python_loops
from relgraph.api.tracing.storage import BODY

_RUN, _RANGE, _REPEAT, _CHOOSE, _EITHER, _TRUTH, _OF, _GET, _NOTHING, _CALLED, _EFFECT = [
    f"__relgraph_{x}__"
    for x in (
        "run", "range", "repeat", "choose", "either", "truth", "names", "get", "nothing", "called",
        "effect",
    )
]  # fmt: skip
_NAMES: dict[str, Any] = {
    _RUN: python_loops.run,
    _RANGE: python_loops.range_of,
    _REPEAT: python_loops.repeat,
    _CHOOSE: python_choices.choose,
    _EITHER: python_choices.either,
    _TRUTH: python_choices.as_truth,
    _OF: python_choices.Names,
    _GET: python_loops.value_of_name,
    _NOTHING: python_choices.NOTHING,
}
_FUNCTION = "__relgraph_function__"
_LIBRARIES = ("numpy", "scipy", "relgraph", "math", "itertools", "functools")
_STAY = (
    ast.Break, ast.Continue, ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Try, ast.With,
    ast.Delete, ast.Global, ast.Nonlocal, ast.Lambda, ast.FunctionDef, ast.AsyncFunctionDef,
    ast.ClassDef, ast.Import, ast.ImportFrom, ast.NamedExpr, ast.AsyncFor, ast.Raise,
    ast.Match, ast.GeneratorExp,
)  # fmt: skip
_NOT_IN_LAMBDA = (ast.NamedExpr, ast.Yield, ast.YieldFrom, ast.Await)
_OF_FRAMES = ("super", "locals", "vars", "eval", "exec", "dir")  # functions that read a frame
_NESTED = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.GeneratorExp, ast.ClassDef)


@lru_cache(maxsize=256)
def traceable(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose loops and choices are calls; the function itself if it has none.

    Parameters
    ----------
    function : callable
        The function to trace.
    """
    if type(function) is not FunctionType or _is_of_a_library(function):
        return function
    if any(name.startswith("__relgraph_") for name in function.__code__.co_freevars):
        return function  # a part of a function that has been changed
    tree, first = _parsed(function)
    definition = _definition(function, tree)
    if definition is None or any(map(_is_private, ast.walk(definition))):
        return function
    definition.decorator_list = []
    converter = _Converter(definition)
    converter.visit(definition)
    if not converter.changed:
        return function
    return _compiled(function, tree, definition, first)


def _parsed(function: FunctionType) -> tuple[ast.Module, int]:
    """Return the source of a function, and its first line; an empty module if there is none."""
    try:
        lines, first = inspect.getsourcelines(function.__code__)
        return ast.parse(textwrap.dedent("".join(lines))), first
    except (OSError, TypeError, SyntaxError):  # no source, or only a part of a statement
        return ast.Module([], []), 0


def _definition(function: FunctionType, tree: ast.Module) -> ast.FunctionDef | None:
    (definition,) = tree.body if len(tree.body) == 1 else (None,)
    if not isinstance(definition, ast.FunctionDef) or definition.name != function.__code__.co_name:
        return None
    return definition


@lru_cache(maxsize=256)
def _only_changes_arrays(function: FunctionType) -> bool:
    """Return True for a function of the user that changes nothing but its arguments."""
    definition = None if _is_of_a_library(function) else _definition(function, _parsed(function)[0])
    if definition is None:
        return False
    parts = [x for part in definition.body for x in ast.walk(part)]
    own = {x.arg for x in ast.walk(definition.args) if isinstance(x, ast.arg)}
    own |= _assigned(definition)
    plain = all([isinstance(x, ast.Return) or _is_plain(x) for x in parts])
    return plain and own.issuperset(_changed(definition))


def called_for_effect(function: Any) -> Any:
    """Return what a statement calls by its name; where it is traced once, it may change arrays."""
    statement = getattr(BODY.get(), "statement", None)
    if statement is None:
        return called(function)
    if type(function) is not FunctionType or not _only_changes_arrays(function):
        raise python_choices.side_effect(statement, function)

    def call(*args: Any, **kwargs: Any) -> Any:
        if not all(map(python_choices.is_immutable, (*args, *kwargs.values()))):
            raise python_choices.side_effect(statement, function)
        return traceable(function)(*args, **kwargs)

    return call


def called(function: Any) -> Any:
    """Return what a traced function calls by its name: a function of the user made traceable."""
    if type(function) is FunctionType:
        return traceable(function)
    return python_choices.builtin(function) or function


def _is_of_a_library(function: FunctionType) -> bool:
    name = function.__globals__.get("__name__")
    return str(name).partition(".")[0] in _LIBRARIES


_NAMES |= {_CALLED: called, _EFFECT: called_for_effect}


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
    """Rewrites loops and choices; ``changed`` says whether there was one."""

    def __init__(self, definition: ast.FunctionDef) -> None:
        self.changed = False
        statements = [
            x for x in ast.walk(definition) if isinstance(x, ast.For | ast.While | ast.If)
        ]
        self._elsewhere = {x: set(_read_elsewhere(definition, x)) for x in statements}
        nested = [x for x in ast.walk(definition) if isinstance(x, _NESTED) and x is not definition]
        # A nested function would read the names of the function around it, not of the new one.
        self._captured = {y.id for x in nested for y in ast.walk(x) if isinstance(y, ast.Name)}
        self._number = 0

    def visit_For(self, node: ast.For) -> Any:
        """Rewrite a loop, after those in its body."""
        names = _assigned(node) if _converts(node) and self._keeps_names(node) else None
        first = _first_uses(node.body)
        over_range = _is_range(node.iter)
        self.generic_visit(node)
        if names is None:
            return node
        assert isinstance(node.target, ast.Name)
        index, items = node.target.id, node.iter
        if over_range and isinstance(items, ast.Call):
            items = ast.Call(ast.Name(_RANGE, ast.Load()), [items.func, *items.args], [])
        others = sorted(names - {index})
        order = [index, *others]
        # Values that an iteration does not take from the one before it.
        own = [x for x in others if first.get(x) == "write"]
        later = [x for x in order if x in self._elsewhere[node]]
        return self._called(node, (_RUN, items), [node.body], (order, own, later))

    def visit_While(self, node: ast.While) -> Any:
        """Rewrite a ``while`` loop, after those in its body."""
        plain = [_is_plain(x) for part in (*node.body, node.test) for x in ast.walk(part)]
        if node.orelse or not all(plain) or not self._keeps_names(node):
            self.generic_visit(node)
            return node
        names = sorted(_assigned(node))
        first = _first_uses([ast.Expr(node.test), *node.body])
        later = [x for x in names if x in self._elsewhere[node]]
        own = [x for x in names if first.get(x) == "write" and x not in later]
        node.test = _truth(node.test)
        self.generic_visit(node)
        test = ast.parse(f"lambda {', '.join(names)}: None", mode="eval").body
        assert isinstance(test, ast.Lambda)
        test.body = node.test
        return self._called(node, (_REPEAT, test), [node.body], (names, own, later))

    def visit_If(self, node: ast.If) -> Any:
        """Rewrite an ``if`` statement, after those in its branches."""
        statements = [*node.body, *node.orelse]
        plain = all([_is_plain(x) for part in statements for x in ast.walk(part)])
        if not plain or not self._keeps_names(node):
            self.generic_visit(node)
            return node
        names = sorted({name for part in statements for name in _assigned(part)})
        first = _first_uses([node])  # a loop around the statement may read its names again
        later = [x for x in names if x in self._elsewhere[node] or first.get(x) == "read"]
        node.test = _truth(node.test)
        self.generic_visit(node)
        return self._called(
            node, (_CHOOSE, node.test), [node.body, node.orelse], (names, [], later)
        )

    def _keeps_names(self, node: ast.stmt) -> bool:
        """Return True for a statement that assigns no name which a nested function reads."""
        return self._captured.isdisjoint(_assigned(node))

    def _called(
        self,
        node: ast.stmt,
        call: tuple[str, ast.expr],
        bodies: Sequence[list[ast.stmt]],
        lists: tuple[Sequence[str], Sequence[str], Sequence[str]],
    ) -> list[ast.stmt]:
        """Return a statement as a call of a function.

        It takes an expression, functions of the bodies, the values of the names that these assign,
        and the :class:`.python_choices.Names` with the given lists.
        """
        self.changed = True
        self._number += 1
        names = lists[0]
        made = [f"__relgraph_body_{self._number}_{k}__" for k in range(len(bodies))]
        listed, values = ", ".join(names), _values(names)
        functions = "".join(f"def {name}({listed}):\n    return {values}\n" for name in made)
        arguments = ", ".join(["None", *made, values, _names(node, *lists)])
        text = f"{functions}[{listed}] = {call[0]}({arguments})\n{_deleted(names)}"
        statements = ast.parse(text).body
        for function, body in zip(statements, bodies, strict=False):
            assert isinstance(function, ast.FunctionDef)
            function.body[:0] = body
        assigned = statements[len(bodies)]
        assert isinstance(assigned, ast.Assign)
        assert isinstance(assigned.value, ast.Call)
        assigned.value.args[0] = call[1]
        _place(statements, node, [call[1], *[x for body in bodies for x in body]])
        return statements

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        """Rewrite a conditional expression."""
        node.test = _truth(node.test)
        self.generic_visit(node)
        if any([isinstance(x, _NOT_IN_LAMBDA) or _reads_frame(x) for x in ast.walk(node)]):
            return node
        self.changed = True
        made = ast.parse(f"{_EITHER}(None, lambda: None, lambda: None)", mode="eval").body
        assert isinstance(made, ast.Call)
        made.args[0] = node.test
        for function, value in zip(made.args[1:], (node.body, node.orelse), strict=True):
            assert isinstance(function, ast.Lambda)
            function.body = value
        _place([made], node, [node.test, node.body, node.orelse])
        return made

    def visit_Call(self, node: ast.Call) -> Any:
        """Call functions of the user with their loops rewritten, too."""
        self.generic_visit(node)
        if isinstance(node.func, ast.Name) and not node.func.id.startswith("__relgraph_"):
            function = ast.Name(_CALLED, ast.Load(), **_place_of(node.func))
            node.func = ast.Call(function, [node.func], [], **_place_of(node.func))
            self.changed = True
        return node

    def visit_Expr(self, node: ast.Expr) -> Any:
        """Call functions that are called for what they change as such."""
        self.generic_visit(node)
        call = node.value.func if isinstance(node.value, ast.Call) else None
        name = call.func if isinstance(call, ast.Call) else None
        if isinstance(name, ast.Name) and name.id == _CALLED:
            name.id = _EFFECT
        return node

    def visit_Lambda(self, node: ast.Lambda) -> Any:
        """Leave functions within an expression."""
        return node


def _values(names: Sequence[str]) -> str:
    """Return the text of the present values of names."""
    return f"[{', '.join(f'{_GET}(lambda: {x})' for x in names)}]"


def _names(node: ast.AST, names: Sequence[str], own: Sequence[str], later: Sequence[str]) -> str:
    """Return the text of the :class:`.python_choices.Names` of a statement."""
    objects = ", ".join(f"{x!r}: {_GET}(lambda: {x})" for x in _changed(node))
    return f"{_OF}({names!r}, {own!r}, {later!r}, {{{objects}}})"


def _changed(node: ast.AST) -> dict[str, None]:
    """Return the names of what a statement assigns elements of, or changes by ``+=`` and so on."""
    changed: dict[str, None] = {}
    for x in ast.walk(node):
        if isinstance(x, ast.Subscript) and isinstance(x.ctx, ast.Store):
            value = x.value
            while isinstance(value, ast.Subscript | ast.Attribute):
                value = value.value
            if isinstance(value, ast.Name):
                changed[value.id] = None
        elif isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name):
            changed[x.target.id] = None
    return changed


def _deleted(names: Sequence[str]) -> str:
    """Return the text of statements that delete the names without a value."""
    return "".join(f"if {x} is {_NOTHING}: del {x}\n" for x in names)


def _truth(test: ast.expr) -> ast.expr:
    """Return a condition with conditional expressions for ``and``, ``or``, ``not`` and chains."""
    place = _place_of(test)
    yes, no = [ast.Constant(x, **place) for x in (True, False)]
    if isinstance(test, ast.BoolOp):
        first, *rest = test.values
        if not rest:
            return _truth(first)
        others = ast.Call(ast.Name(_TRUTH, ast.Load(), **place), [], [], **place)
        others.args = [_truth(ast.BoolOp(test.op, rest, **place))]
        both = (others, no) if isinstance(test.op, ast.And) else (yes, others)
        return ast.IfExp(_truth(first), *both, **place)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return ast.IfExp(_truth(test.operand), no, yes, **place)
    if not isinstance(test, ast.Compare):
        return test
    inner = test.comparators[:-1]  # what two comparisons share is evaluated twice
    if inner and not _may_change(inner):
        terms = [test.left, *test.comparators]
        pairs: list[ast.expr] = [
            ast.Compare(copy.deepcopy(a), [op], [b], **place)
            for a, op, b in zip(terms, test.ops, terms[1:], strict=False)
        ]
        return _truth(ast.BoolOp(ast.And(), pairs, **place))
    return test


def _may_change(terms: Sequence[ast.expr]) -> bool:
    """Return True if expressions may give another value the second time."""
    calls = ast.Call | ast.Await | ast.Yield | ast.YieldFrom | ast.NamedExpr
    return any([isinstance(x, calls) for term in terms for x in ast.walk(term)])


def _place(
    made: Sequence[ast.AST], node: ast.stmt | ast.expr, kept: Sequence[ast.stmt | ast.expr]
) -> None:
    """Give new nodes the place of an old one, but for the parts of it that they hold."""
    known = {id(x) for part in kept for x in ast.walk(part)}
    for x in [x for part in made for x in ast.walk(part)]:
        if id(x) not in known and "lineno" in x._attributes:
            x.lineno, x.end_lineno = node.lineno, node.lineno  # type: ignore[attr-defined]
            x.col_offset, x.end_col_offset = node.col_offset, node.col_offset  # type: ignore[attr-defined]


def _place_of(node: ast.expr) -> dict[str, Any]:
    return {name: getattr(node, name) for name in node._attributes}


def _converts(node: ast.For) -> bool:
    """Return True for a loop whose body can be a function."""
    if node.orelse or not isinstance(node.target, ast.Name):
        return False
    return all([_is_plain(x) for part in node.body for x in ast.walk(part)])


def _is_range(x: ast.expr) -> bool:
    if not (isinstance(x, ast.Call) and isinstance(x.func, ast.Name) and x.func.id == "range"):
        return False
    return not x.keywords and not any(isinstance(y, ast.Starred) for y in x.args)


def _is_plain(x: ast.AST) -> bool:
    if isinstance(x, _STAY) or _reads_frame(x):
        return False
    if isinstance(x, ast.Attribute | ast.Starred) and isinstance(x.ctx, ast.Store):
        return False
    if isinstance(x, ast.Expr):  # a call that is made for what it changes
        return isinstance(x.value, ast.Constant) or _is_of_numpy(x.value) or _calls_a_name(x)
    return not isinstance(x, ast.For) or isinstance(x.target, ast.Name | ast.Tuple)


def _reads_frame(x: ast.AST) -> bool:
    return isinstance(x, ast.Name) and x.id in _OF_FRAMES


def _is_private(x: ast.AST) -> bool:
    """Return True for a name that Python changes in the class around a function."""
    name = getattr(x, "attr", None) or getattr(x, "id", None) or ""
    return name.startswith("__") and not name.endswith("__")


def _calls_a_name(x: ast.Expr) -> bool:
    return isinstance(x.value, ast.Call) and isinstance(x.value.func, ast.Name)


def _is_of_numpy(x: ast.expr) -> bool:
    function = x.func if isinstance(x, ast.Call) else None
    while isinstance(function, ast.Attribute):
        function = function.value
    return isinstance(function, ast.Name) and function.id in ("np", "numpy")


def _assigned(node: ast.AST) -> set[str]:
    """Return the names that a statement assigns, but for those of comprehensions."""
    own = [
        y for x in ast.walk(node) if isinstance(x, ast.comprehension) for y in ast.walk(x.target)
    ]
    names = set(map(id, own))
    return {
        x.id
        for x in ast.walk(node)
        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Store) and id(x) not in names
    }


def _loads(node: ast.AST) -> Iterator[str]:
    for x in ast.walk(node):
        if isinstance(x, ast.Name) and isinstance(x.ctx, ast.Load):
            yield x.id
        elif isinstance(x, ast.AugAssign) and isinstance(x.target, ast.Name):
            yield x.target.id


def _read_elsewhere(node: ast.AST, loop: ast.stmt) -> Iterator[str]:
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
        elif isinstance(statement, ast.If):
            read(statement.test)
            then, other = [_first_uses(x) for x in (statement.body, statement.orelse)]
            for name in {**then, **other}:
                both = then.get(name) == other.get(name) == "write"
                first.setdefault(name, "write" if both else "read")
        else:
            read(statement)
            for name in _assigned(statement):
                first.setdefault(name, "read")
    return first


__all__ = ["traceable"]
