"""Expressions as text: the graphs that they make, and the errors for unsafe or wrong ones."""

import pytest

import relgraph as rg
from relgraph.cli.expressions import functions, graph_of, inputs_of
from relgraph.errors import ArgumentError, RelgraphError

INPUTS = inputs_of(["A:f8[n,n] x,y:f8[n]{positive}", "k:i8[3] s"])
A, x, y, k, s = INPUTS.values()

READ = {
    "A@x + A@y": A @ x + A @ y,
    "-x**2 / 3": -(x**2) / 3,
    "x // 2 % 3": x // 2 % 3,
    "exp(x) / sum(exp(x))": rg.exp(x) / rg.sum(rg.exp(x)),
    "np.log(x) + rg.erf(y)": rg.log(x) + rg.erf(y),
    "linalg.norm(x)": rg.numpy.linalg.norm(x),
    "softmax(A, axis=-1)": rg.softmax(A, axis=-1),
    "A.T[1:, None, ::2]": A.T[1:, None, ::2],
    "x[k] + x[..., -1]": x[k] + x[..., -1],
    "where(x < y, x, -1.5)": rg.where(x < y, x, -1.5),
    "(x > 0) & ~(y > 0)": (x > 0) & ~(y > 0),
    "concatenate([x, y])": rg.concatenate([x, y]),
    "sum(A, axis=(0, 1), keepdims=True)": rg.sum(A, axis=(0, 1), keepdims=True),
    "svd(A)[1]": rg.svd(A)[1],
    "x * pi + 2**10": x * rg.numpy.pi + 1024,
    "s": s,
}

REFUSED = {
    "__import__('os').system('x')": "no function that is read",
    "x.__class__": "is not read",
    "open('f')": "no function that is read",
    "exec('1')": "no function that is read",
    "lambda: x": "does not hold",
    "[z for z in x]": "does not hold",
    "x if x else y": "does not hold",
    "(z := x)": "does not hold",
    "f'{x}'": "does not hold",
    "2**10**10 * x": "too large",
    "1 << 10**10": "too large",
    "'a' * 10**9": "neither a graph nor a number",
    "x < y < x": "one comparison",
    "not x": "no not",
    "x + z": "no input z",
    "exp + x": "is a function",
    "expp(x)": "no function that is read",
    "exp(*x)": "does not hold",
    "exp(**x)": r"\*\* is not read",
    "1 + 2": "uses no input",
    "x[": "not Python's syntax",
    "1j * x": "no such numbers",
    "x.shape": "is not read",
    "exp.T": "is a function",
    "exp(x, 1, 2, 3)": "exp",
    "tensor('z')": "no function that is read",
    "x; y": "not Python's syntax",
    "(" * 300 + "x" + ")" * 300: "not Python's syntax",
    "-" * 5000 + "x": "deep|syntax",
    "x" * 20_000: "characters",
}


@pytest.mark.parametrize("text", READ)
def test_an_expression_is_the_graph_that_python_builds(text):
    assert graph_of(text, INPUTS) is READ[text]


@pytest.mark.parametrize("text", REFUSED, ids=lambda text: text[:40])
def test_everything_else_is_refused(text):
    with pytest.raises(ArgumentError, match=REFUSED[text]):
        graph_of(text, INPUTS)


def test_errors_of_ops_keep_their_text():
    with pytest.raises(rg.errors.ShapeError, match="differ along the axis"):
        graph_of("A @ k", INPUTS)


def test_errors_show_the_place():
    with pytest.raises(ArgumentError) as error:
        graph_of("x + foo(y)", INPUTS)
    lines = str(error.value).splitlines()
    text, marks = (line.partition(": ")[2] for line in lines[1:3])
    assert text[marks.index("^") : marks.rindex("^") + 1] == "foo"


def test_only_functions_of_arrays_are_called():
    assert (
        functions().keys().isdisjoint(["rewrite_graph", "function", "evaluate", "cache", "raise_"])
    )
    assert {"exp", "einsum", "linalg.solve", "logsumexp"} <= functions().keys()


def test_inputs():
    assert A.type == rg.TensorType("float64", ("n", "n"))
    assert x.type.shape == ("n",) and rg.fact(x, "positive")
    assert k.dtype == "int64" and s.ndim == 0
    (z,) = inputs_of(["z:f4[?,3]"]).values()
    assert z.type == rg.TensorType("float32", (None, 3))


@pytest.mark.parametrize(
    "text",
    ["", "1x", "x:f8[n", "x:f9", "x x", "x:f8[-1]", "x:f8[n]{spd}", "x:f8[n]{nice}", "x=1", "x:"],
)
def test_wrong_inputs(text):
    with pytest.raises(RelgraphError):
        inputs_of([text]) or graph_of("x", {})
