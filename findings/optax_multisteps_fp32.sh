#!/usr/bin/env bash
# question: optax.MultiSteps accumulates gradients of bf16 parameters over micro-batches. Of which type is its sum, and
#   those of Adam's moments?
# guess: bf16, like the parameters.
# saw: The sum is fp32, 4 bytes per parameter. Adam's moments inside are bf16, 2 bytes each.
# matters: Accumulation in optax adds 4 bytes per parameter. A plan that counts a sum in the gradients' type misses half
#   of that: 2 of the 12 bytes that parameters, gradients, moments and the sum take.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install jax==0.9.2 jaxlib==0.9.2 numpy==2.4.6
add optax==0.2.8 absl-py==2.5.1
export JAX_PLATFORMS=cpu
cat > "$work/check.py" <<'PYTHON'
import jax
import jax.numpy as jnp
import optax

parameters = {"w": jnp.ones((64, 64), jnp.bfloat16)}
gradients = {"w": jnp.full((64, 64), 0.5, jnp.bfloat16)}
optimizer = optax.MultiSteps(optax.adamw(1e-3), every_k_schedule=4)
state = optimizer.init(parameters)
for _ in range(3):
    updates, state = optimizer.update(gradients, state, parameters)
    parameters = optax.apply_updates(parameters, updates)
adam = state.inner_opt_state[0]
print("sum:", state.acc_grads["w"].dtype, "moments:", adam.mu["w"].dtype, adam.nu["w"].dtype, "parameters:", parameters["w"].dtype)
assert state.acc_grads["w"].dtype == jnp.float32
assert adam.mu["w"].dtype == adam.nu["w"].dtype == parameters["w"].dtype == jnp.bfloat16
bytes_ = sum(leaf.nbytes for leaf in jax.tree.leaves(state) if leaf.ndim)
print("bytes of state per parameter:", bytes_ / parameters["w"].size)
assert bytes_ / parameters["w"].size == 8
PYTHON
"$python" "$work/check.py"
