"""Node rewriters: replacements of single nodes, under the names that PyTensor uses.

The constructors return relations, which can run both ways.  A rewriter written in Python is a
:class:`NodeRewriter`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from inspect import Parameter, Signature, signature
from typing import Any

from cons import cons
from kanren import eq, lall
from unification import var

from relgraph.errors import (
    ArgumentError,
    NotOverriddenError,
    PatternError,
    RelationError,
    checks_arguments,
    count_of,
    kind_of,
)
from relgraph.ir.etuple import op_term
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Variable
from relgraph.ir.op import Op
from relgraph.relations.declaration import check_name
from relgraph.relations.decorators import identity, relation
from relgraph.relations.kanren.goals import Suspended, checko
from relgraph.relations.pattern import Pattern, PatternVariable, Term, text
from relgraph.relations.relation import Relation
from relgraph.rewriting.interpreter import answers, placed


class NodeRewriter:
    """A rewriter of one node, written in Python; override :meth:`transform`.

    Attributes
    ----------
    contextual : bool
        Whether :meth:`transform` reads the graph around its node, such as ``graph.clients``.  A
        contextual rewriter sees the whole graph, pass by pass; any other sees each node once, on
        normal operands, and no graph.

    Examples
    --------
    >>> import relgraph as rg
    >>> class Simplify(rg.NodeRewriter):
    ...     def transform(self, graph, node):
    ...         x, y = node.inputs
    ...         if x.op is rg.multiply and y in x.inputs:
    ...             a, b = x.inputs
    ...             return b if a is y else a
    ...         return None
    ...     def tracks(self):
    ...         return [rg.true_divide]
    >>> x, y, z = rg.vectors("x y z")
    >>> rg.rewrite_graph(z + x * y / y, Simplify())
    z + x
    """

    contextual: bool = False

    @property
    def name(self) -> str:
        """Its name in derivations and databases: that of its class."""
        return type(self).__name__

    def transform(self, graph: FunctionGraph, node: Variable) -> Any:
        """Return the replacement of a node.

        Parameters
        ----------
        graph : FunctionGraph
            The graph around the node, for a contextual rewriter.
        node : Variable
            An application of one of the tracked ops.

        Returns
        -------
        Variable, list of one Variable, or None
            None or False leaves the node unchanged.  A contextual rewriter may also return a dict
            from nodes of the graph to their replacements.
        """
        raise NotOverriddenError.of(
            self, "transform(self, graph, node)", "what takes the place of a node"
        )

    def tracks(self) -> Sequence[Op | type[Op]] | None:
        """Return the ops whose nodes are passed to :meth:`transform`.

        Returns
        -------
        sequence of Op or class of Op, or None
            The ops; None for all.
        """
        return None

    def __repr__(self) -> str:
        return f"<node rewriter {self.name}>"


class _FunctionRewriter(NodeRewriter):
    """The node rewriter that :func:`node_rewriter` makes from a function."""

    def __init__(self, function: Callable[..., Any], tracks: Any, contextual: bool) -> None:
        self.function = function
        self.contextual = contextual
        self.__doc__ = function.__doc__ or ""
        self._tracks = tracks

    @property
    def name(self) -> str:
        """The name of the function."""
        return self.function.__name__

    def transform(self, graph: FunctionGraph, node: Variable) -> Any:
        """Call the function."""
        return self.function(graph, node)

    def tracks(self) -> Any:
        """Return the ops that the decorator was given."""
        return self._tracks


@checks_arguments
def node_rewriter(
    tracks: Sequence[Op | type[Op]] | None = None, *, contextual: bool = False
) -> Callable[[Callable[..., Any]], NodeRewriter]:
    """Turn a function into a :class:`NodeRewriter`, as a decorator.

    Parameters
    ----------
    tracks : sequence of Op or class of Op, optional
        The ops of the nodes that the function is called with; None for all.
    contextual : bool
        Whether the function reads the graph around its node.

    Returns
    -------
    callable
        Takes a function of ``(graph, node)`` that returns a replacement or None.

    Raises
    ------
    ArgumentError
        If ``tracks`` are not ops, or the decorated object is not a function.

    Examples
    --------
    >>> import relgraph as rg
    >>> @rg.node_rewriter([rg.exp])
    ... def exp_of_log(graph, node):
    ...     (x,) = node.inputs
    ...     return x.inputs[0] if x.op is rg.log else None
    >>> rg.rewrite_graph(rg.exp(rg.log(rg.vector("x"))), exp_of_log)
    x
    """

    def decorate(function: Callable[..., Any]) -> NodeRewriter:
        if not callable(function) or isinstance(function, type | Op):
            raise ArgumentError(
                f"node_rewriter decorates a function, not {kind_of(function)}",
                fix="Write @rg.node_rewriter([rg.add]) above def rewrite(graph, node).",
            )
        rewriter = _FunctionRewriter(function, tracks, contextual)
        _tracks(rewriter)  # raises unless these are ops
        return rewriter

    if callable(tracks) and not isinstance(tracks, Op | type):
        raise ArgumentError(
            "node_rewriter takes the ops to track, and is called without them here",
            fix="Write @rg.node_rewriter() for all nodes, or @rg.node_rewriter([rg.add]).",
        )
    return decorate


FailureCallback = Callable[[Exception, NodeRewriter, Variable], None]


def attempt(
    rewriter: NodeRewriter, graph: Any, node: Variable, failure_callback: FailureCallback | None
) -> Any:
    """Return a node rewriter's replacement of a node: a Variable, a dict or None.

    An exception gets a note that names the rewriter and the node, or is passed with both to the
    failure callback, which may raise.
    """
    try:
        result = rewriter.transform(graph, node)
        return None if result is None else replacement(result, rewriter.name, node)
    except Exception as error:
        if failure_callback is None:
            error.add_note(f"raised by the rewriter {rewriter.name}\n  node : {node} : {node.type}")
            raise
        failure_callback(error, rewriter, node)
        return None


class _Unseen:
    """The graph of a rewriter that is not contextual, which cannot be read."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        raise ArgumentError(
            f"{self._name} reads graph.{attribute}, but is not declared contextual",
            fix="Set contextual = True on its class to be given the graph around each node.",
        )


class Transform:
    """A node rewriter with the interface that the driver calls."""

    def __init__(
        self, rewriter: NodeRewriter, failure_callback: FailureCallback | None = None
    ) -> None:
        self.rewriter = rewriter
        self.failure_callback = failure_callback
        self.name = self.relation = rewriter.name
        self.tracks = _tracks(rewriter)
        self._graph: Any = _Unseen(rewriter.name)

    def __reduce__(self) -> tuple[Any, ...]:
        return Transform, (self.rewriter, self.failure_callback)

    def transform(self, node: Variable) -> Variable | None:
        """Return the replacement of a node, or None."""
        result: Variable | dict[Variable, Variable] | None = attempt(
            self.rewriter, self._graph, node, self.failure_callback
        )
        if isinstance(result, dict):
            raise ArgumentError(
                f"{self.name} returned a dict, but is not declared contextual",
                {"node": node},
                "Set contextual = True on its class.",
            )
        return None if result is None else checked_type(result, node, self.name)

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Transform)
            and other.rewriter is self.rewriter
            and other.failure_callback is self.failure_callback
        )

    def __hash__(self) -> int:
        return hash((Transform, id(self.rewriter), id(self.failure_callback)))


def _tracks(rewriter: NodeRewriter) -> tuple[Any, ...] | None:
    if not callable(rewriter.tracks):
        raise ArgumentError(
            f"{rewriter.name}.tracks must be a method, not {rewriter.tracks!r}",
            fix="Write def tracks(self): return [rg.add], with the ops it is asked about.",
        )
    tracks: Any = rewriter.tracks()
    if tracks is None:
        return None
    ops = tuple(tracks) if isinstance(tracks, Iterable) else (tracks,)
    for op in ops:
        if not isinstance(op, Op) and not (isinstance(op, type) and issubclass(op, Op)):
            raise ArgumentError(
                f"{rewriter.name}.tracks() must return ops or classes of ops, not {op!r}",
                fix="An op is an object such as rg.add, a class of ops one such as Sum.",
            )
        if op is tracks:
            raise ArgumentError(
                f"{rewriter.name}.tracks() must return a sequence of ops, not {op!r}",
                fix="Return a list, such as [rg.add].",
            )
    return ops


def replacement(found: Any, name: str, node: Variable) -> Any:
    """Return the result of ``transform`` as a Variable, a dict or None."""
    if found is None or found is False:
        return None
    if isinstance(found, list | tuple) and len(found) == 1:
        found = found[0]
    if isinstance(found, Variable | dict):
        return found
    raise ArgumentError(
        f"{name}.transform must return a Variable or None, not {found!r}",
        {"node": node},
        "Wrap an array or a number with rg.constant.",
    )


def checked_type(new: Any, old: Variable, name: str) -> Variable:
    """Return a replacement, or raise RelationError unless it has the type of what it replaces."""
    if isinstance(new, Variable) and new.type.narrows(old.type):
        return new
    kind = new.type if isinstance(new, Variable) else type(new).__name__
    raise RelationError(
        f"{name} returned a graph of another type",
        [("node", f"{old} : {old.type}"), ("result", f"{new} : {kind}")],
        "A replacement has the dtype of what it replaces and a shape that is equal or more exact.",
    )


@checks_arguments
def SubstitutionNodeRewriter(op1: Op, op2: Op, *, name: str | None = None) -> Relation:
    """Return the relation that ``op1`` and ``op2`` agree on all operands.

    Parameters
    ----------
    op1, op2 : Op
        The op to replace, and the op that replaces it.
    name : str, optional
        By default ``"<op1>_to_<op2>"``.

    Returns
    -------
    Relation
        It runs backward too, replacing ``op2`` by ``op1``.

    Raises
    ------
    ArgumentError
        If both are the same op.

    Examples
    --------
    >>> import relgraph as rg
    >>> x, y = rg.vectors("x y")
    >>> rg.rewrite_graph(rg.exp(x + y), rg.SubstitutionNodeRewriter(rg.add, rg.multiply))
    exp(x * y)
    """
    first, second = _op(op1, "op1"), _op(op2, "op2")
    if first is second:
        raise ArgumentError(
            f"{first!r} cannot be replaced by itself",
            fix="Name two ops: the one to replace, and the one that takes its place.",
        )
    name = name or f"{first.name}_to_{second.name}"
    check_name(name, "SubstitutionNodeRewriter")
    if first.arity is None or first.arity != second.arity:

        def goal(left: Any, right: Any) -> Any:
            operands = var()
            return lall(
                eq(left, cons(op_term(first), operands)),
                eq(right, cons(op_term(second), operands)),
            )

        return relation(goal, name=name)  # type: ignore[no-any-return]

    def sides(*operands: Any) -> tuple[Any, Any]:
        return first(*operands), second(*operands)

    return _declared(sides, [f"x{i}" for i in range(first.arity)], name)


@checks_arguments
def RemovalNodeRewriter(op: Op, *, name: str | None = None) -> Relation:
    """Return the relation that ``op(x)`` is ``x``.

    Parameters
    ----------
    op : Op
        An op of one operand.
    name : str, optional
        By default ``"remove_<op>"``.

    Returns
    -------
    Relation
        It has no backward direction.

    Raises
    ------
    ArgumentError
        If the op does not take one operand.

    Examples
    --------
    >>> import relgraph as rg
    >>> rg.rewrite_graph(rg.exp(rg.absolute(rg.vector("x"))), rg.RemovalNodeRewriter(rg.absolute))
    exp(x)
    """
    removed = _op(op, "op")
    if removed.arity != 1:
        raise ArgumentError(
            f"{removed!r} cannot be removed: it has {removed.arity or 'any number of'} operands "
            "for its one result",
            fix="State which operand remains with rg.PatternNodeRewriter((op, 'x', 'y'), 'x').",
        )
    name = name or f"remove_{removed.name}"
    check_name(name, "RemovalNodeRewriter")
    return _declared(lambda x: (removed(x), x), ["x"], name)


@checks_arguments
def PatternNodeRewriter(
    in_pattern: Any,
    out_pattern: Any,
    *,
    name: str | None = None,
    tags: Sequence[str] = (),
    where: Callable[..., Any] | None = None,
) -> Relation:
    """Return the relation of two patterns written as nested tuples.

    Parameters
    ----------
    in_pattern, out_pattern : tuple, str, number or Variable
        ``(op, operand, ...)`` is an application, a string a variable, and
        ``{"pattern": p, "constraint": f}`` a pattern whose nodes must satisfy the predicate
        ``f(node)``.
    name : str, optional
        By default the text of the identity.
    tags, where
        As in :func:`relgraph.identity`.

    Returns
    -------
    Relation
        It runs in every direction that its patterns allow.

    Raises
    ------
    ArgumentError
        If ``where`` takes a variable that the patterns do not have.

    Examples
    --------
    >>> import relgraph as rg
    >>> simplify = rg.PatternNodeRewriter((rg.true_divide, (rg.multiply, "x", "y"), "y"), "x")
    >>> a, b = rg.vectors("a b")
    >>> rg.rewrite_graph(rg.exp(b * a / b), simplify)
    exp(a)
    """
    names: dict[str, None] = {}
    _collect(in_pattern, names)
    _collect(out_pattern, names)
    conditions: list[Suspended] = []

    def sides(*variables: Any) -> tuple[Any, Any]:
        env = dict(zip(names, variables, strict=True))
        return _built(in_pattern, env, conditions), _built(out_pattern, env, conditions)

    def side_conditions(*variables: Any) -> tuple[Any, ...]:
        more: Any = ()
        if where is not None:
            env = dict(zip(names, variables, strict=True))
            wanted = signature(where).parameters
            unknown = [p for p in wanted if p not in env]
            if unknown:
                raise ArgumentError(
                    f"where= asks for {', '.join(unknown)}, which the patterns do not have",
                    {"variables": ", ".join(names)},
                    "Name the parameters of where= as the variables of the patterns.",
                )
            more = where(*[env[p] for p in wanted])
        return (*conditions, *(more if isinstance(more, tuple | list) else (more,)))

    if name is None:
        trial = {n: PatternVariable(n) for n in names}
        left, right = (_built(p, trial, []) for p in (in_pattern, out_pattern))
        name = f"{text(left)} = {text(right)}"
    else:
        check_name(name, "PatternNodeRewriter")
    return _declared(sides, list(names), name, tags=tags, where=side_conditions)


class _FilteredRelation(NodeRewriter):
    """A relation that kanren runs on the nodes that a filter lets through."""

    def __init__(
        self,
        relation: Relation,
        results_filter: Callable[[Iterator[Variable]], Any],
        node_filter: Callable[[Variable], bool],
    ) -> None:
        self.relation = relation
        self.results_filter = results_filter
        self.node_filter = node_filter

    @property
    def name(self) -> str:
        """The name of the relation."""
        return self.relation.label

    def transform(self, graph: FunctionGraph, node: Variable) -> Any:
        """Return the answer that the filter picks."""
        if self.node_filter(node):
            return None
        fitted = (placed(self.relation, x, node) for x in answers(self.relation, node))
        return self.results_filter(x for x in fitted if x is not None)


def KanrenRelationSub(
    goal: Callable[[Any, Any], Any],
    results_filter: Callable[[Iterator[Variable]], Any] | None = None,
    node_filter: Callable[[Variable], bool] | None = None,
    *,
    name: str | None = None,
) -> Relation | NodeRewriter:
    """Return a kanren goal constructor of two arguments as a relation.

    Parameters
    ----------
    goal : callable
        ``goal(left, right)``; any goals of miniKanren may be used in it.
    results_filter : callable, optional
        Takes an iterator over the answers that fit a node, and returns the one to use, or None.
        By default the first.
    node_filter : callable, optional
        Takes a node, and returns True to leave it unchanged.
    name : str, optional
        By default the function's.

    Returns
    -------
    Relation, or NodeRewriter
        Without a filter a relation, which is compiled if the answers of the goal can be
        enumerated.  With a filter a node rewriter, for which kanren runs the goal at each node.

    Raises
    ------
    ArgumentError
        If ``goal`` is not a function of two arguments.

    Examples
    --------
    >>> import relgraph as rg
    >>> from etuples import etuple
    >>> from kanren import eq, lall
    >>> from unification import var
    >>> def add_to_doubleo(left, right):
    ...     x = var()
    ...     return lall(eq(left, etuple(rg.add, x, x)), eq(right, etuple(rg.multiply, 2, x)))
    >>> x = rg.vector("x")
    >>> rg.rewrite_graph(x + x, rg.KanrenRelationSub(add_to_doubleo))
    2 * x
    """
    if not callable(goal) or isinstance(goal, Op | type):
        raise ArgumentError(
            f"a relation is a goal constructor of two arguments, not {goal!r}",
            fix="Pass a function of (left, right) that returns a kanren goal.",
        )
    for parameter, value in (("results_filter", results_filter), ("node_filter", node_filter)):
        if value is not None and not callable(value):
            raise ArgumentError(
                f"{parameter} is a function, not {kind_of(value)}",
                fix="Write results_filter=lambda answers: next(answers, None), or leave it out.",
            )
    wrapped: Relation = goal if isinstance(goal, Relation) else relation(goal, name=name)
    if results_filter is None and node_filter is None:
        return wrapped
    return _FilteredRelation(
        wrapped,
        results_filter or (lambda results: next(results, None)),
        node_filter or (lambda node: False),
    )


def _op(x: Any, what: str) -> Op:
    if isinstance(x, Op):
        return x
    raise ArgumentError(
        f"{what} must be an op, not {x!r}",
        fix="An op is an object such as rg.add; a class of ops with parameters is called first, "
        "as in Sum(None, False).",
    )


def _declared(
    sides: Callable[..., Any],
    names: list[str],
    name: str,
    tags: Sequence[str] = (),
    where: Callable[..., Any] | None = None,
) -> Relation:
    """Declare an identity with these parameter names, located at the caller."""
    parameters = [Parameter(n, Parameter.POSITIONAL_OR_KEYWORD) for n in names]
    for function in (sides, where):
        if function is not None:
            function.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    caller = sys._getframe(3)  # of the constructor, and of what checks its arguments
    file = caller.f_code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    sides.__doc__ = sides.__name__ = name  # which may be an equation
    result: Relation = identity(sides, tags=tags, where=where, location=f"{file}:{caller.f_lineno}")
    return result


def _collect(pattern: Any, names: dict[str, None]) -> None:
    """Collect the variables of a pattern, in order of occurrence."""
    if isinstance(pattern, str):
        if not pattern.isidentifier():
            raise PatternError(
                f"a variable of a pattern is named like one of Python's, not {pattern!r}",
                fix="Write one name for each variable; a tuple is an op with its operands.",
            )
        names[pattern] = None
    elif isinstance(pattern, Mapping):
        _collect(pattern.get("pattern"), names)
    elif isinstance(pattern, tuple | list):
        for x in pattern[1:]:
            _collect(x, names)


def _built(pattern: Any, env: dict[str, PatternVariable], conditions: list[Suspended]) -> Term:
    """Build the pattern of nested tuples; patterns are small, so this recurses."""
    if isinstance(pattern, str):
        return env[pattern]
    if isinstance(pattern, Mapping):
        unknown = set(pattern) - {"pattern", "constraint"}
        if unknown or "pattern" not in pattern:
            raise PatternError(
                f"a pattern given as a dict has the keys 'pattern' and 'constraint', not "
                f"{', '.join(map(repr, pattern)) or 'none'}",
                fix="Write {'pattern': 'x', 'constraint': lambda node: node.ndim == 1}.",
            )
        inner = _built(pattern["pattern"], env, conditions)
        constraint = pattern.get("constraint")
        if constraint is not None:
            conditions.append(checko(constraint, inner))
        return inner
    if isinstance(pattern, tuple | list):
        head, *operands = pattern or (None,)
        if not callable(head):
            raise PatternError(
                f"the head of a pattern must be an op, not {head!r}",
                {"pattern": pattern},
                "Write it as (op, operand, ...), for instance (rg.add, 'x', 'y').",
            )
        if (
            isinstance(head, Op)
            and head.arity not in (None, len(operands))
            and (not head.associative or len(operands) < 2)
        ):
            raise PatternError(
                f"{head!r} takes {count_of(head.arity or 0, 'operand')}, and the pattern gives it "
                f"{len(operands)}",
                {"pattern": pattern},
                "Write (op, operand, ...) with as many operands as the op takes.",
            )
        return head(*[_built(x, env, conditions) for x in operands])
    if isinstance(pattern, Pattern | Variable | bool | int | float):
        return pattern
    raise PatternError(
        f"{pattern!r:.60} cannot stand in a pattern: it is {kind_of(pattern)}",
        fix="Use (op, operand, ...), strings for variables, numbers and graph nodes.",
    )
