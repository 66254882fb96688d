"""Relations as goals of miniKanren's own, whose answers do not end."""

from etuples import etuple
from kanren import conso, eq, fact, heado, lall, tailo
from kanren.assoccomm import assoc_flatten, associative
from kanren.graph import mapo
from unification import vars as lvars

import relgraph as rg

fact(associative, rg.add)


def dot_distributeo(in_lv, out_lv):
    """A.dot(a + b ...) == A.dot(a) + A.dot(b) ..., as the seed documents print it."""
    A_lv, add_term_lv, add_cdr_lv, dot_cdr_lv, add_flat_lv = lvars(5)
    return lall(
        eq(in_lv, etuple(rg.matmul, A_lv, add_term_lv)),
        heado(rg.add, add_term_lv),
        assoc_flatten(add_term_lv, add_flat_lv),
        tailo(add_cdr_lv, add_flat_lv),
        conso(rg.add, dot_cdr_lv, out_lv),
        mapo(lambda x, y: conso(rg.matmul, etuple(A_lv, x), y), add_cdr_lv, dot_cdr_lv),
    )


def spread_matmulo(left, right):
    """A (a + b) = A a + A b."""
    a, term, terms, products = lvars(4)
    return lall(
        eq(left, etuple(rg.matmul, a, term)),
        heado(rg.add, term),
        tailo(terms, term),
        conso(rg.add, products, right),
        mapo(lambda u, v: eq(v, etuple(rg.matmul, a, u)), terms, products),
    )
