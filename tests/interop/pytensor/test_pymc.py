"""Log-densities of PyMC's distributions, their gradients, and a model in the mode RELGRAPH."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import relgraph as rg

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
with warnings.catch_warnings():
    warnings.simplefilter("ignore")  # ArviZ announces its next version
    pm = pytest.importorskip("pymc", reason="PyMC is not installed")


from relgraph.errors import UnsupportedOpError  # noqa: E402
from relgraph.interop.pytensor import load  # noqa: E402
from tests.interop.pytensor.distributions import CASES, log_density  # noqa: E402

pytestmark = pytest.mark.filterwarnings("ignore")  # PyMC's and PyTensor's own

UNSUPPORTED = {"PolyaGamma"}  # functions of another package
NOT_TRIED = {
    "Continuous", "Discrete", "Distribution", "SymbolicRandomVariable",  # base classes
    "DensityDist", "Lognormal", "RandomWalk",  # other names, and the base of random walks
    "Simulator", "WishartBartlett",  # without a log-density of its own
}  # fmt: skip


@pytest.mark.parametrize("name", sorted(CASES.keys() - UNSUPPORTED))
def test_log_density_and_gradient_equal_pytensors(name):
    values, density = log_density(name)
    wrt = [v for v in values if v.dtype == "float64"]
    outputs = [density, *pytensor.grad(density.sum(), wrt, disconnected_inputs="ignore")]
    expected = pytensor.function(
        list(values), outputs, mode="FAST_COMPILE", on_unused_input="ignore"
    )(*values.values())
    images = {}
    graphs = load(outputs, images)
    known = {images[v]: value for v, value in values.items() if v in images}
    compiled = rg.function(None, graphs, nonfinite="keep")
    results = compiled(**{v.name: known[v] for v in compiled.inputs})
    for result, value in zip(results, expected, strict=True):
        assert np.shape(result) == value.shape
        np.testing.assert_allclose(result, value, rtol=1e-10, atol=1e-12)


def test_every_distribution_is_a_case():
    cases = {name.split("_")[0] for name in CASES}
    assert set(pm.distributions.__all__) - cases == NOT_TRIED


@pytest.mark.parametrize("name", sorted(UNSUPPORTED))
def test_what_is_unsupported_says_why(name):
    with pytest.raises(UnsupportedOpError) as caught:
        load(log_density(name)[1])
    assert caught.value.facts


@pytest.mark.parametrize(
    "name",
    ["Beta", "Dirichlet", "Exponential", "Gamma", "HalfNormal", "HalfStudentT", "InverseGamma",
     "Kumaraswamy", "LogNormal", "Multinomial", "NegativeBinomial", "Pareto", "Poisson",
     "Truncated", "TruncatedNormal", "Uniform", "Wald", "Weibull", "ZeroInflatedBinomial"],
)  # fmt: skip
def test_log_densities_are_minus_infinity_outside_of_their_support(name):
    values, density = log_density(name)
    function = pytensor.function(list(values), density, mode="RELGRAPH", on_unused_input="ignore")
    *parameters, value = values.values()
    assert np.all(function(*parameters, -value - 9) == -np.inf)


def regression():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    with pm.Model() as model:
        w, scale = pm.Normal("w", 0, 1, shape=3), pm.HalfNormal("scale", 1)
        pm.Normal("y", X @ w, scale, observed=X @ [1.0, -1.0, 0.5] + 0.3 * rng.standard_normal(60))
    return model


def autoregression():
    """Return a model whose log-density PyMC derives from a scan of draws."""

    def process(rho, sigma, start, steps, size):
        def step(before, last, rho, sigma):
            x = rho[0] * last + rho[1] * before + pm.Normal.dist(sigma=sigma)
            return x, pm.pytensorf.collect_default_updates([x])

        states, _ = pytensor.scan(
            step, outputs_info=[{"initial": start, "taps": [-2, -1]}],
            non_sequences=[rho, sigma], n_steps=steps, strict=True,
        )  # fmt: skip
        return states

    with pm.Model() as model:
        rho, sigma = pm.Normal("rho", 0, 0.3, shape=2), pm.HalfNormal("sigma", 1)
        start = pm.Normal("start", 0, 1, shape=2)
        y = np.random.default_rng(0).standard_normal(28)
        pm.CustomDist("y", rho, sigma, start, 28, dist=process, observed=y)
    return model


def trajectory():
    """Return a model whose mean is a loop."""
    with pm.Model() as model:
        b = pm.Normal("b")
        states = pytensor.scan(
            lambda x, b: x + 0.1 * pytensor.tensor.tanh(b * x),
            outputs_info=[pytensor.tensor.as_tensor(np.float64(1))], non_sequences=[b],
            n_steps=30, return_updates=False,
        )  # fmt: skip
        pm.Normal("y", states, 1, observed=np.random.default_rng(0).standard_normal(30))
    return model


@pytest.mark.parametrize("make", [autoregression, trajectory])
def test_models_with_loops(make):
    model = make()
    point = model.initial_point()
    for compiled in (model.compile_logp, model.compile_dlogp):
        values = [compiled(mode=mode)(point) for mode in ("RELGRAPH", "FAST_COMPILE")]
        np.testing.assert_allclose(*values, rtol=1e-10)


@pytest.mark.parametrize("bounds", [True, False])
def test_checks_of_parameters_become_what_pymc_asks_for(bounds):
    with pm.Model(check_bounds=bounds) as model:
        pm.Normal("x", 0, sigma=pm.Flat("s"))
    point = {"s": np.array(-1.0), "x": np.array(0.5)}
    values = {mode: model.compile_logp(mode=mode)(point) for mode in ("RELGRAPH", "FAST_COMPILE")}
    np.testing.assert_equal(values["RELGRAPH"], values["FAST_COMPILE"])
    assert (values["RELGRAPH"] == -np.inf) == bounds


def test_sampling_gives_the_posterior_means_of_the_default_mode():
    means = {}
    for mode in ("RELGRAPH", "FAST_COMPILE"):
        with regression():
            draws = pm.sample(
                draws=200, tune=200, chains=1, random_seed=1, progressbar=False,
                compile_kwargs={"mode": mode}, compute_convergence_checks=False,
            )  # fmt: skip
        samples = draws.posterior["w"].values.reshape(-1, 3)
        means[mode] = samples.mean(axis=0), samples.std(axis=0) / np.sqrt(100)
    (ours, error), (theirs, other) = means["RELGRAPH"], means["FAST_COMPILE"]
    assert np.all(np.abs(ours - theirs) < 4 * np.hypot(error, other))
