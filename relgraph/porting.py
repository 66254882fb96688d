"""Names of Theano, PyTensor, JAX, SymPy and SciPy, with relgraph's counterparts.

Errors about unknown names, attributes and keyword arguments read these tables;
docs/coming_from explains the counterparts.
"""

from __future__ import annotations

# Names looked up in relgraph, with relgraph's name for the same thing.
RENAMED = {
    # ops
    "sub": "subtract", "mul": "multiply", "true_div": "true_divide", "int_div": "floor_divide",
    "pow": "power", "neg": "negative", "sqr": "square", "abs_": "absolute", "sgn": "sign",
    "neq": "not_equal", "gt": "greater", "ge": "greater_equal", "lt": "less", "le": "less_equal",
    "and_": "bitwise_and", "or_": "bitwise_or", "xor": "bitwise_xor", "switch": "where",
    "fill": "full_like", "alloc": "broadcast_to", "dimshuffle": "transpose",
    "batched_dot": "matmul", "lax": "numpy", "ifelse": "cond",
    # derivatives
    "gradient": "grad", "Rop": "jvp", "Lop": "vjp", "jacrev": "jacobian", "jacfwd": "jacobian",
    "disconnected_grad": "stop_gradient", "zero_grad": "stop_gradient",
    "consider_constant": "stop_gradient",
    # graphs
    "TensorVariable": "Variable", "as_tensor_variable": "constant", "as_tensor": "constant",
    "dscalar": "scalar", "dvector": "vector", "dmatrix": "matrix", "dscalars": "scalars",
    "dvectors": "vectors", "dmatrices": "matrices", "tensor3": "tensor", "tensor4": "tensor",
    "dtensor3": "tensor", "dtensor4": "tensor", "pp": "pprint", "debugprint": "dprint",
    "pydotprint": "draw",
    # rewriters and databases
    "Optimizer": "GraphRewriter", "GlobalOptimizer": "GraphRewriter",
    "FromFunctionOptimizer": "GraphRewriter", "FromFunctionGraphRewriter": "GraphRewriter",
    "LocalOptimizer": "NodeRewriter", "local_optimizer": "node_rewriter",
    "SeqOptimizer": "SequentialGraphRewriter", "EquilibriumOptimizer": "EquilibriumGraphRewriter",
    "TopoOptimizer": "WalkingGraphRewriter", "NavigatorOptimizer": "WalkingGraphRewriter",
    "Navigator": "WalkingGraphRewriter", "NodeProcessingGraphRewriter": "WalkingGraphRewriter",
    "OpSub": "SubstitutionNodeRewriter", "OpRemove": "RemovalNodeRewriter",
    "PatternSub": "PatternNodeRewriter", "PatternOptimizer": "PatternNodeRewriter",
    "DB": "RewriteDatabase", "OptimizationQuery": "Query",
}  # fmt: skip

_TAG = "Register with tags: rg.optdb.register(relation, 'canonicalize', 'fast_run')."
_CUSTOM = "Write an op with the method derivatives; docs/custom_ops.md shows one."
_SHAPED = "Write rg.{}(name, dtype={!r})."

# Names looked up in relgraph that need a sentence.
_NAMES = {
    **dict.fromkeys(("foldl", "foldr"), "Write rg.scan(f, init, xs)."),
    **dict.fromkeys(("register_canonicalize", "register_stabilize", "register_specialize"), _TAG),
    **{
        prefix + kind: _SHAPED.format(kind, dtype)
        for prefix, dtype in (("f", "float32"), ("i", "int32"), ("l", "int64"), ("b", "int8"))
        for kind in ("scalar", "vector", "matrix")
    },
    "set_subtensor": "Write x.at[key].set(value).",
    "inc_subtensor": "Write x.at[key].add(value).",
    "make_jaxpr": "Write rg.jit(f).graph(*arguments).",
    "block_until_ready": "Nothing to wait for: a call returns when its results are there.",
    "random": "Draw with NumPy, and pass the draws as arguments.",
    **dict.fromkeys(("custom_jvp", "custom_vjp"), _CUSTOM),
    "simplify": "Write rg.rewrite_graph(x, mode='o4').",
    "symbols": "Write rg.scalars('x y').",
    "lambdify": "Write rg.function(inputs, x).",
    "integrate": "Write rg.antiderivative(f, x).",
    "vmap": "Write the function for a batch: ops broadcast over leading axes.",
    "relu": "Write rg.maximum(x, 0).",
    "logdet": "Write rg.slogdet(A)[1].",
    "lstsq": "For a matrix of full column rank, write rg.solve(A.T @ A, A.T @ b).",
    "clone": "Nothing to clone: a graph never changes.",
    "clone_replace": "Write rg.FunctionGraph(inputs, outputs).replace(old, new).",
    "MergeOptimizer": "Nothing to do: equal subgraphs are one object.",
    "FusionOptimizer": "Select the choice 'fusion': rg.mode('o2').",
    "GemmOptimizer": "Select the tag 'gemm': rg.mode('o4').including('gemm').",
    "Out": "Outputs are graphs: rg.function(inputs, outputs).",
}

# Attributes of graphs.
_ATTRIBUTES = {
    "owner": "A node is the variable that it computes: write x.op and x.inputs.",
    "outputs": "A node is the variable that it computes: use x itself.",
    "out": "A node is the variable that it computes: use x itself.",
    "eval": "Write rg.evaluate(x, {input: value}).",
    "get_value": "Only a shared variable has a value: write rg.evaluate(x, {input: value}).",
    "set_value": "Only a shared variable has a value: write w = rg.shared(value).",
    "dimshuffle": "Write rg.transpose(x, axes), and x[:, None] for a new axis.",
    "broadcastable": "Write x.type.shape: an axis of size 1 broadcasts.",
    "clone": "Nothing to clone: a graph never changes.",
    "fgraph": "A node knows no graph that holds it: rg.FunctionGraph(inputs, outputs).clients.",
    "norm": "Write np.linalg.norm(x).",
    "zeros_like": "Write rg.zeros_like(x).",
    "ones_like": "Write rg.ones_like(x).",
    "sort": "Write rg.sort(x).",
    **dict.fromkeys(
        ("subs", "xreplace"), "Write rg.FunctionGraph(inputs, outputs).replace(old, new)."
    ),
    "diff": "Write rg.derivative(graph, x) for a formula, or rg.grad.",
    "simplify": "Write rg.rewrite_graph(x, mode='o4').",
    "evalf": "Write rg.evaluate(x, {input: value}).",
    "args": "Write x.inputs.",
    "block_until_ready": "A graph has no value; results of calls are there at once.",
}

# Attributes of FunctionGraph.
_GRAPH_ATTRIBUTES = {
    "apply_nodes": "Write graph.toposort().",
    "variables": "Write [*graph.inputs, *graph.toposort()].",
    "replace_validate": "Write graph = graph.replace(old, new), which checks types.",
    "replace_all_validate": "Write graph = graph.replace_all(pairs), which checks types.",
    "change_input": "Write graph = graph.replace(old, new).",
    "change_node_input": "Write graph = graph.replace(old, new).",
    "attach_feature": "Nothing to attach: a graph never changes.",
    "remove_feature": "Nothing to remove: a graph never changes.",
    "clone": "Nothing to clone: a graph never changes.",
    "copy": "Nothing to copy: a graph never changes.",
    "get_clients": "Write graph.clients.",
}

# Keyword arguments.
KEYWORDS = {
    "on_unused_input": "Leave it out: inputs that the graph does not use are accepted.",
    "allow_input_downcast": "Leave it out, and convert the argument: x.astype(dtype).",
    **dict.fromkeys(
        ("static_argnums", "static_argnames"),
        "Leave it out: strings and None are static, and so are numbers that steer Python code.",
    ),
    "donate_argnums": "Write donate= with the names of the parameters.",
    "optimizer": "Write mode='o4', or mode=rg.mode('o4').excluding(...).",
}

# Functions of SciPy that do not take graphs, and have another name in relgraph.
SCIPY = {
    "cho_factor": "rg.cholesky",
    "lu_solve": "rg.solve",
}  # fmt: skip


def counterpart(owner: str, name: str) -> str:
    """Return the advice for a name of another library.

    Parameters
    ----------
    owner : {"relgraph", "graph", "FunctionGraph"}
        Where the name was looked up: the package, a node of a graph, or a FunctionGraph.
    name : str
        The name.

    Returns
    -------
    str
        A sentence, or "" for a name that no table has.
    """
    if owner == "relgraph" and name in RENAMED:
        return f"Write rg.{RENAMED[name]}."
    tables = {"relgraph": _NAMES, "graph": _ATTRIBUTES, "FunctionGraph": _GRAPH_ATTRIBUTES}
    return tables[owner].get(name, "")
