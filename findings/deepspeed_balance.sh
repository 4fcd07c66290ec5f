#!/usr/bin/env bash
# question: DeepSpeed's partition_balanced cuts a row of layers for its pipeline. Is the largest part as small as possible?
# guess: Yes, it searches for the smallest bottleneck exactly.
# saw: Not always. Of 300 random rows of 4 to 10 layers about 3 % are cut worse than the best, by about a tenth. The function
#   minimises the difference between the largest and the smallest part, step by step, not the largest part.
# matters: A reference for "what DeepSpeed would do" has to run DeepSpeed's function. An exact partition in its place makes
#   DeepSpeed look faster than it is.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install torch==2.15.0 numpy==2.4.6
add deepspeed==0.19.8 hjson==3.1.0 py-cpuinfo==9.0.0 psutil==7.2.2 msgpack==1.2.4 einops==0.8.2 pydantic==2.14.4 \
  pydantic_core==2.50.5 annotated_types==0.8.0 typing_inspection==0.4.5 tqdm==4.70.1 packaging==26.4 ninja==1.13.2
"$python" - <<'PYTHON'
import itertools
import random

from deepspeed.runtime.utils import partition_balanced


def bottleneck(weights, bounds):
    return max(sum(weights[begin:end]) for begin, end in itertools.pairwise(bounds))


def best(weights, parts):
    cuts = itertools.combinations(range(1, len(weights)), parts - 1)
    return min(bottleneck(weights, (0, *cut, len(weights))) for cut in cuts)


random.seed(0)
worse = []
for _ in range(300):
    weights = [random.randint(1, 20) for _ in range(random.randint(4, 10))]
    parts = random.randint(2, 4)
    bounds = [int(bound) for bound in partition_balanced(weights, parts)]
    if bottleneck(weights, bounds) > best(weights, parts):
        worse.append((bottleneck(weights, bounds) / best(weights, parts), weights, bounds))
print(f"{len(worse)} of 300 rows are cut worse than the best; worst:", max(worse))
weights = [6, 20, 14, 5, 4, 19, 4]
bounds = [int(bound) for bound in partition_balanced(weights, 4)]
print(weights, bounds, "bottleneck", bottleneck(weights, bounds), "best", best(weights, 4))
assert worse
assert bottleneck(weights, bounds) == 26 and best(weights, 4) == 23
PYTHON
