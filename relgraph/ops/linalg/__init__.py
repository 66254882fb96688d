"""Linear algebra: solving, factorisations, structured matrices, BLAS and LAPACK."""
