"""The command line, in this process: answers, exit codes, JSON, and ten wrong calls each."""

import json
import subprocess
import sys

import pytest

import relgraph as rg
from relgraph.cli import main

VECTORS = ["-i", "A:f8[n,n] x,y:f8[n]"]


@pytest.fixture
def run(capsys):
    """Return a function that runs a command and returns its exit code and its outputs."""

    def call(*arguments):
        try:
            code = main(arguments)
        except SystemExit as error:
            code = error.code
        out = capsys.readouterr()
        return code, out.out, out.err

    return call


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Return the name of a module in the current folder."""
    text = '''
import relgraph as rg

@rg.identity(specials="assumes_finite")
def double_sumo(x):
    """x + x = 2 x."""
    return x + x, 2 * x

@rg.identity
def wrongo(x):
    """sin(x) = x."""
    return rg.sin(x), x

def model(A, x):
    return A @ x + A @ x

def none(A):
    return None

number = 3
'''
    (tmp_path / "own_model.py").write_text(text)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    yield "own_model"
    sys.modules.pop("own_model", None)


def test_rewrite(run):
    assert run("rewrite", "A@x + A@y", *VECTORS) == (0, "A @ (x + y)\n", "")


def test_rewrite_by_relations(run, module):
    code, out, _ = run("rewrite", "A@(x + y)", *VECTORS, "-r", "distribute_matmul_addo")
    assert (code, out) == (0, "A @ x + A @ y\n")
    code, out, _ = run("rewrite", "A@x + A@y", *VECTORS, "-r", "distribute_matmul_addo.reversed")
    assert (code, out) == (0, "A @ (x + y)\n")
    code, out, _ = run("rewrite", "x + x", *VECTORS, "-r", f"{module}:double_sumo")
    assert (code, out) == (0, "2 * x\n")


def test_rewrite_a_function(run, module):
    code, out, _ = run("rewrite", f"{module}:model", "-i", "A:f8[n,n] x:f8[n]")
    assert (code, out) == (0, "2 * (A @ x)\n")


def test_json(run):
    code, out, _ = run("rewrite", "A@x + A@y", *VECTORS, "--json")
    assert code == 0
    assert json.loads(out) == {
        "graph": "A @ x + A @ y", "result": "A @ (x + y)", "changed": True
    }  # fmt: skip


def test_explain(run):
    code, out, _ = run("explain", "log(1 + exp(x))", *VECTORS, "-m", "o4")
    assert code == 0 and "softplus" in out
    code, out, _ = run("explain", "log(1 + exp(x))", *VECTORS, "-m", "o4", "--json")
    (step, *_) = json.loads(out)["steps"]
    assert step["before"] == "log(1 + exp(x))" and step["after"] == "softplus(x)"


def test_why_not(run):
    code, out, _ = run("why-not", "log(2 + x)", "log1p_addo", *VECTORS)
    assert code == 1 and "does not fire" in out
    code, out, _ = run("why-not", "log(1 + x)", "log1p_addo", *VECTORS, "--json")
    assert code == 0 and json.loads(out)["at"] == ["log(1 + x)"]
    code, out, _ = run("why-not", "log(2 + x)", "log1p_addo", *VECTORS, "--json")
    (place, *_) = json.loads(out)["places"]
    assert place["node"] == "log(2 + x)" and place["reasons"][0]["text"]


def test_benchmark(run):
    call = ("benchmark", "A@x + A@y", *VECTORS, "-s", "n=20,40", "--budget", "0.5")
    code, out, _ = run(*call)
    assert code == 0 and "as written" in out
    code, out, _ = run(*call, "--json")
    assert code == 0 and json.loads(out)


def test_profile(run):
    code, out, _ = run("profile", "log(1 + exp(x))", *VECTORS)
    assert code == 0 and "softplus_log1po" in out
    code, out, _ = run("profile", "log(1 + exp(x))", *VECTORS, "--json")
    assert code == 0 and json.loads(out)


def test_draw(run, tmp_path):
    before, both = tmp_path / "before.svg", tmp_path / "both.svg"
    assert run("draw", "A@x + A@y", *VECTORS, "-o", str(before), "--as-written")[0] == 0
    assert run("draw", "A@x + A@y", *VECTORS, "-o", str(both))[0] == 0
    assert before.read_text().startswith("<svg") and before.read_text() != both.read_text()


def test_source(run):
    code, out, _ = run("source", "exp(A @ x)", *VECTORS)
    assert code == 0 and "np.exp(A @ x)" in out
    code, out, _ = run("source", "exp(A @ x)", *VECTORS, "--library", "jax", "--json")
    assert "jnp.exp" in json.loads(out)["source"]


def test_check(run, module):
    code, out, _ = run("check", "log1p_addo")
    assert code == 0 and "nothing contradicts" in out
    code, out, _ = run("check", f"{module}:wrongo")
    assert code == 1 and "wrongo" in out
    code, out, _ = run("check", f"{module}:wrongo", "--json")
    assert json.loads(out)["holds"] is False


def test_catalogue(run):
    code, out, _ = run("catalogue", "exp_log_softmaxo")
    assert code == 0 and "softmax(x, axis=axis)" in out
    code, out, _ = run("catalogue", "exp_log_softmaxo", "--json")
    assert [row["name"] for row in json.loads(out)] == ["exp_log_softmaxo"]
    code, out, _ = run("catalogue", "no such words at all")
    assert code == 1


def test_cache(run, tmp_path, monkeypatch):
    monkeypatch.setenv("RELGRAPH_CACHE_DIR", str(tmp_path / "cache"))
    x = rg.vector("x")
    rg.function([x], rg.arctan(rg.cbrt(x) - rg.exp2(x)) * rg.erf(x))  # a kernel of this test alone
    code, out, _ = run("cache", "size", "--json")
    assert code == 0 and json.loads(out)["bytes"] > 0
    code, out, _ = run("cache", "list")
    assert code == 0 and ".rgc" in out
    assert run("cache", "clear")[0] == 0
    assert run("cache", "list")[1] == "empty\n"


def test_doctor(run):
    code, out, _ = run("doctor")
    assert code == 0 and rg.__version__ in out and "GPU" in out
    code, out, _ = run("doctor", "--json")
    assert json.loads(out)["relgraph"] == rg.__version__


GRAPHS = [
    ("__import__('os').system('x')",), ("x",), ("x +", *VECTORS), ("x", "-i", "x:f9"),
    ("x", "-i", "x x"), ("A @ k", "-i", "A:f8[3,3] k:f8[4]"), ("x", *VECTORS, "-m", "o9"),
    ("x", *VECTORS, "-r", "no_sucho"), ("no_such_module:f",), ("math:no_such_name",), ("math:pi",),
    ("x", *VECTORS, "--nonfinite", "maybe"), ("x", *VECTORS, "--unknown"), (),
]  # fmt: skip
WRONG = {
    "rewrite": GRAPHS,
    "explain": GRAPHS,
    "profile": GRAPHS,
    "draw": [
        *[(*call, "-o", "x.svg") for call in GRAPHS],
        ("x", *VECTORS), ("x", *VECTORS, "-o", "x.bmp"),
    ],
    "source": [
        ("x",), ("x +", *VECTORS), ("x", "-i", "x:f9"), ("no_such_module:f",), ("math:pi",), (),
        ("x", *VECTORS, "--library", "fortran"), ("x", *VECTORS, "--library"), ("x", "-m", "o4"),
        ("schur(A)[0]", *VECTORS, "--library", "torch"),
    ],
    "why-not": [
        (), ("x", *VECTORS), ("x", "log1p_addo"), ("x", "no_sucho", *VECTORS),
        ("x", "math:pi", *VECTORS),
        ("x", "log1p_addo", *VECTORS, "-m", "o9"), ("x +", "log1p_addo", *VECTORS),
        ("x", "log1p_addo", "-i", "x:f9"), ("x", "log1p_addo", *VECTORS, "-r", "log1p_addo"),
        ("x", "log1p_addo", *VECTORS, "--nonfinite", "no"),
    ],
    "benchmark": [
        *GRAPHS, ("x", *VECTORS, "-s", "n"), ("x", *VECTORS, "-s", "n=x"),
        ("x", *VECTORS, "-s", "n=-1"),
        ("x", *VECTORS, "-s", "m=3"), ("x", *VECTORS, "--peer", "fortran"),
        ("x", *VECTORS, "--budget", "0"), ("x", *VECTORS, "--budget", "soon"),
    ],
    "check": [
        (), ("no_sucho",), ("o9",), ("math:pi",), ("math:nothing",), ("no_such_module:r",),
        ("log1p_addo", "--most", "3"), ("log1p_addo", "--most", "x"), ("log1p_addo", "more"),
        ("",),
    ],
    "catalogue": [
        ("--unknown",), ("-x",), ("a", "--most", "3"), ("--json=3",), ("-i", "x:f8"),
        ("a", "-m", "o4"), ("--Json",), ("a", "-j"), ("--tag", "merge"), ("-o", "list.txt"),
    ],
    "cache": [
        ("grow",), ("list", "clear"), ("--unknown",), ("clear", "-f"), ("SIZE",), ("",),
        ("size", "1"), ("clear", "--force"), ("--json=no",), ("../",),
    ],
    "doctor": [
        ("now",), ("--unknown",), ("-v",), ("a", "b"), ("",), ("--json", "gpu"), ("--json=1",),
        ("-x",), ("x:f8",), ("--Json",),
    ],
    "": [(), ("frobnicate",), ("--unknown",), ("Rewrite",)],
}  # fmt: skip


@pytest.mark.parametrize(
    "arguments",
    [
        (*([command] if command else []), *rest)
        for command, calls in WRONG.items()
        for rest in calls
    ],
    ids=lambda arguments: " ".join(arguments) or "nothing",
)
def test_wrong_calls_end_with_2_and_say_why(run, arguments):
    code, out, err = run(*arguments)
    assert code == 2 and out == ""
    assert err.strip() and "Traceback" not in err


def test_functions_that_do_not_fit(run, module):
    for name, inputs in (("model", "A:f8[n,n]"), ("none", "A:f8[n]"), ("number", ""), ("mode", "")):
        code, out, err = run("rewrite", f"{module}:{name}", "-i", inputs)
        assert (code, out) == (2, "") and module in err


def test_it_runs_as_a_module():
    command = [sys.executable, "-m", "relgraph", "rewrite", "x + x", "-i", "x:f8[n]"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "2 * x\n"), done.stderr
