"""Images: blurs, edges, colours, histograms, resampling."""

from __future__ import annotations

import numpy as np

from corpus_programs.program import Program, jnp, normals, prange, uniforms


def blur_roll(image):
    """Blur by a kernel of 3 by 3, with edges that wrap around."""
    above, below = np.roll(image, 1, axis=0), np.roll(image, -1, axis=0)
    left, right = np.roll(image, 1, axis=1), np.roll(image, -1, axis=1)
    corners = (
        np.roll(above, 1, axis=1) + np.roll(above, -1, axis=1)
        + np.roll(below, 1, axis=1) + np.roll(below, -1, axis=1)
    )  # fmt: skip
    return (4 * image + 2 * (above + below + left + right) + corners) / 16


def blur_roll_numba(image):
    rows, columns = image.shape
    out = np.empty_like(image)
    for i in prange(rows):
        up, down = (i - 1) % rows, (i + 1) % rows
        for j in range(columns):
            left, right = (j - 1) % columns, (j + 1) % columns
            sides = image[up, j] + image[down, j] + image[i, left] + image[i, right]
            corners = image[up, left] + image[up, right] + image[down, left] + image[down, right]
            out[i, j] = (4 * image[i, j] + 2 * sides + corners) / 16
    return out


def sobel(image):
    """Return the size of the gradient inside of the image."""
    x = image[:-2, 2:] + 2 * image[1:-1, 2:] + image[2:, 2:]
    x = x - image[:-2, :-2] - 2 * image[1:-1, :-2] - image[2:, :-2]
    y = image[2:, :-2] + 2 * image[2:, 1:-1] + image[2:, 2:]
    y = y - image[:-2, :-2] - 2 * image[:-2, 1:-1] - image[:-2, 2:]
    return np.sqrt(x**2 + y**2)


def equalise_histogram(image):
    """Spread the grey levels of an image of bytes evenly."""
    counts = np.bincount(image.ravel(), minlength=256)
    below = np.cumsum(counts)
    levels = 255.0 * (below - below[0]) / (below[-1] - below[0])
    return np.round(levels).astype(np.uint8)[image]


def equalise_histogram_jax(image):
    below = jnp.cumsum(jnp.bincount(image.ravel(), length=256))
    levels = 255.0 * (below - below[0]) / (below[-1] - below[0])
    return jnp.round(levels).astype("uint8")[image]


def equalise_histogram_numba(image):
    counts = np.zeros(256, np.int64)
    flat = image.ravel()
    for i in range(flat.size):
        counts[flat[i]] += 1
    below = np.cumsum(counts)
    levels = np.round(255.0 * (below - below[0]) / (below[-1] - below[0])).astype(np.uint8)
    out = np.empty(flat.size, np.uint8)
    for i in prange(flat.size):
        out[i] = levels[flat[i]]
    return out.reshape(image.shape)


def grey(image):
    """Weigh the three channels, the last axis of the image."""
    return 0.299 * image[:, :, 0] + 0.587 * image[:, :, 1] + 0.114 * image[:, :, 2]


def ycbcr(pixels):
    """Return brightness and two differences of colour, of red, green, blue in turns."""
    red, green, blue = pixels[0::3], pixels[1::3], pixels[2::3]
    y = 0.299 * red + 0.587 * green + 0.114 * blue
    return y, 0.564 * (blue - y), 0.713 * (red - y)


def bilinear(image, x, y):
    """Return the image between its pixels."""
    left, top = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    dx, dy = x - left, y - top
    upper = image[top, left] * (1 - dx) + image[top, left + 1] * dx
    lower = image[top + 1, left] * (1 - dx) + image[top + 1, left + 1] * dx
    return upper * (1 - dy) + lower * dy


def bilinear_numba(image, x, y):
    out = np.empty_like(x)
    for k in prange(x.size):
        j, i = int(np.floor(x[k])), int(np.floor(y[k]))
        dx, dy = x[k] - j, y[k] - i
        upper = image[i, j] * (1 - dx) + image[i, j + 1] * dx
        lower = image[i + 1, j] * (1 - dx) + image[i + 1, j + 1] * dx
        out[k] = upper * (1 - dy) + lower * dy
    return out


def _samples(rng, n, points):
    return *normals((n, n))(rng), *uniforms(points, points, low=0, high=n - 1.001)(rng)


PROGRAMS = [
    Program(
        blur_roll, lambda rng, n: normals((n, n))(rng), ((1000,), (128,)), (5,),
        numba=blur_roll_numba,
    ),
    Program(sobel, lambda rng, n: normals((n, n), dtype="float32")(rng), ((1000,),), (5,)),
    Program(
        equalise_histogram, lambda rng, n: (rng.integers(20, 200, (n, n)).astype(np.uint8),),
        ((1000,),), (5,), jax=equalise_histogram_jax, numba=equalise_histogram_numba,
    ),
    Program(
        grey, lambda rng, n: normals((n, n, 3), dtype="float32")(rng), ((1000,), (128,)), (5,)
    ),
    Program(
        ycbcr, lambda rng, pixels: normals(3 * pixels, dtype="float32")(rng), ((1_000_000,),), (5,)
    ),
    Program(bilinear, _samples, ((1000, 200_000),), (5, 7), numba=bilinear_numba),
]  # fmt: skip
