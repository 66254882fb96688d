"""The numba backend: kernels, and a Python function that calls them in order."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from importlib import import_module
from types import BuiltinFunctionType
from typing import Any

import numpy as np

from relgraph.backends.base import Array, OpCall, released
from relgraph.backends.config import config
from relgraph.backends.failures import failure, misplaced
from relgraph.backends.numba import kernels
from relgraph.backends.numba.arena import Arena
from relgraph.backends.numba.calls import Layout
from relgraph.backends.numba.fold_source import LOG_SUM
from relgraph.backends.numba.guard import Source
from relgraph.backends.numba.kernel_source import KernelText
from relgraph.backends.numba.layouts import (
    FORTRAN,
    Order,
    laid_out,
    layouts,
    readable,
    turned,
)
from relgraph.backends.numba.lone import alone_first, declared_alone, lone_rows
from relgraph.backends.numba.main_source import MainText
from relgraph.backends.numba.product_source import ProductText
from relgraph.backends.numba.row_source import RowText
from relgraph.backends.numba.scan_source import ScanText, has_scans
from relgraph.backends.numba.short_source import longest, short_text
from relgraph.backends.numba.tapes import Taped, Untaped
from relgraph.backends.numba.templates import literals, supported, weight
from relgraph.backends.numba.update_source import UpdateText
from relgraph.backends.source import define
from relgraph.errors import ShapeError
from relgraph.ir.graph import FunctionGraph
from relgraph.ir.node import Constant, Variable
from relgraph.ir.printing import brief
from relgraph.ir.types import DTYPES
from relgraph.lowering.buffers import (
    has_own_buffer,
    in_place,
    last_reads,
    origins,
    pinned_values,
)
from relgraph.lowering.expansion import expanded, is_flat
from relgraph.lowering.kernels import Kernel, Step, Structure, schedule, without_assumptions
from relgraph.lowering.products import join_products
from relgraph.lowering.regions import Fusion
from relgraph.lowering.rows import join_rows
from relgraph.lowering.sizes import Check
from relgraph.lowering.updated_operands import apart
from relgraph.lowering.updates import join_updates, with_places
from relgraph.ops.cumulative import Cumulative
from relgraph.ops.keys import numpy_key

Pair = tuple[Source, Source]
ORDERS = 8  # programs for inputs that are not in C's order, of one program
may_share = np.may_share_memory

REDUCTIONS = frozenset({"sum", "prod", "max", "min", "mean", "any", "all"})


def reduces(node: Variable) -> bool:
    """Tell whether a reduction, or a cumulative op, can accumulate in a kernel."""
    if isinstance(node.op, Cumulative):
        return bool(node.type.shape[node.op.axis] != 1)
    return node.op is not None and (node.op.name in REDUCTIONS or is_log_sum(node))


def is_log_sum(node: Variable) -> bool:
    """Tell whether a node is log(sum(exp(x))) of all elements, which one pass computes."""
    return node.op is not None and node.op.name == LOG_SUM and is_flat(node)


FUSION = Fusion(
    maps=supported, reduces=reduces, weight=weight, literals=literals, views=True, again=30,
    gathers=True,
)  # fmt: skip


class NumbaBackend:
    """Compiles a graph to machine code for the CPU.

    Parameters
    ----------
    fusion : Fusion
        What may share a kernel.
    reuse : bool
        Whether a value may take over the memory of one that was read last.
    overwrite : bool
        Whether an update of an array that nothing else reads may change the array itself.
    donated : frozenset of str
        The names of the inputs whose memory may be taken over.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x = rg.vector("x")
    >>> rg.function([x], rg.sum(x * x))(np.array([1.0, 2.0]))
    np.float64(5.0)
    """

    name = "cpu"

    def __init__(
        self,
        fusion: Fusion = FUSION,
        reuse: bool = True,
        overwrite: bool = True,
        donated: frozenset[str] = frozenset(),
    ) -> None:
        self.fusion = fusion
        self.reuse = reuse
        self.overwrite = overwrite
        self.donated = donated

    @classmethod
    def with_choices(cls, choices: Collection[str] | None) -> NumbaBackend:
        """Return the backend that makes these lowering choices; all of them for None."""
        if choices is None:
            return cls()
        fusion = FUSION if "fusion" in choices else replace(FUSION, limit=1)
        return cls(fusion, "inplace" in choices, "inplace_setsubtensor" in choices)

    def compile(self, graph: FunctionGraph) -> NumbaProgram:
        """Return the program of a graph, its kernels compiled."""
        if config.veclib is not None:
            vector_libraries = import_module("relgraph.backends.numba.vector_libraries")
            vector_libraries.require(config.veclib)
        return NumbaProgram(graph, self.fusion, self.reuse, self.overwrite, self.donated)

    def donating(self, names: frozenset[str]) -> NumbaBackend:
        """Return a backend whose programs may take over the memory of inputs of these names."""
        return NumbaBackend(self.fusion, self.reuse, self.overwrite, names)


class NumbaProgram:
    """A graph as compiled kernels and the Python source that calls them.

    Parameters
    ----------
    graph : FunctionGraph
        The graph.
    fusion : Fusion
        What may share a kernel.
    reuse : bool
        Whether a value may take over the memory of one that was read last.
    overwrite : bool
        Whether an update of an array that nothing else reads may change the array itself.
    donated : frozenset of str
        The names of the inputs whose memory may be taken over.
    strided : frozenset of int
        The inputs, by position, that are read through the strides they are given with.
    """

    def __init__(
        self,
        graph: FunctionGraph,
        fusion: Fusion,
        reuse: bool = True,
        overwrite: bool = True,
        donated: frozenset[str] = frozenset(),
        *,
        strided: frozenset[int] = frozenset(),
    ) -> None:
        self._strided = strided
        original = graph
        graph = expanded(without_assumptions(graph), lambda node: not is_log_sum(node))
        graph = apart(graph, fusion)
        wider = with_places(graph)
        steps = join_rows(wider, schedule(wider, fusion), fusion)
        self.steps = join_updates(graph, join_products(wider, steps, fusion), fusion)
        self._texts: dict[str, str] = {}
        self._names: dict[Structure, str] = {}
        functions: dict[str, kernels.Kernel] = {}
        for step in self.steps:
            if isinstance(step, Kernel) and step.structure not in self._names:
                name, text, layout = kernel_text(step)
                self._names[step.structure] = name
                self._texts[name] = text
                short = partial(short_text, step.structure) if layout.longest else None
                functions[name] = kernels.load(name, text, layout, short)
        given = [x for x in graph.inputs if x.name in donated]
        self._donated = [i for i, x in enumerate(graph.inputs) if x in given]
        write = partial(MainText, graph, self.steps, self._names, reuse, overwrite, donated=given)
        main = write()
        self._main_text = main.text()
        self._write_into = partial(write, into=True)
        self._into = lru_cache(maxsize=1)(self._compile_into)
        self._outputs = graph.outputs
        self._readable = readable(graph, self.steps)
        for i in {*self._donated, *strided}:
            self._readable.pop(i, None)

        @lru_cache(maxsize=ORDERS)
        def laid(which: frozenset[Order]) -> NumbaProgram:
            given = frozenset(i for i, layout in which if layout != FORTRAN)
            new = laid_out(original, which)
            return NumbaProgram(new, fusion, reuse, overwrite, donated, strided=strided | given)

        self._laid = laid
        self._alone = lru_cache(maxsize=1)(
            lambda rows: NumbaProgram(declared_alone(original, rows), fusion, reuse, overwrite)
        )
        first = origins(graph, self.steps, given if overwrite else None)
        self._in_place = in_place_results(graph, self.steps, first)
        self._constants = [x.value for x in graph.outputs if isinstance(x, Constant)]
        self.arena = Arena()
        namespace: dict[str, Any] = {
            "empty": np.empty,
            "borrow": self.arena.borrow,
            "give_back": self.arena.give_back,
            "given": given_or_new,
            "ready": ready,
            "matmul": np.matmul,
            "copyto": np.copyto,
            "bool": np.bool_,
            **{name: np.dtype(name).type for name in NUMBERS},
            **functions,
            **{name: OpCall(n, n in main.overwrites) for name, n in main.calls.items()},
            **{name: _packed(values) for name, values in main.packed.items()},
            **{name: ready(x.value) for name, x in main.constants.items()},
            **{name: _differ(check) for name, check in main.checks.items()},
            **{name: _no_elements(node) for name, node in main.nonempty.items()},
            **{name: _places(node) for name, node in main.gathers.items()},
            **{name: _part(node) for name, node in main.views.items()},
            **{name: _misshapen(node) for name, node in main.verified.items()},
        }
        for name, text in main.parts:
            define(name, text, namespace)
            assert name in namespace
        self._main: Callable[..., tuple[Any, ...]] = namespace["main"]
        self._silent = bool(main.calls)
        made = {x for step in self.steps if has_own_buffer(step) for x in step.results}
        self._fresh = made.issuperset(graph.outputs) and len(set(graph.outputs)) == len(
            graph.outputs
        )
        plain = self._fresh and not self._silent and not self._donated
        self._plain = main if plain else None
        self._namespace = namespace

    order = "A"  # of arguments that need no copy before they are passed, as NumPy's flags say it

    def quick(
        self, wanted: Sequence[tuple[np.dtype[Any] | None, int]], equal: Sequence[Pair]
    ) -> tuple[Callable[..., bool], Callable[..., Any]] | None:
        """Return a test of arguments and a function to call with those that pass it.

        Parameters
        ----------
        wanted : sequence of (dtype, int)
            The dtype and rank of each argument; None for a dtype that no array has.
        equal : sequence of pair of sources
            Which sizes must be equal: each an argument and its axis, or an int.

        Returns
        -------
        tuple of two callables, or None
            The second returns the result, a scalar where it has no dimensions, or a tuple of
            several; None where the program does more than to call kernels.
        """
        if self._plain is None or (made := self._direct(self._plain)) is None:
            return None
        main, pairs = made
        return kernels.guard(wanted, [*equal, *pairs]), main

    def quick_into(
        self, wanted: Sequence[tuple[np.dtype[Any] | None, int]], equal: Sequence[Pair]
    ) -> tuple[Callable[..., bool], Callable[..., Any]] | None:
        """Return the like of :meth:`quick` for arguments that places for results follow."""
        if self._plain is None or (made := self._direct(self._write_into(), True)) is None:
            return None
        main, pairs = made
        places = [(np.dtype(x.type.dtype.name), x.ndim) for x in self._outputs]
        test = kernels.guard([*wanted, *places], [*equal, *pairs], self._in_place)
        return test, main

    def _direct(
        self, main: MainText, into: bool = False
    ) -> tuple[Callable[..., Any], Sequence[Pair]] | None:
        """Return the main function without checks, and the pairs of sizes that it takes as equal.

        Where the program only calls kernels, it is machine code.
        """
        made = main.trusting()
        if made is None:
            return None
        text, pairs = made
        namespace = dict(self._namespace)
        define("main", text, namespace)
        constants: dict[Any, Array] = {x: namespace[c] for c, x in main.constants.items()}
        constants |= {values: namespace[c] for c, values in main.packed.items()}
        bound = {
            x: namespace[self._names[x.structure]] for x in self.steps if isinstance(x, Kernel)
        }
        function = namespace["main"]
        lone = None if into else lone_rows(main.graph, self.steps, main.sizes)
        try:
            taped = Taped(main, self.steps, bound, constants, into=into, lone=lone)
        except Untaped:
            return function, pairs
        if lone is not None:
            function = alone_first(main.graph, lone, partial(self._alone, lone.rows), function)
        return taped.bound(kernels.native(), function), pairs

    def entry(
        self, test: Callable[..., bool], run: Callable[..., Any], other: Callable[..., Any]
    ) -> Callable[..., Any] | None:
        """Return a call in machine code of what :meth:`quick` returned; None where that is Python.

        Arguments that do not pass the test, and those passed by name, go to ``other``.
        """
        return kernels.entry(test, run, other) if isinstance(run, BuiltinFunctionType) else None

    @property
    def source(self) -> str:
        """The kernels and the function that calls them, as one Python module."""
        return "\n\n".join([*self._texts.values(), self._main_text])

    @property
    def kernels(self) -> tuple[str, ...]:
        """The names of the distinct kernels."""
        return tuple(self._texts)

    def __call__(self, arrays: Sequence[Array]) -> list[Any]:
        """Run the program on one array for each input."""
        which = layouts(arrays, self._readable) if self._readable else None
        if which:
            return self._laid(which)(turned(arrays, which))
        usable = self._usable(arrays)
        results = self._run(self._main, usable)
        if self._fresh:
            return list(results)
        held = [x for i, x in enumerate(usable) if i not in self._donated]
        held += [x for i, x in enumerate(arrays) if i not in self._donated]
        return released(results, (*held, *self._constants))

    def _usable(self, arrays: Sequence[Array]) -> list[Array]:
        usable = [
            x if type(x) is not np.ndarray or i in self._strided else ready(x)
            for i, x in enumerate(arrays)
        ]
        for i in self._donated:  # not where somebody else would see it change
            others = (x for k, x in enumerate(usable) if k != i and type(x) is np.ndarray)
            if not usable[i].flags.writeable or any(may_share(usable[i], x) for x in others):
                usable[i] = usable[i].copy()
        return usable

    def _run(self, main: Callable[..., Any], values: Sequence[Any]) -> Any:
        if not self._silent:
            return main(*values)
        with np.errstate(all="ignore"):  # a graph computes inf and NaN without a word
            return main(*values)

    def into(self, arrays: Sequence[Array], places: Sequence[Array]) -> None:
        """Run the program with given places for its results.

        Parameters
        ----------
        arrays : sequence of array
            As for a call.
        places : sequence of array
            One for each output, of its dtype, writeable; no two of them overlap.  They may overlap
            with inputs.

        Raises
        ------
        ShapeError
            For a place of another shape than the result.
        """
        which = layouts(arrays, self._readable) if self._readable else None
        if which:
            return self._laid(which).into(turned(arrays, which), places)
        usable = self._usable(arrays)
        inputs = [x for x in usable if type(x) is np.ndarray]
        direct = [
            place if self._writable(k, place, usable, inputs) else None
            for k, place in enumerate(places)
        ]
        results = self._run(self._into(), [*usable, *direct])
        waiting = [
            # A result may be a view of an input that is the place of another one.
            (place, result.copy() if any(may_share(result, x) for x in places) else result)
            for place, result in zip(places, results, strict=True)
            if result is not place and not _same_elements(place, result)
        ]
        for place, result in waiting:
            if place.shape != result.shape:
                raise misplaced(place.shape, result.shape)
        for place, result in waiting:
            np.copyto(place, result)

    def _writable(
        self, k: int, place: Array, usable: Sequence[Array], inputs: Sequence[Array]
    ) -> bool:
        """Tell whether a result can be computed in its place, whatever else is there."""
        if ready(place) is not place or not place.dtype.isnative:
            return False
        if any(may_share(place, usable[i]) for i in self._donated):
            return False  # the program may take that memory for something else before or after
        return not any(
            may_share(place, x)
            and not (
                _same_elements(place, x)
                and all(usable[i] is not x or i in self._in_place[k] for i in range(len(usable)))
            )
            for x in inputs
        )

    def _compile_into(self) -> Callable[..., Any]:
        """Compile the function that takes places for results; when one is asked for."""
        text = self._write_into()
        namespace = dict(self._namespace)
        for name, part in text.parts:
            define(name, part, namespace)
        found: Callable[..., Any] = namespace["main"]
        return found


def in_place_results(
    graph: FunctionGraph, steps: Sequence[Step], first: Mapping[Variable, Variable]
) -> list[set[int]]:
    """Return for each output the inputs that may be the same array as its place.

    These are read by no step after the one that computes the output, and by that one element by
    element, and the memory of no other output may have taken theirs; ``first`` says which value is
    computed in the memory of each output first.
    """
    found: list[set[int]] = []
    last = last_reads(graph, steps, graph.inputs)
    viewed = pinned_values(steps)  # a view of an input may be read after the input itself
    for x in map(first.__getitem__, graph.outputs):
        made = next((i for i, step in enumerate(steps) if x in step.results), None)
        if made is None:
            found.append(set())
            continue
        reads = steps[made].reads
        safe = set(in_place(steps[made], x, reads))
        found.append(
            {
                k
                for k, y in enumerate(graph.inputs)
                if y not in graph.outputs
                and y not in viewed
                and last.get(y, -1) <= made
                and (y in safe or y not in reads)
            }
        )
    return found


def _same_elements(a: Array, b: Array) -> bool:
    one, two = a.__array_interface__["data"], b.__array_interface__["data"]
    return one == two and a.dtype == b.dtype and a.shape == b.shape and a.strides == b.strides


def given_or_new(place: Array | None, shape: tuple[int, ...], dtype: Any) -> Array:
    """Return the place of a result, or new memory where there is none."""
    if place is None:
        return np.empty(shape, dtype)
    if place.shape != shape:
        raise misplaced(place.shape, shape)
    return place


def ready(array: Array) -> Array:
    """Return an array as kernels take it: elements in order, one after the other, and aligned."""
    flags = array.flags
    if flags.c_contiguous and flags.aligned:
        return array
    return np.require(array, requirements=["C", "A"])


NUMBERS = tuple(name for name in DTYPES if name != "bool")

# What an element of a loop takes, in picoseconds: an operation on vectors, and a byte from a cache.
_OPERATION, _BYTE = 120, 20


def kernel_text(step: Kernel) -> tuple[str, str, Layout]:
    """Return the name of a kernel, its source, and what a call of it takes."""
    structure = step.structure
    written = _text(structure)
    text = written.functions("NAME", f"NAME{kernels.FINISH}")
    name = f"rgk_{kernels.digest(text)}"
    weights = list(map(weight, step.nodes))
    last = len(structure.reduced) - 1
    given = len(step.arrays) + len(step.tables) + len(step.slots)
    strided = [*enumerate(written.arrays)]
    if isinstance(written, KernelText):
        strided += enumerate(written.stored, given)
    streams = [np.dtype(dtype).itemsize for dtype, spans in structure.arrays if spans[last]]
    streams += [np.dtype(structure.rows[row].dtype).itemsize for row in structure.stored]
    streams += [np.dtype(dtype).itemsize for dtype, full in structure.results if full]
    layout = Layout(
        sizes=len(structure.reduced),
        arrays=given + len(step.results),
        folds=written.combined,
        kept=sum(1 << g for g in written.kept),
        cost=_OPERATION * sum(weights) + _BYTE * sum(streams),
        strides=tuple((i, axis) for i, array in strided for _, axis in array.strides),
        longest=0 if has_scans(structure) else longest(structure, max(weights) > 1),
    )
    return name, text.replace("NAME", name), layout


def _text(structure: Structure) -> KernelText | RowText | ProductText:
    if structure.products is not None:
        return ProductText(structure)
    if has_scans(structure):
        return ScanText(structure)
    if any(target is not None and target.places is not None for target in structure.targets):
        return UpdateText(structure)
    return RowText(structure) if structure.passes else KernelText(structure)


def _packed(values: Sequence[Constant]) -> Array:
    return np.array([x.uniform for x in values], dtype=values[0].dtype)


def _differ(check: Check) -> Callable[[int, int], None]:
    def differ(left: int, right: int) -> None:
        raise check.error(left, right)

    return differ


def _no_elements(node: Variable) -> Callable[[], None]:
    def no_elements() -> None:
        raise ShapeError(
            f"{node.op!r} has no value over no elements",
            {"in": brief(node, 24)},
            "Give it an array that has elements along the reduced axes.",
        )

    return no_elements


def _places(node: Variable) -> Callable[[Array, Array], Array]:
    def places(index: Array, array: Array) -> Array:
        """Return indices that are not negative; an index that is too large is an error."""
        try:
            array[index]
        except IndexError as error:
            raise failure(node, _given(node, array, index), error) from error
        return np.where(index < 0, index + len(array), index).astype(index.dtype)

    return places


def _part(node: Variable) -> Callable[..., Array]:
    spec = node.op.params[0]  # type: ignore[union-attr]

    def part(array: Array, *operands: Array) -> Array:
        """Return a view of an array; of one element, too."""
        try:
            return array[(*numpy_key(spec, operands), Ellipsis)]
        except IndexError as error:
            raise failure(node, _given(node, array, *operands), error) from error

    return part


def _given(node: Variable, array: Array, *key: Array) -> tuple[Any, ...]:
    """Return the operands of an index or an update, of which only the value is not known."""
    return (array, *[...] * (len(node.inputs) - 1 - len(key)), *key)


def _misshapen(node: Variable) -> Callable[[Any, Any], None]:
    def misshapen(shape: Any, expected: Any) -> None:
        raise ShapeError(
            f"{node.op!r} computed the shape {shape}, and {expected} is needed",
            {"in": brief(node, 24), "type": node.type},
            "Sizes of one name must be equal within a call.",
        )

    return misshapen
