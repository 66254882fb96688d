"""What is public says what it is, takes and returns; and every example in the code runs."""

import doctest
import importlib
import inspect
import re
import types
from pathlib import Path

import pytest

import relgraph as rg
from relgraph.ir.op import Op
from relgraph.relations.relation import ROUNDINGS, SPECIALS, Relation
from tests.modules import MODULES

# What numpydoc calls a section, and what it lists.
SECTIONS = ("Parameters", "Returns", "Yields", "Raises", "Attributes", "References", "Examples")


def sections(doc):
    """Return the text of each section of a docstring; the summary is under ""."""
    found, name = {"": []}, ""
    lines = inspect.cleandoc(doc).splitlines()
    for i, line in enumerate(lines):
        below = lines[i + 1] if i + 1 < len(lines) else ""
        if line in SECTIONS and re.fullmatch("-+", below):
            name = line
            assert name not in found, f"{name} twice: {lines[0]}"
            found[name] = []
        elif not re.fullmatch("-{3,}", line):
            found[name].append(line)
    return found


def listed(lines):
    """Return the names that a section lists: those of the lines that are not indented."""
    heads = [x for x in lines if x and not x.startswith(" ")]
    return {name.strip().lstrip("*") for x in heads for name in x.split(":")[0].split(",")}


def public_members(cls):
    """Return the public functions and properties that a class defines itself."""
    for name, value in vars(cls).items():
        if name.startswith("_"):
            continue
        inner = value.fget if isinstance(value, property) else inspect.unwrap(value)
        inner = getattr(inner, "__func__", inner)
        if inspect.isfunction(inner):
            overrides = any(hasattr(base, name) for base in cls.__mro__[1:])
            yield name, inner, isinstance(value, property), overrides


def documented():
    """Return what must be documented: a label, the object, and whether only a summary is due."""
    found = {}
    waiting = [(name, getattr(rg, name)) for name in rg.__all__ if name != "__version__"]
    for label, x in waiting:
        if isinstance(x, types.ModuleType):
            names = getattr(x, "__all__", [n for n in vars(x) if not n.startswith("_")])
            waiting.extend((f"{label}.{n}", getattr(x, n)) for n in names)
        elif isinstance(x, Op | Relation) or not hasattr(x, "__name__"):
            continue  # what an op is, its class says
        elif x.__module__.startswith("relgraph") and id(x) not in found:
            found[id(x)] = (label, x, False)
            if inspect.isclass(x):
                for name, inner, plain, overrides in public_members(x):
                    found[id(inner)] = (f"{label}.{name}", inner, plain or overrides)
    return list(found.values())


DOCUMENTED = documented()


@pytest.mark.parametrize(
    ("label", "x", "brief"), DOCUMENTED, ids=[label for label, _, _ in DOCUMENTED]
)
def test_public_names_have_numpydoc_docstrings(label, x, brief):
    assert x.__doc__, f"{label} has no docstring"
    parts = sections(x.__doc__)
    summary = parts[""][0]
    assert summary.endswith((".", ":", ",")) or parts[""][1:2] not in ([], [""]), summary
    assert summary[0].isupper() or summary[0] in "`:0123456789" or "=" in summary, summary
    if brief or (inspect.isclass(x) and not own_constructor(x)):
        return
    signature = inspect.signature(x)
    names = [p for p in signature.parameters if p not in ("self", "cls")]
    if names:
        assert "Parameters" in parts, f"{label} does not say what it takes: {signature}"
        missing = set(names) - listed(parts["Parameters"])
        assert not missing, f"{label} says nothing of {sorted(missing)}"
    returned = signature.return_annotation
    if inspect.isfunction(x) and returned not in (None, "None", inspect.Signature.empty):
        assert {"Returns", "Yields"} & parts.keys(), f"{label} does not say what it returns"


FUNCTIONS = [(label, x) for label, x, _ in DOCUMENTED if not inspect.isclass(x)]


@pytest.mark.parametrize(("label", "x"), FUNCTIONS, ids=[label for label, _ in FUNCTIONS])
def test_functions_list_what_they_raise(label, x):
    raised = set(re.findall(r"raise ([A-Z]\w+)\(", inspect.getsource(x)))
    missing = raised - listed(sections(x.__doc__).get("Raises", []))
    assert not missing, f"{label} does not say that it raises {sorted(missing)}"


def own_constructor(cls):
    """Return True if calling a class takes what the class itself declares."""
    own = [c for c in cls.__mro__ if c.__module__.startswith("relgraph")]
    return not issubclass(cls, Exception) and any("__init__" in vars(c) for c in own[:1])


def op_classes():
    """Return every class of ops that can be applied, but for those that a back end has inside."""
    for name in MODULES:
        importlib.import_module(name)
    waiting, found = [Op], []
    for cls in waiting:
        waiting.extend(cls.__subclasses__())
        inside = cls.__module__.startswith("relgraph.backends.")
        if cls.__module__.startswith("relgraph.") and not (inside or cls.__name__.startswith("_")):
            found.append(cls)
    abstract = {c for c in found if c is Op or any(c in d.__mro__[1:] for d in found)}
    return sorted((c for c in found if c not in abstract), key=lambda c: c.__qualname__)


@pytest.mark.parametrize("cls", op_classes(), ids=lambda cls: cls.__name__)
def test_every_op_says_what_it_is(cls):
    assert cls.__doc__ not in (None, Op.__doc__)
    assert sections(cls.__doc__)[""][0]
    assert cls.name != Op.name
    for method in ("infer", "perform"):
        assert getattr(cls, method) is not getattr(Op, method), f"{cls.__name__}.{method}"
        assert getattr(cls, method).__doc__, f"{cls.__name__}.{method}"
    assert inspect.signature(cls.flops).parameters.keys() >= {"types", "result"}
    if cls.parameters:
        # A class of reductions has the parameters of its base class, documented there.
        docs = [sections(c.__doc__) for c in cls.__mro__ if issubclass(c, Op)]
        named = {name for doc in docs for name in listed(doc.get("Parameters", []))}
        assert set(cls.parameters) <= named, f"{cls.__name__} says nothing of a parameter"


def catalogue():
    """Return the relations that relgraph ships, by name."""
    from relgraph.db.catalogue import relations

    return {x.label: x for x in relations()}


CATALOGUE = catalogue()


@pytest.mark.parametrize("label", CATALOGUE)
def test_every_relation_states_its_law_and_its_source(label):
    """The sentence on where it holds is made from conditions and labels, which are given once."""
    relation = CATALOGUE[label]
    law, _, rest = relation.doc.partition("\n")
    assert "=" in law, f"line 1 is no equation: {law}"
    text, _, source = rest.partition("Source:")
    assert source.strip(), f"{label} has no source"
    assert not re.search(r"\b(exact|rounded)\b.*, (kept|assumes_finite)\b", text), text

    assert relation.rounding in ROUNDINGS
    assert relation.specials in SPECIALS
    assert relation.__doc__.startswith(f"{law}\n\n")
    where = " ".join(relation.__doc__.split()).partition(f"; {relation.rounding}, ")[0]
    assert re.search(r"\. Holds .*", where), f"{label} does not say where it holds"
    conditions = {tuple(c.label for c in x.conditions) for x in relation.clauses}
    if len(conditions) == 1:
        assert all(condition in where for condition in conditions.pop()), where


class Finder(doctest.DocTestFinder):
    """Finds the examples of functions that a decorator of another module wraps, too."""

    def _from_module(self, module, object):
        return super()._from_module(
            module, inspect.unwrap(object) if inspect.isfunction(object) else object
        )


@pytest.mark.parametrize("name", MODULES)
def test_examples_in_docstrings(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS)
    for examples in Finder().find(module, name):
        runner.run(examples)
    tried, failed = runner.tries, runner.failures
    assert failed == 0, f"{failed} of {tried} examples fail; see above"


def test_examples_of_decorated_functions_are_found():
    found = Finder().find(importlib.import_module("relgraph.api.rewrite"))
    assert any(x.name.endswith(".rewrite_graph") and x.examples for x in found)


ROOT = Path(__file__).parents[1]
FOLDERS = (".", "docs", "docs/tutorials", "docs/coming_from")  # the others hold generated pages
PAGES = sorted(page for folder in FOLDERS for page in ROOT.glob(f"{folder}/*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page):
    text = page.read_text(encoding="utf-8")
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    assert headings
    for target in re.findall(r"\]\(([^)\s]+)\)", text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, anchor = target.partition("#")
        linked = (page.parent / path).resolve() if path else page
        assert linked.exists(), f"{page.name} links to {target}"
        if anchor:
            titles = re.findall(r"^#+ (.+)$", linked.read_text(encoding="utf-8"), re.MULTILINE)
            assert anchor in {re.sub(r"[^\w -]", "", t).lower().replace(" ", "-") for t in titles}


@pytest.mark.parametrize("name", MODULES)
def test_every_module_says_what_it_holds(name):
    assert importlib.import_module(name).__doc__
