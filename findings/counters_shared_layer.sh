#!/usr/bin/env bash
# question: A linear layer without bias is shared by two blocks, as in ALBERT or a looped transformer. Do popular counters
#   report two uses and one set of weights?
# guess: thop counts two uses, which is right. The weights count twice in thop and once in torchinfo, ptflops and fvcore.
# saw: Uses: fvcore 2, ptflops 4 by modules and 2 by operators, thop 8, torchinfo 1/32 (it multiplies a linear layer by
#   the batch, but not by the tokens). Weights: fvcore and ptflops 1, thop 2, torchinfo 3.
# matters: A planner that takes costs from such a counter charges shared layers two to four times. All but torchinfo agree
#   on plain networks, so the error shows only with shared layers: hooks run once per registration, and sums walk the tree
#   of modules.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
add fvcore==0.1.5.post20221221 ptflops==0.7.5 thop==0.1.1.post2209072238 torchinfo==1.8.0 iopath==0.1.10 portalocker==4.4.2 yacs==0.1.8 \
  PyYAML==6.0.4 tabulate==0.10.0 termcolor==3.3.0 pillow==13.0.0 tqdm==4.70.1
cat > "$work/check.py" <<'PYTHON'
import fvcore.nn
import ptflops
import thop
import torch
import torchinfo

BATCH, TOKENS, WIDTH = 2, 64, 128
USE, WEIGHTS = BATCH * TOKENS * WIDTH * WIDTH, WIDTH * WIDTH
x = torch.ones(BATCH, TOKENS, WIDTH)


class Block(torch.nn.Module):
    def __init__(self, layer):
        super().__init__()
        self.layer = layer

    def forward(self, input):
        return self.layer(input)


def network(shared=True):
    layers = [torch.nn.Linear(WIDTH, WIDTH, bias=False) for _ in range(2)]
    return torch.nn.Sequential(Block(layers[0]), Block(layers[0 if shared else 1]))


def fvcore_(model):
    return fvcore.nn.FlopCountAnalysis(model, x).total(), fvcore.nn.parameter_count(model)[""]


def thop_(model):
    return thop.profile(model, (x,), verbose=False)


def ptflops_(backend):
    return lambda model: ptflops.get_model_complexity_info(
        model, (TOKENS, WIDTH), as_strings=False, print_per_layer_stat=False, backend=backend, input_constructor=lambda _: {"input": x})


def torchinfo_(model):
    result = torchinfo.summary(model, input_data=(x,), verbose=0)
    return result.total_mult_adds, result.total_params


seen = {}
for name, count in {"fvcore": fvcore_, "thop": thop_, "ptflops modules": ptflops_("pytorch"),
                    "ptflops operators": ptflops_("aten"), "torchinfo": torchinfo_}.items():
    for shared in (False, True):
        products, parameters = count(network(shared))
        seen[name, shared] = products / USE, parameters / WEIGHTS
    print(f"{name:18} two layers: {seen[name, False]}, one shared layer: {seen[name, True]}")

for name in ("fvcore", "thop", "ptflops modules", "ptflops operators"):
    assert seen[name, False] == (2, 2), name
assert seen["fvcore", True] == (2, 1)
assert seen["ptflops operators", True] == (2, 1)
assert seen["ptflops modules", True] == (4, 1)
assert seen["thop", True] == (8, 2)
assert seen["torchinfo", False] == (2 / TOKENS, 2)
assert seen["torchinfo", True] == (2 / TOKENS, 3)
PYTHON
"$python" "$work/check.py"
