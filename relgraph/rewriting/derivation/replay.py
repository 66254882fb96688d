"""The checker of derivations: it replays recorded steps without the engine that made them.

It knows nothing of matchers, views or memos.  Each use of a relation is an instance: the sides of
its clause under the recorded bindings.  The checker compares the instance with the terms that the
step replaced and built, up to the order and bracketing of associative and commutative ops, lets
kanren test that the relation holds for it, tests the side conditions, and counts the terms that
were carried along. Then it rewrites the original graph with the steps alone, as ground equations.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from functools import reduce
from itertools import islice, pairwise, product
from typing import Any

from relgraph.errors import RelgraphError, VerifyError
from relgraph.ir.etuple import same_number
from relgraph.ir.graph import toposort
from relgraph.ir.infix import brief
from relgraph.ir.node import Constant, Variable, apply, apply_chain, constant
from relgraph.ir.op import Op
from relgraph.ops.elementwise import Cast
from relgraph.ops.shape import BroadcastTo
from relgraph.relations.block_matcher import is_linear, takes_coefficients
from relgraph.relations.clause import Rewrite, moved_by, numbers_stay
from relgraph.relations.kanren.goals import Suspended
from relgraph.relations.nary import kind_of, uniform
from relgraph.relations.pattern import (
    Block,
    OpPattern,
    PatternNode,
    PatternVariable,
    Rest,
    Term,
    op_variables,
    variables,
)
from relgraph.relations.shape_proof import nodes_of
from relgraph.rewriting.derivation.equality import Keys, is_nested, negative, sum_op, without_one
from relgraph.rewriting.interpreter import answers
from relgraph.rewriting.selection import Selection, relation_of

Values = dict[PatternVariable, Any]
CONVERTING = (Cast, BroadcastTo)  # ops that wrap a result to give it the replaced type
WAYS = 1000  # to choose the constants that the numbers of a pattern stand for
FIX = "Please report it with the graph; excluding(name) leaves the relation of the step out."


class Checker:
    """Checks the steps of one run of a selection.

    Parameters
    ----------
    selection : Selection
        Steps may use only its relations.  Nested applications of its ``ac_ops`` are rewritten as
        one; other ops are binary nodes.
    """

    def __init__(self, selection: Selection) -> None:
        self.selection = selection
        self.ac_ops = selection.ac_ops
        self.key, self.any_brackets = Keys(), Keys(any_brackets=True)
        self._answered: set[tuple[Any, Variable, Any]] = set()
        self._equations: dict[Variable, Variable] = {}
        self._images: dict[Variable, Variable] = {}

    def same(self, a: Variable, b: Variable) -> bool:
        """Return True if two graphs are equal up to order and bracketing."""
        return a is b or bool(self.key(a) == self.key(b))

    def step(self, number: int, step: Any) -> None:
        """Check one step.

        Raises
        ------
        VerifyError
            If the step is wrong; the error says how.
        """
        if not step.after.type.narrows(step.before.type):
            raise VerifyError(
                f"step {number} changes a type",
                [("before", step.before.type), ("after", step.after.type)],
                FIX,
            )
        self._balance(number, step)
        for firing in step.firings:
            self._firing(number, firing)

    def _balance(self, number: int, step: Any) -> None:
        """Check that a step replaces exactly the terms that its firings matched."""
        first = step.firings[0]
        if sum([len(x.taken) for x in step.firings]) == 1 and self.same(
            first.taken[0], step.before
        ):
            fair = self.same(first.result, step.after)
        elif all([_of_neighbours(x, step.before) for x in step.firings]):
            fair = self._spliced(step)
        else:
            left = self._terms([step.before], step.before)
            for firing in step.firings:
                taken: Sequence[Any] = firing.taken
                made: Sequence[Any] = (firing.result,)
                if firing.subtracted:
                    made = [negative(x) for x in made]
                left.subtract(self._terms(taken, step.before))
                left.update(self._terms(made, step.before))
            kept = {k: n for k, n in left.items() if n}
            fair = kept == self._terms([step.after], step.before)
        if not fair:
            raise VerifyError(
                f"step {number} gains or loses a term",
                {"before": step.before, "after": step.after},
                FIX,
            )

    def _spliced(self, step: Any) -> bool:
        """Return True if firings on neighbours, in order, make the operands of a sequence."""
        left = list(map(self.key, step.before.inputs))
        made: list[Any] = []
        start = 0
        for firing in step.firings:
            taken = list(map(self.key, firing.taken[0].inputs))
            ends = range(start + len(taken), len(left) + 1)
            end = next((i for i in ends if left[i - len(taken) : i] == taken), None)
            if end is None:
                return False
            made += left[start : end - len(taken)]
            made += map(self.key, firing.result.inputs)
            start = end
        made += left[start:]
        return made == list(map(self.key, step.after.inputs)) and step.after.op == step.before.op

    def _terms(self, nodes: Sequence[Variable], outer: Variable) -> Counter[Any]:
        """Return the terms that nodes contribute to the sum or product ``outer``, by key."""
        counts: Counter[Any] = Counter()
        op = sum_op(outer)
        opened = op is not None and outer.type.dtype.kind != "b" and uniform(outer)
        for x in nodes:
            inner = (x is outer and op is not None) or (
                opened and is_nested(x, op, outer.type.dtype)
            )
            terms = self.key.terms(x) if inner else Counter([x])
            counts.update(self.key.multiset(terms))
        return counts

    def _firing(self, number: int, firing: Any) -> None:
        """Check that a firing is an instance of its relation, and that kanren confirms it."""
        rewrite = firing.rewrite
        if any([rewrite is x for x in self.selection.transforms]):
            return  # a transform written in Python has no relation to check
        relation = relation_of(rewrite)
        if relation is None or self.selection.place(rewrite) is None:
            raise _problem(number, firing, "the selection does not hold")
        taken = list(firing.taken)
        if firing.scales:
            taken = self._cores(number, firing)
        whole = taken[0]
        if len(taken) > 1:
            whole = apply_chain(rewrite.pattern.op, taken)
        if not isinstance(rewrite, Rewrite):
            if not any(self._fits(firing.result, x) for x in answers(relation, whole)):
                raise _problem(number, firing, "kanren has no answer for this use of")
            return
        values: Values = dict(zip(variables(rewrite.pattern), firing.bindings, strict=True))
        if not self._covers(rewrite, whole, values):
            raise _problem(number, firing, "what was taken is no instance of")
        self._conditions(number, firing, values)
        for instance in _binary(rewrite, values):
            try:
                left = whole if relation.binds_ops else build(rewrite.pattern, instance, whole)
                right = build(rewrite.result, instance, whole)
            except RelgraphError as error:
                raise _problem(number, firing, f"{error.what}: a side cannot be built of") from None
            asked = (relation, left, right)
            if asked in self._answered:  # many terms of a sum give few instances
                continue
            if not any(self._fits(right, x) for x in answers(relation, left)):
                raise _problem(number, firing, "kanren has no answer for this use of")
            self._answered.add(asked)
        scale, kind = 1, kind_of(rewrite.pattern.op) if firing.scales else None
        if kind is not None and len(firing.scales) > 1:  # each term has its own coefficient
            own = rewrite.pattern.own[0]
            terms, scale, _ = kind.spread(values[own], firing.scales)
            values = {**values, own: terms}
        elif firing.scales:
            scale = abs(firing.scales[0])
        made = build(rewrite.result, values, whole)
        if kind is not None and scale != 1:
            split = kind.split(firing.result)
            if split is not None and split[0] == scale and self._fits(split[1], made):
                return
            like = made if isinstance(made, Variable) else constant(made, whole.type.dtype)
            made = kind.scaled(scale, like)
        if not self._fits(firing.result, made):
            raise _problem(number, firing, "what was made is no instance of")

    def _cores(self, number: int, firing: Any) -> list[Variable]:
        """Return the operands that a firing took, without the coefficients that it names."""
        rewrite = firing.rewrite
        if rewrite.exact or (set(map(abs, firing.scales)) != {1} and not is_linear(rewrite)):
            raise _problem(number, firing, "coefficients are not carried through by")
        if len(set(firing.scales)) > 1 and not takes_coefficients(rewrite):
            raise _problem(number, firing, "different coefficients are not carried through by")
        kind = kind_of(rewrite.pattern.op)
        scales = firing.scales * len(firing.taken) if len(firing.scales) == 1 else firing.scales
        cores = []
        for x, scale in zip(firing.taken, scales, strict=True):
            core, rest = x, scale
            if scale < 0:
                core, rest = (x.inputs[0] if x.op is kind.inverse else negative(x)), -scale
            if rest != 1:
                split = kind.split(core)
                if split is None or split[0] != rest:
                    raise _problem(number, firing, "a coefficient is wrong in this use of")
                core = split[1]
            cores.append(core)
        return cores

    def _conditions(self, number: int, firing: Any, values: Values) -> None:
        """Test the side conditions, and bind the values that they compute."""
        for c in firing.rewrite.conditions:
            for one in _each(c, values):
                args = [_value(x, one) for x in (c.args[1:] if c.computes else c.args)]
                result = reduce(c.function, args[0]) if c.kind == "reduce" else c.function(*args)
                if not c.computes:
                    holds = bool(result)
                elif isinstance(c.args[0], PatternVariable) and c.args[0] not in values:
                    values[c.args[0]] = result
                    holds = result is not None
                else:
                    holds = bool(result == _value(c.args[0], one))
                if not holds:
                    raise _problem(number, firing, f"{c!r} does not hold for this use of")

    def _fits(self, made: Any, built: Any) -> bool:
        """Return True if a recorded result is the rebuilt one, broadcast or cast to its type."""
        made, built = _unwrapped(made), _unwrapped(built)
        if isinstance(made, Variable) and isinstance(built, Variable) and self.same(made, built):
            return True
        return _number(made) is not None and _number(made) == _number(built)

    def _covers(self, rewrite: Rewrite, node: Variable, values: Values) -> bool:
        """Return True if a node equals a pattern under the bindings, up to order and bracketing.

        A number in the pattern stands for a constant of any shape that the node has above the
        bindings, or for an identity element that it leaves out.
        """
        key = self.any_brackets if rewrite.any_brackets else self.key
        numbers: dict[PatternVariable, Any] = {}
        pattern = _with_variables(rewrite.pattern, numbers)
        constants = _constants_above(node, values.values()) if numbers else []
        choices = [[x for x in constants if same_number(x.uniform, n)] for n in numbers.values()]
        ways = product(*[[*x, n] for x, n in zip(choices, numbers.values(), strict=True)])
        for chosen in islice(ways, WAYS):
            with suppress(RelgraphError):
                bound = {**values, **dict(zip(numbers, chosen, strict=True))}
                if _instance_of(pattern, bound, node, key):
                    return True
        return False

    def learn(self, steps: Sequence[Any], sums: Sequence[Any]) -> None:
        """Take steps, once they are checked, and what they did to sums and products as equations.

        Raises
        ------
        VerifyError
            If the steps of a sum or product do not lead from its operands to its result.
        """
        inside = {i for total in sums for i, _ in total.history}
        self._equations = {s.before: s.after for i, s in enumerate(steps) if i not in inside}
        for total in sums:
            history = [(steps[i], parts) for i, parts in total.history if i < len(steps)]
            if len(history) < len(total.history) or not self._leads(total, history):
                raise VerifyError(
                    "the steps do not lead from a sum or product to its result",
                    {"graph": total.node, "result": total.result},
                    FIX,
                )
            self._equations[total.node] = total.result

    def _leads(self, total: Any, history: Sequence[Any]) -> bool:
        """Return True if steps lead from the operands of a sum or product to its result.

        What stands in the sum is a multiset of operands; between two steps, what was built becomes
        normal, by equations that are known.
        """
        node = total.node
        left = self._parts(total.parts, node)
        if left != self._terms([node], node):
            return False
        left = self._parts([(self.image(x), taken) for x, taken in total.parts], node)
        for step, parts in history:
            if left != self._terms([step.before], node):
                return False
            left = self._terms([step.after], node)
            left.subtract(self._parts(parts, node))
            left.update(self._parts([(self.image(x), taken) for x, taken in parts], node))
            left = Counter({k: n for k, n in left.items() if n})
        return left == self._terms([total.result], node)

    def _parts(self, parts: Sequence[tuple[Variable, bool]], outer: Variable) -> Counter[Any]:
        """Return the operands that signed parts contribute to a sum or product, by key."""
        return self._terms([negative(x) if taken else x for x, taken in parts], outer)

    def image(self, node: Variable) -> Variable:
        """Return a graph rewritten by the equations learnt so far, innermost first."""
        images, equations = self._images, self._equations
        stack = [node]
        budget = 100 * (len(equations) + len(toposort([node])) + 10)
        while stack and budget:
            budget -= 1
            x = stack[-1]
            if x in images:
                stack.pop()
                continue
            target = equations.get(x)
            if target is None or target is x:
                waiting = [y for y in x.inputs if y not in images]
                if waiting:
                    stack.extend(waiting)
                    continue
                operands = tuple([images[y] for y in x.inputs])
                op: Any = x.op
                target = x if operands == x.inputs else apply(op, operands)
            if target is x or target in images:
                images[x] = images.get(target, target)
                stack.pop()
            else:
                stack.append(target)
        return images.get(node, node)


def build(term: Term, values: Values, like: Variable) -> Any:
    """Return a term under bindings, as a graph or a number."""
    if isinstance(term, PatternVariable):
        return values[term]
    if isinstance(term, Block) and isinstance(term.op, PatternVariable):
        return values[term.op](*build_operands(term, values, like))
    if isinstance(term, Block):
        assert isinstance(term.op, Op)
        own = term.own[0]
        parts = [build(term.element, {**values, own: x}, like) for x in values[own]]
        return apply_chain(term.op, parts)
    if isinstance(term, PatternNode):
        op = term.op
        if isinstance(op, OpPattern):
            op = op.cls(*[_value(p, values) for p in op.params])
        op = values[op] if isinstance(op, PatternVariable) else op
        parts = []
        for x in term.args:
            parts += values[x.variable] if isinstance(x, Rest) else [build(x, values, like)]
        return op(*[constant(x) if isinstance(x, bool) else x for x in parts])
    return term


def _instance_of(term: Term, values: Values, node: Variable, key: Keys) -> bool:
    """Return True if a node is a pattern under bindings.

    A factor 1 is left out of the terms that a block gathers, and a number may stand for itself
    among the operands of an op variable.
    """
    if not isinstance(term, Block):
        return bool(key(build(term, values, node)) == key(node))
    bound = [
        {**values, **dict(zip(term.own, own, strict=True))}
        for own in zip(*[values[v] for v in term.own], strict=True)
    ]
    if not isinstance(term.op, PatternVariable):
        parts = [without_one(build(term.element, x, node)) for x in bound]
        return bool(key(apply_chain(term.op, parts)) == key(node))
    stays = numbers_stay(term)
    return (
        node.op is values[term.op]
        and len(bound) == len(node.inputs)
        and all(
            (stays and x[moved_by(term.element)] is y)
            or key(build(term.element, x, node)) == key(y)
            for x, y in zip(bound, node.inputs, strict=True)
        )
    )


def build_operands(block: Block, values: Values, like: Variable) -> list[Any]:
    """Return the operands of an op variable under bindings, which are lists for own variables."""
    operands = []
    stays = numbers_stay(block) and any(x.ndim for x in values[moved_by(block.element)])
    for given in zip(*[values[v] for v in block.own], strict=True):
        bound = {**values, **dict(zip(block.own, given, strict=True))}
        moved = bound[moved_by(block.element)] if stays else None
        is_number = moved is not None and not moved.ndim
        operands.append(moved if is_number else build(block.element, bound, like))
    return operands


def _with_variables(term: Term, numbers: dict[PatternVariable, Any]) -> Term:
    """Return a pattern with a variable for each number, which is entered in ``numbers``."""
    if isinstance(term, bool | int | float):
        variable = PatternVariable(str(term))
        numbers[variable] = term
        return variable
    if isinstance(term, PatternNode):
        return PatternNode(term.op, tuple([_with_variables(x, numbers) for x in term.args]))
    if isinstance(term, Block):
        return Block(term.op, _with_variables(term.element, numbers), term.own)
    return term


def _constants_above(node: Variable, bindings: Iterable[Any]) -> list[Constant]:
    """Return the constants of a graph down to the nodes that are bound."""
    bound = nodes_of(bindings)
    region = {node: None}
    stack = [node]
    for x in stack:  # grows as it goes
        new = [y for y in x.inputs if y not in region and (y not in bound or not y.inputs)]
        region.update(dict.fromkeys(new))
        stack += new
    return [x for x in region if isinstance(x, Constant)]


def _of_neighbours(firing: Any, node: Variable) -> bool:
    """Return True if a firing holds for neighbours in a node, whatever stands beside them."""
    ops = [x.op for x in (*firing.taken, firing.result)]
    return bool(getattr(firing.rewrite, "window", 0)) and ops == [node.op, node.op]


def _unwrapped(x: Any) -> Any:
    """Return a result without the broadcast or cast that adapted its type."""
    while isinstance(x, Variable) and isinstance(x.op, CONVERTING):
        x = x.inputs[0]
    return x


def _number(x: Any) -> float | None:
    """Return the value of a number or of a constant that holds one value, or None."""
    if isinstance(x, Constant):
        return None if x.uniform is None else float(x.uniform)
    return None if isinstance(x, Variable) else float(x)


def _value(term: Term, values: Values) -> Any:
    return values[term] if isinstance(term, PatternVariable) else term


def _each(condition: Suspended, values: Values) -> Iterator[Values]:
    """Yield the bindings that a condition refers to: one for each term of a block."""
    lists = [v for x in condition.args for v in variables(x) if isinstance(values.get(v), list)]
    if not lists or condition.kind == "reduce":
        yield values
    else:
        for each in zip(*[values[v] for v in lists], strict=True):
            yield {**values, **dict(zip(lists, each, strict=True))}


def _binary(rewrite: Rewrite, values: Values) -> Iterator[Values]:
    """Yield the instances of the declared clause: k terms of a block are k - 1 pairs."""
    lists = [v for v in values if isinstance(values[v], list)]
    if not lists or op_variables(rewrite.pattern):
        yield values
        return
    reductions = [c for c in rewrite.conditions if c.kind == "reduce"]
    for pair in pairwise(values[lists[0]]):
        computed = {c.args[0]: c.function(*pair) for c in reductions}
        yield {**values, **computed, lists[0]: list(pair)}


def _problem(number: int, firing: Any, what: str) -> VerifyError:
    return VerifyError(
        f"step {number}: {what} {firing.rewrite.relation}",
        [
            ("taken", ", ".join(map(brief, firing.taken))),
            ("made", brief(firing.result)),
            ("relation", getattr(firing.rewrite, "pattern", firing.rewrite.relation)),
        ],
        FIX,
    )
