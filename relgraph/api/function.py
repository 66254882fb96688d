"""Compiled functions: from inputs and outputs of a graph to a callable on arrays."""

from __future__ import annotations

import inspect
import keyword
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np

from relgraph.api.argument_conversion import as_array, as_sparse, bound, fits
from relgraph.api.function_options import (
    In,
    Pairs,
    check_caller_input,
    checked_updates,
    replacements,
    without_shared,
)
from relgraph.api.out_arguments import check_out, donated_names, out_arrays
from relgraph.api.profile_report import Profile, recording
from relgraph.api.rewrite import DEFAULT_MODE, selected
from relgraph.api.shared import Shared
from relgraph.api.size_checks import equal_sizes, size_of, sources, unmet
from relgraph.api.state import State
from relgraph.api.targets import backend_of
from relgraph.backends.base import Array, Backend, Direct, Donating, Pair, program_of
from relgraph.backends.report import Report
from relgraph.errors import (
    ArgumentError,
    CompileError,
    ShapeError,
    checks_arguments,
    count_of,
    kind_of,
)
from relgraph.ir.dispatch import traceable
from relgraph.ir.graph import (
    FunctionGraph,
    Outputs,
    as_outputs,
    free_inputs,
    is_tensor,
    substitute,
)
from relgraph.ir.infix import brief
from relgraph.ir.node import Input, Variable, listed
from relgraph.ir.sizes import Meeting, meetings
from relgraph.ir.types import TensorType
from relgraph.rewriting.rewriters import map_graph
from relgraph.viz.display import Displayed
from relgraph.viz.document import Code, Element, Fold, Heading

_FLOAT = TensorType("float64", ())

Container = Variable | list[Variable] | tuple[Variable, ...] | dict[Any, Variable]


@traceable
def function(
    inputs: Variable | In | Iterable[Variable | In] | None,
    outputs: Container | None = None,
    mode: Any = DEFAULT_MODE,
    target: str | Backend = "cpu",
    nonfinite: str = "assume",
    *,
    donate: str | Input | Iterable[str | Input] = (),
    updates: Pairs = (),
    givens: Pairs = (),
    profile: bool = False,
) -> Function:
    """Rewrite a graph and compile it to a function of arrays.

    Parameters
    ----------
    inputs : Variable, In, iterable of them, or None
        The inputs in calling order, with a default value where :class:`In` has one; None for those
        that the outputs depend on, in order of first occurrence.  Shared variables are not listed.
    outputs : Variable, or a list, tuple or dict of Variable, or None
        The results; the function returns the same kind of container, and None for None.
    mode : str, Query, relation, rewriter, list of them, or None
        The rewrites to run, such as ``"o4"`` or ``rg.mode("o4").excluding("fusion")``; None to
        compile the graph without rewriting.  ``"default"`` is ``rg.config.mode``, which is
        ``"fast_run"`` unless set.  Names and queries select from :data:`relgraph.optdb`; for
        another database pass ``database.query(...)``.  A list is applied in order, such as
        ``[my_relation, "o4"]``.
    target : {"cpu", "numpy", "cuda", "dask"} or Backend
        Where to run: compiled for the CPU, op by op with NumPy, on a GPU, or as tasks on the blocks
        of Dask arrays.
    nonfinite : {"assume", "keep"}
        Whether to use relations that hold for finite values only, such as ``x - x = 0``.
    donate : str, Input, or iterable of them
        Inputs whose arrays a call may overwrite, and return as results.  An array that shares
        memory with another argument is copied instead.
    updates : mapping, or iterable of pairs, of Shared and Variable or array-like
        The new value of each shared variable, which the function stores after a call.  It computes
        all new values from the old ones.  If the call raises, no value changes.
    givens : mapping, or iterable of pairs, of Variable and Variable or array-like
        Nodes to replace in the outputs and updates, and in the replacements themselves.
    profile : bool
        Whether to record where the time of making the function goes, and to count and time its
        calls; the function then has a :class:`Profile` as its attribute ``profile``.

    Returns
    -------
    Function
        Takes one array for each input, by position or by name.

    Raises
    ------
    ArgumentError
        If outputs depend on missing inputs, or an input occurs twice; for an update of a variable
        that is not shared, and for givens that depend on each other in a circle.
    DTypeError, ShapeError
        If an update or a given does not have the type of what it replaces.
    DomainError
        For a target that does not exist.
    UnknownTagError
        For a mode that does not exist.
    OscillationError, BudgetError
        If relations of the mode do not terminate; the message names them.
    GPUNotAvailableError
        For the target "cuda" if no GPU can be used.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> x = rg.vector("x")
    >>> y = rg.vector("y")
    >>> f = rg.function([x, y], {"sum": x + y, "dot": rg.sum(x * y)}, target="numpy")
    >>> f(np.array([1.0, 2.0]), y=np.array([3.0, 4.0]))
    {'sum': array([4., 6.]), 'dot': np.float64(11.0)}
    """
    if profile:
        with recording() as report:
            compiled = function(
                inputs, outputs, mode, target, nonfinite,
                donate=donate, updates=updates, givens=givens,
            )  # fmt: skip
        compiled.count_calls(report)
        return compiled
    listed, defaults = _listed_inputs(inputs)
    if outputs is None and not updates:
        raise ArgumentError(
            "the outputs are None, and there are no updates",
            fix="Pass a Variable, or a list, tuple or dict of Variables; or updates= of shared "
            "variables.",
        )
    nodes, keys = ((), None) if outputs is None else _opened(outputs)
    backend_of(target)  # raises for an unknown target before any work is done
    graph, state = _with_state(listed, defaults, nodes, updates, givens)
    needed = list[Meeting]()
    rewriter, choices = selected(mode, nonfinite)
    if rewriter is not None:
        if choices is None or "remove_all_assert" not in choices:
            needed = meetings(graph.toposort())  # the rewritten graph may need fewer
        graph = map_graph(graph, rewriter)
    donated = donated_names(donate, graph.inputs)
    return Function(graph, keys, target, mode, choices, needed=needed, donate=donated, state=state)


def _listed_inputs(
    inputs: Variable | In | Iterable[Variable | In] | None,
) -> tuple[list[Variable] | None, dict[str, Any]]:
    """Return the inputs without their default values, and these."""
    if inputs is None:
        return None, {}
    entries = (inputs,) if isinstance(inputs, Variable | In) else listed(inputs, "inputs")
    nodes = [x.variable if isinstance(x, In) else x for x in entries]
    for node in nodes:
        if isinstance(node, Shared):
            check_caller_input(node)
    values = [x for x in entries if isinstance(x, In) and x.value is not None]
    return nodes, {x.variable.name: x.value for x in values}


def _with_state(
    inputs: list[Variable] | None,
    defaults: dict[str, Any],
    nodes: Outputs,
    updates: Pairs,
    givens: Pairs,
) -> tuple[FunctionGraph, State | None]:
    """Return the graph to compile, and what its function holds between calls; None for nothing."""
    outputs = as_outputs(nodes)
    new = checked_updates(updates)
    computed = (*outputs, *new.values())
    if givens:
        computed = substitute(computed, replacements(givens))
    leaves = free_inputs((*computed, *new))  # also those that are updated and not read
    if not defaults and not any(isinstance(x, Shared) for x in leaves):
        return FunctionGraph(inputs, computed), None
    if inputs is None:
        inputs = [x for x in free_inputs(computed) if not isinstance(x, Shared)]
    callers = FunctionGraph(inputs, ()).inputs
    computed, variables, plain = without_shared(computed, callers)
    state = State(tuple(x.name for x in callers), defaults, variables, tuple(new))
    return FunctionGraph((*callers, *plain), computed), state


@traceable
def evaluate(
    outputs: Container,
    values: Mapping[Variable | str, Any] | None = None,
    target: str | Backend = "numpy",
    mode: Any = None,
) -> Any:
    """Compute a graph for given values of its inputs, once.

    Parameters
    ----------
    outputs : Variable, or a list, tuple or dict of Variable
        What to compute.
    values : mapping of Variable or str to array-like, optional
        A value for each input, keyed by the input or by its name.  Values of unused inputs are
        ignored.
    target : {"cpu", "numpy", "cuda", "dask"} or Backend
        Where to compute.
    mode : str, Query, relation, rewriter, list of them, or None
        The rewrites to run first, as in :func:`function`; by default none.

    Returns
    -------
    array, or a list, tuple or dict of array
        As ``outputs``.

    Raises
    ------
    ArgumentError
        For an input without a value, or a key that is neither an input nor a name.

    Examples
    --------
    >>> import relgraph as rg
    >>> x = rg.vector("x")
    >>> rg.evaluate(x + 1, {x: [1.0, 2.0]})
    array([2., 3.])
    """
    values = {} if values is None else values
    if not isinstance(values, Mapping):
        raise ArgumentError(
            f"the values are {kind_of(values)}, not a dict of values",
            fix="Write rg.evaluate(graph, {x: [1.0, 2.0]}), keyed by inputs or their names.",
        )
    for key in values:
        if not isinstance(key, Input | str):
            raise ArgumentError(
                f"{brief(key, 24) if isinstance(key, Variable) else repr(key)} is not an input",
                fix="Key each value by an input of the graph, or by its name.",
            )
    compiled = function(None, outputs, mode=mode, target=target)
    used = {x.name for x in compiled.inputs}
    named = {x.name if isinstance(x, Input) else str(x): value for x, value in values.items()}
    if used.issubset(named):
        named = {name: named[name] for name in used}
    else:  # an unknown name may be a misspelling
        named = {x: value for x, value in named.items() if x in used or x in values}
    return compiled(**named)


class Function(Displayed):
    """A compiled graph; call it with arrays.

    Calls from several threads at once are independent of each other.

    Parameters
    ----------
    graph : FunctionGraph
        The graph to compile.
    keys : None, list, tuple or dict
        The form of the results: None for one array, or the container that holds them.
    target : {"cpu", "numpy", "cuda", "dask"} or Backend
        Where to run.
    mode : object, optional
        Recorded.
    choices : collection of str, optional
        The lowering choices to make, such as ``"fusion"``; None for all.
    needed : sequence of Meeting
        The unknown sizes of inputs that the original graph needs to be equal.
    donate : frozenset of str
        The inputs whose arrays a call may overwrite.
    state : State, optional
        The arguments that the function supplies, which come last, and the results that it keeps.

    Attributes
    ----------
    graph : FunctionGraph
        The graph that was compiled.
    inputs : tuple of Input
        The inputs, in calling order.
    shared : tuple of Shared
        The shared variables that a call reads or updates.
    target : str
        Where it runs.
    source : str
        The generated program.
    profile : Profile or None
        Where the time goes, if the function was made with ``profile=True``.
    has_entry : bool
        Whether the function has an :meth:`entry`.
    """

    # Python looks calls up in the class.  A slot there gives each function a call of its own: in
    # machine code if the program has one, because a frame in Python nearly doubles a small call.
    __slots__ = {
        "__call__": """Compute the outputs.

        Parameters
        ----------
        out : array, or a list, tuple or dict of array, optional
            Arrays for the results: the call computes directly in C-contiguous arrays, and copies to
            others.  They may overlap with arguments, but not with each other.  If a call fails
            while it computes, for instance on an index out of range or a singular matrix, their
            values are undefined.
        *args, **kwargs : array-like, or matrix of scipy.sparse
            One value for each input.  Arrays need its dtype, or one that converts safely; Python
            numbers and lists of them convert like NumPy's weak scalars.  For an input of a sparse
            layout, pass a matrix of scipy.sparse in any format; the call converts it.

        Returns
        -------
        array, or a list, tuple or dict of array
            New arrays; a result without dimensions is a NumPy scalar.

        Raises
        ------
        ArgumentError, DTypeError, ShapeError
            Naming the input.
        """,
        "__dict__": None,
        "__weakref__": None,
    }
    __call__: Callable[..., Any]
    profile: Profile | None = None

    @checks_arguments
    def __init__(
        self,
        graph: FunctionGraph,
        keys: Any,
        target: str | Backend = "cpu",
        mode: Any = None,
        choices: Collection[str] | None = None,
        *,
        needed: Sequence[Meeting] = (),
        donate: frozenset[str] = frozenset(),
        state: State | None = None,
    ) -> None:
        if not isinstance(graph, FunctionGraph):
            raise ArgumentError(
                f"Function compiles a FunctionGraph, not {graph!r:.60}",
                fix="Write rg.function(inputs, outputs).",
            )
        backend = backend_of(target, choices)
        overwritten = state.overwritten(graph) if state and isinstance(backend, Donating) else {}
        written = donate.union(overwritten.values())
        if written and isinstance(backend, Donating):
            backend = backend.donating(written)
        for position, node in enumerate(graph.outputs):
            _check_output(position, node)
        self.graph = graph
        self.inputs = graph.inputs if state is None else graph.inputs[: len(state.names)]
        self.shared = () if state is None else state.all
        self.target = backend.name
        self.mode = mode
        self._keys = keys
        self._target = target
        self._choices = choices
        self._donate = donate
        self._state = state
        self._program = program_of(backend, graph)
        self._read_inputs(needed)
        self._takes_out = any(x.name == "out" for x in graph.inputs)
        self._into: Direct | None = None
        quick = self._program.quick(self._wanted, self._sizes)
        self._fits, self._direct = quick or (fits(self._wanted, self._sizes), self._listed)
        self.has_entry = quick is not None
        # Whether a call may return the program's results unchecked.
        self._single = (
            keys is None and state is None and (quick is not None or graph.outputs[0].ndim > 0)
        )
        self.__signature__ = _signature(self.inputs, state.defaults if state else {})
        call: Callable[..., Any] | None = None
        if state is not None:
            call = state.call(self._listed_results, self._convert, self._contained, overwritten)
        elif quick and self._single:
            call = self._program.entry(*quick, self._call)
        _set_call(self, call or self._call)

    def _read_inputs(self, needed: Sequence[Meeting]) -> None:
        """Store the dtypes, ranks and equal sizes that arguments must have."""
        # By name, because NumPy shares one object among arrays, and `is` is the fastest test.
        # A sparse input has no dtype here, so that its argument always goes through the conversion.
        self._wanted = [
            (np.dtype(x.dtype.name) if x.type.layout == "dense" else None, x.ndim)
            for x in self.graph.inputs
        ]
        self._fixed = [
            (i, axis, dim)
            for i, x in enumerate(self.graph.inputs)
            for axis, dim in enumerate(x.type.shape)
            if isinstance(dim, int)
        ]
        self._equal = list(equal_sizes(self.graph.inputs))
        self._needed = list(needed)
        self._pairs = [sources(self.graph.inputs, meeting) for meeting in self._needed]
        self._sizes: list[Pair] = [
            *(((i, axis), size) for i, axis, size in self._fixed),
            *(((i, axis), (j, other)) for i, axis, j, other in self._equal),
            *((a, b) for a, b in self._pairs),
        ]

    def count_calls(self, profile: Profile) -> None:
        """Count and time all calls from now on.

        Parameters
        ----------
        profile : Profile
            The record, which becomes the attribute ``profile``.
        """
        self.profile = profile
        _set_call(self, profile.calls.counted(self.__call__))

    @property
    def source(self) -> str:
        """The generated program."""
        return str(self._program.source)

    def report(self) -> Report:
        """Return what a call runs: kernels, library calls, inputs written in place, and variants.

        Returns
        -------
        Report
            Its attributes are ``kernels``, ``loops``, ``calls``, ``in_place`` and ``variants``; it
            prints as text.

        Raises
        ------
        CompileError
            For a backend of your own whose programs have no method ``report``.

        Examples
        --------
        >>> import relgraph as rg
        >>> x, A = rg.vector("x", "n"), rg.matrix("A", ("n", "n"))
        >>> rg.function([A, x], rg.sort(rg.exp(x) + 1), donate="x").report()
        1 kernel, run 1 time
        1 library call: sort
        written in place: x
        0 variants compiled
        """
        report = self._program.report()
        if report is None:
            raise CompileError(
                f"programs of the backend {self.target} have no report",
                fix="Give the program a method report() that returns a Report.",
            )
        return report

    def __repr__(self) -> str:
        names = ", ".join(f"{x.name}: {x.type}" for x in self.inputs)
        outputs = self.graph.outputs if self._state is None else self._state.callers(self.graph)
        results = ", ".join(brief(x, 24) for x in outputs)
        return f"<relgraph function ({names}) -> {results}, target={self.target!r}>"

    def _document(self) -> list[Element]:
        names = ", ".join(x.name for x in self.inputs)
        report = self._program.report()
        runs = [] if report is None else [Code(str(report))]
        source = Fold("generated source: function.source", (Code(self.source),))
        return [
            Heading(f"relgraph function ({names}), target {self.target!r}"),
            *self.graph._document(),
            *runs,
            source,
        ]

    def __reduce__(self) -> tuple[object, ...]:
        make = partial(Function, needed=self._needed, donate=self._donate, state=self._state)
        return make, (self.graph, self._keys, self._target, self.mode, self._choices)

    def _call(self, /, *args: Any, out: Any = None, **kwargs: Any) -> Any:
        """Compute the outputs: the call in Python, for any arguments."""
        if out is not None:
            return self._call_into(args, kwargs, out)
        if kwargs or not self._fits(*args):
            return self._packed(self._listed(*self._checked(args, kwargs)))
        results = self._direct(*args)
        return results if self._single else self._packed(results)

    def timed(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return a run of the program that times each step.

        Parameters
        ----------
        *args, **kwargs : array-like
            The arguments of the calls to time.

        Returns
        -------
        object or None
            What the back end's ``Program.timed`` returns; None if it does not time steps.
        """
        return self._program.timed(self._checked(args, kwargs))

    @property
    def unchecked(self) -> Callable[..., Any]:
        """The function without checks of its arguments.

        Pass aligned, C-contiguous arrays of the declared dtypes, ranks and sizes, by position.
        Donated ones must be writable and share no memory with other arguments.  Other arguments
        cause wrong results, or crash the process.

        Returns
        -------
        callable
            Returns the same results as a call of the function.

        Examples
        --------
        >>> import numpy as np, relgraph as rg
        >>> x = rg.vector("x")
        >>> f = rg.function([x], x + 1).unchecked
        >>> f(np.array([1.0, 2.0]))
        array([2., 3.])
        """
        if self._state is not None:
            raise self._state.bypassed("unchecked")
        direct, packed = self._direct, self._packed
        return direct if self._single else lambda *arrays: packed(direct(*arrays))

    def capture(self, /, *args: Any, **kwargs: Any) -> Callable[..., Any]:
        """Record a call on a GPU, to launch all its kernels at once.

        Parameters
        ----------
        *args, **kwargs : array-like, or arrays on the device
            The arguments of the call to record.

        Returns
        -------
        callable
            Takes arguments of the same shapes and dtypes, copies them to the recorded addresses,
            and returns the same device arrays at each call, with new values.

        Raises
        ------
        CaptureError
            For a graph that needs the CPU for some part, and for a target that is not a GPU.
        """
        if self._state is not None:
            raise self._state.bypassed("capture")
        recorded = self._program.record(self._checked(args, kwargs))

        def replay(*args: Any, **kwargs: Any) -> Any:
            results = recorded.replay(self._checked(args, kwargs))
            return self._packed(results[0] if len(results) == 1 else results)

        return replay

    def compute(self, /, *args: Any, **kwargs: Any) -> Any:
        """Call the function, and compute its results if they are lazy.

        Parameters
        ----------
        *args, **kwargs : array-like
            The arguments.

        Returns
        -------
        array, or the container of the outputs
            NumPy arrays for the target "dask", computed together by the scheduler that Dask would
            use, so that data which several of them need is read once.  For other targets, what a
            call returns.
        """
        if self._state is not None:
            return self(*args, **kwargs)
        results = self._program.computed(self._program(self._checked(args, kwargs)))
        return self._packed(results[0] if len(results) == 1 else results)

    def plan(self, /, *args: Any, **kwargs: Any) -> Any:
        """Return how a call with Dask arrays is divided into tasks; nothing is computed.

        Parameters
        ----------
        *args, **kwargs : array-like
            The arguments.

        Returns
        -------
        Plan
            Its attributes are ``passes``, ``tasks``, ``bytes_read``, ``bytes_moved`` and
            ``largest_task``; it prints as text.

        Raises
        ------
        CompileError
            For other targets than "dask".
        """
        return self._program.planned(self._checked(args, kwargs))

    def entry(self, other: Callable[..., Any]) -> Callable[..., Any]:
        """Return the call for arguments that the program takes as they are, by position.

        Parameters
        ----------
        other : callable
            Called with all other arguments, among them donated arrays that are read-only or share
            memory with another argument.

        Returns
        -------
        callable
            Returns a single result as it is, a scalar if it has no dimensions, and several as a
            sequence of arrays.  A builtin function takes NumPy scalars and Python numbers for
            inputs without dimensions.
        """
        test, run = self._fits, self._direct
        call = self._program.entry(test, run, other)
        return call or (lambda *args: run(*args) if test(*args) else other(*args))

    def _listed_results(self, *args: Any) -> tuple[Any, ...]:
        """Run the program on one argument for each of its inputs, and return its results."""
        results: Any
        if not self._fits(*args):
            results = self._program(self._checked(args, {}))
        else:
            results = self._direct(*args)
            if len(self.graph.outputs) == 1:
                results = (results,)
        return tuple(self._program.computed(results))

    def _contained(self, results: Sequence[Any]) -> Any:
        """Return the caller's results of a function with state in their container."""
        if self._keys is None and not results:
            return None
        return self._packed(results[0] if len(self.graph.outputs) == 1 else results)

    def _listed(self, *arrays: Any) -> Any:
        """Run a program that takes and returns a list, and unpack a single result."""
        results = self._program(arrays)
        return results[0] if len(results) == 1 else results

    def _call_into(self, args: Sequence[Any], kwargs: dict[str, Any], out: Any) -> Any:
        """Compute into the arrays given as ``out``, and return it."""
        if self._takes_out:
            return self._packed(self._listed(*self._checked(args, {**kwargs, "out": out})))
        arrays = (out,) if self._keys is None else out_arrays(out, self._keys)
        if self._into is None:
            quick = self._program.quick_into(self._wanted, self._sizes)
            self._into = quick or (lambda *arrays: False, self._listed)
        test, direct = self._into
        if not kwargs and test(*args, *arrays):
            direct(*args, *arrays)
            return out
        check_out(arrays, self.graph.outputs, self._program.holds)
        # Programs write to plain NumPy arrays, so that a subclass such as a memmap becomes a view.
        arrays = [np.asarray(x) if isinstance(x, np.ndarray) else x for x in arrays]
        self._program.into(self._checked(args, kwargs), arrays)
        return out

    def _checked(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> list[Any]:
        if kwargs or len(args) != len(self._wanted):
            args = bound([x.name for x in self.inputs], args, kwargs)
        arrays = [
            x
            if type(x) is np.ndarray
            and x.dtype is dtype
            and x.ndim == ndim
            and x.flags.c_contiguous
            and x.flags.aligned
            else self._convert(i, x)
            for i, (x, (dtype, ndim)) in enumerate(zip(args, self._wanted, strict=True))
        ]
        for i, axis, size in self._fixed:
            if arrays[i].shape[axis] != size:
                raise self._wrong_size(i, axis, size, arrays[i])
        for i, axis, j, other in self._equal:
            if arrays[i].shape[axis] != arrays[j].shape[other]:
                raise self._unequal(i, axis, j, other, arrays)
        for meeting, (a, b) in zip(self._needed, self._pairs, strict=True):
            first, second = size_of(arrays, a), size_of(arrays, b)
            if first != second:
                raise unmet(meeting, first, second)
        return arrays

    def _packed(self, results: Any) -> Any:
        if len(self.graph.outputs) == 1:
            results = (results,)
        values = [x[()] if type(x) is np.ndarray and x.ndim == 0 else x for x in results]
        keys = self._keys
        if keys is None:
            return values[0]
        if isinstance(keys, dict):
            return dict(zip(keys, values, strict=True))
        return values if isinstance(keys, list) else tuple(values)

    def _convert(self, i: int, value: Any) -> Array:
        """Return an argument as an aligned, contiguous array of the input's dtype and rank."""
        wanted = self.graph.inputs[i]
        prepared = self._program.convert(wanted, value)
        if prepared is not None:
            _check_rank(wanted, prepared)
            return prepared  # type: ignore[no-any-return]
        if wanted.type.layout != "dense":
            matrix: Array = as_sparse(wanted, value)
            return matrix
        if type(value) is float and wanted.type == _FLOAT:  # the usual number, without a detour
            return np.array(value)
        array = as_array(wanted, value)
        _check_rank(wanted, array)
        laid_out = array.flags.aligned and array.flags[self._program.order]
        return array if laid_out else np.require(array, requirements=["C", "A"])

    def _wrong_size(self, i: int, axis: int, size: int, array: Array) -> ShapeError:
        x = self.graph.inputs[i]
        return ShapeError(
            f"the input {x.name!r} has size {array.shape[axis]} along axis {axis}, not {size}",
            {"declared": x.type, "given": f"shape {array.shape}"},
            "Declare that dimension with a name or None if its size may vary.",
        )

    def _unequal(
        self, i: int, axis: int, j: int, other: int, arrays: Sequence[Array]
    ) -> ShapeError:
        x, y = self.graph.inputs[i], self.graph.inputs[j]
        name = x.type.shape[axis]
        if x is y:
            return ShapeError(
                f"the size {name!r} is {arrays[i].shape[axis]} along axis {axis} of the input "
                f"{x.name!r} and {arrays[j].shape[other]} along axis {other}",
                {"declared": x.type, "given": f"shape {arrays[i].shape}"},
                "Sizes of one name must be equal within a call.",
            )
        return ShapeError(
            f"the size {name!r} is {arrays[i].shape[axis]} in the input {x.name!r} (axis {axis}) "
            f"and {arrays[j].shape[other]} in {y.name!r} (axis {other})",
            [
                (x.name, f"{x.type}, given shape {arrays[i].shape}"),
                (y.name, f"{y.type}, given shape {arrays[j].shape}"),
            ],
            "Sizes of one name must be equal within a call.",
        )


_NONE = inspect.Parameter.empty
_set_call: Any = vars(Function)["__call__"].__set__  # also in a subclass with a __call__


def _check_rank(wanted: Input, array: Any) -> None:
    ndim = len(array.shape)
    if ndim != wanted.ndim:
        raise ShapeError(
            f"the input {wanted.name!r} has {count_of(wanted.ndim, 'dimension')}, not {ndim}",
            {"declared": wanted.type, "given": f"shape {array.shape}"},
            "Reshape the array, or declare the input with its rank.",
        )


def _opened(outputs: Container) -> tuple[Outputs, Any]:
    """Return the nodes of a container, and the container without them."""
    if isinstance(outputs, Variable):
        return outputs, None
    if isinstance(outputs, Mapping):
        return as_outputs(outputs.values()), dict.fromkeys(outputs)
    if isinstance(outputs, list | tuple):
        return as_outputs(outputs), [] if isinstance(outputs, list) else ()
    raise ArgumentError(
        f"the outputs are {kind_of(outputs)}, not a graph: {outputs!r:.60}",
        fix="Pass a Variable, or a list, tuple or dict of Variables.",
    )


def _check_output(position: int, node: Variable) -> None:
    if not is_tensor(node):
        raise ArgumentError(
            f"output {position} is several arrays, not one: {brief(node, 24)}",
            {"type": node.type},
            "Return the parts that you need as separate outputs.",
        )


def _signature(inputs: Sequence[Input], defaults: Mapping[str, Any]) -> inspect.Signature:
    parameters: list[inspect.Parameter] = []
    kind: Any = inspect.Parameter.POSITIONAL_OR_KEYWORD
    for x in inputs:
        if parameters and parameters[-1].default is not _NONE and x.name not in defaults:
            kind = inspect.Parameter.KEYWORD_ONLY  # as Python writes it after a default value
        parameters.append(
            inspect.Parameter(
                x.name + "_" * keyword.iskeyword(x.name),
                kind,
                annotation=str(x.type),
                default=defaults.get(x.name, _NONE),
            )
        )
    return inspect.Signature(parameters)
