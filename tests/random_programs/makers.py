"""What writes one step: each maker returns a step, or None where no array suits it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from tests.random_programs.calls import (
    ARITHMETIC,
    DIVISION,
    DTYPES,
    EXACT,
    FUNCTION,
    INTEGERS,
    LOGARITHM,
    LOOSE,
    REDUCTIONS,
    RUNNING,
    SUM,
    ZEROS,
    called,
)
from tests.random_programs.calls import BINARY as _BINARY
from tests.random_programs.calls import UNARY as _UNARY
from tests.random_programs.program import NUMPY, Step, evaluate

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.random_programs.generator import Generator

    Maker = Callable[[Generator], Step | None]

UNARY = [(called(function, 1), rounding) for function, rounding in _UNARY]
BINARY = [(called(function, 2), rounding) for function, rounding in _BINARY]


def broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    """Return whether two shapes broadcast."""
    try:
        np.broadcast_shapes(a, b)
    except ValueError:
        return False
    return True


def unary(g: Generator) -> Step | None:
    template, rounding = g.choice(UNARY)
    x = g.pick("f" if template.startswith("rg.") else "biuf")  # SciPy has other dtypes for integers
    if x and "gammaln" in template and np.any(np.abs(g.values[x]) < np.finfo(g.dtype(x)).tiny):
        return None  # SciPy gives inf there
    return x and g.step(template, rounding, x)


def binary(g: Generator) -> Step | None:
    x = g.pick()
    if x is None:
        return None
    template, rounding = g.choice(BINARY[:4] if g.chance(0.5) else BINARY)
    y = g.partner(x)
    if not template.startswith("{0} ") and y not in g.values and "np." not in y:
        operands = (x, y)  # a number alone has no dtype
    else:
        operands = (y, x) if g.chance(0.35) else (x, y)
    return g.step(template, rounding, *operands)


def power(g: Generator) -> Step | None:
    x = g.pick("fiu")
    exponent = g.choice(["2", "3", "0.5", "-1", "2.0", "1", "0", "-0.5", "1.5", "-2"])
    if exponent in ("-1", "-2") and x and g.dtype(x).kind in "iu" and 0 in g.shape(x):
        return None  # NumPy refuses it only where there are elements
    return x and g.step(f"{{0}} ** {exponent}", FUNCTION, x)


def bits(g: Generator) -> Step | None:
    x = g.pick("biu")
    if x is None:
        return None
    if g.chance(0.15):
        return g.step("~{0}", EXACT, x)
    if g.dtype(x).kind == "b" or g.chance(0.6):
        names = [y for y in [g.pick("biu") for _ in range(4)] if y]
        names = [y for y in names if broadcasts(g.shape(x), g.shape(y))]
        y = g.choice([*names, "np.True_" if g.dtype(x).kind == "b" else "3"])
        return g.step(f"{{0}} {g.choice('&|^')} {{1}}", EXACT, x, y)
    bound = g.dtype(x).itemsize * 8 + 2
    return g.step(f"{{0}} {g.choice(['<<', '>>'])} {g.below(bound)}", EXACT, x)


def choose(g: Generator) -> Step | None:
    condition = g.pick("b") if g.chance(0.6) else None
    x = g.pick()
    if x is None:
        return None
    test = "{2}" if condition and broadcasts(g.shape(x), g.shape(condition)) else "{0} > 0"
    return g.step(
        f"np.where({test}, {{0}}, {{1}})",
        EXACT,
        x,
        g.partner(x),
        *([condition] if condition else []),
    )


def select(g: Generator) -> Step | None:
    x = g.pick("fi")
    return x and g.step(
        "np.select([{0} > 1, {0} < 0], [{0}, {1}], {2})", EXACT, x, g.partner(x), g.choice("012")
    )


def clip(g: Generator) -> Step | None:
    x = g.pick("iuf")
    if x is None:
        return None
    low, high = g.choice([("0", "2"), ("1", "3"), ("None", "2"), ("0", "None"), ("-1.5", "1.5")])
    if g.chance(0.2) and (y := g.partner(x, "f")) in g.values:
        return g.step("np.clip({0}, {1}, 3)", ZEROS, x, y)
    return g.step(f"np.clip({{0}}, {low}, {high})", ZEROS, x)


def rounded(g: Generator) -> Step | None:
    x = g.pick()
    return x and g.step(f"np.round({{0}}, {g.choice([0, 1, 2, -1])})", DIVISION, x)


def cast(g: Generator) -> Step | None:
    x = g.pick()
    if x is None:
        return None
    dtype = str(g.choice(DTYPES))
    if g.dtype(x).kind == "f" and dtype in INTEGERS:
        values, info = np.asarray(g.values[x]), np.iinfo(dtype)
        if not np.all((values > info.min) & (values < info.max)):
            return None  # undefined in C
    return g.step(f'{{0}}.astype("{dtype}")', ARITHMETIC, x)


def _axes(g: Generator, x: str) -> str:
    ndim = len(g.shape(x))
    if ndim == 0 or g.chance(0.3):
        return ""
    if ndim > 1 and g.chance(0.25):
        axes = g.rng.choice(ndim, size=2, replace=False)
        return f", axis=({int(axes[0])}, {int(axes[1])})"
    return f", axis={g.axis(x)}"


def reduction(g: Generator) -> Step | None:
    function, rounding = g.choice(REDUCTIONS)
    scipy = function.startswith("rg.")  # of no elements, and of a scalar, SciPy has its own ideas
    x = g.pick("f", 1) if scipy else g.pick()
    if x is None or (scipy and 0 in g.shape(x)):
        return None
    keep = ", keepdims=True" if g.chance(0.35) else ""
    extra = ""
    if function in ("np.var", "np.std") and g.chance(0.3):
        extra = ", ddof=1"
    elif function == "np.sum" and g.chance(0.08):
        extra = ', dtype="float64"'
    elif function in ("np.max", "np.min", "np.sum") and g.chance(0.08):
        extra = ", initial=1"
    return g.step(f"{function}({{0}}{_axes(g, x)}{keep}{extra})", rounding, x)


def quantile(g: Generator) -> Step | None:
    x = g.pick("f", 1)
    call = g.choice(["median({0}", "quantile({0}, 0.3", "percentile({0}, 50", "ptp({0}"])
    return x and g.step(f"np.{call}, axis={g.axis(x)})", LOOSE, x)


def position(g: Generator) -> Step | None:
    x = g.pick(least=1)
    if x is None:
        return None
    axis = "" if g.chance(0.3) else f", axis={g.axis(x)}"
    return g.step(f"np.{g.choice(['argmax', 'argmin'])}({{0}}{axis})", EXACT, x)


def cumulative(g: Generator) -> Step | None:
    x = g.pick(least=1)
    if x is None:
        return None
    if g.chance(0.15):
        return g.step(f"rg.{g.choice(['cummax', 'cummin'])}({{0}}, axis={g.axis(x)})", ZEROS, x)
    axis = "" if g.chance(0.2) else f", axis={g.axis(x)}"
    return g.step(f"np.{g.choice(['cumsum', 'cumprod', 'cumsum'])}({{0}}{axis})", RUNNING, x)


def along(g: Generator) -> Step | None:
    x = g.pick("f", 1)
    if x is None or 0 in g.shape(x):
        return None
    function = g.choice(["softmax", "log_softmax"])
    return g.step(f"rg.{function}({{0}}, axis={g.axis(x)})", LOGARITHM, x)


def reshape(g: Generator) -> Step | None:
    x = g.pick()
    if x is None:
        return None
    shape, total = g.shape(x), int(np.prod(g.shape(x)))
    options = ["(-1,)", f"({total},)", f"({total}, 1)", f"(1, {total})"]
    if len(shape) > 1:
        options += [str(shape[::-1]), f"({shape[0]}, -1)" if shape[0] else "(0,)"]
    if total and total % 2 == 0:
        options += [f"(2, {total // 2})", "(2, -1)", "(-1, 2)"]
    text = g.choice([f"np.reshape({{0}}, {g.choice(options)})", "np.ravel({0})", "{0}.ravel()"])
    return g.step(text, EXACT, x)


def permute(g: Generator) -> Step | None:
    x = g.pick(least=1)
    if x is None:
        return None
    ndim = len(g.shape(x))
    order = tuple(int(i) for i in g.rng.permutation(ndim))
    texts = [
        "{0}.T",
        f"np.transpose({{0}}, {order})",
        f"np.swapaxes({{0}}, {g.axis(x)}, {g.axis(x)})",
    ]
    texts += [f"np.moveaxis({{0}}, {g.axis(x)}, {g.axis(x)})", f"np.flip({{0}}, {g.axis(x)})"]
    texts += [f"np.roll({{0}}, {g.choice([1, -2, 5])}, axis={g.axis(x)})"]
    if ndim > 1:
        texts += ["np.matrix_transpose({0})", "np.fliplr({0})", f"np.rot90({{0}}, {g.below(4)})"]
    return g.step(g.choice(texts), EXACT, x)


def stretch(g: Generator) -> Step | None:
    x = g.pick(most=3)
    if x is None:
        return None
    shape = g.shape(x)
    texts = [f"np.expand_dims({{0}}, {int(g.rng.integers(-len(shape) - 1, len(shape) + 1))})"]
    texts += [f"np.broadcast_to({{0}}, {(g.choice([2, 1, 3]), *shape)})", "np.squeeze({0})"]
    texts += [f"np.tile({{0}}, {g.choice(['2', '(2, 1)', '(1, 2)', '3'])})", "np.atleast_2d({0})"]
    ones = [axis for axis, size in enumerate(shape) if size == 1]
    if ones:
        texts += [f"np.squeeze({{0}}, axis={g.choice(ones)})"] * 2
        axis = g.choice(ones)
        texts += [f"np.broadcast_to({{0}}, {(*shape[:axis], 3, *shape[axis + 1 :])})"]
    if shape:
        texts += [f"np.repeat({{0}}, {g.choice([2, 3, 0])}, axis={g.axis(x)})", "np.repeat({0}, 2)"]
    return g.step(g.choice(texts), EXACT, x)


def _slice(g: Generator, size: int) -> str:
    bounds = ["", "", str(g.below(size + 2)), str(-1 - g.below(size + 1))]
    step = g.choice(["", "", "", ":2", ":-1", ":-2", ":1"])
    return f"{g.choice(bounds)}:{g.choice(bounds)}{step}"


def _key(g: Generator, x: str, places: bool) -> str:
    """Return a key of ints, slices, new axes and, with ``places``, one list of places."""
    parts, listed = [], False
    for size in g.shape(x):
        share = g.rng.random()
        if share < 0.2 and size:
            parts.append(str(int(g.rng.integers(-size, size))))
        elif share < 0.35 and size and places and not listed:
            listed = True
            parts.append(str([int(i) for i in g.rng.integers(-size, size, g.below(4) + 1)]))
        elif share < 0.45:
            parts.append("...")
            break
        else:
            parts.append(_slice(g, size))
        if g.chance(0.08):
            parts.append("None")
        if g.chance(0.12):
            break
    return ", ".join(parts) or "..."


def index(g: Generator) -> Step | None:
    x = g.pick(least=1)
    if x is None:
        return None
    share = g.rng.random()
    size = g.shape(x)[0]
    integers = [y for y in g.values if not y.startswith("p") and g.dtype(y).kind in "iu"]
    if share < 0.12 and size and integers:
        y = g.choice(integers)
        return g.step(f"{{0}}[{{1}} % {size}]", EXACT, x, y)
    if share < 0.2 and size and integers:
        axis = g.axis(x)
        if g.shape(x)[axis]:
            bound = g.shape(x)[axis]
            y = g.choice(integers)
            return g.step(f"np.take({{0}}, {{1}} % {bound}, axis={axis})", EXACT, x, y)
    if share < 0.3 and len(g.shape(x)) > 1 and min(g.shape(x)[:2]):
        lists = [[int(i) for i in g.rng.integers(-bound, bound, 3)] for bound in g.shape(x)[:2]]
        return g.step(f"{{0}}[{lists[0]}, {lists[1]}]", EXACT, x)
    return g.step(f"{{0}}[{_key(g, x, places=True)}]", EXACT, x)


def update(g: Generator) -> Step | None:
    x = g.pick("iuf", 1)
    if x is None:
        return None
    method = g.choice(["set", "set", "add", "add", "multiply", "min", "max"])
    rounding = {"min": ZEROS, "max": ZEROS, "set": EXACT}.get(method, RUNNING)
    key = _key(g, x, places=True)
    if g.chance(0.15):
        key = "{0} > 0.5"
    template = f"at({{0}})[{key}].{method}({{1}})"
    part = evaluate(Step(f"{{0}}[{key}]", (x,), EXACT), [g.values[x]], NUMPY)
    fitting = [
        y
        for y, value in g.values.items()
        if not y.startswith("p")
        and np.can_cast(g.dtype(y), g.dtype(x), "safe")
        and broadcasts(np.shape(part), np.shape(value))
        and np.broadcast_shapes(np.shape(part), np.shape(value)) == np.shape(part)
    ]
    value = g.choice(fitting) if fitting and g.chance(0.6) else g.choice(["2", "1", "0", "3"])
    return g.step(template, rounding, x, value)


def join(g: Generator) -> Step | None:
    x = g.pick(least=1)
    if x is None:
        return None
    shape, axis = g.shape(x), g.axis(x)
    rest = [
        y
        for y, value in g.values.items()
        if not y.startswith("p")
        and np.ndim(value) == len(shape)
        and np.delete(np.shape(value), axis).tolist() == np.delete(shape, axis).tolist()
    ]
    equal = [y for y in rest if g.shape(y) == shape]
    texts = [(f"np.concatenate([{{0}}, {{1}}], axis={axis})", rest)]
    texts += [(f"np.stack([{{0}}, {{1}}], axis={axis})", equal), ("np.vstack([{0}, {1}])", equal)]
    texts += [("np.hstack([{0}, {1}, {0}])", equal)]
    template, others = g.choice(texts)
    return g.step(template, EXACT, x, g.choice(others))


def cut(g: Generator) -> Step | None:
    x = g.pick(least=1)
    if x is None:
        return None
    axis = g.axis(x)
    size = g.shape(x)[axis]
    texts = [f"np.split({{0}}, [{g.below(size + 1)}], axis={axis})[{g.below(2)}]"]
    texts += [f"np.array_split({{0}}, 2, axis={axis})[{g.below(2)}]"]
    if size and size % 2 == 0:
        texts += [f"np.split({{0}}, 2, axis={axis})[{g.below(2)}]"]
    texts += [f"np.diff({{0}}, axis={axis})"]
    return g.step(g.choice(texts), ARITHMETIC, x)


def pad(g: Generator) -> Step | None:
    x = g.pick(least=1, most=3)
    if x is None:
        return None
    widths = [(g.below(3), g.below(3)) for _ in g.shape(x)]
    mode = g.choice(["", "", "constant_values=2", 'mode="edge"', 'mode="reflect"', 'mode="wrap"'])
    return g.step(f"np.pad({{0}}, {widths}{', ' + mode if mode else ''})", EXACT, x)


def order(g: Generator) -> Step | None:
    x = g.pick(least=1)
    if x is None:
        return None
    axis = g.choice([g.axis(x), "None"])
    if g.chance(0.5):
        return g.step(f"np.sort({{0}}, axis={axis})", ZEROS, x)
    return g.step(f'np.argsort({{0}}, axis={axis}, kind="stable")', EXACT, x)


def product(g: Generator) -> Step | None:
    x = g.pick("fiub", 1, 3)
    if x is None:
        return None
    shape = g.shape(x)
    fitting = [
        y
        for y, value in g.values.items()
        if not y.startswith("p")
        and 1 <= np.ndim(value) <= 3
        and np.shape(value)[-2 if np.ndim(value) > 1 else -1] == shape[-1]
    ]
    same = [y for y in fitting if g.shape(y) == shape]
    texts = [("{0} @ {1}", fitting), ("np.dot({0}, {1})", fitting), ("np.outer({0}, {0})", [x])]
    texts += [("np.vdot({0}, {1})", same), ("np.inner({0}, {1})", same), ("{0}.T @ {0}", [x])]
    texts += [("np.tensordot({0}, {1}, axes=1)", fitting), ("np.kron({0}, {1})", same)]
    texts += [("np.tensordot({0}, {1}, axes=0)", same), ("np.multiply({0}, {1}).sum()", same)]
    if len(shape) == 2:
        texts += [("np.einsum('ij,jk->ik', {0}, {1})", fitting), ("{0} @ ({0}.T @ {0})", [x])]
        texts += [("np.einsum('ij->j', {0})", [x]), ("np.einsum('ij,ij->i', {0}, {1})", same)]
        texts += [("np.einsum('ij,kj->ki', {0}, {1})", same)]
    if shape[-1] == 3:
        texts += [("np.cross({0}, {1})", same)]
    template, others = g.choice(texts)
    if not others:
        return None
    y = g.choice(others)
    if "np.dot" in template and not all(np.all(np.isfinite(g.values[z])) for z in (x, y)):
        template = "{0} @ {1}"  # BLAS takes 0 * NaN for 0 in some calls of np.dot
    return g.step(template, SUM, x, y)


def matrix(g: Generator) -> Step | None:
    x = g.pick("fiub", 1, 3)
    if x is None:
        return None
    shape = g.shape(x)
    if len(shape) == 1:
        return g.step(f"np.diag({{0}}, {g.choice([0, 1, -1])})", EXACT, x)
    texts = [f"np.triu({{0}}, {g.choice([0, 1, -1])})", f"np.tril({{0}}, {g.choice([0, 1])})"]
    texts += ["np.diagonal({0}, 0, -2, -1)", "np.trace({0}, 0, -2, -1)", "np.linalg.norm({0})"]
    texts += ["np.linalg.norm({0}, axis=-1)", "np.linalg.norm({0}, 1, axis=0)"]
    return g.step(g.choice(texts), LOOSE, x)


def algebra(g: Generator) -> Step | None:
    x = g.pick("f", 2, 3)
    if x is None or g.shape(x)[-1] > 12:
        return None
    if np.any(np.abs(g.values[x]) > np.sqrt(np.finfo(g.dtype(x)).max) / 100):
        return None  # the product inside overflows
    size = g.shape(x)[-1]
    definite = f"({{0}}.mT @ {{0}} + 3 * np.eye({size}))"
    general = f"({{0}}.mT @ {{0}} + 3 * np.eye({size}) + np.triu({{0}}.mT @ {{0}}))"
    texts = [f"np.linalg.{f}({a})" for f in ("inv", "det") for a in (definite, general)]
    texts += [f"np.linalg.cholesky({definite})", f"np.linalg.slogdet({definite})[1]"]
    texts += [f"np.linalg.solve({a}, {{0}}.mT)" for a in (definite, general)]
    texts += [f"np.linalg.inv({definite}) @ {{0}}.mT", f"np.linalg.eigvalsh({definite})"]
    texts += [f"np.linalg.matrix_power({definite}, 2)"]
    if np.all(np.isfinite(g.values[x])):  # LAPACK's iteration need not end otherwise
        texts += ["np.linalg.svd({0}, compute_uv=False)"]
    return g.step(g.choice(texts), LOOSE, x)


def statistics(g: Generator) -> Step | None:
    x = g.pick("f", 1, 2)
    if x is None:
        return None
    texts = ["np.cov({0})", "np.average({0}, axis=-1)", "np.trapezoid({0}, axis=-1)"]
    texts += ["np.gradient({0}, axis=-1)", "np.ediff1d({0})", "np.polyval([1.0, -2.0, 0.5], {0})"]
    texts += ["np.isclose({0}, 0.5)", "np.vander({0}, 3)", "np.nancumsum({0}, axis=-1)"]
    texts += ["np.interp", "np.linalg.vector_norm({0}, axis=-1)", "np.meshgrid({0}, {0})[0]"]
    return g.step(g.choice([t for t in texts if t != "np.interp"]), LOOSE, x)


def beginning(g: Generator) -> Step | None:
    x = g.pick()
    texts = ["np.zeros_like({0})", "np.ones_like({0})", "np.full_like({0}, 2)"]
    return x and g.step(g.choice(texts), EXACT, x)


_TABLE: dict[Maker, int] = {
    unary: 22, binary: 30, power: 5, bits: 3, choose: 6, select: 1, clip: 3, rounded: 2, cast: 5,
    reduction: 12, quantile: 1, position: 3, cumulative: 4, along: 2, reshape: 4, permute: 5,
    stretch: 5, index: 8, update: 6, join: 4, cut: 3, pad: 2, order: 3, product: 7, matrix: 2,
    algebra: 3, statistics: 2, beginning: 1,
}  # fmt: skip
MAKERS = list(_TABLE)
CHANCES = np.array(list(_TABLE.values())) / sum(_TABLE.values())
