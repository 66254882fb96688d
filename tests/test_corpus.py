"""The corpus of NumPy programs: relgraph and the forms for numba compute what NumPy computes."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import relgraph as rg
from tests.numerical_programs.test_numerical_programs import NAMES as NPBENCH_NAMES

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "benchmarks" / "corpus.py"
sys.path.insert(0, str(SCRIPT.parent))
try:
    import corpus
    from corpus_peers import InPlace, Missing, Reference, Relgraph
    from corpus_programs import NPBENCH, PROGRAMS, THEMES
finally:
    sys.path.remove(str(SCRIPT.parent))

CANNOT = {
    "contour_integral": "complex128",
    "mandelbrot2": "a complex",
    "scattering_self_energies": "complex128",
    "stockham_fft": "complex128",
}


def reference(name):
    program = PROGRAMS[name]
    return Reference(program, program.arguments(program.tiny))


def test_corpus_has_every_theme_and_all_of_npbench():
    assert len(PROGRAMS) >= 90
    assert sorted(x.name for x in THEMES[NPBENCH]) == sorted(NPBENCH_NAMES)
    assert sum(len(programs) for programs in THEMES.values()) == len(PROGRAMS)
    assert all(programs for programs in THEMES.values())


@pytest.mark.parametrize("name", sorted(set(PROGRAMS) - set(CANNOT)))
def test_relgraph_computes_what_numpy_does(name):
    Relgraph().contender(reference(name)).check()


@pytest.mark.parametrize("name", sorted(CANNOT))
def test_what_relgraph_cannot_says_why(name):
    case = reference(name)
    with pytest.raises(rg.errors.RelgraphError, match=CANNOT[name]):
        InPlace(rg.jit(PROGRAMS[name].function), case)()
    if isinstance(PROGRAMS[name].relgraph, str):
        with pytest.raises(Missing, match="cannot"):
            Relgraph().contender(case)


@pytest.mark.parametrize("name", sorted(x.name for x in PROGRAMS.values() if callable(x.numba)))
def test_forms_for_numba_compute_the_same_in_python(name):
    InPlace(PROGRAMS[name].numba, reference(name)).check()


def test_wrong_results_are_found():
    case = reference("great_circle")
    with pytest.raises(AssertionError, match="differs from NumPy"):
        InPlace(lambda *xs: PROGRAMS["great_circle"].function(*xs) * (1 + 1e-6), case).check()
    with pytest.raises(AssertionError, match="shape"):
        InPlace(lambda *xs: PROGRAMS["great_circle"].function(*xs)[1:], case).check()


def test_arguments_that_a_program_changes_are_given_anew():
    calls = InPlace(PROGRAMS["cholesky2"].function, reference("cholesky2"))
    for _ in range(3):
        calls.check()


def row(program, **times):
    theme = NPBENCH if program in NPBENCH_NAMES else "physics"
    return {"program": program, "theme": theme, "size": "n=1", "µs": times, "missing": {},
            "notes": [], "first call s": {}}  # fmt: skip


def test_ratio_is_that_to_the_fastest_peer():
    assert corpus.ratio(row("gemm", relgraph=2.0, numpy=8.0, jax=4.0)) == ("jax", 2.0)
    assert corpus.ratio(row("gemm", numpy=8.0)) is None
    assert corpus.ratio(row("gemm", relgraph=8.0)) is None


def test_means_are_geometric_and_set_npbench_apart():
    rows = [row("gemm", relgraph=1.0, numpy=4.0), row("lorenz", relgraph=1.0, numpy=9.0, jax=0.25)]
    found = corpus.means([*rows, row("adi", numpy=5.0)])
    assert found["all"] == {"best peer": 1.0, "numpy": 6.0, "jax": 0.25}
    assert found[NPBENCH] == {"best peer": 4.0, "numpy": 4.0}
    assert found["without loops"] == found[NPBENCH]


def test_rows_measured_anew_replace_those_of_before():
    before = [row("lorenz", numpy=1.0), row("gemm", numpy=1.0), row("gone", numpy=1.0)]
    found = corpus.merged(before, [row("gemm", numpy=2.0)])
    assert [(x["program"], x["µs"]["numpy"]) for x in found] == [("gemm", 2.0), ("lorenz", 1.0)]


def test_results_are_of_the_programs_of_the_corpus():
    rows = json.loads(corpus.RESULTS.read_text(encoding="utf-8"))["rows"]
    measured = {(x["program"], x["size"]) for x in rows}
    assert measured == {(p.name, p.label(size)) for p in PROGRAMS.values() for size in p.sizes}
    for x in rows:
        assert {*x["µs"], *x["missing"]} >= {"numpy", "relgraph"}


def run(*options):
    return subprocess.run(
        [sys.executable, str(SCRIPT), "--quick", "--no-numba", "--no-jax", "--no-torch", *options],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=300, check=True,
    ).stdout  # fmt: skip


def test_run_prints_times_means_and_what_is_missing():
    text = run("--only", "row_dots,stockham_fft")
    assert "row_dots_einsum" in text
    assert "2 rows" in text
    assert "stockham_fft, n=32,768: cannot: relgraph computes with real numbers" in text
    assert "times as fast as, geometric means:" in text


def test_first_call_that_takes_too_long_is_stopped_and_reported():
    text = run("--only", "lenet", "--limit", "0.3")
    assert "lenet, n=4, size=28: stopped: its first call takes more than 0.3 s" in text
