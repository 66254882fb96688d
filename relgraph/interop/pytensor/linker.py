"""The mode ``RELGRAPH`` of ``pytensor.function``, and ``compile``, which needs no mode."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from pytensor.compile.io import In
from pytensor.compile.mode import Mode, predefined_modes, register_mode
from pytensor.compile.sharedvalue import SharedVariable
from pytensor.graph.basic import Variable
from pytensor.graph.replace import clone_replace
from pytensor.graph.rewriting.db import RewriteDatabaseQuery
from pytensor.graph.traversal import graph_inputs
from pytensor.link.basic import JITLinker

from relgraph.api.function import Function, function
from relgraph.errors import ArgumentError, kind_of
from relgraph.interop.missing import unsupported
from relgraph.interop.pytensor.loading import Loader, type_of
from relgraph.interop.pytensor.tensors import Unsupported
from relgraph.ir.node import make_input

NAME = "RELGRAPH"

# PyMC selects one of these rewrites to turn its checks of parameters into -inf or to drop them.
_CHECKS = frozenset({"local_check_parameter_to_ninf_switch", "local_remove_check_parameter"})


class _Query(RewriteDatabaseQuery):  # type: ignore[misc]
    """A query for PyTensor's rewrites of checks of parameters, and no others."""

    def including(self, *tags: str) -> _Query:
        """Add rewrites; of the database ``canonicalize``, only those of checks."""
        checks = _CHECKS.intersection(tags)
        subquery = dict(self.subquery)
        if checks:
            subquery["canonicalize"] = RewriteDatabaseQuery(include=sorted(checks))
        include = self.include.union(tags).union(["canonicalize"] if checks else [])
        return _Query(include, self.require, self.exclude, subquery, self.position_cutoff)

    def excluding(self, *tags: str) -> _Query:
        """Leave rewrites out."""
        exclude = self.exclude.union(tags)
        return _Query(self.include, self.require, exclude, self.subquery, self.position_cutoff)


class RelgraphLinker(JITLinker):  # type: ignore[misc]
    """Compile a graph of PyTensor by relgraph.

    Parameters
    ----------
    mode : object
        The rewrites to run, as in :func:`relgraph.function`.
    target : str
        Where to run.
    nonfinite : {"assume", "keep"}
        Whether to use relations that hold for finite values only.
    """

    required_rewrites = ("minimum_compile",)
    incompatible_rewrites = ()

    def __init__(
        self,
        *args: Any,
        mode: Any = "default",
        target: str = "cpu",
        nonfinite: str = "assume",
        **kwargs: Any,
    ) -> None:
        super().__init__(*args, **kwargs)
        self.options = {"mode": mode, "target": target, "nonfinite": nonfinite}

    def fgraph_convert(self, fgraph: Any, **kwargs: Any) -> Callable[..., Any]:
        """Return a function of the values of the inputs."""
        compiled = compiled_graph(fgraph.inputs, fgraph.outputs, **self.options)

        def run(*values: Any) -> list[Any]:
            return [np.asarray(x) for x in compiled(*values)]

        return run

    def create_thunk_inputs(self, storage_map: Any) -> list[Any]:
        """Return the storage of the inputs."""
        return [storage_map[x] for x in self.fgraph.inputs]

    def jit_compile(self, fn: Any) -> Any:
        """Return the function as it is: :meth:`fgraph_convert` has compiled it."""
        return fn


def mode(mode: Any = "default", target: str = "cpu", nonfinite: str = "assume") -> Any:
    """Return a mode for ``pytensor.function`` in which relgraph rewrites and compiles.

    Parameters
    ----------
    mode : str, Query, relation, rewriter, list of them, or None
        The rewrites to run, as in :func:`relgraph.function`.
    target : {"cpu", "numpy"}
        Where to run.
    nonfinite : {"assume", "keep"}
        Whether to use relations that hold for finite values only, as PyTensor's own rewrites do.
        Log-densities are ``-inf`` outside their support in either case.

    Returns
    -------
    pytensor.compile.mode.Mode
        A mode in which PyTensor runs only those of its rewrites that PyMC asks for.
    """
    linker = RelgraphLinker(mode=mode, target=target, nonfinite=nonfinite)
    return Mode(linker=linker, optimizer=_Query(include=[]))


def register() -> str:
    """Register the mode ``RELGRAPH``, for ``pytensor.function(..., mode="RELGRAPH")``.

    Returns
    -------
    str
        The name of the mode.  A second call changes nothing.
    """
    if NAME not in predefined_modes:
        register_mode(NAME, mode())
    return NAME


def compiled_graph(inputs: Sequence[Any], outputs: Sequence[Any], **options: Any) -> Function:
    """Compile a graph of PyTensor to a relgraph function, which returns a tuple."""
    loader = Loader({})
    for number, variable in enumerate(inputs):
        try:
            loader.images[variable] = make_input(f"x{number}", type_of(variable))
        except Unsupported as problem:
            loader.missing[str(variable.type), str(problem)] += 1
            loader.images[variable] = loader.stand_in(variable)
    results = loader.load(list(outputs))
    if loader.missing:
        raise unsupported(loader.missing, "PyTensor")
    return function([loader.images[x] for x in inputs], tuple(results), **options)


class Compiled:
    """A function of PyTensor's variables that relgraph computes.

    Attributes
    ----------
    function : Function
        The compiled function: of the inputs, then of the shared variables.
    """

    def __init__(
        self,
        inputs: Sequence[Any],
        outputs: Any,
        updates: Mapping[Any, Any],
        defaults: Mapping[int, Any],
        **options: Any,
    ) -> None:
        several = outputs is None or isinstance(outputs, list | tuple)
        results = list(outputs or ()) if several else [outputs]
        new = list(updates.values())
        leaves = graph_inputs([*results, *new])
        self._shared = [x for x in dict.fromkeys(leaves) if isinstance(x, SharedVariable)]
        self._updated = list(updates)
        self._single = not several
        self._names = [x.name for x in inputs]
        self._defaults = dict(defaults)
        self.function = compiled_graph([*inputs, *self._shared], [*results, *new], **options)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Return the results as PyTensor does: one array, or a list of arrays."""
        if kwargs or len(args) != len(self._names):
            args = tuple(self._bound(args, kwargs))
        values = [x.container.storage[0] for x in self._shared]
        results = [np.asarray(x) for x in self.function(*args, *values)]
        count = len(results) - len(self._updated)
        for variable, value in zip(self._updated, results[count:], strict=True):
            variable.set_value(value, borrow=True)
        return results[0] if self._single else results[:count]

    def _bound(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        values: dict[int, Any] = {**self._defaults, **dict(enumerate(args))}
        for name, value in kwargs.items():
            if name not in self._names:
                raise ArgumentError(
                    f"no input is called {name!r}",
                    {"inputs": ", ".join(map(str, self._names))},
                    "Use one of these names.",
                )
            values[self._names.index(name)] = value
        if sorted(values) != list(range(len(self._names))):
            raise ArgumentError(
                f"the function has {len(self._names)} inputs, and the call gives values for "
                f"{len(values)}",
                {"inputs": ", ".join(map(str, self._names))},
                "Pass one array for each input.",
            )
        return [values[i] for i in range(len(self._names))]


def compile(
    inputs: Iterable[Any],
    outputs: Any = None,
    *,
    updates: Any = (),
    givens: Any = (),
    mode: Any = "default",
    target: str = "cpu",
    nonfinite: str = "assume",
) -> Compiled:
    """Compile graphs of PyTensor by relgraph, in place of ``pytensor.function``.

    Parameters
    ----------
    inputs : iterable of pytensor Variable or In
        The inputs in calling order.
    outputs : pytensor Variable, list of them, or None
        The results.
    updates, givens : mapping, or iterable of pairs
        As in ``pytensor.function``.  Updates change PyTensor's own shared variables.
    mode : str, Query, relation, rewriter, list of them, or None
        The rewrites to run, as in :func:`relgraph.function`.
    target : {"cpu", "numpy"}
        Where to run.
    nonfinite : {"assume", "keep"}
        Whether to use relations that hold for finite values only.

    Returns
    -------
    Compiled
        A function of arrays that returns an array or a list of arrays.

    Raises
    ------
    UnsupportedOpError
        If ops have no translation; the error lists them.
    ArgumentError
        For inputs that are not variables.
    """
    variables: list[Any] = []
    defaults: dict[int, Any] = {}
    for position, x in enumerate(inputs):
        variable = x.variable if isinstance(x, In) else x
        if not isinstance(variable, Variable) or variable.owner is not None:
            raise ArgumentError(
                f"input {position} is not an input of a graph of PyTensor: {kind_of(x)}",
                fix="Pass variables such as pt.vector('x'), or pytensor.In(variable, value=...).",
            )
        if isinstance(x, In) and x.value is not None:
            defaults[position] = x.value
        variables.append(variable)
    new = dict(updates)
    single = outputs is not None and not isinstance(outputs, list | tuple)
    computed = [outputs] if single else list(outputs or ())
    if replaced := dict(givens):
        together = clone_replace([*computed, *new.values()], replaced)
        computed = together[: len(computed)]
        new = dict(zip(new, together[len(computed) :], strict=True))
    results = computed[0] if single else list(computed)
    return Compiled(
        variables, results, new, defaults, mode=mode, target=target, nonfinite=nonfinite
    )


__all__ = ["Compiled", "RelgraphLinker", "compile", "compiled_graph", "mode", "register"]
