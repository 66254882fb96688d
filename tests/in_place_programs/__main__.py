"""Run random functions that write in place, and print what is wrong.

python -m tests.in_place_programs --count 5000 --seed 0
"""

from __future__ import annotations

import argparse
from collections import Counter

from tests.in_place_programs.judge import judged


def main() -> int:
    """Run the command line, and return 1 where a function is wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.in_place_programs", description=__doc__)
    parser.add_argument("--count", type=int, default=500, help="functions to run")
    parser.add_argument("--seed", type=int, default=0, help="of the first")
    parser.add_argument("--target", default="numpy", help="where traced functions run")
    options = parser.parse_args()
    outcomes: Counter[str] = Counter()
    for seed in range(options.seed, options.seed + options.count):
        outcome, message = judged(seed, options.target)
        outcomes[outcome] += 1
        if outcome == "wrong":
            print(message, flush=True)
    print(", ".join(f"{name} {count:,}" for name, count in sorted(outcomes.items())))
    return int(outcomes["wrong"] > 0)


if __name__ == "__main__":
    raise SystemExit(main())
