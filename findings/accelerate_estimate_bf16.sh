#!/usr/bin/env bash
# question: What does `accelerate estimate-memory` report for training with Adam in bf16, per parameter?
# guess: 16 bytes.
# saw: 8 bytes, half of what it reports for fp32 (16). In fp32 the sum of all parts is reported. In bf16 and fp16 it is
#   the largest of model (4), gradients (6) and optimizer (8), as if they took turns. The model's own size is 4 bytes per
#   parameter in bf16, and 2 in fp16.
# matters: The same parts add up to 18 bytes. A plan sized by the tool needs more than twice the memory, and the error
#   looks like the saving that mixed precision is believed to give.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
add accelerate==1.15.0 huggingface_hub==2.4.0 safetensors==0.8.0 hf-xet==1.8.0 httpx2==2.16.2 httpcore2==2.16.2 h11==0.16.0 anyio==4.16.0 \
  idna==3.20 truststore==0.10.5 click==8.5.1 psutil==7.2.2 PyYAML==6.0.4 packaging==26.4 tqdm==4.70.1
cat > "$work/check.py" <<'PYTHON'
import argparse
from unittest import mock

import torch
from accelerate.commands import estimate

PARAMETERS = 1024 * 1024
with torch.device("meta"):
    model = torch.nn.Sequential(torch.nn.Linear(1024, 1024, bias=False))
arguments = argparse.Namespace(model_name="local", library_name=None, trust_remote_code=False, dtypes=["float32", "float16", "bfloat16"])
# The command's own function, on a model made here instead of one from a hub.
with mock.patch.object(estimate, "create_empty_model", return_value=model):
    rows = estimate.gather_data(arguments)

seen = {}
for dtype, _, size, training in rows:
    parts = {name: amount / PARAMETERS for name, amount in training.items()}
    # The table of the command shows the largest entry.
    seen[dtype] = size / PARAMETERS, max(parts.values())
    print(f"{dtype}: model {size / PARAMETERS} bytes per parameter, training {max(parts.values())}, parts {parts}")
assert seen == {"float32": (4, 16), "float16": (2, 8), "bfloat16": (4, 8)}
PYTHON
"$python" "$work/check.py"
