"""The rows of ``published.json``: expressions of the literature, and the best forms known by hand.

The rows that are ``cancelling`` need laws after which results may be small differences of large
numbers; a search uses them only with ``exclude=()``.

Sources
-------
Linnea : H. Barthels, C. Psarras, P. Bientinesi, Linnea: automatic generation of efficient linear
    algebra programs, ACM TOMS 2021: the applications of its Table 1.
LAMP : C. Psarras, H. Barthels, P. Bientinesi, The linear algebra mapping problem, ACM TOMS 2022.
HADAD : R. Alotaibi et al., HADAD: a lightweight approach for optimizing hybrid complex analytics
    queries, SIGMOD 2021.
SystemDS : M. Boehm et al., SystemDS, CIDR 2020: its static and dynamic simplifications.
Cookbook : K. B. Petersen and M. S. Pedersen, The matrix cookbook, 2012.
GVL : G. H. Golub and C. F. Van Loan, Matrix computations, 4th ed., 2013.
Knuth : D. E. Knuth, The art of computer programming, vol. 2, section 4.6.3.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.acceptance.published import Row, operands_of

SIZES = {"n": 400, "m": 300, "k": 8, "q": 20, "b": 5}
_ENTRIES = json.loads(Path(__file__).with_name("published.json").read_text("utf-8"))


def _row(entry: dict[str, Any]) -> Row:
    operands = operands_of(entry["operands"])
    return Row(entry["id"], entry["source"], SIZES, operands, entry["naive"], entry["target"], 0)


ROWS = {x["id"]: _row(x) for x in _ENTRIES if not x["cancelling"]}
CANCELLING_ROWS = {x["id"]: _row(x) for x in _ENTRIES if x["cancelling"]}
