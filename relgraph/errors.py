"""Every exception of relgraph.

A message has three parts: the mistake and its location, the facts (one a line, aligned), and the
fix.  :func:`compose` lays them out; each class also derives from the builtin that a caller would
expect, so ``except ValueError`` catches a shape error.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from typing import ParamSpec, TypeVar

from numpy.linalg import LinAlgError

from relgraph.porting import KEYWORDS

Facts = Mapping[str, object] | Iterable[tuple[str, object]]
_P = ParamSpec("_P")
_R = TypeVar("_R")
NEAR = 0.75  # how alike two names are, from 0 to 1, for one to be suggested for the other
_PLURALS = {"axis": "axes", "entry": "entries"}


def count_of(number: int, noun: str) -> str:
    """Return a number with its noun, such as "1 dimension" or "2 dimensions".

    Parameters
    ----------
    number : int
        How many.
    noun : str
        In the singular.

    Returns
    -------
    str
        For a message.
    """
    return f"{number} {noun if number == 1 else _PLURALS.get(noun, f'{noun}s')}"


def kind_of(value: object) -> str:
    """Return the kind of a value with an article, for a message: "an int", "a list" or "None".

    Parameters
    ----------
    value : object
        Any.

    Returns
    -------
    str
        The name of its class.
    """
    if value is None:
        return "None"
    name = type(value).__name__
    vowel = name[0] in "aeiouAEIO" or name == "ndarray"
    return f"{'an' if vowel else 'a'} {name}"


def compose(what: str, facts: Facts = (), fix: str = "") -> str:
    """Lay out a message: a first line, aligned facts, and a last line with the fix.

    Parameters
    ----------
    what : str
        The mistake and its location.
    facts : mapping or iterable of pairs
        Named facts; a fact of several lines is indented.
    fix : str
        The fix.

    Returns
    -------
    str
        The message.
    """
    rows = list(facts.items() if isinstance(facts, Mapping) else facts)
    width = max((len(str(name)) for name, _ in rows), default=0)
    lines = [what]
    for name, value in rows:
        first, *more = str(value).splitlines() or [""]
        lines.append(f"  {name!s:<{width}} : {first}")
        lines.extend(" " * (width + 5) + line for line in more)
    if fix:
        lines.append(fix)
    return "\n".join(lines)


class RelgraphError(Exception):
    """Base of all errors that relgraph raises.

    Parameters
    ----------
    what : str
        The mistake and its location, in one line.
    facts : mapping or iterable of pairs, optional
        Named facts, printed one a line.
    fix : str, optional
        The fix.
    """

    def __init__(self, what: str, facts: Facts = (), fix: str = "") -> None:
        self.what = what
        self.facts = list(facts.items() if isinstance(facts, Mapping) else facts)
        self.fix = fix
        super().__init__(compose(what, self.facts, fix))

    def __str__(self) -> str:
        return compose(self.what, self.facts, self.fix)

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.what, self.facts, self.fix)


class ShapeError(RelgraphError, ValueError):
    """Shapes that do not fit together."""


class DTypeError(RelgraphError, TypeError):
    """A dtype that an op does not accept, or dtypes without a common one."""


class NumberRangeError(DTypeError, OverflowError):
    """A number that does not fit its dtype, such as 300 in int8."""


class ArgumentError(RelgraphError, TypeError):
    """An argument of the wrong kind, or missing, or one too many."""


class DomainError(RelgraphError, ValueError):
    """An argument of the right kind whose value is out of range."""


class LinearAlgebraError(RelgraphError, LinAlgError):
    """A matrix for which a factorisation or a solve has no result."""


class IndexRangeError(DomainError, IndexError):
    """An index outside of an array, or an axis that it does not have."""


class DerivativeError(RelgraphError):
    """A derivative that is not defined, or not declared."""


class NotFoundError(RelgraphError, LookupError):
    """A search that ended without a result; there may be one nevertheless."""


class UnsupportedAttributeError(RelgraphError, AttributeError):
    """A method or attribute that NumPy's arrays have and graphs do not."""


class ImmutableGraphError(RelgraphError, AttributeError):
    """An attempt to change a graph, or a query, in place."""


class VerifyError(RelgraphError, AssertionError):
    """A graph that breaks one of its invariants."""


class NotOverriddenError(RelgraphError, NotImplementedError):
    """A method that a user's class must define, but does not."""

    @classmethod
    def of(cls, owner: object, method: str, what: str) -> NotOverriddenError:
        """Return the error for a method.

        Parameters
        ----------
        owner : object
            The object without the method.
        method : str
            The method with its parameters.
        what : str
            The purpose of the method.

        Returns
        -------
        NotOverriddenError
            It names the class.
        """
        name = type(owner).__name__
        return cls(f"the class {name} does not say {what}", fix=f"Define {method} in {name}.")


class PatternError(RelgraphError, TypeError):
    """An attribute that only typed graphs have, such as the shape, read from a pattern."""


class UnboundVariableError(RelgraphError, ValueError):
    """A relation whose result contains a logic variable that its pattern does not bind."""


class NotInvertibleError(RelgraphError, ValueError):
    """A direction in which a relation cannot run."""


class RelationError(RelgraphError, ValueError):
    """A relation that is ill-formed, or whose search does not terminate."""


class UnsoundRelationError(RelgraphError, AssertionError):
    """A relation that breaks its promises, with the smallest counterexample found.

    The attribute ``counterexample`` holds it: ``graph``, ``result`` and ``values``.
    """

    counterexample: object = None


class OscillationError(RelgraphError, RuntimeError):
    """Relations that undo each other, or a term that grows inside its own result.

    The attribute ``cycle`` holds the steps ``(relation name, graph before, graph after)``.
    """

    cycle: tuple[tuple[str, object, object], ...] = ()


class BudgetError(RelgraphError, RuntimeError):
    """A relation that fired more often than its budget allows.

    The attribute ``relation`` holds its name.
    """

    relation: str = ""


class UnknownTagError(RelgraphError, KeyError):
    """A tag, mode or name that no database knows."""


class DuplicateNameError(RelgraphError, ValueError):
    """A name that is registered already."""


class NonGroundError(RelgraphError, ValueError):
    """An answer with logic variables where a graph is needed."""


class CompileError(RelgraphError, RuntimeError):
    """A graph that a backend cannot compile."""


class UnsupportedOpError(RelgraphError, NotImplementedError):
    """Ops of another library that have no translation."""


class MissingPackageError(RelgraphError, ImportError):
    """A package that a part of relgraph needs and that is not installed."""


class GPUNotAvailableError(RelgraphError, RuntimeError):
    """A GPU target was requested, but no GPU can be used."""


class DeviceError(RelgraphError, RuntimeError):
    """The driver of a device refused some work, or earlier work failed."""


class DeviceMemoryError(RelgraphError, MemoryError):
    """A device does not have enough free memory."""


class StateLostError(RelgraphError, RuntimeError):
    """A shared variable whose memory a call wrote over without finishing."""


class CaptureError(RelgraphError, RuntimeError):
    """A call on a GPU that cannot be recorded, or arrays that do not fit a recorded one."""


def no_attribute(owner: str, name: str, known: Iterable[str], fix: str = "") -> AttributeError:
    """Return the error for a name that a module or namespace lacks.

    Parameters
    ----------
    owner : str
        The module or namespace, as users write it.
    name : str
        The missing name.
    known : iterable of str
        Its names; the message suggests similar ones.
    fix : str, optional
        What to write instead, if a table has better advice.

    Returns
    -------
    AttributeError
        To be raised.
    """
    if name.startswith("__"):  # names that Python and its libraries look up
        return AttributeError(f"{owner} has no {name}")
    near = get_close_matches(name, [x for x in known if not x.startswith("_")], 3, NEAR)
    meant = " or ".join(f"{owner}.{x}" for x in near)
    fix = fix or (f"Did you mean {meant}?" if near else f"dir({owner}) lists its names.")
    return UnsupportedAttributeError(f"{owner} has no {name}", fix=fix)


def checks_arguments(function: Callable[_P, _R]) -> Callable[_P, _R]:
    """Make wrong arguments of a function raise an error that lists its parameters.

    Parameters
    ----------
    function : callable
        Written in Python.

    Returns
    -------
    callable
        The function; it raises ArgumentError if Python cannot bind the arguments.
    """

    @functools.wraps(function)
    def checked(*args: _P.args, **kwargs: _P.kwargs) -> _R:
        try:
            return function(*args, **kwargs)
        except TypeError as error:
            unbound = unbound_arguments(function, error, kwargs)
            if unbound is None:
                raise
            raise unbound from None

    return checked


def unbound_arguments(
    function: Callable[..., object], error: TypeError, kwargs: Mapping[str, object]
) -> ArgumentError | None:
    """Return the error for arguments that Python could not bind to the parameters of a function.

    Parameters
    ----------
    function : callable
        The function.
    error : TypeError
        What its call raised.
    kwargs : mapping
        The arguments passed by name.

    Returns
    -------
    ArgumentError or None
        It lists the parameters; None if the function itself raised ``error``.
    """
    traceback = error.__traceback__
    if traceback is not None and traceback.tb_next is not None:  # a frame inside the function
        return None
    parameters = inspect.signature(function).parameters
    shown = [str(p).partition(":")[0] for name, p in parameters.items() if name != "self"]
    named = [
        p.name for p in parameters.values() if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    ]
    strange = next((name for name in kwargs if name not in named), None)
    fix = "Pass the arguments that it takes, each once."
    if shown and all(text.startswith("**") for text in shown):
        fix = "Pass each by its name."
    elif f"*{strange}" in shown:
        fix = f"Pass {strange} by position."
    elif strange is not None:
        near = get_close_matches(strange, named, 1, NEAR)
        fix = (
            f"Did you mean {near[0]}=?" if near else KEYWORDS.get(strange, f"Leave {strange}= out.")
        )
    what = re.sub(r"\.__(init|call)__\(\)", "()", str(error))
    return ArgumentError(what, {"takes": ", ".join(shown) or "nothing"}, fix)
