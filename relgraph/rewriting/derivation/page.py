"""A derivation as one HTML file: a slider over its steps, with relation, conditions and pictures.

The file fetches nothing.  Each step is an element that is shown when the slider stands on it, so a
browser lays out one step at a time.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from typing import TYPE_CHECKING, Any

from relgraph.errors import count_of
from relgraph.ir.cost import compared_flops
from relgraph.ir.infix import brief
from relgraph.ir.node import Variable
from relgraph.relations.operand_index import Firing
from relgraph.relations.pattern import variables
from relgraph.relations.relation import Relation
from relgraph.relations.statement import formula
from relgraph.rewriting.derivation.changes import change_of
from relgraph.rewriting.derivation.diagram import beside, change
from relgraph.rewriting.derivation.display import Frame, Names, entries
from relgraph.rewriting.derivation.passes import Pass
from relgraph.viz.document import Code, Element, Facts, Fold, Formula, Graphic, Heading, Note
from relgraph.viz.html import STYLE, body
from relgraph.viz.svg import STYLE as PICTURE_STYLE
from relgraph.viz.svg import svg

if TYPE_CHECKING:
    from relgraph.rewriting.derivation.derivation import Derivation

PICTURES = 400  # steps with a picture of what changed
_FIRINGS = 4  # of a step
_VALUE = 24  # nodes of a bound value

_PAGE_STYLE = """
body{margin:0;font:14px/1.45 system-ui,sans-serif;color:#1f2328;background:#fff}
header{position:sticky;top:0;background:#f6f8fa;border-bottom:1px solid #d1d9e0;padding:.6em 1.2em}
header h1{font-size:1.1em;margin:0 0 .3em}
nav{display:flex;gap:.8em;align-items:center}
nav input{flex:1}
nav button{font:inherit;padding:.1em .8em}
nav output{min-width:9em;text-align:right}
main{padding:.4em 1.2em 3em}
"""

# The steps are sections; the one whose number the slider has is shown.
_SCRIPT = """
const slider = document.getElementById("slider");
const steps = document.querySelectorAll("main > section");
function show(number) {
  const last = steps.length - 1;
  const at = Math.max(0, Math.min(last, number));
  steps.forEach((step, i) => { step.hidden = i !== at; });
  slider.value = at;
  document.getElementById("place").value =
    at === 0 ? "start" : at === last ? "result" : `step ${at} of ${last - 1}`;
}
slider.addEventListener("input", () => show(Number(slider.value)));
document.getElementById("back").addEventListener("click", () => show(Number(slider.value) - 1));
document.getElementById("on").addEventListener("click", () => show(Number(slider.value) + 1));
document.addEventListener("keydown", (event) => {
  const move = { ArrowLeft: -1, ArrowRight: 1, Home: -Infinity, End: Infinity }[event.key];
  if (move === undefined) return;
  event.preventDefault();
  show(Number(slider.value) + move);
});
show(0);
"""


def page(derivation: Derivation) -> str:
    """Return the page of a derivation.

    Parameters
    ----------
    derivation : Derivation
        The derivation.

    Returns
    -------
    str
        HTML with its style, its script and its pictures.
    """
    count = count_of(len(derivation.steps), "step")
    title = f"{count}, {compared_flops(derivation.before, derivation.after)}"
    sections = "\n".join(
        f"<section{' hidden' if i else ''}>{body(elements)}</section>"
        for i, elements in enumerate(_sections(derivation))
    )
    last = sections.count("<section") - 1
    return f"""<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>relgraph derivation</title>
<style>{STYLE}{PICTURE_STYLE}{_PAGE_STYLE}</style></head>
<body><header><h1>{escape(title)}</h1>
<nav><button id="back" title="arrow left">&larr;</button>
<input id="slider" type="range" min="0" max="{last}" value="0" aria-label="step">
<button id="on" title="arrow right">&rarr;</button><output id="place">start</output></nav></header>
<main class="relgraph">
{sections}
</main>
<script>{_SCRIPT}</script></body></html>
"""


def _sections(derivation: Derivation) -> Iterator[list[Element]]:
    names = Names()
    whole, inside = beside(derivation.before, derivation.after)
    picture: list[Element] = [Graphic(svg(whole, styled=False))]
    picture += [Fold(x.caption, (Graphic(svg([x], styled=False)),), link) for link, x in inside]
    yield [Heading("the graph"), *names.graph(derivation.before, "before"), *picture]
    for number, entry in enumerate(entries(derivation)):
        if isinstance(entry, Pass):
            yield names.entry(entry)
        else:
            yield _step(entry, names, number < PICTURES)
    result = [Heading("the result"), *names.graph(derivation.after, "after")]
    cost = compared_flops(derivation.before, derivation.after)
    unused = [Note(f"not used: {name}, {reason}") for name, reason in derivation.unused]
    drawn = Graphic(svg(whole[1:], styled=False))
    yield [*result, Facts((("cost", cost),)), *unused, drawn]


def _step(frame: Frame, names: Names, drawn: bool) -> list[Element]:
    """Return a step: what changed, why it may, what it costs, and a picture."""
    step = frame.step
    elements = names.entry(frame)
    removed, added = change_of(step.before, step.after).flops
    costs = [("cost of what changed", f"{removed} -> {added} flops")]
    if frame.before is not None and frame.after is not None:
        costs.append(("cost of the graph", compared_flops(frame.before, frame.after)))
    elements.append(Facts(tuple(costs)))
    for firing in step.firings[:_FIRINGS]:
        elements += _firing(firing)
    if len(step.firings) > _FIRINGS:
        elements.append(Note(f"... {count_of(len(step.firings) - _FIRINGS, 'more use')}"))
    if drawn:
        elements.append(Graphic(svg(change(step.before, step.after), styled=False)))
    return elements


def _firing(firing: Firing) -> list[Element]:
    """Return the relation that fired: its statement, labels and conditions, and bound values."""
    rewrite = firing.rewrite
    relation = getattr(rewrite, "source", None)
    if not isinstance(relation, Relation):
        return [Heading(f"by {rewrite.relation}"), Note("a rewriter written in Python")]
    rows = [("claims", f"{relation.rounding}, {relation.specials}")]
    if relation.location:
        rows.append(("declared", relation.location))
    bound = _bound(firing)
    rows += [(name, value) for name, value in bound.items()]
    for condition in rewrite.conditions:
        args = [bound[str(x)] for x in condition.args if str(x) in bound]
        rows.append(("condition", f"{condition!r}" + (f": {', '.join(args)}" if args else "")))
    stated: Element = Code(str(relation))
    if relation.clauses:
        stated = Formula(formula(relation), str(relation))
    return [Heading(f"by {relation.label}"), stated, Facts(tuple(rows))]


def _bound(firing: Firing) -> dict[str, str]:
    """Return the values of the variables of a relation, by name."""
    if not firing.bindings:
        return {}
    names = [str(x) for x in variables(firing.rewrite.pattern)]
    return {name: _value(x) for name, x in zip(names, firing.bindings, strict=False)}


def _value(x: Any) -> str:
    if isinstance(x, Variable):
        return f"{brief(x, _VALUE)}  : {x.type}"
    if isinstance(x, tuple | list):
        return ", ".join(map(_value, x[:6])) + (", ..." if len(x) > 6 else "")
    return repr(x)
