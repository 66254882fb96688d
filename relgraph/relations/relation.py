"""Relations: one declaration, four readings.

:func:`identity` declares two sides that are equal, :func:`relation` any kanren goal of two
arguments.  Either is a goal constructor for ``kanren.run``; its clauses compile in both
directions.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from functools import partial
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np
from cons.core import ConsPair
from etuples.core import ExpressionTuple
from unification import isvar, reify, var
from unification.core import isground

from relgraph.errors import ArgumentError, RelationError, RelgraphError
from relgraph.ir.dispatch import traceable
from relgraph.ir.etuple import raise_
from relgraph.ir.forks import cached_property
from relgraph.ir.node import Apply, Variable, constant
from relgraph.ir.op import Op
from relgraph.ir.reference import ByReference
from relgraph.relations.clause import (
    Clause,
    DeferredRewrite,
    Rewrite,
    is_ac,
    is_bound,
    orient,
    with_block,
)
from relgraph.relations.declaration import documentation, names_of, stated_clauses
from relgraph.relations.kanren.clause_goals import goal_of
from relgraph.relations.kanren.enumeration import enumerate_clauses
from relgraph.relations.kanren.goals import RESIDUALS
from relgraph.relations.kanren.search import answers
from relgraph.relations.operand_index import ANY, EACH, anchor
from relgraph.relations.pattern import (
    Block,
    Pattern,
    PatternNode,
    PatternVariable,
    chained_args,
    op_variables,
    subterms,
    to_term,
)
from relgraph.relations.shape_proof import proved
from relgraph.viz.display import Displayed

if TYPE_CHECKING:
    from relgraph.viz.document import Element

ROUNDINGS = ("exact", "rounded")
SPECIALS = ("kept", "assumes_finite")
CATALOGUE = "relgraph.relations.catalogue"
_NO_SIDE: Any = object()

# The relations of the catalogue, by module and name; some exist before their modules have run.
ANNOUNCED: dict[tuple[str, ...], Any] = {}


class Relation(Displayed, ByReference):
    """An equation between graphs, readable forward, backward, as a query and as a fact.

    Calling it with two terms makes a kanren goal.  ``relation.reversed`` swaps its sides.
    :func:`identity` and :func:`relation` make relations.

    Parameters
    ----------
    name : str
        Its name.
    goal : callable, optional
        ``goal(left, right)`` returns a kanren goal; by default that of the clauses.
    clauses : tuple of Clause, optional
        Its pairs of sides; by default the answers of the goal.
    tags, rounding, specials, broadcast, budget
        As in :func:`identity`.
    doc : str
        Its docstring.
    location : str
        ``file:line`` of its declaration.

    Attributes
    ----------
    name : str
        Its name; in a database, unique.
    tags : tuple of str
        Databases select it by them.
    rounding : str
        ``"exact"`` (equal values, signed zeros included) or ``"rounded"``.
    specials : str
        ``"kept"``, or ``"assumes_finite"`` where it holds for finite inputs and intermediates only.
    location : str
        ``file:line`` of its declaration.
    doc : str
        The docstring of its declaration; ``__doc__`` also says where it holds.
    goal : callable
        Its goal constructor.
    """

    def __init__(
        self,
        name: str,
        goal: Callable[[Any, Any], Any] | None = None,
        *,
        clauses: tuple[Clause, ...] | None = None,
        tags: Iterable[str] = (),
        rounding: str = "rounded",
        specials: str = "kept",
        broadcast: Iterable[str] = (),
        doc: str | None = "",
        location: str = "",
        budget: int | None = None,
    ) -> None:
        _check_declared(name, budget, rounding, specials, location)
        self.name = name
        self.tags = names_of(tags, f"{name}: tags=")
        self.rounding = rounding
        self.specials = specials
        self.broadcast = frozenset(names_of(broadcast, f"{name}: broadcast="))
        self.location = location
        self.budget = budget
        if doc is not None:
            self.doc = self.__doc__ = doc
        if goal is not None:
            self.goal = goal
        self._given = clauses
        self._twin: Relation | None = None
        self._oriented: dict[int, Rewrite | None] = {}
        self._refused: list[tuple[type[RelgraphError], tuple[Any, ...]]] = []
        self.backward = False
        self.__qualname__ = ""

    def __reduce__(self) -> str | tuple[Any, ...]:
        if self.backward:
            return getattr, (self.reversed, "reversed")
        return super().__reduce__()

    @traceable
    def __call__(self, left: Any, right: Any = _NO_SIDE) -> Any:
        """Return the goal that ``left`` and ``right`` are related, with fresh variables."""
        if right is _NO_SIDE:
            raise ArgumentError(
                f"{self.label} relates two sides, and one is given",
                {"given": left},
                f"To rewrite a graph, write rg.rewrite_graph(graph, {self.label}); "
                "relation.run(1, graph) asks for the other side.",
            )
        if self.backward:
            left, right = right, left
        return self.goal(left, right)

    @property
    def reversed(self) -> Relation:
        """The same relation with its sides swapped.

        Raises
        ------
        NotInvertibleError, UnboundVariableError
            When no clause of it can run that way.
        """
        if self._twin is None:
            twin = self.swapped()
            if not twin.interpreted:
                twin.rewrites  # noqa: B018 - raises if no clause can run that way
            self._twin = twin
        return self._twin

    def swapped(self) -> Relation:
        """Return a new object for the relation with its sides swapped, which may not run.

        Returns
        -------
        Relation
            What :attr:`reversed` returns once it is known to run.
        """
        twin = object.__new__(type(self))
        twin.__dict__.update(self.__dict__)
        for name in ("rewrites", "heads", "forms", "needs", "catalogued"):
            twin.__dict__.pop(name, None)
        twin._oriented, twin._refused = {}, []
        twin.backward = not self.backward
        twin._twin = self
        return twin

    @property
    def label(self) -> str:
        """Its name, with ``.reversed`` where its sides are swapped."""
        return f"{self.name}.reversed" if self.backward else self.name

    @property
    def forward(self) -> Relation:
        """The relation with its sides as they are declared."""
        if not self.backward:
            return self
        assert self._twin is not None
        return self._twin

    @cached_property
    def goal(self) -> Callable[[Any, Any], Any]:
        """Its goal constructor, one for both directions."""
        if self.backward:
            return self.forward.goal
        assert self.clauses is not None
        return goal_of(*self.clauses)

    @cached_property
    def clauses(self) -> tuple[Clause, ...] | None:
        """Its clauses as declared, or None when its answers cannot be enumerated."""
        if self._given is not None:
            return self._given
        return enumerate_clauses(self.goal, self.name, self.location)

    @property
    def interpreted(self) -> bool:
        """Whether miniKanren runs it at each node, because it has no finite set of clauses."""
        return self.clauses is None

    @cached_property
    def binds_ops(self) -> bool:
        """Whether a side has an op variable, so that it is matched with binary nodes."""
        return any(op_variables(c.left, c.right) for c in self.clauses or ())

    @cached_property
    def needs(self) -> frozenset[Any] | None:
        """An op, or class of ops, of each pattern with an op variable; None if one has no such op.

        Without these the relation cannot fire.  It is None without op variables too: such a
        relation is tried only at its own heads.
        """
        heads: set[Any] = set()
        for pattern in self.patterns if self.binds_ops else [None]:
            keys = [anchor(x) for x in subterms(pattern) if isinstance(x, PatternNode | Block)]
            known = [key for key in keys if isinstance(key, Op | type)]
            if not known:
                return None
            heads.add(known[0])
        return frozenset(heads)

    @cached_property
    def rewrites(self) -> tuple[Rewrite, ...]:
        """Its clauses in its direction, without those that cannot run that way.

        Raises
        ------
        NotInvertibleError, UnboundVariableError
            When none of them can.
        """
        numbers = range(len(self.clauses or ()))
        rewrites = [x for i in numbers if (x := self.rewrite(i)) is not None]
        if numbers and not rewrites:
            kind, said = self._refused[0]
            raise kind(*said)
        return tuple(rewrites)

    def rewrite(self, number: int) -> Rewrite | None:
        """Return one of its clauses in its direction, or None if that cannot run.

        Parameters
        ----------
        number : int
            The index of the clause in :attr:`clauses`.

        Returns
        -------
        Rewrite or None
            The same object at each call.
        """
        try:
            return self._oriented[number]
        except KeyError:
            return self._oriented.setdefault(number, self._orient(number))

    def _orient(self, number: int) -> Rewrite | None:
        """Make the rewrite of a clause; None, with the reason kept, if it cannot run."""
        assert self.clauses is not None
        try:
            return orient(
                with_block(self.clauses[number]),
                self.backward,
                self.label,
                self.location,
                broadcast=self.broadcast,
                exact=self.rounding == "exact",
                source=self,
            )
        except RelgraphError as error:  # its parts: the error itself would keep its frames alive
            self._refused.append((type(error), (error.what, error.facts, error.fix)))
            return None

    def deferred(self, number: int) -> Rewrite:
        """Return :meth:`rewrite`, which is made when it is asked for its sides; it can run.

        Parameters
        ----------
        number : int
            The index of a clause.

        Returns
        -------
        Rewrite
            The clause in the direction of the relation.
        """
        rewrite = self._oriented.get(number)
        if rewrite is None:
            deferred = DeferredRewrite(self, partial(self._orient, number))
            rewrite = self._oriented.setdefault(number, deferred)
        assert rewrite is not None
        return rewrite

    def number_of(self, rewrite: Rewrite) -> int:
        """Return the index of the clause of a rewrite.

        Parameters
        ----------
        rewrite : Rewrite
            One of the relation's own.

        Returns
        -------
        int
            As :meth:`rewrite` takes it.
        """
        return next(number for number, x in self._oriented.items() if x is rewrite)

    @cached_property
    def catalogued(self) -> str | None:
        """Its theme and label if it is one of the relations that relgraph ships, else None."""
        package, _, theme = self.__module__.rpartition(".")
        if package != CATALOGUE:
            return None
        held = ANNOUNCED.get((self.__module__, self.__qualname__)) or getattr(
            sys.modules[self.__module__], self.__qualname__, None
        )
        return f"{theme}.{self.label}" if held is self.forward else None

    @property
    def patterns(self) -> list[Any]:
        """The sides of its clauses that its direction matches, as they are declared."""
        return [x.right if self.backward else x.left for x in self.clauses or ()]

    @cached_property
    def forms(self) -> tuple[tuple[Any, tuple[Any, ...]], ...]:
        """The key of each pattern, and the keys of the operands that it may match."""
        return tuple([form_of(x) for x in self.patterns])

    @cached_property
    def heads(self) -> tuple[Any, ...]:
        """The head ops of its patterns; the class of an op whose parameters are open."""
        heads: dict[Any, None] = {}
        runs = False
        for clause, pattern in zip(self.clauses or (), self.patterns, strict=True):
            if not isinstance(pattern, PatternNode | Block | Apply):
                continue
            head = anchor(pattern)
            new = is_ac(head) and head not in heads
            if new or not runs:
                bound = is_bound(clause, self.backward)
                # A head without a rewrite would make sums and products n-ary in vain.
                if new and not bound:
                    break
                runs = runs or bound
            heads[head] = None
        else:
            if runs:
                return tuple(heads)
        # Raises if the direction does not run at all.
        return tuple(dict.fromkeys([anchor(r.pattern) for r in self.rewrites]))

    @traceable
    def run(self, n: int | None, left: Any = None, right: Any = None) -> tuple[Any, ...]:
        """Ask miniKanren for related pairs, or for the side that is left out.

        Parameters
        ----------
        n : int or None
            How many answers at most; None or, as in kanren, 0 for all (which may not end).
        left, right : node, number, array, pattern, etuple, logic variable or None
            The sides; None stands for the side to find, and an array for a constant.

        Returns
        -------
        tuple
            The missing side of each answer, or pairs if both are missing.  A ground answer is a
            graph; one with free logic variables is a term.  As in rewriting, the answers leave out
            graphs that do not run wherever the given one does, and graphs to which the relation
            does not apply because an operand is broadcast or has another rank.

        Raises
        ------
        ArgumentError
            If ``n`` is neither None nor a nonnegative int.

        Examples
        --------
        >>> import relgraph as rg
        >>> @rg.identity
        ... def double_addo(x):
        ...     '''x + x = 2 x.'''
        ...     return x + x, 2 * x
        >>> x = rg.vector("x")
        >>> double_addo.run(1, x + x)
        (2 * x,)
        """
        if not (n is None or (isinstance(n, int) and not isinstance(n, bool) and n >= 0)):
            raise ArgumentError(
                f"{self.label}.run takes the number of answers first, not {n!r}",
                fix="Write relation.run(1, graph), or relation.run(None, graph) for all answers.",
            )
        a, b = (
            var() if side is None else _as_side(side, which, self.label)
            for side, which in ((left, "left"), (right, "right"))
        )
        missing = (a, b) if left is None and right is None else (b if right is None else a)
        results: list[Any] = []
        for final in answers(lambda: self(a, b), self.label):
            if left is not None and right is not None and RESIDUALS in final:
                continue
            sides = as_graph(reify(a, final)), as_graph(reify(b, final))
            if not self._equals(*(sides if left is not None else sides[::-1])):
                continue
            results.append(sides if isinstance(missing, tuple) else sides[missing is b])
            if n and len(results) >= n:
                break
        return tuple(results)

    def _equals(self, side: Any, answer: Any) -> bool:
        """Return True if an answer may replace a given graph, as in rewriting."""
        if not isinstance(side, Variable) or not isinstance(answer, Variable):
            # A term without logic variables is a graph, unless an op rejects its operands.
            return not (isinstance(answer, ExpressionTuple) and isground(answer, {}))
        uniform = not self.broadcast
        return proved(answer, side, (), uniform=uniform, numbers=self.binds_ops) is not None

    def __str__(self) -> str:
        if self.clauses is None:
            return f"{self.label}: a goal that kanren runs"
        lines = []
        for c in self.clauses:
            shown = Clause(c.right, c.left, c.conditions) if self.backward else c
            lines.append(f"{self.label}: {shown}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<relation {self.label}>"

    def _document(self) -> list[Element]:
        from relgraph.relations.statement import described

        return described(self)

    def _latex(self) -> str:
        from relgraph.relations.statement import latex

        return latex(self) if self.clauses else ""


class CataloguedRelation(Relation):
    """A relation of the catalogue, which is stated when its clauses are asked for.

    Tests check the declarations of the catalogue, so a process only states what it uses.  The
    relation may exist before the module that declares it has run, by the facts that an earlier
    process wrote down (see :mod:`relgraph.relations.relation_facts`); then its module runs when it
    is to be stated, and :func:`identity` gives it the functions for that.
    """

    _functions: tuple[Callable[..., Any], Callable[..., Any] | None] | None = None

    def declare(self, function: Callable[..., Any], where: Callable[..., Any] | None) -> bool:
        """Take the functions that state the relation; return False if it has them already."""
        if self._functions is not None:  # its module runs again
            return False
        self._functions = function, where
        return True

    @property
    def functions(self) -> tuple[Callable[..., Any], Callable[..., Any] | None]:
        """The functions that state its sides and its conditions; its module runs for them."""
        forward: Any = self.forward
        if forward._functions is None:
            import_module(self.__module__)
            assert forward._functions is not None, f"{self.__module__} has no {self.name}"
        return forward._functions  # type: ignore[no-any-return]

    @cached_property
    def clauses(self) -> tuple[Clause, ...]:
        """Its clauses as declared."""
        if self.backward:
            return self.forward.clauses or ()
        return stated_clauses(*self.functions, self.name, self.location)

    @property
    def interpreted(self) -> bool:
        """Whether miniKanren runs it at each node: it does not, for an identity has clauses."""
        return False

    @cached_property
    def doc(self) -> str:
        """The docstring of its declaration."""
        return self.functions[0].__doc__ or ""

    @property
    def __doc__(self) -> str:  # type: ignore[override]
        return documentation(self.doc, self.clauses, self.rounding, self.specials)

    def __reduce__(self) -> str | tuple[Any, ...]:
        import_module(self.__module__)  # which holds it
        return super().__reduce__()


def _as_side(x: Any, which: str, label: str) -> Any:
    """Return a side of a query as the term that miniKanren unifies."""
    if isinstance(x, Pattern):
        return to_term(x)
    if isinstance(x, np.ndarray | np.generic):
        return constant(x)
    if isvar(x) or isinstance(x, Variable | ExpressionTuple | bool | int | float):
        return x
    if type(x) is ConsPair:
        return x
    raise ArgumentError(
        f"{label}.run takes graphs, and its {which} side is a {type(x).__name__}: {x!r}",
        fix="Pass a graph, array, number, pattern or etuple; leave out what is asked for.",
    )


def _check_declared(name: str, budget: Any, rounding: str, specials: str, location: str) -> None:
    """Raise RelationError for a name, a budget or a label that a relation cannot have."""
    if budget is not None and (
        not isinstance(budget, int) or isinstance(budget, bool) or budget < 1
    ):
        raise RelationError(
            f"{name}: budget={budget!r} is not a positive integer",
            fix="Give a positive integer, or leave it out for no bound.",
        )
    for value, allowed, what in (
        (rounding, ROUNDINGS, "rounding"),
        (specials, SPECIALS, "specials"),
    ):
        if value not in allowed:
            raise RelationError(
                f"{name}: {what}={value!r} is not a label",
                {"labels": ", ".join(allowed)},
                "Use one of these labels.",
            )
    if not name.isprintable():  # it stands in a comment of the matcher's source
        raise RelationError(
            f"the name of a relation is one line of text, not {name!r:.60}",
            {"declared": location} if location else {},
            "Write it as the name of a function, such as distribute_matmulo.",
        )


def form_of(pattern: Any) -> tuple[Any, tuple[Any, ...]]:
    """Return the key of a pattern, and the keys of the operands that it may match."""
    operands: Iterable[Any] = ()
    if isinstance(pattern, Block) and isinstance(pattern.op, PatternVariable):
        key = anchor(pattern.element)
        return anchor(pattern), (EACH, ANY if key is None else key)
    if len(chained_args(pattern)) > 2:  # it matches in any bracketing
        return anchor(pattern), (ANY, ANY)
    if isinstance(pattern, PatternNode):
        operands = pattern.args
    elif isinstance(pattern, Apply):
        operands = pattern.inputs
    keys = [ANY if (key := anchor(x)) is None else key for x in operands]
    return anchor(pattern), tuple(keys)


def as_graph(term: Any) -> Any:
    """Return the graph of a ground term; any other term, and one that its op rejects, unchanged."""
    try:
        return raise_(term)
    except (RelgraphError, TypeError):
        return term
