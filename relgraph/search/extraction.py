"""The cheapest program in an e-graph, where a state that several others need is paid for once.

First the cheapest tree of each state (D. E. Knuth, A generalization of Dijkstra's algorithm,
Information Processing Letters 6, 1977); then, in that order, the cheapest program with sharing that
greedy choices give; then hill climbing, one state at a time.  Changes that pay only together are
found by forcing one of them, and choosing all else again.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from relgraph.ir.node import Variable
from relgraph.search.candidates import Candidate, Candidates, State

WIDTH = 8  # how many candidates of a state the greedy pass looks at
ROUNDING = 1e-12
STEPS_OF_FORCING = 4_000


class Choice(NamedTuple):
    """A program: its cost, and the index of each needed state's candidate."""

    cost: float
    chosen: dict[State, int]


class Extraction:
    """Chooses a candidate for each state that the goals need.

    Parameters
    ----------
    candidates : Candidates
    goals : sequence of State
    steps : int
        How many states hill climbing may look at.
    """

    def __init__(self, candidates: Candidates, goals: Sequence[State], steps: int = 20_000) -> None:
        self.candidates = candidates
        self.goals = tuple(dict.fromkeys(goals))
        self.steps = steps
        self.reached = self._reach()
        self.trees = self._trees()
        self._few: dict[State, list[int]] = {}  # the candidates of a state that may be chosen
        self._programs: dict[State, tuple[float, dict[State, float], int]] = {}

    def cheapest(self) -> Choice | None:
        """Return the cheapest program found, or None if no candidates compute a goal."""
        choice = self._greedy({})
        return None if choice is None else self._climb(choice)

    def forced(self, choice: Choice, steps: int = STEPS_OF_FORCING) -> Choice:
        """Return a cheaper program, found by forcing a candidate of a state that is needed.

        Parameters
        ----------
        choice : Choice
        steps : int
            How many states all the programs may look at.
        """
        of, best = self.candidates.of, choice
        tried: set[tuple[State, int]] = set()
        queue = list(best.chosen)
        for state in queue:
            for n in self._few_of(state):
                if (state, n) in tried or n == best.chosen.get(state):
                    continue
                if steps <= 0:
                    return best
                if of(state)[n].cost >= best.cost:
                    continue
                tried.add((state, n))
                self.steps = steps - len(self.trees)
                other = self._greedy({state: n})
                other = None if other is None else self._climb(other)
                steps = self.steps
                if other is not None and other.cost < best.cost * (1 - ROUNDING):
                    best = other
                    queue += best.chosen  # states that are new, and others beside them
        return best

    def _reach(self) -> list[State]:
        reached = dict.fromkeys(self.goals)
        queue = list(reached)
        for state in queue:
            for candidate in self.candidates.of(state):
                for need in candidate.needs:
                    if need not in reached:
                        reached[need] = None
                        queue.append(need)
        return queue

    def _trees(self) -> dict[State, float]:
        """Return the cost of the cheapest tree of each state, in order of cost."""
        users: dict[State, list[tuple[int, State, int]]] = {}
        waiting: dict[tuple[State, int], list[float]] = {}
        heap: list[tuple[float, int, State]] = []
        for k, state in enumerate(self.reached):
            for n, candidate in enumerate(self.candidates.of(state)):
                waiting[state, n] = [len(candidate.needs), candidate.cost]
                for need in candidate.needs:
                    users.setdefault(need, []).append((k, state, n))
                if not candidate.needs:
                    heapq.heappush(heap, (candidate.cost, k, state))
        trees: dict[State, float] = {}
        while heap:
            cost, _, state = heapq.heappop(heap)
            if state in trees:
                continue
            trees[state] = cost
            for k, user, n in users.get(state, ()):
                left = waiting[user, n]
                left[0] -= 1
                left[1] += cost
                if not left[0] and user not in trees:
                    heapq.heappush(heap, (left[1], k, user))
        return trees

    def _few_of(self, state: State) -> list[int]:
        """Return the candidates of a state with the cheapest trees."""
        few = self._few.get(state)
        if few is None:
            trees, candidates = self.trees, self.candidates.of(state)
            costs = [c.cost + sum(trees.get(need, inf) for need in c.needs) for c in candidates]
            few = self._few[state] = sorted(range(len(costs)), key=costs.__getitem__)[:WIDTH]
        return few

    def _greedy(self, forced: Mapping[State, int]) -> Choice | None:
        """Return the program that takes for each state what is cheapest with what it shares."""
        trees, of = self.trees, self.candidates.of
        users: dict[State, set[State]] = {}
        few: dict[State, list[int]] = {}
        for state in trees:
            few[state] = [forced[state]] if state in forced else self._few_of(state)
            for n in few[state]:
                for need in of(state)[n].needs:
                    users.setdefault(need, set()).add(state)
        best = self._programs = {}
        queue = list(trees)
        order = {state: k for k, state in enumerate(queue)}
        waiting = set(queue)
        while queue:
            changed: set[State] = set()
            for state in queue:
                waiting.discard(state)
                old = best[state][0] if state in best else inf
                for n in few[state]:
                    program = self._program_of(state, n, old)
                    if program is not None:
                        best[state] = program
                        old = program[0]
                        changed |= users.get(state, set()) - waiting
            queue = sorted(changed, key=order.__getitem__)
            waiting = set(queue)
        if not best.keys() >= set(self.goals):
            return None
        return self._total({state: best[state][2] for state in best})

    def _program_of(
        self, state: State, n: int, bound: float
    ) -> tuple[float, dict[State, float], int] | None:
        """Return the program of a candidate, given those of its needs, if it is cheaper."""
        candidate, best = self.candidates.of(state)[n], self._programs
        parts = []
        for need in candidate.needs:
            part = best.get(need)
            if part is None or part[0] + min(candidate.cost, 0) >= bound * (1 + ROUNDING):
                return None
            parts.append(part)
        costs: dict[State, float] = {}
        for part in parts:
            costs.update(part[1])
        if state in costs:
            return None
        costs[state] = candidate.cost
        cost = sum(costs.values())
        if cost >= bound * (1 - ROUNDING) and bound != inf:
            return None
        return cost, costs, n

    def _total(self, pick: dict[State, int]) -> Choice:
        """Return the part of a choice that the goals need, with its cost."""
        chosen: dict[State, int] = {}
        cost = 0.0
        queue = list(self.goals)
        for state in queue:
            if state not in chosen:
                n = chosen[state] = pick[state]
                candidate = self.candidates.of(state)[n]
                cost += candidate.cost
                queue += candidate.needs
        return Choice(cost, chosen)

    def _climb(self, choice: Choice) -> Choice:
        """Change one state's candidate at a time, as long as the cost falls."""
        of = self.candidates.of
        base = {state: program[2] for state, program in self._programs.items()}
        again = True
        while again:
            again = False
            for state in sorted(choice.chosen, key=lambda s: -of(s)[choice.chosen[s]].cost):
                for n in self._few_of(state):
                    if n == choice.chosen[state] or of(state)[n].cost >= choice.cost:
                        continue
                    if self.steps <= 0:
                        return choice
                    other = self._changed(base | choice.chosen | {state: n}, choice.cost)
                    if other is not None:
                        choice, again = other, True
                        break
                if again:
                    break
        return choice

    def _changed(self, pick: dict[State, int], bound: float) -> Choice | None:
        """Return a choice that is cheaper than a bound and has no cycle, or None."""
        of = self.candidates.of
        chosen: dict[State, int] = {}
        cost = 0.0
        queue = list(self.goals)
        for state in queue:
            if state not in chosen:
                self.steps -= 1
                n = pick.get(state)
                if n is None:
                    return None
                chosen[state] = n
                candidate = of(state)[n]
                cost += candidate.cost
                queue += candidate.needs
        if cost >= bound * (1 - ROUNDING):
            return None
        if find_cycle(self.goals, lambda s: of(s)[chosen[s]].needs) is not None:
            return None
        return Choice(cost, chosen)

    def build(self, choice: Choice) -> dict[State, Variable]:
        """Return the value of each chosen state, as nodes of graphs."""
        values: dict[State, Variable] = {}
        stack = list(reversed(self.goals))
        while stack:
            state = stack[-1]
            if state in values:
                stack.pop()
                continue
            candidate: Candidate = self.candidates.of(state)[choice.chosen[state]]
            missing = [need for need in candidate.needs if need not in values]
            if missing:
                stack += reversed(missing)
                continue
            stack.pop()
            values[state] = candidate.build(*[values[need] for need in candidate.needs])
        return values


def find_cycle(
    goals: Iterable[State], needs: Callable[[State], Iterable[State]]
) -> list[State] | None:
    """Return the states of a cycle, or None; without recursion."""
    done: set[State] = set()
    path: list[State] = []
    on_path: set[State] = set()
    for goal in goals:
        stack: list[tuple[State, bool]] = [(goal, False)]
        while stack:
            state, leave = stack.pop()
            if leave:
                path.pop()
                on_path.discard(state)
                done.add(state)
            elif state in on_path:
                return path[path.index(state) :]
            elif state not in done:
                path.append(state)
                on_path.add(state)
                stack.append((state, True))
                stack.extend([(need, False) for need in needs(state)])
    return None
