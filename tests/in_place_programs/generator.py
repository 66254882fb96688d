"""Random functions that make arrays and views, and write to them.

Each statement runs with NumPy while the function is made, so the generator knows the shapes and
values of all arrays.  Numbers stay small integers, mostly, so that arithmetic is exact.  Nothing is
negated: NumPy 2.4 reads wrong elements of float32 arrays whose strides are 16 bytes.
"""

from __future__ import annotations

import copy
import warnings
from dataclasses import dataclass, field
from textwrap import indent
from typing import Any

import numpy as np

LIMIT = 1e5  # of absolute values
DTYPES = ("float64", "float64", "float64", "int64", "int64", "float32", "int32", "bool", "uint8")
SLICES = (":", "1:", ":-1", "::2", "::-1", "1:3", "None, :", "0:2")
FAILURES = (TypeError, ValueError, IndexError, OverflowError)


@dataclass
class Function:
    """A function of arrays, as text.

    Attributes
    ----------
    lines : list of str
        Its body, without the return.
    arguments : dict of str to array
        What to pass.
    names : list of str
        The arrays to return.
    fails : bool
        Whether NumPy raises in the last line.
    """

    lines: list[str] = field(default_factory=list)
    arguments: dict[str, Any] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    fails: bool = False

    def source(self) -> str:
        """Return the function as a program."""
        body = [*self.lines, f"return ({''.join(name + ', ' for name in self.names)})"]
        return f"def f({', '.join(self.arguments)}):\n" + indent("\n".join(body) + "\n", "    ")


class Generator:
    """Makes one function.

    Parameters
    ----------
    seed : int
        Of the random choices.
    """

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.function = Function()
        self.values: dict[str, Any] = {}
        self._count = 0

    def pick(self, *choices: Any) -> Any:
        """Return one of the choices."""
        return choices[self.rng.integers(len(choices))]

    def make(self) -> Function:
        """Return a function of four to fourteen statements."""
        for k in range(self.rng.integers(1, 4)):
            self._argument(f"x{k}")
        for _ in range(self.rng.integers(4, 15)):
            kind = self.pick(
                self._creation, self._view, self._view, self._view, self._result, self._write,
                self._write, self._write, self._write, self._call, self._call, self._choice,
                self._loop,
            )  # fmt: skip
            line = kind()
            if line and not self._runs(line):
                break
        arrays = [name for name, x in self.values.items() if isinstance(x, np.ndarray | np.generic)]
        self.function.names = arrays
        return self.function

    def _runs(self, line: str) -> bool:
        """Run a statement, and add it if its values stay small; return False after a failure."""
        before = {name: (x, np.array(x)) for name, x in self.values.items()}
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(line, {"np": np}, self.values)
        except FAILURES:
            if self.rng.random() < 0.1:
                self.function.lines.append(line)
                self.function.fails = True
                return False
        else:
            arrays = [np.asarray(x) for x in self.values.values()]
            if all(np.all(np.abs(x.astype("float64")) < LIMIT) for x in arrays):
                self.function.lines.append(line)
                return True
        self.values.clear()  # undo the statement
        for name, (x, elements) in before.items():
            self.values[name] = x
            if isinstance(x, np.ndarray) and x.flags.writeable:
                x[...] = elements
        return True

    def _argument(self, name: str) -> None:
        if self.function.arguments and self.rng.random() < 0.05:  # one array, twice
            array = self.function.arguments["x0"]
            self.values[name] = self.values["x0"]
        else:
            shape = self._shape()
            array = self._elements(shape, self.pick(*DTYPES))
            layout = self.rng.random()
            if layout < 0.04:
                array = np.asfortranarray(array)
            elif layout < 0.08 and shape:
                array = np.repeat(array, 2, axis=-1)[..., ::2]
            self.values[name] = array.copy("K")
        self.function.arguments[name] = array

    def _shape(self) -> tuple[int, ...]:
        return self.pick((4,), (6,), (3, 4), (2, 3), (4, 4), (2, 2, 3), (1, 3), (), (0,), (5, 1))  # type: ignore[no-any-return]

    def _elements(self, shape: tuple[int, ...], dtype: str) -> Any:
        low = 0 if dtype in ("bool", "uint8") else -3
        return np.asarray(self.rng.integers(low, 2 if dtype == "bool" else 5, shape), dtype)

    def _name(self) -> str:
        self._count += 1
        return f"t{self._count}"

    def _any(self, *, array: bool = False) -> str:
        """Return the name of an array, more probably of a recent one."""
        kinds = np.ndarray if array else np.ndarray | np.generic
        names = [n for n, x in self.values.items() if isinstance(x, kinds)]
        weights = np.arange(1, len(names) + 1, dtype=float)
        return str(self.rng.choice(names, p=weights / weights.sum()))

    def _creation(self) -> str:
        name, other = self._name(), self._any()
        shape, dtype = self._shape(), self.pick(*DTYPES)
        made = self.pick(
            f"np.zeros({shape}, {dtype!r})", f"np.ones({shape})", f"np.full({shape}, 2, {dtype!r})",
            f"np.arange({self.pick(3, 4, 6)})", f"np.zeros_like({other})", f"np.copy({other})",
            f"np.array({other})", f"np.ones({shape}, {dtype!r})", "np.arange(6).reshape(2, 3)",
            f"{other}.copy()", "np.eye(4)", f"np.ones_like({other}) * 0", "np.array([1, 2, 3, 4])",
            f"np.full_like({other}, 1)", f"np.asarray({other})", "np.zeros(4)",
        )  # fmt: skip
        return f"{name} = {made}"

    def _view(self) -> str:
        name, of = self._name(), self._any(array=True)
        x = self.values[of]
        made = [f"{of}[{self._basic(x.shape)}]", f"{of}.T", f"{of}[...]", of, f"np.ravel({of})"]
        made += [f"{of}[None]", f"{of}.reshape(-1)", f"np.squeeze({of})", f"np.atleast_2d({of})"]
        made += [f"{of}[{self._basic(x.shape)}]"] * 3
        if x.ndim:
            made += [f"np.flip({of})", f"np.expand_dims({of}, -1)", f"{of}[..., ::-1]"]
            made += [f"np.moveaxis({of}, 0, -1)", f"{of}.swapaxes(0, -1)"]
        if x.ndim >= 2:
            made += [f"np.diagonal({of})", f"np.rot90({of})", f"{of}.reshape({x.shape[::-1]})"]
        if x.size == 6:
            made += [
                f"{of}.reshape(2, 3)",
                f"{of}.reshape(3, 2)",
                f"np.split(np.ravel({of}), 2)[1]",
            ]
        if x.size == 12:
            made += [f"{of}.reshape(3, 4)", f"{of}.reshape(2, 6)", f"{of}.T.reshape(3, 4)"]
        return f"{name} = {self.pick(*made)}"

    def _basic(self, shape: tuple[int, ...]) -> str:
        """Return a key of slices and ints, mostly in range."""
        parts = []
        for size in shape[: self.rng.integers(len(shape) + 1)]:
            number = int(self.rng.integers(-size, size)) if size else 0
            parts.append(self.pick(*[str(number)] * 2, f"{number}:", *SLICES))
        return ", ".join(parts) or "..."

    def _key(self, x: Any) -> str:
        """Return any key."""
        if self.rng.random() < 0.65 or not x.ndim or not x.size:
            return self._basic(x.shape)
        size = x.shape[0]
        places = self.rng.integers(-size, size, 3).tolist()
        return self.pick(  # type: ignore[no-any-return]
            f"{places}", f"np.array({places})", "KEY > 1", "KEY == 0", f"{places}, ...",
            f"..., {self.rng.integers(0, x.shape[-1], 2).tolist()}", "np.arange(2) % 2",
        )  # fmt: skip

    def _operand(self, shape: tuple[int, ...]) -> str:
        """Return a number, an array that broadcasts to a shape, or sometimes another one."""
        fitting = []
        for name, x in self.values.items():
            try:
                if np.broadcast_shapes(np.shape(x), shape) == shape:
                    fitting.append(name)
            except ValueError:
                pass
        if not fitting or self.rng.random() < 0.3:
            return str(self.pick(1, 2, -1, 3, 0, 1.5, "True", "[1, 2]" if shape else 1))
        if self.rng.random() < 0.03:
            return self._any()
        name = str(self.rng.choice(fitting))
        return self.pick(name, name, name, f"{name} + 1", f"0 - {name}", f"2 * {name}")  # type: ignore[no-any-return]

    def _result(self) -> str:
        name, of, other = self._name(), self._any(), self._any()
        x = self.values[of]
        key = self._key(x).replace("KEY", of) if isinstance(x, np.ndarray) else "..."
        made = [f"{of} + {self._operand(np.shape(x))}", f"np.sum({of})", f"{of} * 2", f"{of} > 0"]
        made += [
            f"np.where({of} > 1, {of}, 0)",
            f"{of}.sum(axis=0)" if np.ndim(x) else "np.int64(1)",
        ]
        made += [f"np.maximum({of}, {self._operand(np.shape(x))})", f"{of}.astype('float64')"]
        made += [f"{of}.T + 1", f"np.concatenate([np.ravel({of}), np.ravel({other})])"]
        if "KEY" not in key and ">" not in key and "==" not in key and isinstance(x, np.ndarray):
            made += [f"{of}[{key}]", f"{of}[{key}] + 1"]
        return f"{name} = {self.pick(*made)}"

    def _write(self) -> str:
        of = self._any(array=self.rng.random() < 0.9)
        x = self.values[of]
        symbol = self.pick("+", "-", "*", "+", "-", "//", "/")
        if self.rng.random() < 0.3:
            return f"{of} {symbol}= {self._operand(np.shape(x))}"
        if not isinstance(x, np.ndarray):
            return f"{of} += 1"
        key = self._key(x).replace("KEY", of)
        try:
            part = np.shape(eval(f"{of}[{key}]", {"np": np}, self.values))
        except FAILURES:
            part = ()
        masked = ">" in key or "==" in key
        value = str(self.pick(1, 2, -1)) if masked else self._operand(part)
        equals = self.pick("=", "=", f"{symbol}=")
        source = self.values.get(value)
        if isinstance(source, np.ndarray) and np.may_share_memory(source, x):
            # NumPy is wrong where the strides of one-dimensional views differ.
            value = self.pick(value, f"np.copy({value})") if source.ndim > 1 else f"{value} + 0"
        return f"{of}[{key}] {equals} {value}"

    def _condition(self) -> str:
        """Return a condition, whose truth is mostly not known while tracing."""
        sums = [f"np.sum({self._any()}) {self.pick('<', '>', '!=')} {self.pick(0, 2, 5)}"] * 3
        first = self.pick(
            *sums, f"np.size({self._any()}) > 3", f"2 < np.sum({self._any()} + 1) < 9"
        )
        second = f"np.sum({self._any()}) > {self.pick(-1, 1)}"
        return str(
            self.pick(first, first, f"{first} and {second}", f"{first} or {second}", f"not {first}")
        )

    def _choice(self) -> str:
        """Return an ``if`` statement, or a conditional expression."""
        of, name = self._any(), self._name()
        one, two = [f"{of} {self.pick('+', '*', '-')} {self.pick(1, 2)}" for _ in range(2)]
        if self.rng.random() < 0.3:
            return f"{name} = {one} if {self._condition()} else {two}"
        shared = f"{name} = {one}\n{self._write()}", f"{name} = {two}\n{self._write()}"
        then, other = self.pick((self._write(), self._write()), (self._write(), "pass"), shared)
        if not (self._is_valid(then) and self._is_valid(other)):
            return f"{name} = {one}"
        return f"if {self._condition()}:\n{indent(then, '    ')}\nelse:\n{indent(other, '    ')}"

    def _is_valid(self, text: str) -> bool:
        """Return True if NumPy runs a statement, which is then undone."""
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(text, {"np": np}, copy.deepcopy(self.values))
        except FAILURES:
            return False
        return True

    def _loop(self) -> str:
        """Return a ``for`` or ``while`` loop."""
        of, count = self._any(array=True), self._name()
        x = self.values[of]
        if not x.size:
            return f"{count} = 0"
        key = f"(i + {self.pick(0, 1, 3)}) % {x.shape[0] or 1}" if x.ndim else "..."
        body = f"{of}[{key}] {self.pick('+', '*')}= {self.pick(1, -1)}"
        if self.rng.random() < 0.5:
            body += f"\nif {of}[{key}].sum() > {self.pick('i', 1)}:\n    {count} = {count} + 1"
        if not self._is_valid(f"i = {count} = 0\n{body}"):
            return f"{count} = 0"
        if self.rng.random() < 0.6:
            return f"{count} = 0\nfor i in range({self.pick(3, 9)}):\n{indent(body, '    ')}"
        test = f"i < 9 and np.sum({of}) < {self.pick(5, 20)}"
        return f"i = {count} = 0\nwhile {test}:\n{indent(body, '    ')}\n    i = i + 1"

    def _call(self) -> str:
        of, other = self._any(array=True), self._any()
        x = self.values[of]
        value = self._operand(x.shape)
        calls = [
            f"np.add({other}, {self._operand(np.shape(self.values[other]))}, out={of})",
            f"np.multiply({of}, {value}, out={of})", f"np.subtract({value}, {of}, {of})",
            f"np.copyto({of}, {value})", f"np.copyto({of}, {value}, where={of} > 0)",
            f"{of}.fill({self.pick(0, 1, 2.5)})", f"np.maximum({of}, 1, out={of}, where={of} < 3)",
            f"np.subtract(0, {of}, out={of})", f"np.putmask({of}, {of} > 1, 1)",
            f"np.exp({of} * 0, out={of})",
        ]  # fmt: skip
        if x.ndim:
            calls += [
                f"{of}.sort()", f"np.clip({of}, 0, 2, out={of})",
                f"{of}[0], {of}[-1] = {of}[-1], {of}[0]", f"np.put({of}, [0, -1], [1, 2])",
                f"np.add.at({of}, [0, -1, 0], {self.pick(1, 2)})", f"np.maximum.at({of}, 0, 2)",
                f"for row in {of}: row += 1", f"np.cumsum({of}, axis=0, out={of})",
                f"np.put_along_axis({of}, np.argmax({of}, axis=-1, keepdims=True), 0, axis=-1)",
            ]  # fmt: skip
        if x.ndim == 2:
            calls += [
                f"np.fill_diagonal({of}, 2)", f"np.sum({of}, axis=0, out={of}[0])",
                f"{of}[0], {of}[1] = {of}[1].copy(), {of}[0].copy()", f"{of} += {of}.T",
                f"{of}[:, 0] += {of}[0, 0]",
            ]  # fmt: skip
        return str(self.pick(*calls))
