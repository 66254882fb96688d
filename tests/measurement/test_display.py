"""What benchmarks and profiles display in notebooks."""

import numpy as np

import relgraph as rg

A, B = rg.matrices("A B", shape=("n", "n"))
x = rg.vector("x", shape=("n",))


def test_a_benchmark_is_a_table_with_its_verdict():
    result = rg.benchmark((A @ B) @ x, sizes={"n": 50}, budget=0.5)
    bundle = result._repr_mimebundle_()
    assert bundle["text/plain"] == str(result)
    assert "<table>" in bundle["text/html"]
    assert result.verdict in bundle["text/html"]
    assert "n = 50" in bundle["text/html"]


def test_a_profile_has_its_picture_above_its_text():
    profile = rg.profile(rg.exp(x) + 1, np.ones(10))
    html = profile._repr_mimebundle_()["text/html"]
    assert 0 < html.index("relgraph-icicle") < html.index("<pre>")
    assert "a call" in html
