#!/usr/bin/env bash
# question: METIS divides a chain of 12 layers, the last of which costs as much as 12 others, into 4 parts. Is every part
#   used?
# guess: Yes, no part is empty.
# saw: One part is empty, by recursive bisection and by the direct method: loads 12, 6, 5, 0. Neither prints a message.
#   Fewer edges are cut, and 12 is above the average anyway. Chains of equal layers are divided evenly into connected
#   parts.
# matters: A language model's head is such a layer. A partitioner that balances by average leaves a device without layers.
#   A cut that minimises the slowest stage, then the next, uses all devices (12, 4, 4, 3).
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install pymetis==2025.2.2 numpy==2.4.6
cat > "$work/check.py" <<'PYTHON'
import itertools

import pymetis


def divided(weights, parts, recursive):
    last = len(weights) - 1
    chain = [[j for j in (i - 1, i + 1) if 0 <= j <= last] for i in range(last + 1)]
    cut, of = pymetis.part_graph(parts, adjacency=chain, vweights=weights, recursive=recursive)
    runs = len(list(itertools.groupby(of)))
    loads = [sum(w for w, part in zip(weights, of) if part == which) for which in range(parts)]
    print(f"recursive={recursive}: weights {weights}: loads {loads}, {runs} connected runs, {cut} cut edges")
    return sorted(loads, reverse=True), runs


for recursive in (True, False):
    assert divided([1] * 24, 8, recursive) == ([3] * 8, 8)
    assert divided([1] * 11 + [12], 4, recursive) == ([12, 6, 5, 0], 3)
PYTHON
"$python" "$work/check.py"
