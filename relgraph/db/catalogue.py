"""The content of the default database: an explicit list, read on first use.

What a process registers, it also writes to the cache (:mod:`relgraph.db.index`); later processes
take the entries of relations from there, and run the modules of the catalogue that they need.
"""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module

from relgraph.db import index
from relgraph.db.database import EquilibriumDB, SequenceDB
from relgraph.db.entries import LoweringChoice
from relgraph.relations.relation import Relation
from relgraph.rewriting.passes.blas import (
    GemmMotif,
    GemvMotif,
    GerMotif,
    NarrowGemmMotif,
    OuterInLoop,
    StructuredKernels,
    SyrkMotif,
)
from relgraph.rewriting.passes.constant_folding import ConstantCollecting, ConstantFolding
from relgraph.rewriting.passes.distribution import Distribution
from relgraph.rewriting.passes.lifting import IndexLifting
from relgraph.rewriting.passes.loop_fission import LoopFission
from relgraph.rewriting.passes.loop_rolling import LoopRolling
from relgraph.rewriting.passes.matmul_chains import MatmulChain
from relgraph.rewriting.passes.merge import Merge
from relgraph.rewriting.passes.shared_factorisations import FactorReuse
from relgraph.rewriting.passes.structured_products import StructuredProducts
from relgraph.rewriting.rewriters import GraphRewriter
from relgraph.search.cheapest_program import CheapestProgram

# The modules of relgraph.relations.catalogue; each has a tuple RELATIONS.
THEMES = (
    "arithmetic", "powers", "quotients", "signs", "explog", "trigonometric", "special", "stabilise",
    "comparison", "logic", "choices", "extremes", "casts", "products", "decompositions",
    "structure", "linalg", "blocks", "reductions", "reduced_extremes", "reduced_shapes",
    "cumulative", "shape", "axes", "views", "joins", "checks", "indexing", "updates", "masks",
)  # fmt: skip

PHASES = (
    ("canonicalize", 1.0),  # one form for equal expressions
    ("stabilize", 1.5),  # the same values, with less rounding error and overflow
    ("specialize", 2.0),  # fewer operations, and ops made for the purpose
)

CHOICES = (
    (
        LoweringChoice(
            "remove_all_assert", 3.0, "only sizes that the rewritten graph needs are compared"
        ),
        ("unsafe",),
    ),
    (
        LoweringChoice("fusion", 49.0, "elementwise ops and reductions share one loop"),
        ("fast_run",),
    ),
    (
        LoweringChoice("inplace", 50.0, "a result may take the memory of a value read last"),
        ("fast_run",),
    ),
    (
        LoweringChoice(
            "inplace_setsubtensor", 50.1, "an update changes an array that nothing else reads"
        ),
        ("fast_run", "inplace"),
    ),
)

# Rewriters of whole graphs, which inspect the users of a node, or sizes.
REWRITERS = ((StructuredProducts(), 1.8), (MatmulChain(), 2.2), (Distribution(), 2.3),
             (FactorReuse(), 2.4))  # fmt: skip
REWRITER_TAGS = ("fast_run", "rounded", "assumes_finite", "linear_algebra")

# Sums with a product as calls of BLAS, after everything that looks at products and sums.  The
# modes make those calls that cost no more than a product and a loop that adds; see benchmarks/.
MOTIFS: tuple[tuple[GraphRewriter, float, tuple[str, ...]], ...] = (
    (SyrkMotif(), 48.0, ("blas", "BlasOpt", "rounded", "assumes_finite")),
    (GerMotif(), 48.1, ("blas", "BlasOpt", "rounded", "assumes_finite")),
    (GemvMotif(), 48.2, ("blas", "BlasOpt", "rounded", "assumes_finite")),
    (GemmMotif(), 48.3, ("blas", "BlasOpt", "rounded", "assumes_finite")),
    (NarrowGemmMotif(), 48.4, ("blas", "BlasOpt", "rounded", "assumes_finite", "gemm", "fast_run")),
    (StructuredKernels(), 48.45, ("blas", "rounded", "assumes_finite", "fast_run")),
    (OuterInLoop(), 48.5, ("exact", "kept", "fast_run")),
)


def relations() -> Iterator[Relation]:
    """Yield the relations of the catalogue, each in its registered direction."""
    for theme in THEMES:
        yield from relations_of(theme)


def relations_of(theme: str) -> tuple[Relation, ...]:
    """Return the relations of one theme."""
    relations: tuple[Relation, ...] = import_module(
        f"relgraph.relations.catalogue.{theme}"
    ).RELATIONS
    return relations


def build_database() -> SequenceDB:
    """Return a new database of all rewrites that relgraph ships.

    A relation joins each phase that one of its tags names, and the mode ``fast_run`` unless it is
    tagged ``optional``.  Queries can select relations without a phase.  A test of the catalogue
    shows that phases terminate: every relation of a phase decreases the measure of
    :mod:`relgraph.relations.termination_order`.

    Returns
    -------
    SequenceDB
        Named ``optdb``: the phases, then the choices made during compilation.
    """
    database = SequenceDB("optdb")
    for name, position in PHASES:
        database.register(name, EquilibriumDB(name), position=position)
    for choice, tags in CHOICES:
        database.register(choice, *tags)
    for rewriter, place in REWRITERS:
        database.register(rewriter, *REWRITER_TAGS, position=place)
    database.register(Merge(), "merge", "fast_run", "fast_compile", "exact", "kept", position=0.0)
    database.register(LoopRolling(), "fast_run", "exact", "kept", position=-1.0)
    database.register(LoopFission(), "fast_run", "rounded", "kept", position=0.5)
    database.register(CheapestProgram(), "optimal", *REWRITER_TAGS[1:], position=2.3)
    for motif, place, names in MOTIFS:
        database.register(motif, "linear_algebra", *names, position=place)
    folding, collecting = ConstantFolding(), ConstantCollecting()
    database["canonicalize"].register(folding, "fast_run", "fast_compile", "exact", "kept")
    database["specialize"].register(folding, "fast_run", "exact", "kept")
    for phase in ("canonicalize", "specialize"):
        database[phase].register(collecting, "fast_run", "rounded", "assumes_finite")
        database[phase].register(
            IndexLifting(), "fast_run", "rounded", "kept", "local_subtensor_of_batch_dims",
            "local_subtensor_of_dot", "extract_diag_lift_pass",
        )  # fmt: skip
    if not index.restore(database):
        _register_relations(database)
        index.keep(database)
    return database


def _register_relations(database: SequenceDB) -> None:
    """Register the relations of the catalogue, whose modules run for it."""
    for relation in import_module("relgraph.relations.catalogue.checks").UNSAFE:
        database["canonicalize"].register(relation, "unsafe")
    phases = {name for name, _ in PHASES}
    for relation in relations():
        if phases & set(relation.tags):
            own = sorted(phases & set(relation.tags))
            mode = () if "optional" in relation.tags else ("fast_run",)
            database.register(relation, *own, *mode)
