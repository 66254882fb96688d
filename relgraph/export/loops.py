"""How libraries spell loops and choices: as statements of Python, or by functions of JAX."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from relgraph.export.writer import Application, UnsupportedError, Writer
from relgraph.ir.node import Constant, Input, Variable

INDENT = "    "


def part(a: Application) -> str:
    """Spell one of several results: by its name, or as an item of a tuple."""
    names = a.writer.parts.get(a.node.inputs[0])
    index = a.params["index"]
    return a.filled("{p0}[{index}]") if names is None else names[index]


def python_scan(a: Application) -> str:
    """Spell a scan as a ``for`` loop that appends to lists."""
    writer, loop = a.writer, _Scan(a)
    _assign(writer.lines, loop.carries, loop.starts)
    stacks = _names(writer, "ys", loop.results)
    writer.lines += [f"{ys} = []" for ys in stacks]
    index = writer.fresh("i")
    names = [writer.fresh(f"{x}_{index}" if x.isidentifier() else "x") for x in loop.sequences]
    inputs = [index, *loop.carries, *names, *loop.rest]
    lines, outputs = writer.block(loop.graph, inputs, [loop.index, *loop.counters])
    lines = [*[f"{x} = {xs}[{index}]" for x, xs in zip(names, loop.sequences, strict=True)], *lines]
    following, stacked = outputs[: len(loop.carries)], outputs[len(loop.carries) :]
    lines += [f"{ys}.append({y})" for ys, y in zip(stacks, stacked, strict=True)]
    _assign(lines, loop.carries, following)
    steps = f"range({loop.number})"
    writer.lines.append(f"for {index} in {f'reversed({steps})' if loop.reverse else steps}:")
    _indented(writer.lines, lines)
    for ys, y in zip(stacks, loop.stacked, strict=True):
        writer.lines.append(f"{ys} = {_stacked(writer, ys, y, loop.reverse)}")
    return _results(a, [*loop.carries, *stacks])


def python_while(a: Application) -> str:
    """Spell a loop as a ``while`` loop."""
    writer = a.writer
    test, body, count = a.params["test"], a.params["body"], a.params["carries"]
    carries = _carries(writer, count)
    _assign(writer.lines, carries, a.operands[:count])
    rest, counters = _closure(a, count, body.graph.inputs[count:])
    checks, (holds,) = writer.block(
        test.graph, [*carries, *rest], _same(body.graph, test.graph, counters)
    )
    lines, following = writer.block(body.graph, [*carries, *rest], counters)
    _assign(lines, carries, following)
    if checks:
        writer.lines.append("while True:")
        lines = [*checks, f"if not ({holds}):", f"{INDENT}break", *lines]
    else:
        writer.lines.append(f"while {holds}:")
    _indented(writer.lines, lines)
    return _results(a, carries)


def python_cond(a: Application) -> str:
    """Spell a choice as an ``if`` statement."""
    writer = a.writer
    then, other = a.params["then"], a.params["other"]
    rest, counters = _closure(a, 1, then.graph.inputs)
    names = _names(writer, "chosen", len(then.types))
    for line, body in ((f"if {a.operands[0]}:", then), ("else:", other)):
        lines, outputs = writer.block(body.graph, rest, _same(then.graph, body.graph, counters))
        _assign(lines, names, outputs)
        writer.lines.append(line)
        _indented(writer.lines, lines)
    return _results(a, names)


def jax_scan(a: Application) -> str:
    """Spell a scan by ``jax.lax.scan``; by ``fori_loop`` if JAX has to find out how long it is."""
    writer, loop = a.writer, _Scan(a)
    known = bool(loop.sequences) or writer.is_size(a.node.inputs[0])
    if not known and loop.results:
        raise UnsupportedError("jax stacks results of a number that it knows when it compiles")
    index = writer.fresh("i")
    names = [writer.fresh(f"{x}_{index}" if x.isidentifier() else "x") for x in loop.sequences]
    inputs = [index, *loop.carries, *names, *loop.rest]
    lines, outputs = writer.block(loop.graph, inputs, loop.counters)
    following, stacked = outputs[: len(loop.carries)], outputs[len(loop.carries) :]
    step, carry = writer.fresh("step"), _tuple(loop.carries)
    starts = _tuple(loop.starts)
    if not known:
        arguments = [index, _argument(writer, loop.carries)]
        lines = [*_unpacked(loop.carries, arguments[1]), *lines]
        _function(writer, step, arguments, lines, _tuple(following))
        writer.lines.append(
            f"{', '.join(loop.carries)} = jax.lax.fori_loop(0, {a.operands[0]}, {step}, {starts})"
        )
        return _results(a, loop.carries)
    indexed = any(loop.index in (x, *x.inputs) for x in (*loop.graph, *loop.graph.outputs))
    count = f"jnp.arange({loop.number})"
    slices = [*([index] if indexed else []), *names]
    sequences = [*([count] if indexed else []), *loop.sequences]
    stacks = _names(writer, "ys", loop.results)
    arguments = [_argument(writer, loop.carries, "carry"), _argument(writer, slices, "slices")]
    unpacked = [*_unpacked(loop.carries, arguments[0]), *_unpacked(slices, arguments[1])]
    result = f"{_tuple(following)}, {_tuple(stacked)}"
    _function(writer, step, arguments, [*unpacked, *lines], result)
    options = f", length={loop.number}" * (not sequences) + ", reverse=True" * loop.reverse
    writer.lines.append(
        f"{carry if loop.carries else '_'}, {_tuple(stacks) if stacks else '_'} = "
        f"jax.lax.scan({step}, {starts}, {_tuple(sequences)}{options})"
    )
    return _results(a, [*loop.carries, *stacks])


def jax_while(a: Application) -> str:
    """Spell a loop by ``jax.lax.while_loop``."""
    writer = a.writer
    test, body, count = a.params["test"], a.params["body"], a.params["carries"]
    carries = _carries(writer, count)
    rest, counters = _closure(a, count, body.graph.inputs[count:])
    argument, functions = _argument(writer, carries), []
    for name, graph in (("holds", test.graph), ("step", body.graph)):
        own = _same(body.graph, graph, counters)
        lines, outputs = writer.block(graph, [*carries, *rest], own)
        functions.append(writer.fresh(name))
        lines = [*_unpacked(carries, argument), *lines]
        _function(writer, functions[-1], [argument], lines, _tuple(outputs))
    starts = _tuple(a.operands[:count])
    writer.lines.append(
        f"{', '.join(carries)} = jax.lax.while_loop({', '.join(functions)}, {starts})"
    )
    return _results(a, carries)


def jax_cond(a: Application) -> str:
    """Spell a choice by ``jax.lax.cond``."""
    writer = a.writer
    then, other = a.params["then"], a.params["other"]
    rest, counters = _closure(a, 1, then.graph.inputs)
    functions = []
    for name, body in (("then", then), ("otherwise", other)):
        lines, outputs = writer.block(body.graph, rest, _same(then.graph, body.graph, counters))
        functions.append(writer.fresh(name))
        _function(writer, functions[-1], [], lines, _tuple(outputs))
    names = _names(writer, "chosen", len(then.types))
    call = f"jax.lax.cond({a.operands[0]}, {', '.join(functions)})"
    writer.lines.append(f"{', '.join(names)} = {call}")
    return _results(a, names)


class _Scan:
    """The parts of an application of a scan, and their texts."""

    def __init__(self, a: Application) -> None:
        writer, params, inputs = a.writer, a.params, a.node.inputs
        self.graph = params["body"].graph
        n, m = params["carries"], params["sequences"]
        self.reverse = bool(params["reverse"])
        self.index: Input = self.graph.inputs[0]
        self.number = writer.size(inputs[0])
        self.starts = list(a.operands[1 : 1 + n])
        named = zip(inputs[1 + n :], a.operands[1 + n : 1 + n + m], strict=False)
        self.sequences = [_named(writer, x, text) for x, text in named]
        self.rest, self.counters = _closure(a, 1 + n + m, self.graph.inputs[1 + n + m :])
        self.carries = _carries(writer, n)
        self.stacked: list[Variable] = list(self.graph.outputs[n:])
        self.results = len(self.stacked)


def _carries(writer: Writer, count: int) -> list[str]:
    return _names(writer, "carry", count)


def _names(writer: Writer, name: str, count: int) -> list[str]:
    return [writer.fresh(f"{name}_{i}" if count > 1 else name) for i in range(count)]


def _named(writer: Writer, node: Variable, text: str) -> str:
    """Return a name of a value that iterations read, so that it is computed once."""
    plain = text.isidentifier() or isinstance(node, Constant) or writer.is_size(node)
    return text if (plain and node.ndim == 0) or text.isidentifier() else writer.named(text)


def _closure(
    a: Application, first: int, inputs: Sequence[Variable]
) -> tuple[list[str], list[Variable]]:
    """Return the texts of what bodies read besides, and which of them are ints of Python."""
    texts, counters = [], []
    for node, text, x in zip(a.node.inputs[first:], a.operands[first:], inputs, strict=True):
        if a.writer.is_size(node):
            texts.append(a.writer.size(node))
            counters.append(x)
        else:
            texts.append(_named(a.writer, node, text))
    return texts, counters


def _same(first: Any, graph: Any, counters: Iterable[Variable]) -> list[Variable]:
    """Return the inputs of a graph in the places of those of another graph."""
    places = {x: i for i, x in enumerate(first.inputs)}
    return [graph.inputs[places[x]] for x in counters]


def _assign(lines: list[str], names: Sequence[str], texts: Sequence[str]) -> None:
    """Assign to names, all at once if a text reads one of them."""
    pairs = [(name, text) for name, text in zip(names, texts, strict=True) if name != text]
    if len(pairs) > 1:
        left, right = zip(*pairs, strict=True)
        lines.append(f"{', '.join(left)} = {', '.join(right)}")
    else:
        lines += [f"{name} = {text}" for name, text in pairs]


def _indented(lines: list[str], block: Sequence[str]) -> None:
    lines += [f"{INDENT}{x}" if x else "" for x in block or ["pass"]]


def _tuple(texts: Sequence[str]) -> str:
    """Return one text as it is, several as a tuple, and None for none."""
    if len(texts) == 1:
        return texts[0]
    return f"({', '.join(texts)})" if texts else "None"


def _argument(writer: Writer, names: Sequence[str], name: str = "values") -> str:
    """Return the name of an argument that stands for several values."""
    if len(names) == 1:
        return names[0]
    return writer.fresh(name) if names else "_"


def _unpacked(names: Sequence[str], argument: str) -> list[str]:
    """Return the statement that takes an argument apart, if it stands for several values."""
    return [f"{', '.join(names)} = {argument}"] if len(names) > 1 else []


def _function(
    writer: Writer, name: str, arguments: Sequence[str], lines: Sequence[str], result: str
) -> None:
    """Write a function between empty lines."""
    if writer.lines and writer.lines[-1]:
        writer.lines.append("")
    writer.lines.append(f"def {name}({', '.join(arguments)}):")
    _indented(writer.lines, [*lines, f"return {result}"])
    writer.lines.append("")


def _stacked(writer: Writer, ys: str, y: Variable, reverse: bool) -> str:
    module, listed = writer.library.module, f"{ys}[::-1]" if reverse else ys
    if module == "np" and y.ndim == 0:  # also of no iterations
        return f"np.array({listed}, dtype={writer.dtype(y.dtype)})"
    return f"{module}.stack({listed})"


def _results(a: Application, names: list[str]) -> str:
    """Return the text of the results, whose names are those of variables."""
    a.writer.parts[a.node] = names
    return f"({', '.join(names)},)"


__all__ = [
    "jax_cond", "jax_scan", "jax_while", "part", "python_cond", "python_scan", "python_while",
]  # fmt: skip
