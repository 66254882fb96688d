"""The reference has every public name."""

import pytest

import relgraph.numpy as rnp
from relgraph import errors
from tools import api_pages

NAMES = api_pages.public_names()


@pytest.mark.parametrize("name", NAMES, ids=lambda x: x.name)
def test_every_public_name_has_a_group_and_a_summary(name):
    assert name.group in api_pages.GROUPS, f"add {name.module} to GROUPS of tools/api_pages.py"
    assert name.summary


def test_no_group_names_a_module_without_public_names():
    for title, modules in api_pages.GROUPS.items():
        own = [x.module.removeprefix("relgraph.") for x in NAMES if x.group == title]
        for module in modules:
            assert any(f"{x}.".startswith(f"{module}.") for x in own), f"{title}: {module}"


def test_names_without_all_are_those_that_the_module_defines():
    names = {x.name for x in api_pages.names_in(errors, "relgraph.errors")}
    assert "ShapeError" in names
    assert not names & {"inspect", "Iterable", "KEYWORDS"}


def test_a_group_has_the_classes_of_what_its_functions_return():
    own = [x for x in NAMES if x.group in ("Derivations", "Relations and goals")]
    assert {x.name for x in api_pages.results(own)} == {"Derivation", "RewriteProfile", "WhyNot"}


def test_a_name_of_two_modules_is_described_once():
    # Both are rg.arccos, and relgraph.clip takes other arguments than NumPy's.
    page = "\n".join(api_pages.entries(api_pages.names_in(rnp, "relgraph.numpy")))
    assert ":obj:`acos <relgraph.arccos>`" in page
    assert "function:: relgraph.numpy.acos" not in page
    assert ".. autofunction:: relgraph.numpy.clip\n" in page
