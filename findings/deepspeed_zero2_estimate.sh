#!/usr/bin/env bash
# question: DeepSpeed's estimate_zero2_model_states_mem_needs, P parameters on N GPUs, without offload: bytes per GPU?
# guess: 4 P + 16 P / N. It charges whole gradients in 16 bits beside whole weights.
# saw: 2 P + 18 P / N. Gradients are divided, and counted twice: 16 bits and 32 bits for each parameter of the part.
# matters: The paper on ZeRO has 2 P + 14 P / N. DeepSpeed's estimate has 4 P / N more, for gradients in 32 bits. A planner that
#   compares itself with the paper or with the tool must know which.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
add deepspeed==0.19.8 hjson==3.1.0 py-cpuinfo==9.0.0 psutil==7.2.2 msgpack==1.2.4 einops==0.8.2 pydantic==2.14.4 \
  pydantic_core==2.50.5 annotated_types==0.8.0 typing_inspection==0.4.5 tqdm==4.70.1 packaging==26.4 ninja==1.13.2
"$python" - <<'PYTHON'
from deepspeed.runtime.zero.stage3 import estimate_zero3_model_states_mem_needs
from deepspeed.runtime.zero.stage_1_and_2 import estimate_zero2_model_states_mem_needs

PARAMETERS, LARGEST = 8_000_000, 1_000_000
for gpus in (1, 2, 8, 64):
    _, second = estimate_zero2_model_states_mem_needs(PARAMETERS, num_gpus_per_node=gpus, num_nodes=1, cpu_offload=False)
    _, third, _ = estimate_zero3_model_states_mem_needs(
        PARAMETERS, LARGEST, num_gpus_per_node=gpus, num_nodes=1, cpu_offload=False, cpu_offload_params=False, zero_init=True)
    print(f"{gpus} GPUs: ZeRO-2 {second / PARAMETERS:.3f} bytes per parameter, ZeRO-3 {third / PARAMETERS:.3f}")
    assert second == 2 * PARAMETERS + 18 * PARAMETERS // gpus
    assert third == 4 * LARGEST + 18 * PARAMETERS // gpus
PYTHON
