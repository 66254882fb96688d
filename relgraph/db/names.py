"""Names of the default database: its modes, and Theano's and PyTensor's names for its entries.

Theano's documentation names each optimization of its default modes, and the function that does it;
PyTensor kept most of these names.  Queries may use them like relgraph's names.
"""

from __future__ import annotations

from collections import defaultdict

# Each mode with the tags that it includes, and those that it excludes.
MODE_TAGS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "o1": (("fast_compile",), ()),
    "o2": (("fast_compile", "fusion"), ()),
    "o3": (("fast_run",), ("inplace",)),
    "o4": (("fast_run",), ()),
    "o5": (("fast_run", "optimal"), ()),
    "fast_compile": (("fast_compile",), ()),
    "fast_run": (("fast_run",), ()),
    "stabilization": (("stabilize",), ("assumes_finite",)),
    "unsafe": (("fast_run", "unsafe"), ("inplace",)),
}

# Each name with the tags or names in the default database that it stands for.
ALIASES: dict[str, tuple[str, ...]] = {
    # whole graphs
    "MergeOptimizer": ("merge",),
    "merge1": ("merge",),
    "merge2": ("merge",),
    "merge3": ("merge",),
    "elemwise_fusion": ("fusion",),
    "composite_elemwise_fusion": ("fusion",),
    "FusionOptimizer": ("fusion",),
    "inplace_elemwise": ("inplace",),
    "inplace_elemwise_optimizer": ("inplace",),
    "insert_inplace_optimizer": ("inplace",),
    "local_inplace_setsubtensor": ("inplace_setsubtensor",),
    "local_remove_all_assert": ("remove_all_assert",),
    "gemm_optimizer": ("gemm",),
    "GemmOptimizer": ("gemm",),
    "local_dot22_to_dot22scalar": ("gemm",),
    "local_gemm_to_gemv": ("gemv",),
    "local_gemm_to_ger": ("ger",),
    "use_scipy_ger": ("ger",),
    # sums, products and powers
    "AlgebraicCanonizer": ("add_canonical", "mul_canonical"),
    "local_add_canonizer": ("add_canonical",),
    "local_add_specialize": ("add_specialize",),
    "local_elemwise_sub_zeros": ("cancel_subtract_selfo",),
    "local_mul_canonizer": ("mul_canonical",),
    "local_mul_specialize": ("mul_specialize",),
    "local_mul_to_sqr": ("square_multiplyo",),
    "local_mul_zero": ("annihilate_multiply_zeroo",),
    "local_neg_to_mul": ("negate_multiplyo",),
    "local_neg_neg": ("neg_neg",),
    "local_neg_div_neg": ("neg_div_neg",),
    "local_div_to_inv": ("reciprocal_divideo",),
    "local_pow_specialize": ("pow_specialize",),
    "local_abs_merge": (
        "distribute_absolute_multiplyo.reversed", "distribute_absolute_divideo.reversed",
    ),
    # functions and their inverses
    "local_func_inv": (
        "cancel_negative_negativeo", "cancel_reciprocal_reciprocalo", "cancel_partial_inverseo",
        "cancel_arccosh_cosho", "cancel_arcsinh_sinho", "cancel_sinh_arcsinho",
    ),
    "local_log1p": ("log1p_addo", "log1p_subtracto", "log1p_subtract_oneo"),
    "local_log_add": ("logaddexpo", "log_add_expo"),
    "local_one_minus_erf": ("complement_erfo",),
    "local_one_minus_erf2": ("complement_erfo",),
    "local_advanced_indexing_crossentropy_onehot": ("local_log_softmax",),
    "local_remove_switch_const_cond": ("choose_constanto",),
    # reductions and products of matrices
    "local_sum_mul_by_scalar": ("sum_scalar_mul",),
    "local_sum_div_dimshuffle": ("lift_sum_divideo",),
    "local_sum_sum": ("merge_sumo",),
    "local_sum_alloc": ("sum_repeatedo",),
    "local_cut_useless_reduce": ("local_useless_reduce",),
    "local_0_dot_x": ("annihilate_matmulo",),
    # shapes and indices
    "ShapeOpt": ("shape_lifting",),
    "shape_promotion": ("shape_lifting",),
    "local_shape_lift": ("shape_lifting",),
    "local_track_shape_i": ("shape_lifting",),
    "fill_cut": ("lift_rearrangement",),
    "local_fill_cut": ("lift_rearrangement",),
    "local_fill_sink": ("lift_rearrangement",),
    "local_reshape_chain": ("reshape_chain",),
    "local_flatten_lift": ("lift_rearrangement",),
    "local_useless_alloc": ("remove_reshapeo", "shape_lifting"),
    "local_subtensor_lift": ("push_index",),
    "local_useless_slice": ("push_index",),
    "inc_subtensor_srlz": ("local_IncSubtensor_serialize",),
}  # fmt: skip

_PRODUCT = "A matrix product is one op, which always calls BLAS."
_SPARSE = "A product with an operand of a sparse layout is always scipy.sparse's."
_RANDOM = "There are no random ops: draws are inputs."
_PURE = "No rewrite is in place, so nothing has to be guarded."
_SINK = (
    "Not in the database, since a NaN of the branch that is not chosen would be lost: pass "
    "relgraph.relations.catalogue.choices.{} to rg.rewrite_graph."
)

_OTHER_WAY = (
    "The modes run this relation the other way: pass relgraph.relations.catalogue.{} to "
    "rg.rewrite_graph."
)

# Names of the same documentation that no query can select, and why.
ABSENT: dict[str, str] = {
    "gpu_transfer": "A whole function runs on one device: rg.function(..., target=...).",
    "dot22": _PRODUCT,
    "local_dot_to_dot22": _PRODUCT,
    "use_c_blas": _PRODUCT,
    "sparse_dot": _SPARSE,
    "local_structured_dot": _SPARSE,
    "inplace_random": _RANDOM,
    "random_make_inplace": _RANDOM,
    "add_destroy_handler": _PURE,
    "local_dimshuffle_no_inplace_at_canonicalize": _PURE,
    "local_add_mul_fusion": "Relations match nested sums and products as one: nothing to merge.",
    "local_fill_to_alloc": "Nothing to do: full_like and zeros_like build rg.broadcast_to.",
    "local_sum_all_to_none": "Nothing to do: a reduction over all axes has axis=None.",
    "local_upcast_elemwise_constant_inputs": "Nothing to do: ops convert their operands.",
    "local_greedy_distributor": _OTHER_WAY.format("arithmetic.distribute_multiply_addo"),
    "local_lift_transpose_through_dot": _OTHER_WAY.format("products.transpose_matmulo"),
    "local_mul_switch_sink": _SINK.format("sink_where_multiplyo"),
    "local_div_switch_sink": _SINK.format("sink_where_divideo"),
}

_BY_TAG: dict[str, list[str]] = defaultdict(list)
for _name, _tags in ALIASES.items():
    for _tag in _tags:
        _BY_TAG[_tag].append(_name)

# Names in the default database that need not be looked up in it.
FAMILIAR = frozenset(
    (
        *ALIASES,
        *_BY_TAG,
        *("canonicalize", "stabilize", "specialize", "fast_run", "fast_compile", "unsafe"),
        *("optimal", "cheapest_program"),
        *("exact", "rounded", "kept", "assumes_finite", "linear_algebra", "blas", "BlasOpt"),
        *("constant_folding", "constant_collecting"),
    )
)


def aliases_of(tags: frozenset[str]) -> frozenset[str]:
    """Return the names that Theano and PyTensor have for tags.

    Parameters
    ----------
    tags : frozenset of str
        Tags and names of an entry.

    Returns
    -------
    frozenset of str
        The keys of :data:`ALIASES` that stand for any of them.
    """
    return frozenset(name for tag in tags for name in _BY_TAG.get(tag, ()))
