"""A fallback to the C library, element by element, where a formula is not accurate.

LLVM does not vectorise a loop with a branch around a call.  The test is therefore a separate
function with vector variants, which are announced to LLVM at the call site.  A variant returns at
once if all elements are within the bound, and otherwise loops over the elements of the vector.

References
----------
LLVM Language Reference Manual, call-site attribute ``vector-function-abi-variant`` and the vector
function ABI that it refers to.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from relgraph.backends.numba.elementary.values import FLOAT64, Value

INDEX = ir.IntType(32)
LANES = (4, 8, 16)  # of float32; float64 vectors have half as many


def library_beyond(name: str, bound: float, x: Value, result: Value, *operands: Value) -> Value:
    """Return ``result``, or the C library's result if the absolute value of ``x`` exceeds
    ``bound``.

    ``name`` is a function of the C library on float64, of ``operands``, or of ``x`` without them.
    """
    kind = x.format
    module = x.builder.module
    full = f"relgraph.{name}.beyond.f{kind.bits}"
    scalar = module.globals.get(full)
    lanes = [n // 2 if kind.bits == 64 else n for n in LANES]
    args = [v.code for v in (x, result, *operands)]
    if scalar is None:
        scalar = _scalar(module, full, name, bound, kind=kind.type, arity=len(args))
        for n in lanes:
            _vector(scalar, bound, ir.VectorType(kind.type, n))
    code = x.builder.call(scalar, args)
    announce(code, [f"_ZGV_LLVM_N{n}{'v' * len(args)}_{full}({full}.v{n})" for n in lanes])
    return Value(x.builder, code)


def announce(call: Any, variants: list[str]) -> None:
    """Tell LLVM which vector functions are variants of a called scalar function."""
    text = f'"vector-function-abi-variant"="{",".join(variants)}"'
    for attribute in ("nounwind", "willreturn", "memory(none)", text):
        set.add(call.attributes, attribute)  # llvmlite's own method rejects unknown attributes


def _function(module: Any, name: str, kind: Any, arity: int) -> Any:
    function = ir.Function(module, ir.FunctionType(kind, [kind] * arity), name)
    function.linkage = "weak_odr"  # keeps vector variants to which only an attribute refers
    function.attributes.add("noinline")
    function.attributes.add("nounwind")
    return function


def _outside(builder: Any, x: Any, bound: float) -> Any:
    kind = x.type
    element = kind.element if isinstance(kind, ir.VectorType) else kind
    suffix = "f64" if element == FLOAT64 else "f32"
    if kind is not element:
        suffix = f"v{kind.count}{suffix}"
        limit = ir.Constant(kind, [ir.Constant(element, bound)] * kind.count)
    else:
        limit = ir.Constant(kind, bound)
    name = f"llvm.fabs.{suffix}"
    absolute = builder.module.globals.get(name)
    if absolute is None:
        absolute = ir.Function(builder.module, ir.FunctionType(kind, [kind]), name)
    return builder.fcmp_ordered(">", builder.call(absolute, [x]), limit)


def _scalar(module: Any, full: str, name: str, bound: float, *, kind: Any, arity: int) -> Any:
    function = _function(module, full, kind, arity)
    x, result, *operands = function.args
    operands = operands or [x]
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    with builder.if_then(_outside(builder, x, bound), likely=False):
        library = module.globals.get(name)
        if library is None:
            takes = [FLOAT64] * len(operands)
            library = ir.Function(module, ir.FunctionType(FLOAT64, takes), name)
        wide = [a if kind == FLOAT64 else builder.fpext(a, FLOAT64) for a in operands]
        value = builder.call(library, wide)
        builder.ret(value if kind == FLOAT64 else builder.fptrunc(value, kind))
    builder.ret(result)
    return function


def _vector(scalar: Any, bound: float, vector: Any) -> None:
    count = vector.count
    function = _function(scalar.module, f"{scalar.name}.v{count}", vector, len(scalar.args))
    x, result, *operands = function.args
    builder = ir.IRBuilder(function.append_basic_block("entry"))
    outside = builder.bitcast(_outside(builder, x, bound), ir.IntType(count))
    some = builder.icmp_unsigned("!=", outside, ir.Constant(outside.type, 0))
    with builder.if_then(some, likely=False):
        before = builder.block
        loop = builder.append_basic_block("lane")
        done = builder.append_basic_block("done")
        builder.branch(loop)
        builder.position_at_end(loop)
        lane, values = builder.phi(INDEX), builder.phi(vector)
        args = (x, values, *operands)
        one = builder.call(scalar, [builder.extract_element(a, lane) for a in args])
        filled = builder.insert_element(values, one, lane)
        following = builder.add(lane, ir.Constant(INDEX, 1))
        lane.add_incoming(ir.Constant(INDEX, 0), before)
        lane.add_incoming(following, loop)
        values.add_incoming(result, before)
        values.add_incoming(filled, loop)
        again = builder.icmp_unsigned("<", following, ir.Constant(INDEX, count))
        builder.cbranch(again, loop, done)
        builder.position_at_end(done)
        builder.ret(filled)
    builder.ret(result)
