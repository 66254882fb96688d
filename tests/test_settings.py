"""Settings: values, scopes, and what is refused."""

import pytest

import relgraph as rg
from relgraph.errors import ArgumentError, DomainError
from relgraph.settings import Config, processors


def test_settings_are_set_and_given_back():
    config = Config()
    assert (config.threads, config.veclib, config.contract) == (processors(), None, False)
    config(threads=3)
    assert config.threads == 3
    with config(threads=1, contract=True) as inside:
        assert inside is config
        assert (config.threads, config.contract) == (1, True)
    assert (config.threads, config.contract) == (3, False)
    config.threads = None
    assert config.threads == processors()
    assert repr(config) == (
        f"config(mode='fast_run', exclude=(), time_limit=None, threads={processors()}, "
        "veclib=None, contract=False, cache_limit=536870912, arena_limit=268435456)"
    )


def test_settings_return_after_an_error():
    before = rg.config.threads
    with pytest.raises(KeyError), rg.config(threads=7):
        raise KeyError
    assert rg.config.threads == before


@pytest.mark.parametrize(
    "settings", [{"threads": 0}, {"threads": 1.5}, {"threads": True}, {"veclib": "mkl"},
                 {"contract": 1}, {"time_limit": 0}, {"time_limit": "1 s"}, {"cache_limit": -1},
                 {"arena_limit": -1}],
)  # fmt: skip
def test_values_are_checked_before_any_is_set(settings):
    config = Config()
    with pytest.raises(DomainError):
        config(threads=2, **settings) if "threads" not in settings else config(**settings)
    assert config.threads == processors()


def test_an_unknown_setting_has_a_suggestion():
    config = Config()
    with pytest.raises(ArgumentError, match=r"Did you mean 'threads'\?"):
        config(thread=2)
    with pytest.raises(ArgumentError, match="no setting 'device'"):
        config.device = "cuda"
