"""Every distribution of PyMC with parameters and a value of its support, drawn once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt

P = pt.constant(np.array([0.2, 0.5, 0.3]))
COV = np.array([[2.0, 0.3, 0.1], [0.3, 1.0, 0.2], [0.1, 0.2, 1.5]])
V = np.array([0.3, -0.6, 1.2])
U = np.array([0.2, 0.55, 0.9])
K = np.array([0, 2, 3])
W = np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])


Case = tuple[Callable[..., Any], dict[str, Any], Any]

# name: the distribution, parameters (each becomes an input of the graph where it is a float or an
# array of floats), and a value.
CASES: dict[str, Case] = {
    "AsymmetricLaplace": (pm.AsymmetricLaplace, {"b": 1.5, "kappa": 0.8, "mu": 0.1}, V),
    "Bernoulli": (pm.Bernoulli, {"p": 0.3}, np.array([0, 1, 1])),
    "Bernoulli_logit": (pm.Bernoulli, {"logit_p": 0.3}, np.array([0, 1, 1])),
    "Beta": (pm.Beta, {"alpha": 2.0, "beta": 3.0}, U),
    "BetaBinomial": (pm.BetaBinomial, {"alpha": 2.0, "beta": 3.0, "n": 5}, K),
    "Binomial": (pm.Binomial, {"p": 0.3, "n": 5}, K),
    "Binomial_logit": (pm.Binomial, {"logit_p": 0.3, "n": 5}, K),
    "CAR": (pm.CAR, {"mu": np.zeros(3), "alpha": 0.5, "tau": 1.5, "W": W}, V),
    "Categorical": (pm.Categorical, {"p": np.array([0.1, 0.2, 0.3, 0.4])}, K),
    "Cauchy": (pm.Cauchy, {"alpha": 0.1, "beta": 1.2}, V),
    "ChiSquared": (pm.ChiSquared, {"nu": 3.5}, np.abs(V)),
    "Dirichlet": (pm.Dirichlet, {"a": np.array([1.0, 2.0, 0.7])}, np.array([0.2, 0.5, 0.3])),
    "DirichletMultinomial": (
        pm.DirichletMultinomial,
        {"a": np.array([1.0, 2.0, 0.7]), "n": 5},
        K,
    ),
    "DiracDelta": (pm.DiracDelta, {"c": 2}, np.array([2, 2])),
    "DiscreteUniform": (pm.DiscreteUniform, {"lower": 0, "upper": 5}, K),
    "DiscreteWeibull": (pm.DiscreteWeibull, {"q": 0.7, "beta": 1.3}, K),
    "ExGaussian": (pm.ExGaussian, {"mu": 0.2, "sigma": 0.5, "nu": 1.1}, V),
    "Exponential": (pm.Exponential, {"lam": 1.5}, np.abs(V)),
    "Flat": (pm.Flat, {}, V),
    "Gamma": (pm.Gamma, {"alpha": 2.0, "beta": 1.5}, np.abs(V)),
    "Geometric": (pm.Geometric, {"p": 0.3}, K + 1),
    "Gumbel": (pm.Gumbel, {"mu": 0.2, "beta": 1.3}, V),
    "HalfCauchy": (pm.HalfCauchy, {"beta": 1.3}, np.abs(V)),
    "HalfFlat": (pm.HalfFlat, {}, np.abs(V)),
    "HalfNormal": (pm.HalfNormal, {"sigma": 1.3}, np.abs(V)),
    "HalfStudentT": (pm.HalfStudentT, {"nu": 4.0, "sigma": 1.3}, np.abs(V)),
    "HurdleGamma": (pm.HurdleGamma, {"psi": 0.4, "alpha": 2.0, "beta": 1.5}, np.array([0.0, 0.7])),
    "HurdleLogNormal": (
        pm.HurdleLogNormal,
        {"psi": 0.4, "mu": 0.2, "sigma": 1.5},
        np.array([0.0, 0.7]),
    ),
    "HurdleNegativeBinomial": (
        pm.HurdleNegativeBinomial,
        {"psi": 0.4, "mu": 2.0, "alpha": 1.5},
        K,
    ),
    "HurdlePoisson": (pm.HurdlePoisson, {"psi": 0.4, "mu": 2.0}, K),
    "HyperGeometric": (pm.HyperGeometric, {"N": 20, "k": 8, "n": 6}, K),
    "ICAR": (pm.ICAR, {"W": W}, V),
    "Interpolated": (
        lambda **kw: pm.Interpolated.dist(
            np.linspace(-3, 3, 20), np.exp(-(np.linspace(-3, 3, 20) ** 2))
        ),
        {},
        V,
    ),
    "InverseGamma": (pm.InverseGamma, {"alpha": 2.0, "beta": 1.5}, np.abs(V)),
    "KroneckerNormal": (
        lambda mu, **kw: pm.KroneckerNormal.dist(
            mu=mu, covs=[COV[:2, :2], COV[:2, :2] + np.eye(2)], sigma=0.5
        ),
        {"mu": np.zeros(4)},
        np.array([0.1, 0.2, -0.3, 0.5]),
    ),
    "Kumaraswamy": (pm.Kumaraswamy, {"a": 1.2, "b": 2.5}, U),
    "LKJCholeskyCov": (
        lambda sigma: pm.LKJCholeskyCov.dist(
            eta=2.0, n=3, sd_dist=pm.Exponential.dist(sigma, size=3), compute_corr=False
        ),
        {"sigma": 1.5},
        np.linalg.cholesky(COV)[np.tril_indices(3)],
    ),
    "LKJCorr": (
        lambda: pm.LKJCorr.dist(n=3, eta=2.0, return_matrix=False),
        {},
        np.array([0.2, -0.1, 0.15]),
    ),
    "Laplace": (pm.Laplace, {"mu": 0.2, "b": 1.5}, V),
    "LogNormal": (pm.LogNormal, {"mu": 0.2, "sigma": 1.5}, np.abs(V)),
    "Logistic": (pm.Logistic, {"mu": 0.2, "s": 1.5}, V),
    "LogitNormal": (pm.LogitNormal, {"mu": 0.2, "sigma": 1.5}, U),
    "MatrixNormal": (
        pm.MatrixNormal,
        {"mu": np.zeros((2, 3)), "rowcov": COV[:2, :2], "colcov": COV},
        np.array([[0.1, 0.2, 0.3], [0.4, -0.5, 0.6]]),
    ),
    "Mixture": (
        lambda w, mu, sigma: pm.Mixture.dist(
            w=w, comp_dists=[pm.Normal.dist(mu, sigma), pm.StudentT.dist(4, mu=mu + 1, sigma=sigma)]
        ),
        {"w": np.array([0.4, 0.6]), "mu": 0.3, "sigma": 1.2},
        V,
    ),
    "Moyal": (pm.Moyal, {"mu": 0.2, "sigma": 1.5}, V),
    "Multinomial": (pm.Multinomial, {"p": np.array([0.2, 0.5, 0.3]), "n": 5}, K),
    "MvNormal": (pm.MvNormal, {"mu": np.zeros(3), "cov": COV}, V),
    "MvNormal_batch": (pm.MvNormal, {"mu": np.zeros(3), "cov": COV}, np.stack([V, U])),
    "MvNormal_chol": (pm.MvNormal, {"mu": np.zeros(3), "chol": np.linalg.cholesky(COV)}, V),
    "MvNormal_tau": (pm.MvNormal, {"mu": np.zeros(3), "tau": COV}, V),
    "MvStudentT": (pm.MvStudentT, {"nu": 4.0, "mu": np.zeros(3), "scale": COV}, V),
    "NegativeBinomial": (pm.NegativeBinomial, {"mu": 2.0, "alpha": 1.5}, K),
    "Normal": (pm.Normal, {"mu": 0.2, "sigma": 1.5}, V),
    "Normal_tau": (pm.Normal, {"mu": 0.2, "tau": 1.5}, V),
    "NormalMixture": (
        pm.NormalMixture,
        {"w": np.array([0.4, 0.6]), "mu": np.array([0.1, 1.0]), "sigma": np.array([1.0, 2.0])},
        V,
    ),
    "OrderedLogistic": (
        pm.OrderedLogistic,
        {"eta": 0.3, "cutpoints": np.array([-1.0, 0.0, 1.5])},
        K,
    ),
    "OrderedMultinomial": (
        lambda eta, cutpoints: pm.OrderedMultinomial.dist(eta=eta, cutpoints=cutpoints, n=5),
        {"eta": 0.3, "cutpoints": np.array([-1.0, 1.5])},
        K,
    ),
    "OrderedProbit": (
        pm.OrderedProbit,
        {"eta": 0.3, "cutpoints": np.array([-1.0, 0.0, 1.5]), "sigma": 1.2},
        K,
    ),
    "Pareto": (pm.Pareto, {"alpha": 1.5, "m": 0.1}, np.abs(V)),
    "Poisson": (pm.Poisson, {"mu": 2.3}, K),
    "PolyaGamma": (pm.PolyaGamma, {"h": 1.0, "z": 0.3}, np.array([0.2, 0.5])),
    "Rice": (pm.Rice, {"nu": 1.2, "sigma": 1.5}, np.abs(V)),
    "SkewNormal": (pm.SkewNormal, {"mu": 0.2, "sigma": 1.5, "alpha": 0.7}, V),
    "SkewStudentT": (pm.SkewStudentT, {"a": 2.0, "b": 3.0, "mu": 0.1, "sigma": 1.2}, V),
    "StickBreakingWeights": (
        lambda alpha: pm.StickBreakingWeights.dist(alpha=alpha, K=2),
        {"alpha": 1.5},
        np.array([0.2, 0.5, 0.3]),
    ),
    "StudentT": (pm.StudentT, {"nu": 4.0, "mu": 0.2, "sigma": 1.5}, V),
    "Triangular": (pm.Triangular, {"lower": -2.0, "c": 0.5, "upper": 3.0}, V),
    "TruncatedNormal": (
        pm.TruncatedNormal,
        {"mu": 0.2, "sigma": 1.5, "lower": -1.0, "upper": 2.0},
        V,
    ),
    "Uniform": (pm.Uniform, {"lower": -1.0, "upper": 2.0}, V),
    "VonMises": (pm.VonMises, {"mu": 0.2, "kappa": 1.5}, V),
    "Wald": (pm.Wald, {"mu": 1.2, "lam": 1.5, "alpha": 0.1}, np.abs(V)),
    "Weibull": (pm.Weibull, {"alpha": 1.2, "beta": 1.5}, np.abs(V)),
    "Wishart": (pm.Wishart, {"nu": 5, "V": COV}, COV * 2),
    "ZeroInflatedBinomial": (pm.ZeroInflatedBinomial, {"psi": 0.4, "p": 0.3, "n": 5}, K),
    "ZeroInflatedNegativeBinomial": (
        pm.ZeroInflatedNegativeBinomial,
        {"psi": 0.4, "mu": 2.0, "alpha": 1.5},
        K,
    ),
    "ZeroInflatedPoisson": (pm.ZeroInflatedPoisson, {"psi": 0.4, "mu": 2.0}, K),
    "ZeroSumNormal": (
        lambda sigma: pm.ZeroSumNormal.dist(sigma=sigma, shape=3),
        {"sigma": 1.5},
        V - V.mean(),
    ),
    "Censored": (
        lambda mu, sigma: pm.Censored.dist(pm.Normal.dist(mu, sigma), -0.5, 1.0),
        {"mu": 0.2, "sigma": 1.5},
        np.array([-0.5, 0.3, 1.0]),
    ),
    "Truncated": (
        lambda nu, mu: pm.Truncated.dist(pm.Logistic.dist(nu, mu), -1.0, 2.0),
        {"nu": 0.2, "mu": 1.5},
        V,
    ),
    "Truncated_StudentT": (
        lambda nu, mu: pm.Truncated.dist(pm.StudentT.dist(nu, mu=mu, sigma=1.5), -1.0, 2.0),
        {"nu": 4.0, "mu": 0.2},
        V,
    ),
    "Truncated_Gamma": (
        lambda alpha: pm.Truncated.dist(pm.Gamma.dist(alpha, 1.5), 0.1, 2.0),
        {"alpha": 2.0},
        np.abs(V),
    ),
    "GaussianRandomWalk": (
        lambda mu, sigma: pm.GaussianRandomWalk.dist(
            mu=mu, sigma=sigma, init_dist=pm.Normal.dist(0, 1), steps=2
        ),
        {"mu": 0.1, "sigma": 1.5},
        V,
    ),
    "MvGaussianRandomWalk": (
        lambda mu, cov: pm.MvGaussianRandomWalk.dist(
            mu=mu, cov=cov, init_dist=pm.MvNormal.dist(np.zeros(3), np.eye(3)), steps=2
        ),
        {"mu": np.zeros(3), "cov": COV},
        COV,
    ),
    "MvStudentTRandomWalk": (
        lambda mu, scale: pm.MvStudentTRandomWalk.dist(
            nu=4.0, mu=mu, scale=scale, init_dist=pm.MvNormal.dist(np.zeros(3), np.eye(3)), steps=2
        ),
        {"mu": np.zeros(3), "scale": COV},
        COV,
    ),
    "AR": (
        lambda rho, sigma: pm.AR.dist(
            rho=rho, sigma=sigma, init_dist=pm.Normal.dist(0, 1, size=(2,)), steps=3
        ),
        {"rho": np.array([0.4, 0.2]), "sigma": 1.5},
        np.array([0.3, -0.6, 1.2, 0.2, 0.1]),
    ),
    "GARCH11": (
        lambda omega, alpha_1: pm.GARCH11.dist(
            omega=omega, alpha_1=alpha_1, beta_1=0.3, initial_vol=1.0, steps=3
        ),
        {"omega": 0.5, "alpha_1": 0.2},
        np.array([0.3, -0.6, 1.2]),
    ),
    "EulerMaruyama": (
        lambda lam: pm.EulerMaruyama.dist(
            dt=0.1,
            sde_fn=lambda x, lam: (lam * x, 1.0),
            sde_pars=(lam,),
            init_dist=pm.Normal.dist(0, 1),
            steps=3,
        ),
        {"lam": 0.5},
        np.array([0.3, 0.6, 1.2, 0.9]),
    ),
    "CustomDist": (
        lambda mu: pm.CustomDist.dist(
            mu, logp=lambda value, mu: -((value - mu) ** 2), signature="()->()"
        ),
        {"mu": 0.5},
        V,
    ),
}


def log_density(name: str) -> tuple[dict[Any, Any], Any]:
    """Return the values of a case by its inputs, and its log-density."""
    distribution, parameters, value = CASES[name]
    inputs = {
        key: pt.as_tensor(np.asarray(v, "float64")).type(key)
        for key, v in parameters.items()
        if np.asarray(v).dtype.kind == "f"
    }
    make = getattr(distribution, "dist", distribution)
    v = pt.as_tensor(np.asarray(value)).type("v")
    density = pm.logp(make(**{**parameters, **inputs}), v)
    values = {inputs[key]: np.asarray(parameters[key], "float64") for key in inputs}
    return {**values, v: np.asarray(value)}, density
