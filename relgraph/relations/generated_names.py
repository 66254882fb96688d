"""The global names of generated code, and the functions behind them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from relgraph.errors import RelationError, RelgraphError
from relgraph.ir.node import Constant, apply
from relgraph.ir.op import Op
from relgraph.relations import runtime
from relgraph.relations.generated_source import Line, load, parameters_of, write
from relgraph.relations.kanren.goals import Suspended, condition_failed


class Names:
    """The global names of generated code: one for each object."""

    def __init__(self) -> None:
        self.globals: dict[str, Any] = dict(COMMON)
        self._known: dict[Any, str] = {}
        self._kept: list[Any] = []
        self._conditions: dict[tuple[str, int], Callable[..., Any]] = {}
        self._generators: dict[Sequence[Line], str] = {}

    def of(self, value: Any, hint: str) -> str:
        """Return the name of a value, the same for the same object or equal literal set."""
        key = (hint, value) if isinstance(value, frozenset) else (hint, id(value))
        if key not in self._known:
            name = f"{hint}__{len(self._known)}"  # no local has two underscores
            self._known[key] = name
            self.globals[name] = value
            self._kept.append(value)
        return self._known[key]

    def generator(self, lines: Sequence[Line], bound: Iterable[str]) -> str:
        """Return a call of a generator with these lines, which use bound names."""
        key = tuple(lines)
        if key not in self._generators:
            parameters = parameters_of([text for text, _ in lines], bound)
            self._generators[key] = f"candidates{len(self._generators)}({parameters})"
        return self._generators[key]

    def function(
        self, name: str, parameters: str, bodies: Sequence[Sequence[Line]], doc: str
    ) -> Callable[..., Any]:
        """Return the function that runs lists of lines in sequence."""
        source = write(name, parameters, bodies, doc, self._generators)
        function: Any = load(source, name, self.globals)
        function.names = self
        return function  # type: ignore[no-any-return]

    def own(self) -> dict[str, Any]:
        """Return the global variables that not all generated code has."""
        return {name: self.globals[name] for name in self._known.values()}

    def condition(self, condition: Suspended, relation: str) -> str:
        """Return the name of a side condition's function, one for each relation that uses it."""
        key = (relation, id(condition.function))
        if key not in self._conditions:
            self._conditions[key] = guarded_condition(condition, relation)
        return self.of(self._conditions[key], condition.kind)

    def decided(self, condition: Suspended, relation: str) -> Callable[..., Any] | None:
        """Return the function that :meth:`condition` has named, or None."""
        return self._conditions.get((relation, id(condition.function)))


def guarded_condition(condition: Suspended, relation: str) -> Callable[..., Any]:
    """Return a side condition's function, whose errors name the relation."""
    function = condition.function

    def decide(*values: Any) -> Any:
        try:
            return function(*values)
        except Exception as error:
            raise condition_failed(condition.label, values, error, relation) from error

    return decide


def opened(cls: type[Op], params: tuple[Any, ...], relation: str, computed: str) -> Op:
    """Return an op with computed parameters; those that no operands allow raise RelationError."""
    try:
        op: Op = cls(*params)
    except Exception as error:
        reason = error.what if isinstance(error, RelgraphError) else repr(error)
        raise RelationError(
            f"{relation} computes a parameter that {cls.name} does not take",
            [*zip(cls.parameters, params, strict=True), ("computed", computed), ("error", reason)],
            "Let the function of rg.calco return a parameter as the op stores it, such as (-1,) "
            "for the axis of a sum, or None where the relation does not hold.",
        ) from error
    return op


# The global variables that all generated code has.
COMMON: dict[str, Any] = {name: getattr(runtime, name) for name in runtime.__all__}
COMMON |= {"Constant": Constant, "apply": apply, "opened": opened}
