"""The reference of the public names, in groups, which Sphinx fills with the docstrings.

The group of a name follows from the module that defines it.  ``docs/conf.py`` calls :func:`write`
before Sphinx reads the pages.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple, get_args, get_type_hints

import relgraph as rg
import relgraph.numpy as rnp
from relgraph.ir.op import Op
from relgraph.ops.elementwise import ROWS, Elementwise

# The title of each page, and the modules of relgraph whose public names it has.
GROUPS = {
    "Graphs and inputs": ("ir", "ops.inputs"),
    "Relations and goals": ("relations", "kanren"),
    "Rewriting and modes": ("api.rewrite", "rewriting", "db.modes", "settings"),
    "Databases and the catalogue": ("db",),
    "Derivations": ("api.explain", "api.why_not"),
    "Proofs, checks and search": ("api.prove", "api.optimize", "checking"),
    "Derivatives": (
        "api.gradients",
        "api.jacobians",
        "api.formulas",
        "ops.differentials",
        "relations.differentiation",
    ),
    "Loops": ("api.loops",),
    "Compiling and calling": (
        "api.function",
        "api.function_options",
        "api.jit",
        "api.shared",
        "api.cuda",
        "cache",
    ),
    "Cost, benchmarks and source": ("costs", "ir.cost", "measurement", "export"),
    "Text, formulas and pictures": ("ir.printing", "api.draw"),
    "Ops": ("ops", "numpy"),
    "Other libraries": ("interop",),
    "Errors": ("errors",),
}
NUMPY = "relgraph.numpy"  # the title of a page that has all of its names


class Name(NamedTuple):
    """A public name, and what it stands for.

    Attributes
    ----------
    owner : str
        The module that a user reads it from.
    name : str
        The name there.
    value : object
        A function, class, op, module or other object.
    """

    owner: str
    name: str
    value: Any

    @property
    def path(self) -> str:
        """The name with its module."""
        return f"{self.owner}.{self.name}"

    @property
    def module(self) -> str:
        """The module that defines it, or that defines its class."""
        if isinstance(self.value, ModuleType):
            return self.value.__name__
        defined = self.value if hasattr(self.value, "__name__") else type(self.value)
        return str(defined.__module__)

    @property
    def group(self) -> str:
        """The title of its page; "" if it has none."""
        fits = {
            module: title
            for title, modules in GROUPS.items()
            for module in modules
            if f"{self.module}.".removeprefix("relgraph.").startswith(f"{module}.")
        }
        return fits[max(fits, key=len)] if fits else ""

    @property
    def theme(self) -> str:
        """The theme of an elementwise op; of other functions the module, such as "linalg"."""
        if isinstance(self.value, Elementwise):
            return ROWS[self.value.name].theme
        return self.module.split(".")[2].replace("_", " ")

    @property
    def summary(self) -> str:
        """The first sentence of its docstring."""
        is_row = isinstance(self.value, Elementwise)
        doc = ROWS[self.value.name].doc if is_row else inspect.getdoc(self.value) or ""
        return re.split(r"(?<=\.)\s", " ".join(doc.partition("\n\n")[0].split()))[0]


def public_names() -> list[Name]:
    """Return the public names of ``relgraph``, modules included."""
    return [Name("relgraph", x, getattr(rg, x)) for x in rg.__all__ if x != "__version__"]


def pages() -> dict[str, str]:
    """Return the text of every page, by file name."""
    texts = {title: _page(title) for title in GROUPS} | {NUMPY: _numpy()}
    return {f"{_slug(title)}.rst": _text(title, lines) for title, lines in texts.items()} | {
        "index.rst": _text("Reference", _index())
    }


def _slug(title: str) -> str:
    return re.sub(r"\W+", "_", title.lower())


def _text(title: str, lines: Iterable[str]) -> str:
    return "\n".join([title, "=" * len(title), "", *lines]) + "\n"


def _index() -> Iterator[str]:
    yield "What ``import relgraph as rg`` has, in groups, and :mod:`relgraph.numpy`."
    yield from ("", ".. toctree::", "   :maxdepth: 1", "")
    yield from (f"   {_slug(title)}" for title in [*GROUPS, NUMPY])


def _page(title: str) -> Iterator[str]:
    names = [x for x in public_names() if x.group == title]
    modules = [x for x in names if isinstance(x.value, ModuleType)]
    others = [x for x in names if x not in modules]
    if title == "Ops":
        yield from _themes(others)
        return
    yield from entries(others + results(others))
    for x in modules:
        yield from _module(x)


def results(names: list[Name]) -> list[Name]:
    """Return the classes of what functions return, such as Derivation, if these are not public."""
    functions = [inspect.unwrap(x.value) for x in names if inspect.isroutine(x.value)]
    types = [get_type_hints(function).get("return") for function in functions]
    parts = [part for x in types for part in get_args(x) or (x,)]
    return [
        Name(kind.__module__, kind.__name__, kind)
        for kind in dict.fromkeys(part for part in parts if inspect.isclass(part))
        if kind.__module__.startswith("relgraph.")
        and not kind.__module__.startswith("relgraph.relations.")  # goals, read by miniKanren
        and kind.__name__ not in rg.__all__
        and not issubclass(kind, str)
    ]


def _numpy() -> Iterator[str]:
    yield from (f".. module:: {NUMPY}", "", inspect.cleandoc(rnp.__doc__ or ""), "")
    names = names_in(rnp, NUMPY)
    own = [x for x in names if x.module.startswith("relgraph.")]
    yield from _themes([x for x in own if not isinstance(x.value, ModuleType)])
    yield from _module(Name(NUMPY, "linalg", rnp.linalg))


def names_in(module: ModuleType, owner: str) -> list[Name]:
    """Return the public names of a module.

    Parameters
    ----------
    module : module
        One with or without ``__all__``.
    owner : str
        The name by which a user reads it.

    Returns
    -------
    list of Name
        What ``__all__`` names; otherwise the functions, classes and modules that it defines.
    """
    exported = getattr(module, "__all__", None)
    names = [Name(owner, x, getattr(module, x)) for x in sorted(exported or dir(module))]
    if exported is not None:
        return names
    own = f"{module.__name__}."
    return [x for x in names if x.name[0] != "_" and f"{x.module}.".startswith(own)]


def _module(module: Name) -> Iterator[str]:
    """Yield the section of a public module, or sections of the modules in it."""
    names = names_in(module.value, module.path)
    if module.value is rg.errors:
        names = [x for x in names if inspect.isclass(x.value)]
    functions = [x for x in names if not isinstance(x.value, ModuleType)]
    if functions:
        yield from _heading(module.path)
        yield from (f".. module:: {module.path}", "", module.summary, "")
        yield from entries(functions)
    for x in names:
        if x not in functions:
            yield from _module(x)


def _themes(names: list[Name]) -> Iterator[str]:
    """Yield a section for each theme of ops."""
    for theme in sorted({x.theme for x in names}):
        yield from _heading(theme.capitalize())
        yield from entries([x for x in names if x.theme == theme])


def _heading(text: str) -> Iterator[str]:
    yield from (text, "-" * len(text), "")


def entries(names: list[Name]) -> Iterator[str]:
    """Yield the lines of a table of names, and then of what the docstring of each says."""
    if names:
        yield from (".. list-table::", "   :widths: 30 70", "")
    for x in names:
        yield from (f"   * - :obj:`{x.name} <{_target(x)}>`", f"     - {x.summary}")
    yield ""
    for x in names:
        if _target(x) == x.path:
            yield from (*_entry(x), "")


def _target(x: Name) -> str:
    """Return where the name is described: in ``relgraph`` if that has the same object."""
    name = x.value.name if isinstance(x.value, Op) else x.name
    return f"relgraph.{name}" if getattr(rg, name, None) is x.value else x.path


def _entry(x: Name) -> Iterator[str]:
    if inspect.isclass(x.value):
        yield f".. autoclass:: {x.path}"
        if not issubclass(x.value, Exception):
            yield "   :members:"
    elif isinstance(x.value, Op):
        operands = ", ".join([f"x{i + 1}" for i in range(x.value.arity or 1)])
        yield from (f".. function:: {x.path}({operands})", "", f"   {x.summary}")
    elif inspect.isroutine(x.value) or hasattr(x.value, "__wrapped__"):
        yield f".. autofunction:: {x.path}"
    else:
        kind = type(x.value)
        yield from (f".. data:: {x.path}", "", f"   {x.summary}", "")
        if kind.__name__ in rg.__all__:
            yield f"   It is a :class:`relgraph.{kind.__name__}`."
        else:
            yield f"   .. autoclass:: {kind.__module__}.{kind.__name__}"


def write(folder: Path) -> None:
    """Write the pages that differ from those in a folder; Sphinx reads what is new."""
    folder.mkdir(exist_ok=True)
    for name, text in pages().items():
        path = folder / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            path.write_text(text, encoding="utf-8")
