"""relgraph: algebraic identities as miniKanren relations that rewrite and compile tensor graphs.

The names below are the public interface.  What needs a compiler is imported when it is first used,
so ``import relgraph`` imports neither numba, CUDA nor SciPy.
"""

from __future__ import annotations

from importlib import import_module as _import_module
from types import ModuleType as _ModuleType
from typing import TYPE_CHECKING, Any

# `x as x` says to type checkers that a name is public; `__all__` is made from these imports.
# fmt: off
from relgraph import errors as errors, numpy as numpy
from relgraph.api.rewrite import (
    clear_caches as clear_caches, mode as mode, rewrite_graph as rewrite_graph,
)
from relgraph.db.database import (
    EquilibriumDB as EquilibriumDB, RewriteDatabase as RewriteDatabase, SequenceDB as SequenceDB,
)
from relgraph.db.entries import LoweringChoice as LoweringChoice
from relgraph.db.query import Query as Query, RewriteDatabaseQuery as RewriteDatabaseQuery
from relgraph.ir.cost import flops as flops
from relgraph.ir.etuple import lower as lower, raise_ as raise_
from relgraph.ir.fact_inference import fact as fact, facts_of as _facts_of
from relgraph.ir.forks import importing as _importing
from relgraph.ir.graph import FunctionGraph as FunctionGraph
from relgraph.ir.node import (
    Apply as Apply, Constant as Constant, Input as Input, Variable as Variable,
    constant as constant,
)
from relgraph.ir.op import Op as Op
from relgraph.ir.printing import dprint as dprint, latex as latex, pprint as pprint
from relgraph.ir.types import TensorType as TensorType
from relgraph.ir.verify import verify as verify
from relgraph.numpy import (
    abs as abs, all as all, any as any, arange as arange, argmax as argmax, argmin as argmin,
    argsort as argsort, broadcast_to as broadcast_to, concatenate as concatenate,
    cumprod as cumprod, cumsum as cumsum, diag as diag, divide as divide, dot as dot,
    einsum as einsum, expand_dims as expand_dims, eye as eye, full as full, full_like as full_like,
    inner as inner, max as max, mean as mean, min as min, mod as mod, moveaxis as moveaxis,
    ones as ones, ones_like as ones_like, outer as outer, positive as positive, prod as prod,
    ravel as ravel, repeat as repeat, reshape as reshape, round as round, sort as sort,
    split as split, squeeze as squeeze, stack as stack, std as std, sum as sum,
    swapaxes as swapaxes, take as take, tensordot as tensordot, tile as tile,
    transpose as transpose, tril as tril, triu as triu, var as var, vdot as vdot, zeros as zeros,
    zeros_like as zeros_like,
)
from relgraph.numpy import operators as _operators  # noqa: F401  gives graphs their operators
from relgraph.numpy.reductions import (
    log_softmax as log_softmax, logsumexp as logsumexp, softmax as softmax,
)
from relgraph.ops.checks import assert_ as assert_, specify_shape as specify_shape, unique as unique
from relgraph.ops.contraction import Matmul as _Matmul
from relgraph.ops.cumulative import cummax as cummax, cummin as cummin
from relgraph.ops.differentials import (
    d as d, inner_product as inner_product, stop_gradient as stop_gradient,
)
from relgraph.ops.elementwise import (
    Elementwise as _Elementwise, ROWS as _ROWS, cast as cast, clip as clip,
)
from relgraph.ops.inputs import (
    assume as assume, matrices as matrices, matrix as matrix, scalar as scalar, scalars as scalars,
    tensor as tensor, vector as vector, vectors as vectors,
)
from relgraph.ops.linalg.blocks import block_diag as block_diag, kron as kron
from relgraph.ops.linalg.factored_solve import (
    cho_solve as cho_solve, lu_solve as lu_solve, solve_sylvester as solve_sylvester,
)
from relgraph.ops.linalg.factorisations import (
    eigh as eigh, eigvalsh as eigvalsh, expm as expm, lu as lu, lu_factor as lu_factor, qr as qr,
    qz as qz, schur as schur, svd as svd,
)
from relgraph.ops.linalg.solve import (
    Det as _Det, Inv as _Inv, cholesky as cholesky, slogdet as slogdet, solve as solve,
    solve_triangular as solve_triangular,
)
from relgraph.ops.linalg.structured import diagonal as diagonal, trace as trace
from relgraph.ops.permutation import MatrixTranspose as _MatrixTranspose
from relgraph.ops.shape import dim as dim, shape as shape
from relgraph.ops.sparse import (
    densify as densify, sparse_matmul as sparse_matmul, sparse_transpose as sparse_transpose,
)
from relgraph.porting import counterpart as _counterpart
from relgraph.relations.differentiation import (
    adjoint as adjoint, differential as differential, varieso as varieso,
)
from relgraph.relations.kanren.goals import (
    assoc_flatten as assoc_flatten, calco as calco, checko as checko, conde as conde,
    conso as conso, constanto as constanto, elementwiseo as elementwiseo, eq as eq, facto as facto,
    finiteo as finiteo, floato as floato, heado as heado, integero as integero,
    invertibleo as invertibleo, lall as lall, lany as lany, linearo as linearo, mapo as mapo,
    nonnegativeo as nonnegativeo, nonzeroo as nonzeroo, op_kindo as op_kindo,
    positiveo as positiveo, rearrangemento as rearrangemento, reductiono as reductiono,
    symmetrico as symmetrico, tailo as tailo,
)
from relgraph.relations.pattern import lvars as lvars
from relgraph.relations.decorators import identity as identity, relation as relation
from relgraph.relations.relation import Relation as Relation
from relgraph.rewriting.node_rewriters import (
    KanrenRelationSub as KanrenRelationSub, NodeRewriter as NodeRewriter,
    PatternNodeRewriter as PatternNodeRewriter, RemovalNodeRewriter as RemovalNodeRewriter,
    SubstitutionNodeRewriter as SubstitutionNodeRewriter, node_rewriter as node_rewriter,
)
from relgraph.rewriting.rewriters import (
    EquilibriumGraphRewriter as EquilibriumGraphRewriter, GraphRewriter as GraphRewriter,
    SequentialGraphRewriter as SequentialGraphRewriter,
    WalkingGraphRewriter as WalkingGraphRewriter,
)
from relgraph.settings import config as config
# fmt: on

if TYPE_CHECKING:
    from relgraph.api.draw import draw as draw
    from relgraph.api.explain import explain as explain
    from relgraph.api.explain import profile_rewrites as profile_rewrites
    from relgraph.api.function import (
        Function as Function,
    )  # fmt: skip
    from relgraph.api.function import (
        evaluate as evaluate,
    )
    from relgraph.api.function import (
        function as function,
    )
    from relgraph.api.gradients import grad as grad
    from relgraph.api.gradients import jvp as jvp
    from relgraph.api.gradients import linearize as linearize
    from relgraph.api.gradients import value_and_grad as value_and_grad
    from relgraph.api.gradients import vjp as vjp
    from relgraph.api.jacobians import hessian as hessian
    from relgraph.api.jacobians import hvp as hvp
    from relgraph.api.jacobians import jacobian as jacobian
    from relgraph.api.jit import jit as jit
    from relgraph import cache as cache
    from relgraph.api.formulas import antiderivative as antiderivative, derivative as derivative
    from relgraph.api.loops import cond as cond
    from relgraph.api.loops import fori_loop as fori_loop
    from relgraph.api.loops import scan as scan
    from relgraph.api.loops import while_loop as while_loop
    from relgraph.api.optimize import optimize as optimize
    from relgraph.measurement.profile import profile as profile
    from relgraph.api.prove import prove as prove
    from relgraph.api.why_not import why_not as why_not
    from relgraph.api.shared import Shared as Shared, shared as shared
    from relgraph.api.function_options import In as In
    from relgraph.checking.check import check as check
    from relgraph.costs.program import cost as cost
    from relgraph.db.listing import catalogue as catalogue
    from relgraph.export.source import source as source
    from relgraph.measurement.benchmark import benchmark as benchmark

    optdb: SequenceDB

# The elementwise ops of the table; a name that is imported above comes first.
globals().update({
    name: _Elementwise(name)
    for name, row in _ROWS.items()
    if getattr(row, "public", True) and name not in globals()
})  # fmt: skip

facts = _facts_of

# These are ops, so that they are the heads of terms too: etuple(rg.matmul, x, y).
matmul = _Matmul()
inv = _Inv()
det = _Det()
matrix_transpose = _MatrixTranspose()

__version__ = "0.1.0"

# Public names that are imported when they are first used, and the modules they come from.
_LAZY = {
    "catalogue": "relgraph.db.listing",
    "cost": "relgraph.costs.program",
    "check": "relgraph.checking.check",
    "draw": "relgraph.api.draw",
    "explain": "relgraph.api.explain",
    **dict.fromkeys(
        ("grad", "jvp", "linearize", "value_and_grad", "vjp"), "relgraph.api.gradients"
    ),
    **dict.fromkeys(("hessian", "hvp", "jacobian"), "relgraph.api.jacobians"),
    "jit": "relgraph.api.jit",
    "derivative": "relgraph.api.formulas",
    "antiderivative": "relgraph.api.formulas",
    **dict.fromkeys(("cond", "fori_loop", "scan", "while_loop"), "relgraph.api.loops"),
    "optimize": "relgraph.api.optimize",
    "profile_rewrites": "relgraph.api.explain",
    "prove": "relgraph.api.prove",
    "why_not": "relgraph.api.why_not",
    "benchmark": "relgraph.measurement.benchmark",
    "profile": "relgraph.measurement.profile",
    "source": "relgraph.export.source",
    "Function": "relgraph.api.function",
    "In": "relgraph.api.function_options",
    "Shared": "relgraph.api.shared",
    "shared": "relgraph.api.shared",
    "evaluate": "relgraph.api.function",
    "function": "relgraph.api.function",
}

_MODULES = {"errors", "numpy"}  # of those that are imported by now

_PUBLIC = sorted(
    {"__version__", "cache", "cuda", "interop", "optdb", *_LAZY}
    | {
        name
        for name, value in globals().items()
        if name[0] != "_"
        and name not in ("Any", "TYPE_CHECKING", "annotations")
        and (not isinstance(value, _ModuleType) or name in _MODULES)
    }
)
if not TYPE_CHECKING:  # type checkers see the imports
    __all__ = list(_PUBLIC)


def __getattr__(name: str) -> Any:
    with _importing:
        if name == "optdb":
            from relgraph.db.default import default_database

            return default_database()
        if name == "cache":
            return _import_module("relgraph.cache")
        if name == "interop":
            return _import_module("relgraph.interop")
        if name == "cuda":
            return _import_module("relgraph.api.cuda")
        if name in _LAZY:
            found = getattr(_import_module(_LAZY[name]), name)
            globals()[name] = found
            return found
    there = f"Write relgraph.numpy.{name}." if name in numpy.__all__ else ""
    raise errors.no_attribute("relgraph", name, _PUBLIC, _counterpart("relgraph", name) or there)


def __dir__() -> list[str]:
    return _PUBLIC
