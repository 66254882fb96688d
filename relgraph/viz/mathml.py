"""LaTeX of relgraph as MathML, which browsers show without a library or a network.

It reads the LaTeX that :mod:`relgraph.ir.latex` writes: fractions, roots, scripts, brackets,
named functions and symbols.
"""

from __future__ import annotations

import re
from html import escape

_TOKEN = re.compile(r"\\[A-Za-z]+|\\.|\d+(?:\.\d+)?|[A-Za-z]+|\s+|.", re.DOTALL)
SYMBOLS = {
    "-": "−", r"\cdot": "⋅", r"\le": "≤", r"\ge": "≥", r"\ne": "≠", r"\wedge": "∧", r"\vee": "∨",
    r"\neg": "¬", r"\oplus": "⊕", r"\top": "⊤", r"\ldots": "…", r"\infty": "∞", r"\bmod": "mod",
    r"\lfloor": "⌊", r"\rfloor": "⌋", r"\lceil": "⌈", r"\rceil": "⌉", r"\ll": "≪", r"\gg": "≫",
    r"\to": "→", r"\lVert": "‖", r"\rVert": "‖",
    r"\langle": "⟨", r"\rangle": "⟩", r"\{": "{", r"\}": "}", r"\_": "_",
}  # fmt: skip
GREEK = {
    r"\alpha": "α", r"\beta": "β", r"\gamma": "γ", r"\delta": "δ", r"\epsilon": "ε", r"\zeta": "ζ",
    r"\eta": "η", r"\theta": "θ", r"\iota": "ι", r"\kappa": "κ", r"\lambda": "λ", r"\mu": "μ",
    r"\nu": "ν", r"\xi": "ξ", r"\pi": "π", r"\rho": "ρ", r"\sigma": "σ", r"\tau": "τ",
    r"\upsilon": "υ", r"\phi": "φ", r"\chi": "χ", r"\psi": "ψ", r"\omega": "ω", r"\Gamma": "Γ",
    r"\Delta": "Δ", r"\Theta": "Θ", r"\Lambda": "Λ", r"\Xi": "Ξ", r"\Pi": "Π", r"\Sigma": "Σ",
    r"\Phi": "Φ", r"\Psi": "Ψ", r"\Omega": "Ω",
}  # fmt: skip
_ENDS = ("}", r"\right")
_SPACES = {r"\,": "0.17em", r"\quad": "1em"}


def mathml(latex: str) -> str:
    """Return LaTeX as the children of a ``math`` element.

    Parameters
    ----------
    latex : str
        One line of LaTeX.

    Returns
    -------
    str
        MathML.
    """
    return _Reader(_TOKEN.findall(latex)).row()


class _Reader:
    """A reader of tokens; it recurses with the nesting of a formula, which is short."""

    def __init__(self, tokens: list[str]) -> None:
        self.tokens = tokens
        self.at = 0

    def row(self) -> str:
        """Read up to the end of a group."""
        parts: list[str] = []
        while self.at < len(self.tokens) and self.tokens[self.at] not in _ENDS:
            token = self.tokens[self.at]
            if token.isspace():
                self.at += 1
            elif token in "^_":
                self.at += 1
                base = parts.pop() if parts else "<mrow></mrow>"
                parts.append(self.script(token, base))
            else:
                parts.append(self.atom())
        return f"<mrow>{''.join(parts)}</mrow>"

    def script(self, mark: str, base: str) -> str:
        """Read a script, and the other one if both stand at the same base."""
        first = self.atom()
        if self.at < len(self.tokens) and self.tokens[self.at] in "^_":
            self.at += 1
            low, high = (first, self.atom()) if mark == "_" else (self.atom(), first)
            return f"<msubsup>{base}{low}{high}</msubsup>"
        name = "msup" if mark == "^" else "msub"
        return f"<{name}>{base}{first}</{name}>"

    def atom(self) -> str:
        """Read one symbol, group or command with its arguments."""
        token = self.tokens[self.at]
        self.at += 1
        if token == "{":
            inner = self.row()
            self.at += 1
            return inner
        if token == r"\frac":
            return f"<mfrac>{self.atom()}{self.atom()}</mfrac>"
        if token == r"\sqrt":
            return f"<msqrt>{self.atom()}</msqrt>"
        if token == r"\left":
            opening, inner = self.fence("prefix"), self.row()
            self.at += 1
            return f"<mrow>{opening}{inner}{self.fence('postfix')}</mrow>"
        if token in (r"\operatorname", r"\mathrm"):
            return f'<mi mathvariant="normal">{escape(self.raw())}</mi>'
        if token == r"\text":
            return f"<mtext>{escape(self.raw())}</mtext>"
        if token in _SPACES:
            return f'<mspace width="{_SPACES[token]}"/>'
        if token in GREEK:
            return f"<mi>{GREEK[token]}</mi>"
        if token[0].isdigit():
            return f"<mn>{token}</mn>"
        if token.isalpha():
            return f"<mi>{escape(token)}</mi>"
        symbol = SYMBOLS.get(token, token.removeprefix("\\"))
        return f"<mo>{escape(symbol)}</mo>"

    def fence(self, form: str) -> str:
        """Read a bracket, which grows with what it encloses."""
        token = self.tokens[self.at]
        self.at += 1
        bracket = escape(SYMBOLS.get(token, token))
        return f'<mo form="{form}" fence="true" stretchy="true">{bracket}</mo>'

    def raw(self) -> str:
        """Read a group as text."""
        self.at += 1
        parts: list[str] = []
        while self.tokens[self.at] != "}":
            token = self.tokens[self.at]
            parts.append(token[1:] if token[0] == "\\" and len(token) == 2 else token)
            self.at += 1
        self.at += 1
        return "".join(parts)
