"""The tables that map NumPy's functions to those of relgraph, against NumPy's own signatures."""

import inspect
import re

import numpy as np
import pytest

from relgraph.numpy import protocol
from relgraph.numpy.protocol import ARRAY_FUNCTIONS, UFUNCS
from relgraph.ops.elementwise import Elementwise

# What says how results are stored: of no meaning where there are no arrays yet.
STORAGE = {"out", "subok", "casting", "device", "order", "copy", "overwrite_input"}

# Parameters of NumPy that graphs refuse.
REFUSED = {
    "dtype": [
        np.std, np.var, np.nanstd, np.nanvar, np.concatenate, np.stack, np.hstack, np.vstack,
        np.trace, np.linalg.trace,
    ],
    "where": [np.std, np.var, np.nanstd, np.nanvar],
    "mean": [np.std, np.var, np.nanstd, np.nanvar],
    "weights": [np.percentile, np.quantile],
    "hermitian": [np.linalg.svd],
}  # fmt: skip

# Parameters that were deprecated, and are gone from NumPy 2.4.
GONE = {
    "interpolation": [np.percentile, np.quantile], "bias": [np.corrcoef], "ddof": [np.corrcoef],
    "newshape": [np.reshape],
}  # fmt: skip

# Defaults that are written in another way, and mean the same.
SAME = {(np.round, "decimals"), (np.around, "decimals"), (np.reshape, "shape")}
SAME |= {(f, axis) for f in (np.diagonal, np.trace) for axis in ("axis1", "axis2")}


def named(function):
    """Return the parameters of a function of NumPy that have a default, by name."""
    parameters = inspect.signature(function).parameters.values()
    return {p.name: p for p in parameters if p.default is not p.empty}


def taken(target):
    """Return the parameters of a function of relgraph, by name."""
    return {} if isinstance(target, Elementwise) else dict(inspect.signature(target).parameters)


def has_signature(function):
    """Return True if NumPy states a signature: of functions in C it does from 2.4 on."""
    try:
        inspect.signature(function)
    except ValueError:
        return np.lib.NumpyVersion(np.__version__) >= "2.4.0"
    return True


# np.where takes x and y by position.
FUNCTIONS = [f for f in ARRAY_FUNCTIONS if f is not np.where and has_signature(f)]


def label(function):
    return function.__name__


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_operands_of_numpy_fit_the_function_that_stands_for_it(function):
    needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
    places = [p for p in taken(ARRAY_FUNCTIONS[function]).values() if p.kind is not p.KEYWORD_ONLY]
    if any(p.kind is p.VAR_POSITIONAL for p in needed):
        assert any(p.kind is p.VAR_POSITIONAL for p in places)
    elif not any(p.kind is p.VAR_POSITIONAL for p in places):
        assert len(needed) <= len(places)
    asked = [p for p in places if p.default is p.empty and p.kind is not p.VAR_POSITIONAL]
    given = len(needed) + len(protocol._REQUIRED.get(function, ()))
    assert len(asked) <= given


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_every_parameter_of_numpy_is_taken_or_listed_as_refused(function):
    places = protocol._REQUIRED.get(function, ())
    lacking = set(named(function)) - set(taken(ARRAY_FUNCTIONS[function])) - STORAGE - set(places)
    listed = {name for d in (REFUSED, GONE) for name, fs in d.items() if function in fs}
    assert lacking == listed & set(named(function))


@pytest.mark.parametrize("function", FUNCTIONS, ids=label)
def test_defaults_are_those_of_numpy(function):
    ours = taken(ARRAY_FUNCTIONS[function])
    for name, parameter in named(function).items():
        if name not in ours or (function, name) in SAME:
            continue
        default = ours[name].default
        if parameter.default is np._NoValue:
            assert default is None or default is False or default == 0
        else:
            assert default == parameter.default, name


def test_the_table_of_refusals_names_functions_that_graphs_have():
    listed = [f for functions in REFUSED.values() for f in functions]
    assert [f for f in listed if f not in ARRAY_FUNCTIONS] == []
    asked = [(name, f) for name, fs in REFUSED.items() for f in fs if has_signature(f)]
    stale = [(name, f) for name, f in asked if name not in named(f)]
    assert stale == []


@pytest.mark.parametrize("method", ["reduce", "accumulate"])
def test_methods_of_ufuncs_take_their_arguments_in_the_order_of_numpy(method):
    line = re.match(rf"{method}\((.*)\)", getattr(np.add, method).__doc__)
    names = [part.split("=")[0].strip() for part in line[1].split(",")]
    names = [name for name in names if name != "/"]
    assert ("array", *protocol._ARGUMENTS[method]) == tuple(names)


def test_ufuncs_take_as_many_operands_as_in_numpy():
    for ufunc, target in UFUNCS.items():
        if isinstance(target, Elementwise):
            assert target.arity == ufunc.nin
        else:
            needed = [p for p in taken(target).values() if p.default is p.empty]
            assert len(needed) == ufunc.nin
