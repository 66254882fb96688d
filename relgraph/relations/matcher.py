"""The matcher compiler: the rewrites of a selection become one Python function for each head op.

Each rewrite is first a list of lines: tests, loops and loads.  Names depend only on the position in
the graph, so two rewrites that begin with the same tests begin with the same lines.  Lists that
agree are merged, which keeps the declared order, and written out as nested statements.  ``source``
of the result shows them, with the relation of each branch.

A function returns None, or ``(result, rewrite, bindings)``.  For an associative and commutative
head the subject is one operand of the n-ary view, and an index finds the other operands.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache
from typing import Any

import numpy as np

from relgraph.errors import RelationError, RelgraphError
from relgraph.ir.etuple import same_number
from relgraph.ir.node import Variable, constant
from relgraph.ir.op import Op
from relgraph.ir.types import DTYPES
from relgraph.relations.clause import Rewrite, is_ac, moved_by, numbers_stay, renamed_among, traits
from relgraph.relations.generated_names import Names
from relgraph.relations.generated_source import BUDGET, STEPS, Line, bound_by, names_in
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.nary import NEAR
from relgraph.relations.op_variables import is_kind
from relgraph.relations.pattern import (
    Block,
    OpPattern,
    PatternNode,
    PatternVariable,
    Rest,
    Term,
    brackets_of,
    chained_args,
    flat_args,
    subterms,
    text,
    variables,
)
from relgraph.relations.symmetry import exchange

Own = tuple[str, str]  # the names of a slot and of the operand in it
BUILDING = 10  # steps that building a result counts as
FEW = 9  # loops that may nest before they count steps, by the logarithms of their numbers
MANY = 5  # that of a loop over the operands of a view


def literal_bits(number: bool | int | float) -> frozenset[bytes]:
    """Return dtype and bytes of every constant that a number in a pattern matches."""
    return _literal_bits(type(number).__name__, repr(number), number)


@cache
def _literal_bits(kind: str, text: str, number: bool | int | float) -> frozenset[bytes]:
    """Compute :func:`literal_bits`; kind and text tell 0.0 from -0.0 and 1 from True."""
    bits = set()
    for name in DTYPES:
        try:
            with np.errstate(over="ignore"):  # a number beyond the dtype matches nothing
                value = constant(number, name)
        except RelgraphError:  # an integer is never NaN, nor beyond its range
            continue
        if value.bits is not None and same_number(value.uniform, number):
            bits.add(value.bits)
    return frozenset(bits)


class Compiler:
    """Turns one rewrite into lines."""

    def __init__(self, rewrite: Rewrite, names: Names, parameters: str) -> None:
        self.rewrite = rewrite
        self.names = names
        self.bound = names_in(parameters) | BUDGET  # by what is around the lines
        self.loops = 0  # how often later lines run, as a logarithm
        self.lines: list[Line] = []
        self.env: dict[PatternVariable, str] = {}
        self.computed: set[PatternVariable] = set()  # perhaps to a number
        self.read: set[PatternVariable] = set()  # from the parameters of an op
        self.opened: dict[OpPattern, str] = {}  # made with computed parameters
        self.nodes: set[PatternVariable] = set()  # bound to a node, not to a parameter or number
        self.guarded = not rewrite.pointwise
        self.done: list[Suspended] = []
        self.made = 0
        self.signed = False  # terms of a block may be subtracted
        self.inner: list[str] = []  # intermediates that are computed in a dtype of their own
        self.own: set[PatternVariable] = set()  # bound to lists, with a value for each operand

    def test(self, condition: str) -> None:
        """Add a condition that all later lines stand under."""
        self.lines.append((f"if {condition}:", True))

    def fresh(self, hint: str) -> str:
        """Return an unused name for a result."""
        self.made += 1
        return f"{hint}{self.made - 1}"

    def let(self, statement: str) -> None:
        """Add a plain statement."""
        self.lines.append((statement, False))

    def loop(self, targets: str, items: str, number: int = MANY) -> None:
        """Add a loop that all later lines stand under; it counts steps if it may run often.

        ``number`` is the binary logarithm of how many items it may have.
        """
        self.loops += number
        items = f"counted(steps, {items})" if self.loops > FEW else items
        self.lines.append((f"for {targets} in {items}:", True))

    def match_alike(
        self, members: Sequence[Term], names: Sequence[Own], enter: Callable[[], None]
    ) -> None:
        """Match interchangeable terms, each set of operands once.

        The first term is matched with every candidate, in the loop that ``enter`` adds, over the
        operands that are not taken.  ``names`` are those of the slot and the operand of each term.
        """
        if len(members) == 1:
            enter()
            self.match(members[0], names[0][1])
            return
        lines, bound, inner, done = self.lines, self.bound, len(self.inner), len(self.done)
        before, loops = set(self.env), self.loops
        self.lines, self.bound = [], bound.union(*[bound_by(x) for x, _ in lines])
        enter()
        self.match(members[0], names[0][1])
        new = [v for v in self.env if v not in before]
        steady, decided = self.inner[inner:], self.done[done:]
        local = list(dict.fromkeys([*names[0], *[self.env[v] for v in new], *steady]))
        self.let(f"yield {', '.join(local)}")
        call = self.names.generator(self.lines, self.bound)
        self.lines, self.bound, self.loops = lines, bound, loops + MANY * len(members)
        targets = [local]
        for member, own in zip(members[1:], names[1:], strict=True):
            image = exchange(self.rewrite, members[0], member)
            assert image is not None
            called = dict(zip(names[0], own, strict=True))
            for i, x in enumerate(local[2:]):
                called[x] = f"{own[1]}_e{i}"
            targets.append([called[x] for x in local])
            for v in new:
                twin = image.get(v, v)
                self.env[twin] = called[self.env[v]]
                for group in (self.nodes, self.computed):
                    if v in group:
                        group.add(twin)
            self.inner += [called[x] for x in steady]
            for c in decided:
                same = renamed_among(self.rewrite.conditions, c, image)
                if same is not None and same not in self.done:
                    self.done.append(same)
        chosen = ", ".join(f"({', '.join(x)})" for x in targets)
        header = f"for {chosen} in subsets(steps, {call}, {len(members)}):"
        self.lines.append((header, True))
        self.conditions()

    def exchangeable(self, first: Term, others: Iterable[Term]) -> list[Term]:
        """Return a term with those that are interchangeable with it in every match."""
        terms = [first]
        if isinstance(first, PatternVariable):
            return terms
        for x in others:
            image = None if x is first else exchange(self.rewrite, first, x)
            if image is not None and all(
                v in self.env for v in variables(first) if image.get(v, v) == v
            ):
                terms.append(x)
        return terms

    # Matching.

    def match(self, term: Term, at: str) -> None:
        """Match a term against the node named ``at``."""
        if isinstance(term, PatternVariable):
            if term not in self.env:
                self.nodes.add(term)
                self.bind(term, at)
            elif term in self.nodes:
                bound = self.env[term]
                regroup = ", False" if self.rewrite.exact else ""
                same = f"{at}.op is {bound}.op is not None and alike({at}, {bound}{regroup})"
                self.test(f"{at} is {bound} or {same}")
            else:
                self.test(f"{at} is {self.env[term]}")
        elif isinstance(term, bool | int | float):
            self.test(f"{at}.__class__ is Constant")
            self.test(f"{at}.bits in {self.names.of(literal_bits(term), 'number')}")
        elif isinstance(term, Variable):
            self.test(f"{at} is {self.names.of(term, 'node')}")
        elif isinstance(term, Rest):
            self.match_rest(term.variable, at)
        elif isinstance(term, Block) and isinstance(term.op, PatternVariable):
            self.match_operands(term, at, head=True)
        elif isinstance(term, Block):
            self.match_block(term, at)
        else:
            self.match_node(term, at)

    def match_rest(self, variable: PatternVariable, at: str) -> None:
        """Match a sequence of operands against the slice named ``at``."""
        if variable in self.env:
            regroup = ", False" if self.rewrite.exact else ""
            self.test(f"alike_each({at}, {self.env[variable]}{regroup})")
        else:
            self.bind(variable, at)

    def bind(self, variable: PatternVariable, at: str) -> None:
        """Bind a variable, and test the conditions that can then be decided."""
        self.env[variable] = at
        self.conditions()

    def conditions(self) -> None:
        """Test or compute the conditions whose arguments are bound."""
        for c in self.rewrite.conditions:
            if c in self.done:
                continue
            args = c.args[1:] if c.computes else c.args
            if not all(v in self.env for x in args for v in variables(x)):
                continue
            self.done.append(c)
            decide = self.names.condition(c, self.rewrite.relation)
            name, out = f"c{len(self.done)}", c.args[0]
            own = [v for v in dict.fromkeys(w for x in args for w in variables(x)) if v in self.own]
            if own:
                self.decide_each(c, own, decide, name)
                continue
            values = ", ".join(self.value(x) for x in args)
            if any(isinstance(x, PatternNode) for x in args):  # it may have no type
                self.let(f"{name}_args = attempted(lambda: ({values},))")
                self.test(f"{name}_args is not None")
                values = f"*{name}_args"
            if c.kind == "check":
                self.test(f"{decide}({values})")
                continue
            call = f"reduced({decide}, {values})" if c.kind == "reduce" else f"{decide}({values})"
            self.let(f"{name} = {call}")
            self.test(f"{name} is not None")
            if isinstance(out, PatternVariable) and out not in self.env:
                self.computed.add(out)
                self.bind(out, name)
            else:
                self.test(f"{name} == {self.value(out)}")

    def decide_each(
        self, condition: Suspended, own: list[PatternVariable], decide: str, name: str
    ) -> None:
        """Test or compute a condition for each operand of an op variable."""
        lists = [self.env[v] for v in own]
        places = [f"y{i}" for i in range(len(own))]
        self.env |= dict(zip(own, places, strict=True))
        args = condition.args[1:] if condition.computes else condition.args
        call = f"{decide}({', '.join(map(self.value, args))})"
        self.env |= dict(zip(own, lists, strict=True))
        values = f"[{call} for {', '.join(places)}, in zip({', '.join(lists)})]"
        if not condition.computes:
            self.test(f"all({values})")
            return
        out = condition.args[0]
        self.let(f"{name} = {values}")
        self.test(f"None not in {name}")
        if out in self.env:
            same = self.env[out] if out in self.own else f"[{self.value(out)}] * len({name})"
            self.test(f"{name} == {same}")
            return
        self.own.add(out)
        self.bind(out, name)

    def value(self, term: Term) -> str:
        """Return an expression for a bound term in a condition."""
        if isinstance(term, PatternVariable):
            return self.env[term]
        if isinstance(term, PatternNode):
            return f"{self.op_value(term.op)}({', '.join(map(self.value, term.args))})"
        if isinstance(term, Rest):
            return f"*{self.env[term.variable]}"
        return self.names.of(term, "value") if not isinstance(term, int | float) else repr(term)

    def op_value(self, op: Op | OpPattern | PatternVariable) -> str:
        """Return an expression for an op, with the values that its variables are bound to."""
        if isinstance(op, Op):
            return self.names.of(op, op.name)
        if isinstance(op, PatternVariable):
            return self.env[op]
        if op in self.opened:
            return self.opened[op]
        return f"{self.names.of(op.cls, op.cls.__name__)}({', '.join(map(self.value, op.params))})"

    def open_computed(self) -> None:
        """Make the ops whose parameters are computed; an invalid parameter raises an error."""
        for x in subterms(self.rewrite.result):
            op = x.op if isinstance(x, PatternNode) else None
            if not isinstance(op, OpPattern) or op in self.opened or self.own & set(op.params):
                continue
            conditions = [
                repr(c)
                for c in self.rewrite.conditions
                if c.computes and any(c.args[0] == p and p in self.computed for p in op.params)
            ]
            if conditions:
                name = self.fresh("o")
                values = ", ".join(map(self.value, op.params))
                cls, said = self.names.of(op.cls, op.cls.__name__), ", ".join(conditions)
                self.let(
                    f"{name} = opened({cls}, ({values},), {self.rewrite.relation!r}, {said!r})"
                )
                self.opened[op] = name

    def head(self, op: Op | OpPattern | PatternVariable, at: str) -> None:
        """Test the op of a node."""
        if isinstance(op, Op):
            self.test(f"{at}.op is {self.names.of(op, op.name)}")
            return
        if isinstance(op, PatternVariable):
            if op in self.env:
                self.test(f"{at}.op is {self.env[op]}")
            else:  # the condition that states its kind is tested as soon as it is bound
                self.let(f"{at}_o = {at}.op")
                self.bind(op, f"{at}_o")
            return
        self.test(f"{at}.op.__class__ is {self.names.of(op.cls, op.cls.__name__)}")
        self.parameters(op, at)

    def parameters(self, op: OpPattern, at: str) -> None:
        """Match the parameters of an open op."""
        for i, p in enumerate(op.params):
            place = f"{at}_p{i}"
            self.let(f"{place} = {at}.op.params[{i}]")
            if isinstance(p, PatternVariable) and p not in self.env:
                self.bind(p, place)
                self.read.add(p)
            else:
                self.test(f"{place} == {self.value(p)}")

    def match_node(self, term: PatternNode, at: str, head: bool = True) -> None:
        """Match an op application."""
        op = term.op
        if is_ac(op):
            self.match_ac(term, at)
            return
        self.match_head(op, at, head)
        factors = chained_args(term)
        if len(factors) > 2 and self.rewrite.any_brackets:
            self.match_bracketings(op, factors, brackets_of(term), at)
            return
        places = [f"{at}_{i}" for i in range(len(term.args))]
        if any(isinstance(x, Rest) for x in term.args):
            self.match_sequences(term.args, places, at)
        else:
            self.match_places(op, places, at)
        if traits(op).pointwise:
            for arg, place in zip(term.args, places, strict=True):
                if not isinstance(arg, Rest):
                    self.guard(arg, place, at)
        for i in sorted(range(len(places)), key=lambda i: (_cost(term.args[i]), i)):
            self.match(term.args[i], places[i])

    def match_head(self, op: Op | OpPattern | PatternVariable, at: str, head: bool) -> None:
        """Test the op of a node; without ``head``, only what is left to test at the root."""
        if head:
            self.head(op, at)
            self.intermediate(op, at)
        elif isinstance(op, OpPattern):
            self.parameters(op, at)
        elif isinstance(op, PatternVariable):
            kinds = [c for c in self.rewrite.conditions if is_kind(c) and c.args == (op,)]
            self.done += kinds[:1]
            self.head(op, at)

    def match_places(
        self, op: Op | OpPattern | PatternVariable, places: Sequence[str], at: str
    ) -> None:
        """Name the operands of a node, in each order if they may be exchanged."""
        fixed = isinstance(op, Op | OpPattern) and isinstance(traits(op).arity, int)
        if not fixed:
            self.test(f"len({at}.inputs) == {len(places)}")
        target = ", ".join(places) + ("," if len(places) == 1 else "")
        if isinstance(op, Op) and op.commutative and len(places) == 2:
            self.loop(target, f"({at}.inputs, {at}.inputs[::-1])", 1)
        elif places:
            self.let(f"{target} = {at}.inputs")

    def match_bracketings(self, op: Any, factors: Sequence[Term], brackets: Any, at: str) -> None:
        """Match a product of matrices in any bracketing; a variable may stand for several."""
        places = [f"{at}_{i}" for i in range(len(factors))]
        heads = ", ".join(map(self.head_of, factors))
        call = f"segments({self.op_value(op)}, {at}, ({heads}), {brackets})"
        self.loop(", ".join(places), call, 2)
        for i in sorted(range(len(places)), key=lambda i: (_cost(factors[i]), i)):
            self.match(factors[i], places[i])

    def head_of(self, term: Term) -> str:
        """Return an expression for the op that a term matches, or its class; None for any."""
        head: Any = term.op if isinstance(term, PatternNode) else None
        if isinstance(head, OpPattern):
            return self.names.of(head.cls, head.cls.__name__)
        return self.names.of(head, head.name) if isinstance(head, Op) else "None"

    def match_sequences(self, args: Sequence[Term], places: list[str], at: str) -> None:
        """Name the operands of a node, where one or two of them are sequences of any length."""
        inputs, single = f"{at}.inputs", sum(not isinstance(x, Rest) for x in args)
        self.test(f"len({inputs}) >= {single}")
        starts = ["0"]  # where each operand or sequence begins, as an expression
        first = True
        for x in args:
            start = starts[-1]
            if not isinstance(x, Rest):
                starts.append(f"{start} + 1")
            elif first and single + 1 < len(args):
                self.loop(f"{at}_k", f"range(len({inputs}) - {single} + 1)")
                starts.append(f"{start} + {at}_k")
            else:
                after = len(args) - len(starts)
                starts.append(f"len({inputs}) - {after}")
            first = first and not isinstance(x, Rest)
        for i, (x, start, end) in enumerate(zip(args, starts, starts[1:], strict=False)):
            if isinstance(x, Rest):  # cut only where it is used
                places[i] = f"{inputs}[{start}:{end}]"
            else:
                self.let(f"{places[i]} = {inputs}[{start}]")

    def match_operands(self, block: Block, at: str, head: bool) -> None:
        """Match an op variable applied to any number of operands, each an instance of an element.

        The function of the element is a generator, called for each operand.
        """
        self.match_head(block.op, at, head)
        if traits(block.op).pointwise and self.guarded and not self.broadcasts(block):
            stays = " or not x.type.ndim" if numbers_stay(block) else ""
            self.test(f"all([covered({at}, x){stays} for x in {at}.inputs])")
        element = Compiler(self.rewrite, self.names, "x")
        element.done = list(self.rewrite.conditions)
        element.match(block.element, "x")
        shared = [v for v in element.env if v not in block.own]
        values = [
            "".join(f"{y}, " for y in group)
            for group in (
                [element.env[v] for v in shared],
                [element.env[v] for v in block.own],
                element.inner,
            )
        ]
        element.let(f"yield {', '.join(f'({x})' for x in values)}")
        call = self.names.generator(element.lines, {"x"} | BUDGET)
        stays = str(numbers_stay(block) and len(block.own) == 1)
        matches = f"[next({call}, None) for x in {at}.inputs]"
        self.let(f"{at}_m = together({matches}, {at}.inputs, {stays}, {not self.rewrite.exact})")
        self.test(f"{at}_m is not None")
        if element.inner:
            self.test(f"steady(n.type, {at}_m[2])")
        for i, v in enumerate(block.own):
            name = f"{at}_x{i}"
            self.let(f"{name} = [y[{i}] for y in {at}_m[1]]")
            if v in self.env:
                self.test(f"alike_each({name}, {self.env[v]})")
            else:
                self.own.add(v)
                self.bind(v, name)
        for i, v in enumerate(shared):
            place = f"{at}_s{i}"
            self.let(f"{place} = {at}_m[0][{i}]")
            if v in element.nodes:
                self.match(v, place)
            elif v in self.env:
                self.test(f"{place} == {self.env[v]}")
            else:
                self.bind(v, place)

    def broadcasts(self, block: Block) -> bool:
        """Return True if the operands of a block may broadcast by declaration."""
        return any(map(self.may_broadcast, block.own))

    def intermediate(self, op: Op | OpPattern | PatternVariable, at: str) -> None:
        """Record a node below the root that computes numbers."""
        if traits(op).computes:
            self.inner.append(at)

    def may_broadcast(self, term: Term) -> bool:
        """Return True if an operand may broadcast by declaration, or is a number."""
        if "*" in self.rewrite.broadcast:
            return True
        if isinstance(term, PatternVariable):
            return term.name in self.rewrite.broadcast
        return isinstance(term, bool | int | float)

    def match_ac(self, term: PatternNode, at: str) -> None:
        """Match the whole n-ary view of a nested application."""
        assert isinstance(term.op, Op)
        args = flat_args(term)
        self.head(term.op, at)
        self.intermediate(term.op, at)
        view = f"{at}_l"
        name = self.names.of(term.op, term.op.name)
        self.let(f"{view} = leaves({at}, {name}, (), {NEAR})")
        single = sorted((x for x in args if not isinstance(x, PatternVariable)), key=_cost)
        names = [x for x in args if isinstance(x, PatternVariable)]
        self.test(f"len({view}) {'>=' if names else '=='} {len(args)}")
        used: list[str] = []
        bound = [x for x in names if x in self.env]
        self.match_members(name, view, bound, at, used)
        few = not names and len(args) < 4  # a view of just these operands has few orders
        self.match_each(single, view, at, used, few)
        # A sibling that repeats the variable may have bound it.
        free = [x for x in names if x not in self.env]
        self.match_members(name, view, [x for x in names if x not in bound + free], at, used)
        taken = f"({', '.join(used)},)" if used else "()"
        if not free:
            if names:  # each found, in a view that may have more operands
                self.test(f"len({taken}) == len({view})")
            return
        rest = f"{at}_r"
        self.let(f"{rest} = [x for i, x in enumerate({view}) if i not in {taken}]")
        if used:
            self.test(f"len({rest}) >= {len(free)}")
        groups = [f"{at}_g{k}" for k in range(len(free))]
        if len(free) == 1:
            groups = [rest]
        else:
            self.loop(", ".join(groups), f"splits({rest}, {len(free)})", 4)
        for k, (x, group) in enumerate(zip(free, groups, strict=True)):
            place = f"{at}_f{k}"
            self.let(f"{place} = {group}[0] if len({group}) == 1 else apply_chain({name}, {group})")
            self.guard(x, place, at)
            self.match(x, place)

    def match_each(self, terms: list[Term], view: str, at: str, used: list[str], few: bool) -> None:
        """Match terms that each stand for one operand of a view."""
        for op, several in crowds(terms):
            name = self.names.of(op, op.name)
            self.test(f"sum([x.op is {name} for x in {view}]) >= {several}")
        while terms:
            same = self.exchangeable(terms[0], terms)
            terms = [x for x in terms if all(x is not y for y in same)]
            numbers = range(len(used), len(used) + len(same))
            own = [(f"{at}_i{k}", f"{at}_a{k}") for k in numbers]
            taken = f"({', '.join(used)},)" if used else ""
            number = len(terms) if few else MANY

            def enter(
                term: Term = same[0], own: Own = own[0], taken: str = taken, number: int = number
            ) -> None:
                self.loop(", ".join(own), f"enumerate({view})", number)
                if taken:
                    self.test(f"{own[0]} not in {taken}")
                self.guard(term, own[1], at)

            self.match_alike(same, own, enter)
            used += [slot for slot, _ in own]

    def match_members(
        self, op: str, view: str, bound: list[PatternVariable], at: str, used: list[str]
    ) -> None:
        """Find bound variables among the operands, each as one operand or as several."""
        for x in bound:
            index, place = f"{at}_i{len(used)}", f"{at}_a{len(used)}"
            taken = f"({', '.join(used)},)" if used else "()"
            self.loop(f"{index}, {place}", f"members({op}, {self.env[x]}, {view}, {taken})")
            self.match(x, place)
            self.guard(x, place, at)
            used.append(f"*{index}")

    def guard(self, term: Term, place: str, at: str) -> None:
        """Test that an operand of an elementwise node is not broadcast, unless it may be."""
        if self.guarded and not self.may_broadcast(term):
            self.test(f"covered({at}, {place})")

    def match_block(self, block: Block, at: str) -> None:
        """Match an application to any number of terms, each bound to the block's own variable."""
        self.head(block.op, at)
        self.intermediate(block.op, at)
        view = f"{at}_l"
        self.let(f"{view} = leaves({at}, {self.names.of(block.op, block.op.name)})")
        if self.guarded:
            self.test(f"all([covered({at}, x) for x in {view}])")
        own = block.own[0]
        for c in self.rewrite.conditions:
            if own in {v for x in c.args for v in variables(x)}:
                self.done.append(c)
                self.env[own] = "x"
                values = ", ".join(map(self.value, c.args))
                name = self.names.condition(c, self.rewrite.relation)
                self.test(f"all([{name}({values}) for x in {view}])")
        self.env[own] = view

    # Building.

    def finish(self, like: str, place: str, extra: str = "", choosing: bool = False) -> None:
        """Make the remaining tests, build the result, and return it.

        ``like`` is an expression for the type that is replaced, ``place`` one for the nodes that
        show its shape, and ``extra`` is appended to the returned values.  With ``choosing``, a
        result that may compute more than it saves is returned only if ``accepts`` does.
        """
        self.conditions()
        classes = self.rewrite.ranks
        if classes is not None:
            ranks = ", ".join(f"{self.env[v]}.type.ndim" for v in classes.variables)
            parameters = ", ".join(self.env[v] for v in classes.parameters)
            values = f", ({parameters},)" if parameters else ""
            self.test(f"{self.names.of(classes, 'ranks')}(({ranks},){values})")
        if self.inner:
            self.test(f"steady({like}, ({', '.join(self.inner)},))")
        self.open_computed()
        body: list[str] = []
        built = self.build(self.rewrite.result, body, like, root=True)
        tag = self.names.of(self.rewrite, "rewrite")
        bound = "".join(
            f"{self.env[v]}, " for v in variables(self.rewrite.pattern) if v in self.env
        )
        fit = f"fit({built}, {like}, {place}, {self.rewrite.pointwise})"
        if self.guarded and not isinstance(self.rewrite.result, PatternVariable):
            fit = f"proved({fit}, {place}, ({bound}))"
        repeated = self.loops > FEW  # a refusal for dtypes is then repeated by many steps
        if repeated:
            self.test(f"not refused or kinds(({bound})) not in refused")
            self.let(f"spend(steps, {BUILDING})")
        self.let("try:")
        for line in body:
            self.let("    " + line)
        self.let(f"    r = {fit}")
        if repeated:
            self.let("except Narrowed:")
            self.let(f"    r = refused.add(kinds(({bound})))")
        self.let("except REFUSED:")
        self.let("    r = None")
        values = f"r, {tag}, ({bound}){extra}"
        test = "r is not None"
        if choosing and self.rewrite.may_recompute:
            test += f" and (accepts is None or accepts({place}, ({values})))"
        self.let(f"if {test}: return {values}  # {self.rewrite.relation}")

    def build(self, term: Term, body: list[str], like: str, root: bool = False) -> str:
        """Append the statements that build a term, and return an expression for it."""
        if isinstance(term, PatternVariable):
            return self.env[term]
        if isinstance(term, bool | int | float):
            return repr(term) if math.isfinite(term) else f"float('{term}')"
        if isinstance(term, Variable):
            return self.names.of(term, "node")
        if isinstance(term, Block) and isinstance(term.op, PatternVariable):
            return self.build_operands(term, body, like, root)
        if isinstance(term, Block):
            return self.build_block(term, body, like, root)
        inner = self.like_of_operands(like) if root else like
        # A Python bool is not an operand of an op.
        terms = [constant(x) if isinstance(x, bool) else x for x in term.args]
        args = [
            f"*{self.env[x.variable]}" if isinstance(x, Rest) else self.build(x, body, inner)
            for x in terms
        ]
        op = self.op_value(term.op)
        numbers = any(
            isinstance(x, int | float) or x in self.computed or x in self.read for x in terms
        )
        name = self.fresh("b")
        if numbers:
            body.append(f"{name} = {op}({', '.join(args)})")
        else:
            body.append(f"{name} = apply({op}, ({', '.join(args)},))")
        if traits(term.op).computes:
            body.append(f"{'whole' if root else 'checked'}({name}, {like})")
        if self.guarded and traits(term.op).pointwise:
            for arg, text in zip(term.args, args, strict=True):
                if not isinstance(arg, Rest) and not self.may_broadcast(arg):
                    body.append(f"if not covered({name}, {text}): raise Refused")
        return name

    def build_operands(self, block: Block, body: list[str], like: str, root: bool) -> str:
        """Append the statements that apply an op to an instance of the element for each operand."""
        name = self.fresh("b")
        if block.element in block.own:
            operands = self.env[block.element]
        else:
            lists = [self.env[v] for v in block.own]
            each = [self.fresh("e") for _ in block.own]
            self.env |= dict(zip(block.own, each, strict=True))
            inner: list[str] = []
            result = self.build(block.element, inner, like)
            self.env |= dict(zip(block.own, lists, strict=True))
            operands = self.fresh("d")
            body.append(f"{operands} = []")
            body.append(f"for {', '.join(each)}, in zip({', '.join(lists)}):")
            if numbers_stay(block):
                at = block.own.index(moved_by(block.element))
                number, arrays = each[at], f"any([y.type.ndim for y in {lists[at]}])"
                body.insert(-1, f"{operands}_n = {arrays}")
                body.append(f"    if {operands}_n and not {number}.type.ndim:")
                body.append(f"        {operands}.append({number})")
                body.append("        continue")
            body.extend("    " + line for line in inner)
            body.append(f"    {operands}.append({result})")
        body.append(f"{name} = apply({self.op_value(block.op)}, tuple({operands}))")
        if traits(block.op).computes:
            body.append(f"{'whole' if root else 'checked'}({name}, {like})")
        if self.guarded and traits(block.op).pointwise and not self.broadcasts(block):
            stays = " or not y.type.ndim" if numbers_stay(block) else ""
            covered = f"[covered({name}, y){stays} for y in {operands}]"
            body.append(f"if not all({covered}): raise Refused")
        return name

    def like_of_operands(self, like: str) -> str:
        """Return an expression for the type that results below the root are compared with.

        It is the type that is replaced.  If both sides are indices, whose dtype says nothing about
        the elements, it is the type of the elements.
        """
        pattern, result = self.rewrite.pattern, self.rewrite.result
        indices = isinstance(pattern, PatternNode) and traits(pattern.op).returns_indices
        return "n_0.type" if indices and traits(result.op).returns_indices else like

    def build_block(self, block: Block, body: list[str], like: str, root: bool) -> str:
        """Append the statements that combine one instance of the element for each term."""
        own = block.own[0]
        terms = self.env[own]
        op = self.names.of(block.op, block.op.name)
        name = self.fresh("b")
        if block.element == own:
            chain = "total" if self.signed else "apply_chain"
            body.append(f"{name} = {chain}({op}, {terms})")
        else:
            each, inner = self.fresh("e"), list[str]()
            self.env[own] = each
            result = self.build(block.element, inner, like)
            self.env[own] = terms
            body.append(f"{name} = []")
            body.append(f"for {each} in {terms}:")
            body.extend("    " + line for line in inner)
            body.append(f"    {name}.append({result})")
            body.append(f"{name} = apply_chain({op}, {name})")
        if traits(block.op).computes:
            body.append(f"{'whole' if root else 'checked'}({name}, {like})")
        return name


def _cost(term: Term) -> int:
    """Order operands so that cheap tests come first."""
    if isinstance(term, PatternVariable | Rest | bool | int | float | Variable):
        return 0
    if isinstance(term, Block):
        return 3
    return 2 if is_ac(term.op) else 1


def crowds(terms: Iterable[Term]) -> list[tuple[Op, int]]:
    """Return each op that three or more of the terms apply, with the number of these terms."""
    heads = Counter(x.op for x in terms if isinstance(x, PatternNode) and isinstance(x.op, Op))
    return [(op, several) for op, several in heads.items() if several > 2]


def endless(rewrite: Rewrite) -> RelationError:
    """Return the error for a match that used up its steps."""
    return RelationError(
        f"{rewrite.relation}: matching one node took more than {STEPS} steps",
        {"pattern": text(rewrite.pattern)},
        "State conditions on single variables, which are decided before operands are combined, "
        "or a pattern of fewer operands; without this relation the graph rewrites as it is.",
    )


def compile_plain(op: Op, rewrites: Sequence[Rewrite]) -> Callable[..., Any]:
    """Return the matcher of a head op that is not associative and commutative.

    It takes a predicate, or None, beside the node.  A match of a rewrite that may compute more than
    it saves counts only if ``accepts(node, (result, rewrite, bindings))``.
    """
    names = Names()
    bodies = []
    for rewrite in rewrites:
        compiler = Compiler(rewrite, names, "n")
        if isinstance(rewrite.pattern, Block):
            compiler.match_operands(rewrite.pattern, "n", head=False)
        else:
            compiler.match_node(rewrite.pattern, "n", head=False)
        compiler.finish("n.type", "n", choosing=True)
        bodies.append(compiler.lines)
    doc = f"Match an application of {op.name}."
    return names.function("match", "n, accepts", bodies, doc)
