"""The field's names of what the default database holds, and of what it has no entry for.

Theano's documentation names each optimization of its default modes, and the function that does it;
PyTensor kept most of these names.  An entry that has the tag or name on the left is found by those
on the right as well.
"""

from __future__ import annotations

ALIASES: dict[str, tuple[str, ...]] = {
    "merge": ("MergeOptimizer",),
    "shape_lifting": ("shape_promotion", "local_shape_lift", "ShapeOpt"),
    "absorb_broadcast_too": ("fill_cut", "local_fill_sink"),
    "lift_rearrangement": ("fill_cut", "local_fill_sink"),
    "reshape_chain": ("local_reshape_chain",),
    "add_canonical": ("local_add_canonizer", "AlgebraicCanonizer"),
    "mul_canonical": ("local_mul_canonizer", "AlgebraicCanonizer"),
    "sum_scalar_mul": ("local_sum_mul_by_scalar",),
    "neg_neg": ("local_neg_neg",),
    "neg_div_neg": ("local_neg_div_neg",),
    "add_specialize": ("local_add_specialize",),
    "mul_specialize": ("local_mul_specialize",),
    "pow_specialize": ("local_pow_specialize",),
    "local_IncSubtensor_serialize": ("inc_subtensor_srlz",),
    "fusion": ("elemwise_fusion", "FusionOptimizer"),
    "inplace": ("inplace_elemwise", "insert_inplace_optimizer"),
    "inplace_setsubtensor": ("local_inplace_setsubtensor",),
    "remove_all_assert": ("local_remove_all_assert",),
    "gemm": ("GemmOptimizer",),
    "gemv": ("local_gemm_to_gemv",),
    "ger": ("local_gemm_to_ger",),
}

# Names of the same documentation that no query can select, and why.
ABSENT: dict[str, str] = {
    "gpu_transfer": "A whole function runs on one device: rg.function(..., target=...).",
    "dot22": "A matrix product is one op, which always calls BLAS.",
    "sparse_dot": "A product with an operand of a sparse layout is always scipy.sparse's.",
    "inplace_random": "There are no random ops: draws are inputs.",
    "local_dot_to_dot22": "A matrix product is one op, which always calls BLAS.",
    "local_structured_dot": "A product with an operand of a sparse layout is scipy.sparse's.",
    "random_make_inplace": "There are no random ops: draws are inputs.",
    "add_destroy_handler": "No rewrite is in place, so nothing has to be guarded.",
}


# Names that are known to be the default database's without building it.
FAMILIAR = frozenset(
    (
        *ALIASES,
        *(name for names in ALIASES.values() for name in names),
        *("canonicalize", "stabilize", "specialize", "fast_run", "fast_compile", "unsafe"),
        *("exact", "rounded", "kept", "assumes_finite", "linear_algebra", "blas", "BlasOpt"),
        *("constant_folding", "constant_collecting"),
    )
)


def aliases_of(tags: frozenset[str]) -> frozenset[str]:
    """Return the other names that the field has for tags.

    Parameters
    ----------
    tags : frozenset of str
        Tags and names of an entry.

    Returns
    -------
    frozenset of str
        What :data:`ALIASES` has for any of them.
    """
    return frozenset(name for tag in tags for name in ALIASES.get(tag, ()))
