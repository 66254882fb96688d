"""Docstrings of public functions are completed from the vocabulary."""

import inspect

from relgraph.numpy.operands import typed
from relgraph.ops.docstrings import documented


@documented("reduction")
def total(x, axis=None, keepdims=False, *, initial=None, scale=1):
    """Add up elements.

    A second paragraph: it is no field.

    initial (scalar, optional): What the sum starts with, in so many words that the
        sentence goes on.
    scale (float): A factor.
    Returns (Variable, [n]): The sum.
    DomainError: For a scale of 0.
    ShapeError: For a matrix.

    Examples
    --------
    >>> 1 + 1
    2
    """


def test_fields_and_the_vocabulary_make_the_sections_of_numpydoc():
    assert inspect.getdoc(total) == inspect.cleandoc("""
        Add up elements.

        A second paragraph: it is no field.

        Parameters
        ----------
        x : Variable or array-like
            Any dtype and shape.
        axis : int, tuple of int or None
            The axes to reduce; None for all.
        keepdims : bool
            Whether reduced axes stay, with size 1.
        initial : scalar, optional
            What the sum starts with, in so many words that the sentence goes on.
        scale : float
            A factor.

        Returns
        -------
        Variable, [n]
            The sum.

        Raises
        ------
        DomainError
            For an axis out of range, or one given twice. For a scale of 0.
        ShapeError
            For a matrix.

        Examples
        --------
        >>> 1 + 1
        2
    """)


@documented()
def paired(x1, x2, *rest):
    """Return an operand that has a type.

    *rest (int): Not used.
    """
    return typed(x1, "paired"), x2, rest


def test_operands_that_need_a_type_are_no_patterns():
    doc = inspect.getdoc(paired)
    assert "x1, x2 : Variable or array-like\n    Any dtype; shapes broadcast." in doc
    assert "PatternError\n    For a pattern, which has no type." in doc


@documented(like=total)
def largest(x, axis=None, *, initial=None):
    """Take the largest element.

    initial: A lower bound.
    """


def test_fields_that_a_function_does_not_write_are_those_of_another_one():
    doc = inspect.getdoc(largest)
    assert "axis : int, tuple of int or None\n" in doc
    assert "Returns\n-------\nVariable, [n]\n    The sum." in doc
    assert "ShapeError\n    For a matrix." in doc
    assert "    A lower bound." in doc and "so many words" not in doc
    assert "keepdims" not in doc and "scale :" not in doc
