"""Tracing: run a NumPy function once on tracers and compile the graph it builds."""

from __future__ import annotations

import functools
import inspect
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterable, Sequence
from contextlib import suppress
from types import CodeType
from typing import Any

import numpy as np

from relgraph.api.argument_conversion import array_of, is_lazy
from relgraph.api.call_source import OTHER, Call, CallSource, CannotTakeApart, fed
from relgraph.api.function import Function, function
from relgraph.api.methods import BoundMethod, attributes_of, on_attributes
from relgraph.api.out_arguments import check_donated, listed
from relgraph.api.pytrees import STATIC, rebuilt, same_parts
from relgraph.api.results import Pack, Packing, Results
from relgraph.api.rewrite import DEFAULT_MODE, selected
from relgraph.api.shared import Shared
from relgraph.api.targets import check_target
from relgraph.api.tracing.arguments import Leaves
from relgraph.api.tracing.calls import tracing
from relgraph.api.tracing.changed_arguments import Updates, updates_of
from relgraph.api.tracing.in_place import MADE_HERE
from relgraph.api.tracing.number_trace import NUMBERS, Branch, NumberTrace, prune
from relgraph.api.tracing.python_loops import BY_NUMBERS, IN_PYTHON, not_compiled
from relgraph.api.tracing.python_source import traceable
from relgraph.api.tracing.storage import Storage
from relgraph.api.tracing.tracer import Tracer
from relgraph.api.tracing.weak_scalar import WeakScalar
from relgraph.errors import (
    ArgumentError,
    CompileError,
    DTypeError,
    RelgraphError,
    checks_arguments,
    count_of,
    kind_of,
)
from relgraph.ir import forks
from relgraph.ir.graph import FunctionGraph, free_inputs
from relgraph.ir.node import Input, Variable, make_input
from relgraph.ir.records import record
from relgraph.ir.reference import global_name
from relgraph.ir.types import DTYPES, TensorType
from relgraph.rewriting.rewriters import map_graph

PROGRAMS = 256  # that one traced function keeps; the one least recently used is forgotten
RECENT = 8  # of them that a call tries before it computes a signature


@record(eq=False)
class _Traced:
    """One trace: its graph, the conversion of numbers to inputs and of outputs to results, the
    arguments that it changes, the donated inputs, and loops of Python that were traced once."""

    graph: FunctionGraph
    feeds: tuple[tuple[int, np.dtype[Any]], ...]
    packing: Packing
    updates: Updates
    donated: tuple[Input, ...]
    loops: tuple[tuple[Variable, CodeType], ...]


@record(eq=False)
class _Program:
    """A trace that is compiled: ``call`` takes arguments of the same classes, and a call of the
    program takes all that have its signature."""

    function: Function
    feeds: tuple[tuple[int, np.dtype[Any]], ...]
    pack: Pack
    updates: Updates | None
    path: tuple[Hashable, ...]
    call: Call

    def __call__(self, arrays: list[Any], slots: list[Any]) -> Any:
        for slot, dtype in self.feeds:
            arrays.append(fed(slots[slot], dtype))
        values = self.function(*arrays)
        if self.updates is not None:
            values = self.updates.written(values, arrays)
        return self.pack(values, slots, arrays)


def _check_containers(
    positions: Sequence[tuple[str, str]], before: list[Any], after: list[Any]
) -> None:
    """Raise an error for a list or dict that the traced function has changed."""
    for name, x, y in (
        *zip([name for name, _ in positions], before[0], after[0], strict=True),
        *((name, before[1][name], after[1][name]) for name in before[1]),
    ):
        if not same_parts(x, y):
            raise ArgumentError(
                f"the traced function changes its argument {name!r}, {kind_of(y)}, which is a copy "
                "of the caller's",
                fix="Return the new value, or write to the arrays in it, as in x[0][...] = value.",
            )


def _other(*args: Any) -> Any:
    return OTHER


class Jit:
    """A NumPy function, traced and compiled on the first call with each signature.

    Attributes
    ----------
    mode, target, nonfinite
        Arguments for :func:`relgraph.function`.
    donate : frozenset of str
        The parameters whose arrays a call may overwrite.
    last : callable
        The call of the last program; it returns ``OTHER`` for arguments of other programs.
    looks_first : bool
        Whether a call does something else before it calls ``last``.
    """

    looks_first = False

    def __init__(
        self,
        function: Callable[..., Any],
        mode: Any,
        target: str,
        nonfinite: str = "assume",
        donate: frozenset[str] = frozenset(),
    ) -> None:
        functools.update_wrapper(self, function, updated=())
        self.__name__ = getattr(function, "__name__", "function")
        self._function = function
        self.mode = mode
        self.target = target
        self.nonfinite = nonfinite
        self.donate = donate
        self._methods: dict[type, tuple[Jit, Callable[[Any], Any]]] = {}
        self._branches: dict[Hashable, Branch[_Program]] = {}
        self._programs: OrderedDict[_Program, None] = OrderedDict()
        self._recent: tuple[_Program, ...] = ()
        self.last: Call = _other
        self._lock = forks.lock()

    def __reduce__(self) -> str | tuple[Any, ...]:
        reference = global_name(self, self.__module__, getattr(self, "__qualname__", None))
        if reference is not None:
            return reference
        function = self._function
        module, name = (getattr(function, x, None) for x in ("__module__", "__qualname__"))
        if inspect.isfunction(function) and global_name(function, module, name) is None:
            raise ArgumentError(
                f"the compiled function {self.__name__} cannot be pickled: no module holds it",
                fix="Declare it at the top level of a module that can be imported, or pickle "
                "rg.function(graph.inputs, graph.outputs).",
            )
        return Jit, (function, self.mode, self.target, self.nonfinite, self.donate)

    def __copy__(self) -> Jit:
        return self._like(self._function)

    def _like(self, function: Callable[..., Any]) -> Jit:
        return Jit(function, self.mode, self.target, self.nonfinite, self.donate)

    def __deepcopy__(self, memo: object) -> Jit:
        return self.__copy__()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            return self
        kind = type(instance)
        method = self._methods.get(kind)
        if method is None:
            if not hasattr(self._function, "__get__"):
                return self
            read = attributes_of(instance, self.__name__)
            new = self._like(on_attributes(self._function, kind)), read
            method = self._methods.setdefault(kind, new)
        jit, attributes = method
        return BoundMethod(jit, attributes, instance)

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        result = self.last(args, kwargs)
        return self._called(args, kwargs) if result is OTHER else result

    def _called(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the program for arguments, which is not the last one or has to convert them."""
        last = self.last
        for program in self._recent:
            if program.call is not last:
                result = program.call(args, kwargs)
                if result is not OTHER:
                    self._use(program)
                    return result
        leaves = Leaves()
        key = leaves.signature(args, kwargs)
        if leaves.traced:  # called by a function that is traced itself
            return self._function(*args, **kwargs)
        program, slots = self._program(key, leaves, args, kwargs)
        if program.updates is None:
            return program(leaves.arrays, slots)
        while True:  # until all arguments that are one are traced as one
            aliases = leaves.aliases | program.updates.aliases(leaves.arrays, leaves.others)
            if aliases == leaves.aliases:
                return program(leaves.arrays, slots)
            leaves.aliases = aliases
            alternative = (key, tuple(aliases.items()))
            program, slots = self._program(alternative, leaves, args, kwargs)
            if program.updates is None:
                return program(leaves.arrays, slots)

    def _program(
        self, key: Hashable, leaves: Leaves, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[_Program, list[Any]]:
        """Return the program for arguments, traced and compiled if there was none, and numbers."""
        slots: list[Any] = [*leaves.numbers]
        branch = self._branches.get(key)
        program = None if branch is None else branch.find(slots)
        if program is None:
            return self._compiled(key, leaves, args, kwargs)
        self._use(program)
        return program, slots

    def _use(self, program: _Program) -> None:
        """Record that a program is the last one that was used."""
        try:
            self._programs.move_to_end(program)
        except KeyError:  # another thread has dropped it
            return
        if program.call is not _other:
            self.last = program.call
            if program not in self._recent[:2]:  # two may alternate
                others = [x for x in self._recent if x is not program]
                self._recent = (program, *others[: RECENT - 1])

    def graph(self, /, *args: Any, **kwargs: Any) -> FunctionGraph:
        """Return the graph that the function builds for these arguments, as traced.

        Parameters
        ----------
        *args, **kwargs
            Arrays, numbers and static values, as in a call.

        Returns
        -------
        FunctionGraph
            Its inputs are the arrays, then the numbers that are operands of arrays.  Its outputs
            are the new elements of arguments that the function changes, then those of the results.
        """
        leaves = Leaves()
        leaves.signature(args, kwargs)
        return self._trace(leaves, args, kwargs)[0].graph

    def _compiled(
        self, key: Hashable, leaves: Leaves, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[_Program, list[Any]]:
        """Trace and compile for arguments, unless another thread has done so meanwhile."""
        with self._lock:
            branch = self._branches.get(key)
            slots: list[Any] = [*leaves.numbers]
            compiled = None if branch is None else branch.find(slots)
            if compiled is not None:
                return compiled, slots
            traced, trace = self._trace(leaves, args, kwargs)
            packing = traced.packing
            executable = function(
                list(traced.graph.inputs),
                list(traced.graph.outputs),
                mode=self.mode,
                target=self.target,
                nonfinite=self.nonfinite,
                donate=traced.donated,
            )
            updates = traced.updates if traced.updates else None
            call: Call = _other
            if not leaves.aliases and traced.graph.outputs:
                with suppress(CannotTakeApart, RecursionError):
                    source = CallSource(args, kwargs, trace)
                    call = source.call(self.__name__, executable, traced.feeds, packing, updates)
            pack, path = packing.function(), (key, *trace.path)
            program = _Program(executable, traced.feeds, pack, updates, path, call)
            self._branches[key] = trace.graft(branch, program)
            self._programs[program] = None
            self._use(program)
            if len(self._programs) > PROGRAMS:
                oldest, _ = self._programs.popitem(last=False)
                prune(self._branches, oldest.path, oldest)
                self._recent = tuple(x for x in self._recent if x is not oldest)
            return program, trace.slots

    def _trace(
        self, leaves: Leaves, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[_Traced, NumberTrace[_Program]]:
        """Trace the function; again if it has loops that only Python can run well."""
        in_python: frozenset[CodeType] = frozenset()
        while True:
            by_numbers: set[CodeType] = set()
            tokens = IN_PYTHON.set(in_python), BY_NUMBERS.set(by_numbers)
            try:
                traced, numbers = self._traced_once(leaves, args, kwargs)
            except RelgraphError:  # Python may need a number that such a loop computes
                if not by_numbers:
                    raise
                in_python |= by_numbers
                continue
            finally:
                IN_PYTHON.reset(tokens[0])
                BY_NUMBERS.reset(tokens[1])
            others = not_compiled(traced.loops, traced.graph, self._rewritten) - in_python
            if not others:
                return traced, numbers
            in_python |= others

    def _rewritten(self, graph: FunctionGraph) -> FunctionGraph:
        """Return a graph as the function rewrites it."""
        rewriter, _ = selected(self.mode, self.nonfinite)
        return graph if rewriter is None else map_graph(graph, rewriter)

    def _traced_once(
        self, leaves: Leaves, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[_Traced, NumberTrace[_Program]]:
        named = _Named(leaves)
        positions = _positions(self._function, len(args))
        donated: list[Input] = []

        def traced(x: Any, name: str, parameter: str) -> Any:
            before = len(named.inputs)
            tracers = rebuilt(x, named.leaf, name)
            donated.extend(named.inputs[before:] if parameter in self.donate else ())
            return tracers

        traced_args = [traced(x, *names) for x, names in zip(args, positions, strict=True)]
        traced_kwargs = {k: traced(x, k, k) for k, x in kwargs.items()}
        before = rebuilt([traced_args, traced_kwargs], lambda x, _: x, "")
        try:
            with tracing(self._function) as trace:
                result = traceable(self._function)(*traced_args, **traced_kwargs)
        except RecursionError as error:
            raise _endless(self.__name__, error) from None
        except (TypeError, AttributeError) as error:
            if isinstance(error, RelgraphError):
                raise
            if _is_of_the_call(error):
                raise self._not_bound(error, kwargs) from None
            names = [name for name, _ in positions]
            others = _no_arrays((*zip(names, args, strict=True), *kwargs.items()))
            if not others:
                raise
            raise self._not_arrays(error, others) from error
        except ValueError as error:
            reason = error.__cause__
            if not (isinstance(reason, RelgraphError) and "array element" in str(error)):
                raise
            raise ArgumentError(  # NumPy asked an array that is traced for its value
                f"the traced function puts a traced array into one of NumPy: {error}",
                reason.facts,
                MADE_HERE,
            ) from error
        _check_containers(positions, before, [traced_args, traced_kwargs])
        updates = updates_of(named.tracers, named.inputs, trace.by_order)
        results = Results(self.__name__, updates, named.tracers)
        packing = results.packing(result)
        feeds = named.numbers.inputs
        _check_no_shared(results.outputs, self.__name__)
        graph = FunctionGraph([*named.inputs, *feeds.values()], results.outputs)
        donated += [named.inputs[i] for i in updates.indices if named.inputs[i] not in donated]
        made = _Traced(graph, tuple(feeds), packing, updates, tuple(donated), tuple(trace.loops))
        return made, named.numbers

    def _not_arrays(self, error: Exception, others: Any) -> ArgumentError:
        """Return the error for arguments that the function may have taken for arrays."""
        return ArgumentError(
            f"{self.__name__} cannot be called with these arguments: {error}",
            others,
            "Lists, numbers and strings reach the function unchanged; pass "
            "np.array(...) for an array.",
        )

    def _not_bound(self, error: Exception, kwargs: Iterable[str]) -> ArgumentError:
        """Return the error for arguments that the function does not take."""
        names = [str(p).partition(":")[0] for p in _signature(self._function)]
        fix = "Pass the arguments that it takes, each once."
        if "out" in kwargs:
            fix = "Use donate= to have results written over arguments; rg.function has out=."
        return ArgumentError(
            f"{self.__name__} cannot be called with these arguments: {error}",
            {"takes": f"({', '.join(names)})"},
            fix,
        )

    def __repr__(self) -> str:
        return f"<jit {self.__name__}, {count_of(len(self._programs), 'signature')} compiled>"


def _is_of_the_call(error: Exception) -> bool:
    """Return True if binding the arguments failed: the error has no frame of the function."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    callers = (__name__, on_attributes.__module__)
    return trace is not None and trace.tb_frame.f_globals.get("__name__") in callers


@checks_arguments
def jit(
    function: Callable[..., Any] | None = None,
    *,
    mode: Any = DEFAULT_MODE,
    target: str = "cpu",
    nonfinite: str = "assume",
    donate: str | Iterable[str] = (),
) -> Any:
    """Trace a NumPy function, rewrite its graph and compile it.

    Parameters
    ----------
    function : callable
        Written with NumPy's functions and operators.  It runs once for each combination of dtypes
        and shapes; its Python control flow must not depend on values of arrays.  Loops over ranges
        are traced once where that is possible: see docs/loops.md.
    mode : str, Query, relation, rewriter, list of them, or None
        The rewrites to run, as in :func:`relgraph.function`.
    target : {"cpu", "numpy", "cuda"}
        Where to run.
    nonfinite : {"assume", "keep"}
        Whether to use relations that hold for finite values only, such as ``x - x = 0``.
    donate : str or iterable of str
        Parameters whose arrays a call may overwrite, and return as results.  An array that shares
        memory with another argument is copied instead.

    Returns
    -------
    Jit
        Takes arrays, objects with ``__array__`` or ``__dlpack__``, numbers, and tuples, lists,
        dicts and named tuples of them; strings and None are static and part of the signature.

    Raises
    ------
    ArgumentError
        If the function needs the truth value of an array, or returns something other than arrays;
        if it changes an argument that is read-only or overlaps with another one; for an unknown
        name in ``donate``.
    DTypeError
        For an argument of a dtype that relgraph does not compute with.
    UnknownTagError
        For a mode that does not exist.

    Notes
    -----
    A Python number takes the dtype of the arrays that it meets, as in NumPy, and one program serves
    all its values.  If the function inspects the value (in an ``if``, a ``range``, an axis, a size,
    or the bound of a slice), it is traced again for each outcome.  The 256 programs used last are
    kept.

    Assignments to elements, augmented assignments and ``out=`` change arrays, their views and the
    caller's arguments, as in NumPy.  Arrays that the function makes with ``np.zeros`` and the like
    take part if NumPy's module is named in the call; while a thread traces, the module gives the
    traced code functions of relgraph under these names.

    A decorated method takes the attributes of its object as further arguments, read at each call.
    It may call other methods, but must not assign attributes.

    Arrays of float16 are converted to float32.

    Examples
    --------
    >>> import numpy as np, relgraph as rg
    >>> g = rg.jit(lambda x, mu: np.sum((x - mu) ** 2))
    >>> float(g(np.array([1.0, 2.0, 4.0]), 1.0))
    10.0
    >>> g(np.array([1, 2], dtype="float32"), 1.0).dtype
    dtype('float32')
    """
    if function is None:
        return lambda f: jit(f, mode=mode, target=target, nonfinite=nonfinite, donate=donate)
    if not callable(function):
        raise ArgumentError(
            f"jit takes a function, not {function!r}",
            fix="Write rg.jit(f), or @rg.jit above a function; a graph is compiled by rg.function.",
        )
    selected(mode, nonfinite)  # raises for an unknown mode before the first call
    check_target(target)
    donated = listed(donate, [p.name for p in _signature(function)])
    check_donated(donated, _parameters(function, donated))
    return Jit(function, mode, target, nonfinite, frozenset(donated))


class _Named:
    """The leaves of arguments as tracers and weak scalars, each with a name."""

    def __init__(self, leaves: Leaves) -> None:
        self.inputs: list[Input] = []
        self.tracers: list[Tracer] = []
        self.numbers: NumberTrace[_Program] = NumberTrace(leaves.numbers)
        self._aliases = leaves.aliases
        self._number = 0

    def leaf(self, x: Any, name: str) -> Any:
        """Return the tracer or static value for a leaf."""
        if type(x) in NUMBERS:
            self.numbers.names[self._number] = name
            self._number += 1
            return WeakScalar(self.numbers, self._number - 1)
        if not isinstance(x, np.ndarray | np.generic) and not is_lazy(x):
            array = None if isinstance(x, STATIC) else array_of(x)
            if array is None:
                return x
            x = array
        dtype = x.dtype if x.dtype.name != "float16" else np.dtype("float32")
        if dtype.name not in DTYPES:
            raise DTypeError(
                f"argument {name!r} has the dtype {x.dtype}, which relgraph does not compute with",
                {"supported": ", ".join(DTYPES)},
                "Convert it with .astype(...).",
            )
        node = make_input(self.numbers.new_name(name), TensorType(dtype, x.shape))
        first = self._aliases.get(len(self.inputs))
        self.inputs.append(node)
        storage = Storage(node, c_order=True) if first is None else self.tracers[first]._storage
        self.tracers.append(Tracer(storage, scalar=isinstance(x, np.generic)))
        return self.tracers[-1]


def _signature(function: Callable[..., Any]) -> list[inspect.Parameter]:
    try:
        return list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a function in C may have none
        return []


def _parameters(function: Callable[..., Any], names: Iterable[str]) -> list[str]:
    """Return the names of parameters, and of arguments if any can be passed."""
    parameters = _signature(function)
    declared = [p.name for p in parameters]
    return [*declared, *names] if any(p.kind is p.VAR_KEYWORD for p in parameters) else declared


def _positions(function: Callable[..., Any], count: int) -> list[tuple[str, str]]:
    """Return a name for each positional argument, and that of its parameter."""
    parameters = _signature(function)
    names = [p.name for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind is p.VAR_POSITIONAL), "a")
    more = [(f"{rest}_{i}", rest) for i in range(count - len(names))]
    return [(name, name) for name in names[:count]] + more


def _no_arrays(named: Iterable[tuple[str, Any]]) -> list[tuple[str, str]]:
    """Return the arguments that a function may have mistaken for arrays, with their kinds."""
    kinds = (list, tuple, str, *NUMBERS)
    return [(name, f"{type(x).__name__}, {x!r:.60}") for name, x in named if isinstance(x, kinds)]


def _endless(name: str, error: RecursionError) -> CompileError:
    """Return the error for a traced function that recurses endlessly."""
    codes: Counter[CodeType] = Counter()
    raised = error.__traceback__
    while raised is not None:
        frame = raised.tb_frame
        if not str(frame.f_globals.get("__name__")).startswith("relgraph."):
            codes[frame.f_code] += 1
        raised = raised.tb_next
    code, _ = max(codes.items(), key=lambda pair: pair[1])
    file = code.co_filename.replace("\\", "/").rsplit("/", 1)[-1]
    return CompileError(
        f"tracing {name} does not end: it called {code.co_name} past Python's limit",
        {"called": f"{code.co_name} ({file}:{code.co_firstlineno}), {codes[code]} times deep"},
        "Tracing cannot see the values of arrays: let the recursion end by a shape, or by an "
        "argument that is a Python number, or write it as a loop over a range.",
    )


def _check_no_shared(outputs: Sequence[Variable], name: str) -> None:
    """Raise an error for a traced function that reads a shared variable."""
    for x in free_inputs(outputs):
        if isinstance(x, Shared):
            raise ArgumentError(
                f"the traced function {name} reads the shared variable {x.name!r}",
                {"type": x.type},
                "Pass its value as an argument, or use rg.function, which reads it at each call.",
            )
