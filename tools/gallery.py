"""How the gallery of examples takes the pictures of relgraph."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from relgraph.api.draw import Drawing


def save_drawing(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Save the drawing that a block of an example shows, from which sphinx-gallery makes the icon.

    Parameters
    ----------
    block : object
        The block.
    block_vars : dict
        Its variables, by sphinx-gallery.
    gallery_conf : dict
        The settings of sphinx-gallery.

    Returns
    -------
    str
        "": the page shows the drawing as HTML already.
    """
    shown = block_vars["example_globals"].get("___")  # the value of the last expression
    if isinstance(shown, Drawing):
        path = Path(next(block_vars["image_path_iterator"]))
        path.with_suffix(".svg").write_text(shown.svg, encoding="utf-8")
    return ""
