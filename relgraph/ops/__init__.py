"""What a graph can say: elementwise ops, reductions, shapes, indexing and linear algebra."""
