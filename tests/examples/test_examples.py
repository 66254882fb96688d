"""The examples run as a user runs them, and print what they are there to show."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))


def output(name):
    """Run an example in a process of its own, and return what it prints."""
    path = os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-W", "error", str(ROOT / "examples" / f"{name}.py")],
        capture_output=True,
        text=True,
        check=False,
        env={
            **os.environ,
            "PYTHONPATH": path.rstrip(os.pathsep),
            "MPLBACKEND": "agg",
            "DISPLAY": "",  # matplotlib does not warn that agg opens no window
        },
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    return done.stdout


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_example_is_described(path):
    assert path.stem in TESTED, f"{path.name} has no test"
    assert path.read_text(encoding="utf-8").startswith('"""')


def test_distribute_and_gather():
    text = output("distribute_and_gather")
    assert text.count("  start     A @ (x + (y + B @ (z + w)))\n") == 2
    compiled, by_kanren = text.split("dot_distributeo\n")
    assert "  forward   A @ x + A @ y + A @ (B @ z) + A @ (B @ w)\n" in compiled
    assert "  backward  A @ (x + y + B @ (z + w))\n" in compiled
    assert "  forward   A @ x + (A @ y + (A @ (B @ z) + A @ (B @ w)))\n" in by_kanren
    assert "  backward  A @ (x + (y + B @ (z + w)))\n" in by_kanren
    differences = [float(x) for x in re.findall(r"largest difference (\S+)", text)]
    assert len(differences) == 4
    assert max(differences) < 1e-11


def test_logistic_regression():
    text = output("logistic_regression")
    assert "rewritten   sum(softplus(-y * (X @ w)))\n" in text
    rows = [line.split() for line in text.splitlines() if re.match(r" +\d\S* +\S+e|.* inf ", line)]
    assert len(rows) == 4
    assert rows[-1][1] == "inf"
    for _, _, rewritten, exact in rows:
        assert float(rewritten) == pytest.approx(float(exact), rel=1e-12)


def test_factoring():
    text = output("factoring")
    assert "products: 64 as written, 4 gathered\n" in text
    assert re.search(r"^as written +\S+ .s +.*\nrewritten +\S+ .s ", text, re.MULTILINE)


def test_fit():
    text = output("fit")
    assert text.count("#" * 30) == 3
    assert "difference from scikit-learn's weights" in text


def test_kalman_filter():
    last = output("kalman_filter").splitlines()[-1]
    assert last.endswith("loss  -125.426, variances [0.59  0.206]")


def test_larger_than_memory():
    text = output("larger_than_memory")
    assert "1 pass over the data, 9 tasks on blocks" in text
    losses = [float(x) for x in re.findall(r"loss (\S+),", text)]
    assert losses == sorted(losses, reverse=True)
    assert len(losses) == 5


def test_before_and_after():
    text = output("before_and_after")
    assert "1. softplus_log1po, in mean([.])\n" in text
    assert text.endswith("    mean(softplus(-y * (A @ x)))\n")


def test_compiled_kernels():
    text = output("compiled_kernels")
    assert re.search(r"^kernels +1\nlibrary_calls 1$", text, re.MULTILINE)
    assert text.endswith("\n[1. 1.]\n")


def test_steps_of_a_derivation():
    assert output("steps_of_a_derivation") == "log(p) + log(q)\n"


def test_teach_an_identity():
    forward, backward, answers, holds = output("teach_an_identity").splitlines()
    assert forward == "A @ x + A @ (B @ y) + A @ (B @ z)"
    assert backward == "A @ (x + z) + B @ y"
    assert answers == "(A @ (x + y),)"
    assert holds == "True"


def test_time_over_sizes():
    pytest.importorskip("matplotlib")
    assert re.findall(r"^n = (\d+)$", output("time_over_sizes"), re.MULTILINE) == [
        "10",
        "30",
        "100",
        "300",
    ]


def test_fit_a_curve():
    pytest.importorskip("matplotlib")
    fitted = re.search(r"frequency: \[(.+)\]", output("fit_a_curve")).group(1)
    # The parameters from which the data were made, up to their noise.
    assert [float(x) for x in fitted.split()] == pytest.approx([2.5, 0.7, 5.0], rel=0.05)


TESTED = {name.removeprefix("test_") for name in globals() if name.startswith("test_")}
