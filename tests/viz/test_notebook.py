"""A notebook that Jupyter runs: what its cells show is HTML, LaTeX or SVG, not escaped text."""

import os
from pathlib import Path

import pytest

import relgraph as rg
from tests.viz.displays import DISPLAYS

nbformat = pytest.importorskip("nbformat")
nbclient = pytest.importorskip("nbclient")
pytest.importorskip("ipykernel")

ROOT = Path(rg.__file__).parent.parent
HEAD = "import relgraph as rg\nfrom tests.viz.displays import DISPLAYS"


@pytest.fixture(scope="module")
def outputs():
    """Run a notebook with one cell for each display, and return what each cell shows, by name."""
    new = nbformat.v4
    cells = [new.new_code_cell(HEAD), *[new.new_code_cell(f"DISPLAYS[{x!r}]()") for x in DISPLAYS]]
    paths = [str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(paths))
        patch.setenv("PYDEVD_DISABLE_FILE_VALIDATION", "1")
        notebook = new.new_notebook(cells=cells)
        client = nbclient.NotebookClient(notebook, timeout=120, kernel_name="python3")
        client.execute()
    return dict(zip(DISPLAYS, [cell.outputs for cell in notebook.cells[1:]], strict=True))


@pytest.mark.filterwarnings("default")
@pytest.mark.parametrize("name", DISPLAYS)
def test_cells_show_html(name, outputs):
    (output,) = outputs[name]
    assert output.output_type == "execute_result"
    assert output.data["text/html"].startswith('<div class="relgraph">')
    assert "\\n" not in output.data["text/plain"]
    assert "\x1b" not in output.data["text/plain"]
    if name == "a picture":
        assert output.data["image/svg+xml"].startswith("<svg")
    if name in ("a graph", "an identity"):
        assert output.data["text/latex"].startswith("$")
