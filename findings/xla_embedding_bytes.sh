#!/usr/bin/env bash
# question: XLA's cost analysis of a lookup of 16 rows in an embedding table of 100,000 rows, on CPUs: how many bytes are
#   accessed?
# guess: Those of the rows only.
# saw: 25.6 MB: the whole table counts as read, for every lookup. The gradient of the table counts 102 MB. A table of
#   twice the rows counts twice the bytes.
# matters: A roofline that takes its bytes from compiled programs makes the embedding of a language model its slowest
#   layer, and a planner gives it a device of its own.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install jax==0.9.2 jaxlib==0.9.2 numpy==2.4.6
export JAX_PLATFORMS=cpu XLA_FLAGS=--xla_cpu_max_isa=AVX2
cat > "$work/check.py" <<'PYTHON'
import jax
import jax.numpy as jnp

WIDTH, LOOKUPS = 64, 16


def accessed(function, rows):
    table = jax.ShapeDtypeStruct((rows, WIDTH), jnp.float32)
    indices = jax.ShapeDtypeStruct((LOOKUPS,), jnp.int32)
    return jax.jit(function).lower(table, indices).compile().cost_analysis()["bytes accessed"]


def lookup(table, indices):
    return table[indices]


def gradient(table, indices):
    return jax.grad(lambda t: (t[indices] ** 2).sum())(table)


for rows in (100_000, 200_000):
    table = rows * WIDTH * 4
    forward, backward = accessed(lookup, rows), accessed(gradient, rows)
    print(f"{rows} rows, {table} bytes: lookup {forward:.0f} bytes, gradient {backward:.0f} bytes; the rows looked up have {LOOKUPS * WIDTH * 4}")
    assert table < forward < table + 3 * LOOKUPS * WIDTH * 4
    assert backward > 3 * table
PYTHON
"$python" "$work/check.py"
