"""Expressions from the literature, each with the best form known by hand.

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

from tests.acceptance.published import Row, operands_of

SIZES = {"n": 400, "m": 300, "k": 8, "q": 20, "b": 5}

# Source, name, operands, as written, the best form known.
WRITTEN = """
LAMP | two-sided gather | A:n,n B:n,n C:n,n D:n,n | A@C+A@D+B@C+B@D | (A+B)@(C+D)
LAMP | gather with coefficients | A:n,n x:n y:n | 2*(A@x)-3*(A@y) | A@(2*x-3*y)
LAMP | transposed product | A:n,n B:n,n x:n | (A@B).T@x | B.T@(A.T@x)
LAMP | inverse of a product | A:n,n:wc B:n,n:wc x:n | inv(A@B)@x | solve(B,solve(A,x))
LAMP | two systems | A:n,n:wc x:n y:n | inv(A)@x+inv(A)@y | solve(A,x+y)
LAMP | orthogonal system | Q:n,n:orth x:n | inv(Q)@x | Q.T@x
LAMP | leading rows of a product | A:n,n B:n,n | (A@B)[:8] | A[:8]@B
LAMP | element of a chain | A:n,n B:n,n C:n,n | (A@B@C)[2,3] | A[2]@(B@C[:,3])
LAMP | whitening | L:n,n:tril S:n,n | inv(L)@S@inv(L).T | trisolve(L,trisolve(L,S).T).T
Knuth | power 8 | A:n,n | A@A@A@A@A@A@A@A | let(A@A,lambda B:let(B@B,lambda C:C@C))
Knuth | power 15 | A:n,n | A@A@A@A@A@A@A@A@A@A@A@A@A@A@A | let(A@A@A,lambda B:let(B@B,lambda C:C@C@B))
Knuth | Horner, vector | A:n,n x:n | A@A@A@x+A@A@x+A@x+x | A@(A@(A@x+x)+x)+x
Knuth | Horner, matrix | A:n,n | A@A@A+A@A+A | A+A@(A+A@A)
GVL | rank-one update, vector | A:n,n u:n v:n x:n | (A+outer(u,v))@x | A@x+u*(v@x)
GVL | low-rank update, vector | A:n,n U:n,k V:n,k x:n | (A+U@V.T)@x | A@x+U@(V.T@x)
GVL | product of dyads | u:n v:n x:n y:n | outer(u,v)@outer(x,y) | outer(u*(v@x),y)
GVL | Householder, matrix | u:n A:n,n | (eye(n,A)-2*outer(u,u))@A | A-outer(2*u,u@A)
GVL | two Householders | u:n v:n x:n | (eye(n,u)-2*outer(u,u))@(eye(n,u)-2*outer(v,v))@x | let(x-2*(v@x)*v,lambda z:z-2*(u@z)*u)
GVL | symmetric update | H:n,n u:n v:n s: | (eye(n,H)-s*outer(u,v))@H@(eye(n,H)-s*outer(v,u)) | let(H-outer(s*u,v@H),lambda M:M-outer(M@v,s*u))
GVL | quadratic form, polarised | A:n,n x:n y:n | x@A@x-x@A@y-y@A@x+y@A@y | let(x-y,lambda d:d@(A@d))
GVL | two quadratic forms | A:n,n B:n,n x:n | x@A@x+x@B@x | x@((A+B)@x)
GVL | products with a common end | A:n,n B:n,n C:n,n x:n | A@B@x+A@C@x | A@((B+C)@x)
GVL | scaled rows and columns | d:n A:n,n e:n x:n | diag(d)@A@diag(e)@x | d*(A@(e*x))
GVL | Hessian times vector | X:n,m w:n v:m | X.T@diag(w)@X@v | X.T@(w*(X@v))
GVL | product of diagonals | d:n e:n A:n,n | diag(d)@diag(e)@A | col(d*e)*A
Linnea | generalised least squares | X:n,k S:n,n:spd y:n | inv(X.T@inv(S)@X)@X.T@inv(S)@y | let(cholsolve(S,X),lambda Z:cholsolve(X.T@Z,Z.T@y))
Linnea | optimisation | w:n:pos A:k,n b:k c:n | diag(w)@(A.T@inv(A@diag(w)@A.T)@b-c) | w*(A.T@cholsolve((A*w)@A.T,b)-c)
Linnea | triangular inversion | L0:n,n L2:n,n:tril L1:n,n L3:n,n:tril L4:n,n | L0+inv(L2)@L1@inv(L3)@L4 | L0+trisolve(L2,L1@trisolve(L3,L4))
Linnea | image restoration 1 | H:n,m y:n v:m u:m s: | inv(H.T@H+s*eye(m,H))@(H.T@y+s*(v-u)) | cholsolve(syrk(H.T)+s*eye(m,H),H.T@y+s*(v-u))
Linnea | image restoration 2 | H:k,n y:k x:n | H.T@inv(H@H.T)@y+(eye(n,H)-H.T@inv(H@H.T)@H)@x | x+H.T@cholsolve(syrk(H),y-H@x)
Linnea | generalised Tikhonov | A:n,m P:n,n:spd Q:m,m:spd b:n x:m | x+inv(A.T@P@A+Q)@A.T@P@(b-A@x) | let(P@A,lambda W:x+cholsolve(A.T@W+Q,W.T@(b-A@x)))
Linnea | linear MMSE estimator | C:n,n:spd A:k,n Z:k,k:spd y:k x:n | C@A.T@inv(A@C@A.T+Z)@(y-A@x)+x | let(C@A.T,lambda G:G@cholsolve(A@G+Z,y-A@x)+x)
Linnea | randomised inversion | S:n,k A:n,n:spd X:n,n | X-S@inv(S.T@A@S)@S.T@A@X | X-S@cholsolve(S.T@(A@S),(A@S).T@X)
Linnea | Kalman gain, innovation form | P:n,n:spd H:k,n R:k,k:spd Y:k,q | P@H.T@inv(H@P@H.T+R)@Y | let(P@H.T,lambda G:G@cholsolve(H@G+R,Y))
Linnea | Kalman covariance | P:n,n:spd H:k,n R:k,k:spd | (eye(n,P)-P@H.T@inv(H@P@H.T+R)@H)@P | let(P@H.T,lambda G:P-G@cholsolve(H@G+R,G.T))
HADAD | A v + B v | A:n,m B:n,m v:m | A@v+B@v | (A+B)@v
HADAD | s A + t A | A:n,m s: t: | s*A+t*A | (s+t)*A
HADAD | colSums(A B) | A:n,m B:m,n | cs(A@B) | cs(A)@B
HADAD | sum(colSums(A.T B)) | A:n,m B:n,m | sum_(cs(A.T@B)) | rs(A)@rs(B)
HADAD | rowSums(A.T) | A:n,m | rs(A.T) | cs(A)
HADAD | tr(A + B) | A:n,n B:n,n | tr(A+B) | tr(A)+tr(B)
HADAD | det(A B inv(A)) | A:n,n:wc B:n,n | det(A@B@inv(A)) | det(B)
HADAD | (A + B) v of a product | A:n,m B:m,n C:n,n v:n | (A@B+C)@v | A@(B@v)+C@v
HADAD | inv(A) inv(B) x | A:n,n:wc B:n,n:wc x:n | inv(A)@inv(B)@x | solve(A,solve(B,x))
SystemDS | X - s X | X:n,m s: | X-s*X | (1-s)*X
SystemDS | (s X) y | X:n,m s: y:m | (s*X)@y | s*(X@y)
SystemDS | -(X.T) y | X:n,m y:n | (-X.T)@y | -(X.T@y)
SystemDS | sum(v X) | X:n,m v:n | sum_(col(v)*X) | v@rs(X)
SystemDS | rowSums of scaled rows | d:n A:n,m | rs(diag(d)@A) | d*rs(A)
SystemDS | colSums of scaled columns | A:n,m e:m | cs(A@diag(e)) | cs(A)*e
SystemDS | sum(-X) | X:n,m | sum_(-X) | -sum_(X)
SystemDS | sum of a product of three | A:n,m B:m,n C:n,m | sum_(A@B@C) | cs(A)@B@rs(C)
SystemDS | centring | X:n,m | (eye(n,X)-ones(n,n)/n)@X | X-cs(X)/n
SystemDS | weighted sum of squares | X:n,m w:n | sum_(diag(w)@(X*X)) | w@rs(X*X)
Cookbook | trace of a similar matrix | A:n,n:wc B:n,n | tr(A@B@inv(A)) | tr(B)
Cookbook | trace of a dyad | A:n,n x:n y:n | tr(A@outer(x,y)) | y@(A@x)
Cookbook | trace of a square | A:n,m | tr(A.T@A) | sum_(A**2)
Cookbook | trace of three, thin | U:n,k V:n,k A:n,n | tr(U@V.T@A) | sum_(V*(A@U))
Cookbook | elements of a low-rank matrix | U:n,k V:n,k A:n,n | sum_((U@V.T)*A) | sum_(U*(A@V))
Cookbook | diagonal of a quadratic form | A:n,m d:m | diag(A@diag(d)@A.T) | (A*A)@d
Cookbook | leverages | X:n,k | diag(X@inv(X.T@X)@X.T) | rs(X*cholsolve(syrk(X.T),X.T).T)
Cookbook | Mahalanobis distances | X:n,k S:k,k:spd | diag(X@inv(S)@X.T) | rs(X*cholsolve(S,X.T).T)
Cookbook | quadratic form of an inverse | S:n,n:spd x:n | x@inv(S)@x | x@cholsolve(S,x)
Cookbook | inverse of an inverse sum | A:n,n:wc B:n,n:wc x:n | inv(inv(A)+inv(B))@x | B@solve(A+B,A@x)
Cookbook | centred Gram matrix | X:n,m | (X-cs(X)/n).T@(X-cs(X)/n) | let(X-cs(X)/n,lambda Y:syrk(Y.T))
Cookbook | batch, common factor | S:b,n,n F:n,n G:n,n | S@F+S@G | S@(F+G)
Cookbook | batch, chain | S:b,n,n F:n,n z:n,1 | S@F@z | S@(F@z)
Cookbook | batch, expansion | S:b,n,n T:b,n,n z:b,n,1 | (S-T@T)@z | S@z-T@(T@z)
"""

# The same, by laws after which results may be small differences of large numbers.
CANCELLING = """
Cookbook | push-through | U:n,k V:n,k | inv(eye(n,U)+U@V.T)@U | U@inv(eye(k,U)+V.T@U)
Cookbook | Woodbury, diagonal | d:n:pos U:n,k x:n | inv(diag(d)+U@U.T)@x | let(x/d,lambda z:z-(U@solve(eye(k,U)+(U.T/d)@U,U.T@z))/d)
Cookbook | determinant lemma | d:n:pos u:n v:n | det(diag(d)+outer(u,v)) | prod(d)*(1+(v/d)@u)
Linnea | ridge, dual | X:k,n y:k s::pos | inv(X.T@X+s*eye(n,X))@X.T@y | X.T@cholsolve(syrk(X)+s*eye(k,X),y)
Linnea | Kalman gain, information form | B:n,n:spd H:k,n R:k,k:spd Y:k,q | inv(inv(B)+H.T@inv(R)@H)@H.T@inv(R)@Y | let(B@H.T,lambda G:G@cholsolve(H@G+R,Y))
"""


def _rows(text: str) -> dict[str, Row]:
    rows = {}
    for line in text.strip().splitlines():
        source, name, operands, written, best = line.split(" | ")
        rows[name] = Row(name, source, SIZES, operands_of(operands), written, best, 0)
    return rows


ROWS, CANCELLING_ROWS = _rows(WRITTEN), _rows(CANCELLING)
