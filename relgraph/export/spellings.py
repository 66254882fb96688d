"""How libraries spell the ops that are not elementwise; rows of elementwise ops say it themselves.

JAX has NumPy's and SciPy's functions, so an op without a text for it is spelled as in NumPy.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from relgraph.export import loops
from relgraph.export.writer import Application, Library, Spelling, UnsupportedError
from relgraph.ir.op import GetItem, Op
from relgraph.ops.checks import Assert, SpecifyShape, Unique
from relgraph.ops.concatenate import Concatenate, Stack
from relgraph.ops.contraction import Einsum, Matmul, Outer
from relgraph.ops.cumulative import Cummax, Cummin, Cumprod, Cumsum
from relgraph.ops.differentials import Differential, InnerProduct, NoPartial, StopGradient
from relgraph.ops.indexing.expression import spec_text
from relgraph.ops.indexing.index import Index
from relgraph.ops.indexing.update import (
    AddIndex,
    MaximumIndex,
    MinimumIndex,
    MultiplyIndex,
    SetIndex,
)
from relgraph.ops.inputs import Assume
from relgraph.ops.linalg.blas import Gemm, Gemv, Ger, Syrk
from relgraph.ops.linalg.blocks import BlockDiag, Kron
from relgraph.ops.linalg.factored_solve import (
    ChoSolve,
    LUSolve,
    PermutationSign,
    PivotSign,
    SolveSylvester,
)
from relgraph.ops.linalg.factorisations import (
    LU,
    QR,
    QZ,
    SVD,
    Eigh,
    Eigvalsh,
    Expm,
    ExpmFrechet,
    LUFactor,
    Schur,
)
from relgraph.ops.linalg.solve import Cholesky, Det, Inv, Slogdet, Solve, SolveTriangular
from relgraph.ops.linalg.structured import Diag, Diagonal, Eye, Trace, Tril, Triu
from relgraph.ops.linalg.structured_matmul import TriangularMatmul, TridiagonalMatmul
from relgraph.ops.loops import Cond, Scan, WhileLoop
from relgraph.ops.permutation import MatrixTranspose, Transpose
from relgraph.ops.reductions import (
    All,
    Argmax,
    Argmin,
    Bottom,
    LogSoftmax,
    LogSumExp,
    Max,
    Mean,
    Min,
    Prod,
    Softmax,
    Sum,
    Top,
    reduced_axes,
)
from relgraph.ops.reductions import (
    Any as AnyOp,
)
from relgraph.ops.shape import BroadcastTo, ExpandDims, Reshape, Squeeze
from relgraph.ops.sorting import Argsort, Sort
from relgraph.ops.sparse import Densify, SparseMatmul, SparseTranspose

LIBRARIES = {
    "numpy": Library("numpy", "np", ("import numpy as np",), promotes=True),
    "jax": Library("jax", "jnp", ("import jax", "import jax.numpy as jnp")),
    "torch": Library(
        "torch",
        "torch",
        ("import torch",),
        convert="{0}.to({module}.{dtype})",
        number="{module}.tensor({0}, dtype={module}.{dtype})",
        array="{module}.tensor({0}, dtype={module}.{dtype})",
        boolean="bool",
        weak=False,
    ),
}


def _axes(a: Application) -> tuple[int, ...] | None:
    """Return the axes of a reduction, or None for all of them."""
    axis = a.params["axis"]
    (x,) = a.node.inputs
    if axis is None and a.params.get("keepdims"):
        return reduced_axes(None, x.ndim, "sum")
    return (axis,) if isinstance(axis, int) else axis


def _reduction(function: str, axis: str = "axis", keep: str = "keepdims", **more: Any) -> Spelling:
    """Spell a reduction over any axes."""

    def spell(a: Application) -> str:
        axes = _axes(a)
        parts = [*a.operands]
        if axes is not None:
            parts.append(f"{axis}={axes[0] if len(axes) == 1 else axes}")
        if a.params.get("keepdims"):
            parts.append(f"{keep}=True")
        parts += [f"{k}={v}" for k, v in more.items()]
        return f"{function}({', '.join(parts)})"

    return spell


def _torch_reduction(function: str) -> Spelling:
    return _reduction(f"torch.{function}", "dim", "keepdim")


def _one_by_one(function: str) -> Spelling:
    """Spell a reduction of torch that takes one axis, or needs its axes."""

    def spell(a: Application) -> str:
        (text,), keep = a.operands, bool(a.params.get("keepdims"))
        (x,) = a.node.inputs
        for axis in sorted(reduced_axes(a.params["axis"], x.ndim, "sum"), reverse=True):
            text = f"torch.{function}({text}, dim={axis}, keepdim={keep})"
        return text

    return spell


def _over_all(function: str) -> Spelling:
    """Spell a function of torch that needs its axes."""

    def spell(a: Application) -> str:
        (x,) = a.node.inputs
        axes = reduced_axes(a.params["axis"], x.ndim, "sum")
        keep = ", keepdim=True" if a.params.get("keepdims") else ""
        return f"torch.{function}({a.operands[0]}, dim={tuple(axes)}{keep})"

    return spell


def _softmax(function: str) -> Spelling:
    def spell(a: Application) -> str:
        axes = _axes(a) or tuple(range(a.node.ndim))
        if len(axes) > 1:
            raise UnsupportedError("torch has it along one axis only")
        return f"torch.{function}({a.operands[0]}, dim={axes[0]})"

    return spell


def _shaped(function: str) -> Spelling:
    return lambda a: f"{function}({a.operands[0]}, {a.writer.shape(a.node)})"


def _listed(function: str, axis: str) -> Spelling:
    return lambda a: f"{function}([{', '.join(a.operands)}], {axis}={a.params['axis']})"


def _new_axes(a: Application) -> str:
    axes, ndim = a.params["axes"], a.node.ndim
    return a.filled(
        "{p0}[" + ", ".join("None" if i - ndim in axes else ":" for i in range(ndim)) + "]"
    )


def _einsum(function: str, optimize: str) -> Spelling:
    def spell(a: Application) -> str:
        parts = [repr(a.params["subscripts"]), *a.operands]
        if len(a.operands) > 2 and optimize:
            parts.append(optimize)
        return f"{function}({', '.join(parts)})"

    return spell


def _matrix(text: str, instead: str) -> Spelling:
    """Spell an op on matrices, which may have another text for a batch; "" for none."""

    def spell(a: Application) -> str:
        batch = any(x.ndim > 2 for x in a.node.inputs)
        if batch and not instead:
            raise UnsupportedError("it has no batches of matrices there")
        return a.filled(instead if batch else text)

    return spell


def _columns(text: str) -> Callable[[Application], str]:
    """Spell a solver of torch, whose right side is a matrix: ``{b}`` in the text."""

    def spell(a: Application) -> str:
        b = a.filled("{p" + str(len(a.operands) - 1) + "}")
        vector = a.node.inputs[-1].ndim == 1
        solution = a.filled(text.replace("{b}", f"{b}[:, None]" if vector else b))
        return f"{solution}[:, 0]" if vector else solution

    return spell


def _torch_triangular(a: Application) -> str:
    lower, trans = a.params["lower"], a.params["trans"]
    matrix = "{p0}.mT" if trans else "{0}"
    unit = ", unitriangular=True" if a.params["unit_diagonal"] else ""
    upper = not lower if not trans else lower
    text = f"torch.linalg.solve_triangular({matrix}, {{b}}, upper={upper}{unit})"
    return _columns(text)(a)


def _torch_cho_solve(a: Application) -> str:
    return _columns(f"torch.cholesky_solve({{b}}, {{0}}, upper={not a.params['lower']})")(a)


def _triangle(function: str) -> Spelling:
    return lambda a: f"{function}({a.operands[0]}, UPLO={'L' if a.params['lower'] else 'U'!r})"


def _cholesky(function: str) -> Spelling:
    return lambda a: f"{function}({a.operands[0]}{'' if a.params['lower'] else ', upper=True'})"


def _numpy_solve(a: Application) -> str:
    vector = a.node.inputs[1].ndim == 1 and a.node.inputs[0].ndim > 2
    text = "np.linalg.solve({0}, {p1}[:, None])[..., 0]" if vector else "np.linalg.solve({0}, {1})"
    return a.filled(text)


def _eye(function: str) -> Spelling:
    def spell(a: Application) -> str:
        n, m, k, dtype = (a.params[x] for x in ("n", "m", "k", "dtype"))
        dtype = a.writer.dtype(dtype)
        if function == "torch.eye":
            if k:
                whole = f"torch.ones(({n}, {m or n}), dtype={dtype})"
                return f"torch.triu(torch.tril({whole}, {k}), {k})"
            return f"torch.eye({n}, {m or n}, dtype={dtype})"
        return f"{function}({n}, {m or n}, {k}, dtype={dtype})"

    return spell


def _diag(a: Application) -> str:
    if a.node.ndim != 2:
        raise UnsupportedError("numpy has no diagonal matrices of a batch of vectors")
    return a.filled("np.diag({0}, {k})")


def _key(a: Application, first: int) -> str:
    return spec_text(a.params["spec"], list(a.operands[first:]))


def _kinds(a: Application) -> set[str]:
    return {entry[0] for entry in a.params["spec"]}


def _numpy_index(a: Application) -> str:
    return f"{a.filled('{p0}')}[{_key(a, 1)}]"


def _jax_index(a: Application) -> str:
    if "mask" in _kinds(a):
        raise UnsupportedError("the number of elements that a mask selects is known at run time")
    return _numpy_index(a)


def _torch_index(a: Application) -> str:
    _refuse_backward(a)
    return _numpy_index(a)


def _refuse_backward(a: Application) -> None:
    for kind, *values in a.params["spec"]:
        if kind == "slice" and isinstance(values[2], int) and values[2] < 0:
            raise UnsupportedError("torch has no slices with a negative step")


def _stored(a: Application) -> str:
    """Return the value of an update in the dtype of the array."""
    return a.writer.converted(a.node.inputs[1], a.node.dtype)


def _numpy_update(ufunc: str) -> Spelling:
    def spell(a: Application) -> str:
        result, key = a.writer.named(f"np.array({a.operands[0]})"), _key(a, 2)
        if not ufunc:
            a.writer.lines.append(f"{result}[{key}] = {a.operands[1]}")
        elif {"array", "mask"} & _kinds(a):
            parts = key if len(a.params["spec"]) == 1 else f"np.index_exp[{key}]"
            a.writer.lines.append(f"np.{ufunc}.at({result}, {parts}, {_stored(a)})")
        else:
            part = f"{result}[{key}]"
            a.writer.lines.append(f"{part} = np.{ufunc}({part}, {_stored(a)})")
        return result

    return spell


def _jax_update(method: str) -> Spelling:
    def spell(a: Application) -> str:
        if a.node.dtype.kind == "b" and method in ("add", "multiply"):
            raise UnsupportedError("jax has no arithmetic of bools")
        return f"{a.filled('{p0}')}.at[{_key(a, 2)}].{method}({_stored(a)})"

    return spell


def _torch_update(function: str) -> Spelling:
    def spell(a: Application) -> str:
        _refuse_backward(a)
        result, key = a.writer.named(f"{a.filled('{p0}')}.clone()"), _key(a, 2)
        part, value = f"{result}[{key}]", _stored(a)
        if not function:
            a.writer.lines.append(f"{part} = {value}")
        elif _kinds(a) == {"array"} and function == "add":
            a.writer.lines.append(f"{result}.index_put_(({key},), {value}, accumulate=True)")
        elif {"array", "mask"} & _kinds(a):
            raise UnsupportedError("torch has no such update of elements that an array selects")
        else:
            a.writer.lines.append(f"{part} = torch.{function}({part}, {value})")
        return result

    return spell


def _update(numpy: str, jax: str, torch: str) -> dict[str, Spelling | None]:
    return {
        "numpy": _numpy_update(numpy),
        "jax": _jax_update(jax),
        "torch": _torch_update(torch),
    }


def _same(text: str) -> dict[str, Spelling | None]:
    return dict.fromkeys(LIBRARIES, text)


def _like_numpy(name: str, parameters: str = "", **texts: Spelling | None) -> Any:
    """Spell a function that has one name and one order of arguments in all libraries."""
    return {"numpy": f"np.{name}({parameters})", "torch": f"torch.{name}({parameters})", **texts}


def _reduced(name: str, **texts: Spelling | None) -> dict[str, Spelling | None]:
    return {"numpy": _reduction(f"np.{name}"), "torch": _torch_reduction(name), **texts}


_MATMUL = _same("({p0} @ {p1})")
_ACCUMULATE = "np.{}.accumulate({{0}}, axis={{axis}})"

SPELLINGS: dict[type[Op], dict[str, Spelling | None]] = {
    # What has no meaning at run time; checks are left out.
    Assume: _same("{0}"),
    Assert: _same("{0}"),
    SpecifyShape: _same("{0}"),
    StopGradient: {"numpy": "{0}", "jax": "jax.lax.stop_gradient({0})", "torch": "{p0}.detach()"},
    Differential: _like_numpy("zeros_like", "{0}"),
    NoPartial: _like_numpy("zeros_like", "{0}"),
    GetItem: dict.fromkeys(LIBRARIES, loops.part),
    # Loops.
    Scan: {"numpy": loops.python_scan, "jax": loops.jax_scan, "torch": loops.python_scan},
    WhileLoop: {
        "numpy": loops.python_while,
        "jax": loops.jax_while,
        "torch": loops.python_while,
    },
    Cond: {"numpy": loops.python_cond, "jax": loops.jax_cond, "torch": loops.python_cond},
    # Shapes.
    BroadcastTo: {
        "numpy": _shaped("np.broadcast_to"),
        "torch": _shaped("torch.broadcast_to"),
    },
    Reshape: {"numpy": _shaped("np.reshape"), "torch": _shaped("torch.reshape")},
    ExpandDims: {"numpy": "np.expand_dims({0}, {axes})", "torch": _new_axes},
    Squeeze: _like_numpy("squeeze", "{0}, {axes}"),
    Transpose: {"numpy": "np.transpose({0}, {axes})", "torch": "torch.permute({0}, {axes})"},
    MatrixTranspose: _same("{p0}.mT"),
    Concatenate: {
        "numpy": _listed("np.concatenate", "axis"),
        "torch": _listed("torch.cat", "dim"),
    },
    Stack: {"numpy": _listed("np.stack", "axis"), "torch": _listed("torch.stack", "dim")},
    Index: {"numpy": _numpy_index, "jax": _jax_index, "torch": _torch_index},
    SetIndex: _update("", "set", ""),
    AddIndex: _update("add", "add", "add"),
    MultiplyIndex: _update("multiply", "multiply", "mul"),
    MaximumIndex: _update("maximum", "max", "maximum"),
    MinimumIndex: _update("minimum", "min", "minimum"),
    Sort: {"numpy": "np.sort({0}, axis={axis})", "torch": "torch.sort({0}, dim={axis}).values"},
    Argsort: {
        "numpy": "np.argsort({0}, axis={axis}, kind='stable')",
        "jax": "np.argsort({0}, axis={axis}, stable=True)",
        "torch": "torch.argsort({0}, dim={axis}, stable=True)",
    },
    Unique: _like_numpy("unique", "{0}", jax=None),
    # Reductions.
    Sum: _reduced("sum"),
    Prod: _reduced("prod", torch=_one_by_one("prod")),
    Mean: _reduced("mean"),
    Max: _reduced("max", torch=_over_all("amax")),
    Min: _reduced("min", torch=_over_all("amin")),
    Top: _reduced(
        "max",
        numpy=_reduction("np.max", initial="-np.inf"),
        torch=_over_all("amax"),
    ),
    Bottom: _reduced(
        "min",
        numpy=_reduction("np.min", initial="np.inf"),
        torch=_over_all("amin"),
    ),
    All: _reduced("all"),
    AnyOp: _reduced("any"),
    Argmax: _reduced("argmax"),
    Argmin: _reduced("argmin"),
    LogSumExp: {
        "numpy": _reduction("scipy.special.logsumexp"),
        "torch": _over_all("logsumexp"),
    },
    Softmax: {
        "numpy": _reduction("scipy.special.softmax"),
        "jax": _reduction("jax.nn.softmax"),
        "torch": _softmax("softmax"),
    },
    LogSoftmax: {
        "numpy": _reduction("scipy.special.log_softmax"),
        "jax": _reduction("jax.nn.log_softmax"),
        "torch": _softmax("log_softmax"),
    },
    Cumsum: {"numpy": "np.cumsum({0}, axis={axis})", "torch": "torch.cumsum({0}, dim={axis})"},
    Cumprod: {"numpy": "np.cumprod({0}, axis={axis})", "torch": "torch.cumprod({0}, dim={axis})"},
    Cummax: {
        "numpy": _ACCUMULATE.format("maximum"),
        "torch": "torch.cummax({0}, dim={axis}).values",
    },
    Cummin: {
        "numpy": _ACCUMULATE.format("minimum"),
        "torch": "torch.cummin({0}, dim={axis}).values",
    },
    # Products.
    Matmul: _MATMUL,
    TriangularMatmul: _MATMUL,
    TridiagonalMatmul: _MATMUL,
    Outer: {"numpy": "np.outer({0}, {1})", "torch": "torch.outer({p0}.ravel(), {p1}.ravel())"},
    Kron: _like_numpy("kron", "{0}, {1}"),
    InnerProduct: _like_numpy("sum", "{p0} * {p1}"),
    Einsum: {
        "numpy": _einsum("np.einsum", "optimize=True"),
        "torch": _einsum("torch.einsum", ""),
    },
    Gemm: _same("({p4} * {p0} + {p1} * ({p2} @ {p3}))"),
    Gemv: _same("({p4} * {p0} + {p1} * ({p2} @ {p3}))"),
    Ger: {
        "numpy": "({p0} + {p1} * np.outer({2}, {3}))",
        "torch": "({p0} + {p1} * torch.outer({2}, {3}))",
    },
    Syrk: _same("({p3} * {p0} + {p1} * ({p2} @ {p2}.mT))"),
    # Linear algebra.
    Eye: {"numpy": _eye("np.eye"), "torch": _eye("torch.eye")},
    Diag: {"numpy": _diag, "torch": "torch.diag_embed({0}, {k})"},
    Diagonal: {
        "numpy": "np.diagonal({0}, {k}, axis1=-2, axis2=-1)",
        "torch": "torch.diagonal({0}, {k}, dim1=-2, dim2=-1)",
    },
    Trace: {
        "numpy": _matrix("np.trace({0})", "np.trace({0}, axis1=-2, axis2=-1)"),
        "torch": "torch.diagonal({0}, dim1=-2, dim2=-1).sum(-1)",
    },
    Tril: _like_numpy("tril", "{0}, {k}"),
    Triu: _like_numpy("triu", "{0}, {k}"),
    BlockDiag: {
        "numpy": _matrix("scipy.linalg.block_diag({0}, {1})", ""),
        "torch": _matrix("torch.block_diag({0}, {1})", ""),
    },
    Det: _like_numpy("linalg.det", "{0}"),
    Inv: _like_numpy("linalg.inv", "{0}"),
    Slogdet: _like_numpy("linalg.slogdet", "{0}"),
    Cholesky: {
        "numpy": _cholesky("np.linalg.cholesky"),
        "torch": _cholesky("torch.linalg.cholesky"),
    },
    Solve: {"numpy": _numpy_solve, "torch": "torch.linalg.solve({0}, {1})"},
    SolveTriangular: {
        "numpy": "scipy.linalg.solve_triangular({0}, {1}, trans={trans}, lower={lower}, "
        "unit_diagonal={unit_diagonal})",
        "torch": _torch_triangular,
    },
    ChoSolve: {
        "numpy": "scipy.linalg.cho_solve(({0}, {lower}), {1})",
        "torch": _torch_cho_solve,
    },
    LU: {"numpy": "scipy.linalg.lu({0})", "torch": "torch.linalg.lu({0})"},
    LUFactor: {"numpy": "scipy.linalg.lu_factor({0})", "torch": None},
    LUSolve: {"numpy": "scipy.linalg.lu_solve(({0}, {1}), {2}, trans={trans})", "torch": None},
    PivotSign: {
        "numpy": "(1.0 - 2.0 * (np.sum({p0} != np.arange({p0}.shape[-1]), axis=-1) % 2))",
        "torch": None,
    },
    PermutationSign: {
        "numpy": "np.linalg.det(np.eye({p0}.shape[-1])[{0}])",
        "torch": "torch.linalg.det(torch.eye({p0}.shape[-1], dtype=torch.float64)[{0}])",
    },
    SolveSylvester: {"numpy": "scipy.linalg.solve_sylvester({0}, {1}, {2})", "torch": None},
    Eigh: {"numpy": _triangle("np.linalg.eigh"), "torch": _triangle("torch.linalg.eigh")},
    Eigvalsh: {
        "numpy": _triangle("np.linalg.eigvalsh"),
        "torch": _triangle("torch.linalg.eigvalsh"),
    },
    SVD: _like_numpy("linalg.svd", "{0}, full_matrices={full_matrices}"),
    QR: _like_numpy("linalg.qr", "{0}, {mode}"),
    Expm: {"numpy": "scipy.linalg.expm({0})", "torch": "torch.linalg.matrix_exp({0})"},
    ExpmFrechet: {
        "numpy": "scipy.linalg.expm_frechet({0}, {1}, compute_expm=False).astype({p0}.dtype)",
        "torch": None,
    },
    Schur: {"numpy": "scipy.linalg.schur({0})", "torch": None},
    QZ: {"numpy": "scipy.linalg.qz({0}, {1})", "jax": None, "torch": None},
    Densify: {"numpy": "{p0}.toarray()", "jax": None, "torch": None},
    SparseMatmul: {"numpy": "({p0} @ {p1})", "jax": None, "torch": None},
    SparseTranspose: {"numpy": "{p0}.T", "jax": None, "torch": None},
}

JOINING = frozenset({
    Sum, Prod, Mean, LogSumExp, Softmax, LogSoftmax, Cumsum, Cumprod, Concatenate, Stack, Matmul,
    TriangularMatmul, TridiagonalMatmul, Outer, Kron, InnerProduct, Einsum, Gemm, Gemv, Ger, Syrk,
    BlockDiag, Det, Inv, Cholesky, Solve, SolveTriangular, ChoSolve, SolveSylvester, Eigvalsh, Expm,
    ExpmFrechet,
})  # fmt: skip
"""The ops whose operands are taken in the dtype of the result, which JAX and torch would choose
otherwise or refuse."""
