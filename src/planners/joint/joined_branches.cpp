#include "joint/joined_branches.hpp"

#include <numeric>

namespace penstock::planners {
namespace {

using graph::Vertex;

/// [unit] true for `join` and all units behind it.
std::vector<char> reached(const graph::Dag& dag, Vertex join) {
  std::vector<char> out(dag.size());
  out[static_cast<std::size_t>(join)] = 1;
  for (std::size_t u = static_cast<std::size_t>(join); u < dag.size(); ++u)
    if (out[u])
      for (const Vertex next : dag.successors(static_cast<Vertex>(u)))
        out[static_cast<std::size_t>(next)] = 1;
  return out;
}

/// True if every unit that is not behind `join` leads to it.
bool joins_all(const graph::Dag& dag, Vertex join, const std::vector<char>& behind) {
  std::vector<char> leads(dag.size());
  leads[static_cast<std::size_t>(join)] = 1;
  for (std::size_t u = dag.size(); u-- > 0;)
    for (const Vertex next : dag.successors(static_cast<Vertex>(u)))
      leads[u] = leads[u] || leads[static_cast<std::size_t>(next)];
  for (std::size_t u = 0; u < dag.size(); ++u)
    if (!behind[u] && !leads[u]) return false;
  return true;
}

/// Connected components of the units that are not behind.
std::vector<std::vector<std::size_t>> components(const graph::Dag& dag, const std::vector<char>& behind) {
  std::vector<std::size_t> root(dag.size());
  std::iota(root.begin(), root.end(), std::size_t{0});
  const auto find = [&](std::size_t u) {
    while (root[u] != u) u = root[u] = root[root[u]];
    return u;
  };
  for (const auto& [from, to] : dag.edges())
    if (!behind[static_cast<std::size_t>(from)] && !behind[static_cast<std::size_t>(to)])
      root[find(static_cast<std::size_t>(to))] = find(static_cast<std::size_t>(from));
  std::vector<std::vector<std::size_t>> out;
  std::vector<std::size_t> place(dag.size(), dag.size());  // [root] index in `out`
  for (std::size_t u = 0; u < dag.size(); ++u) {
    if (behind[u]) continue;
    std::size_t& at = place[find(u)];
    if (at == dag.size()) at = out.size(), out.emplace_back();
    out[at].push_back(u);
  }
  return out;
}

}  // namespace

std::optional<JoinedBranches> joined_branches(const UnitGraph& units) {
  const graph::Dag& dag = units.dag;
  for (std::size_t u = 0; u < dag.size(); ++u) {
    const auto join = static_cast<Vertex>(u);
    if (dag.predecessors(join).size() < 2) continue;
    const auto behind = reached(dag, join);
    if (!joins_all(dag, join, behind)) continue;
    // Everything behind the first unit that joins all branches is one piece: no later unit has branches
    // before it.
    JoinedBranches out{components(dag, behind), {}};
    if (out.side_by_side.size() < 2) return std::nullopt;
    for (std::size_t b = 0; b < dag.size(); ++b)
      if (behind[b]) out.behind.push_back(b);
    return out;
  }
  return std::nullopt;
}

}  // namespace penstock::planners
