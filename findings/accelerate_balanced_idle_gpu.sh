#!/usr/bin/env bash
# question: accelerate's get_balanced_memory and infer_auto_device_map (device_map="balanced") place 8 equal layers on 4
#   GPUs with much room. How many layers does each GPU hold?
# guess: 2 2 2 2.
# saw: 2 3 3 0: the last GPU is idle. On 8 GPUs one layer each would fit, and 1 2 2 2 1 0 0 0 is chosen. 32 blocks on 8
#   GPUs give 4 5 5 5 5 5 3 0. Each GPU but the last gets its share and a margin of more than one layer, which greedy
#   filling uses up.
# matters: A pipeline or a plan that takes its stages from "balanced" has an idle rank, and its slowest stage holds 1.5 to
#   2 times the even share.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
add accelerate==1.15.0 huggingface_hub==2.4.0 safetensors==0.8.0 hf-xet==1.8.0 httpx2==2.16.2 httpcore2==2.16.2 h11==0.16.0 anyio==4.16.0 \
  idna==3.20 truststore==0.10.5 click==8.5.1 psutil==7.2.2 PyYAML==6.0.4 packaging==26.4 tqdm==4.70.1
cat > "$work/check.py" <<'PYTHON'
import logging

import torch
from accelerate import infer_auto_device_map
from accelerate.utils import get_balanced_memory

logging.disable(logging.WARNING)  # the GPUs named below need not exist
LAYER = 1024 * 1024 * 4


class Block(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.a = torch.nn.Linear(1024, 1024, bias=False)
        self.b = torch.nn.Linear(1024, 1024, bias=False)


def placed(layers, gpus, whole=()):
    with torch.device("meta"):
        model = torch.nn.Sequential(*layers())
    room = {gpu: 1000 * LAYER for gpu in range(gpus)} | {"cpu": 1000 * LAYER}
    balanced = get_balanced_memory(model, max_memory=room, no_split_module_classes=list(whole))
    places = list(infer_auto_device_map(model, max_memory=balanced, no_split_module_classes=list(whole)).values())
    counts = [places.count(gpu) for gpu in range(gpus)]
    print(f"{len(places)} modules on {gpus} GPUs: {counts}")
    assert sum(counts) == len(model)
    return counts


def linear():
    return [torch.nn.Linear(1024, 1024, bias=False) for _ in range(8)]


assert placed(linear, 2) == [4, 4]
assert placed(linear, 4) == [2, 3, 3, 0]
assert placed(linear, 8) == [1, 2, 2, 2, 1, 0, 0, 0]
assert placed(lambda: [Block() for _ in range(32)], 8, ["Block"]) == [4, 5, 5, 5, 5, 5, 3, 0]
PYTHON
"$python" "$work/check.py"
