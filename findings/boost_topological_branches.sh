#!/usr/bin/env bash
# question: Boost.Graph's topological_sort, reversed as its manual says: in which order do independent vertices come?
# guess: In ascending order.
# saw: In descending order: 4 3 2 1 0 for five lone vertices. Of two towers the one that was added last comes first, as a
#   whole. networkx gives lone vertices in ascending order, and takes turns between the towers.
# matters: Planners that cut a row of operators take the row from such a sort. The order decides which tensors cross a cut
#   and how long outputs of a branch wait, so two planners with equal costs and searches find different plans.
set -euo pipefail
source "$(dirname "$0")/common/setup.sh"
install boost-headers==1.85.0.post1 networkx==3.6.1
cat > "$work/check.cpp" <<'CPP'
#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/topological_sort.hpp>
#include <cstdio>
#include <iterator>
#include <utility>
#include <vector>

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::directedS>;

void print(std::size_t vertices, const std::vector<std::pair<int, int>>& edges) {
  const Graph graph(edges.begin(), edges.end(), vertices);
  std::vector<std::size_t> order;
  boost::topological_sort(graph, std::back_inserter(order));
  for (auto vertex = order.rbegin(); vertex != order.rend(); ++vertex) std::printf("%zu ", *vertex);
  std::puts("");
}

int main() {
  print(5, {});
  print(7, {{0, 1}, {1, 2}, {2, 6}, {3, 4}, {4, 5}, {5, 6}});
}
CPP
cat > "$work/check.py" <<'PYTHON'
import pathlib
import subprocess
import sys

import boost_headers
import networkx

folder = pathlib.Path(sys.argv[1])
include = pathlib.Path(boost_headers.__file__).parent / "include"
subprocess.run(["g++", "-O1", "-std=c++20", f"-I{include}", folder / "check.cpp", "-o", folder / "check"], check=True)
printed = subprocess.run([folder / "check"], check=True, capture_output=True, text=True).stdout
boost = [[int(word) for word in line.split()] for line in printed.splitlines()]

lone, towers = networkx.DiGraph(), networkx.DiGraph()
lone.add_nodes_from(range(5))
towers.add_nodes_from(range(7))
towers.add_edges_from([(0, 1), (1, 2), (2, 6), (3, 4), (4, 5), (5, 6)])
other = [list(networkx.topological_sort(graph)) for graph in (lone, towers)]
print("lone vertices:          Boost", boost[0], "networkx", other[0])
print("towers 0 1 2 and 3 4 5: Boost", boost[1], "networkx", other[1])
assert boost == [[4, 3, 2, 1, 0], [3, 4, 5, 0, 1, 2, 6]]
assert other == [[0, 1, 2, 3, 4], [0, 3, 1, 4, 2, 5, 6]]
PYTHON
"$python" "$work/check.py" "$work"
