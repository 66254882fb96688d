"""No module imports itself through others, not even by imports inside functions."""

import ast
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import relgraph as rg

RELGRAPH = Path(rg.__file__).parent


def files_of(package):
    """Return the files of a package by the names of their modules."""
    names = {}
    for path in package.rglob("*.py"):
        *parents, last = path.relative_to(package.parent).with_suffix("").parts
        names[".".join(parents if last == "__init__" else (*parents, last))] = path
    return names


def imports(node):
    """Yield the names that code imports anywhere, except for type checkers only."""
    if isinstance(node, ast.Import):
        yield from (alias.name for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        assert not node.level, "imports are absolute: from relgraph.ir import node"
        yield from (f"{node.module}.{alias.name}" for alias in node.names)
    elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
        yield from (arg.value for arg in node.args if isinstance(arg, ast.Constant))
    typing = isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")
    for child in node.orelse if typing else ast.iter_child_nodes(node):
        yield from imports(child)


def circle_in(package):
    """Return the modules of a circle, each of which imports the next; None if there is none."""
    files = files_of(package)
    graph = TopologicalSorter()
    for module, path in files.items():
        for name in imports(ast.parse(path.read_text(encoding="utf-8"))):
            target = name if name in files else name.rpartition(".")[0]
            if target in files:
                graph.add(module, target)
    try:
        graph.prepare()
    except CycleError as error:
        return error.args[1][::-1]
    return None


def test_no_module_imports_itself_through_others():
    circle = circle_in(RELGRAPH)
    assert circle is None, f"a circle: {' imports '.join(circle)}"


@pytest.mark.parametrize(
    ("first", "is_circle"),
    [
        ("from made.second import x", True),
        ("def f():\n    from made import second", True),
        ("async def f():\n    if x:\n        import made.second", True),
        ("if TYPE_CHECKING:\n    import os\nelse:\n    import made.second", True),
        ("from importlib import import_module\nimport_module('made.second')", True),
        ("if typing.TYPE_CHECKING:\n    import made.second", False),
        ("import os", False),
    ],
)
def test_circles_are_found(tmp_path, first, is_circle):
    package = tmp_path / "made"
    package.mkdir()
    (package / "__init__.py").write_text("from made.first import f\n")
    (package / "first.py").write_text(first)
    (package / "second.py").write_text("import made.first\n")
    circle = circle_in(package)
    assert (circle is not None) == is_circle
    if circle:
        assert circle[0] == circle[-1]
        assert set(circle) == {"made.first", "made.second"}
