#include "support/partitions.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>

#include "penstock/core/error.hpp"
#include "penstock/graph/series_parallel.hpp"

namespace penstock::support {
namespace {

using core::OpId;
using graph::Dag;
using graph::SpTree;
using graph::Vertex;

/// Operator that names the unit of each operator: itself, or for an input its first consumer.
std::vector<std::size_t> main_operators(const graph::OpGraph& graph) {
  std::vector<std::size_t> main(graph.size());
  for (std::size_t v = 0; v < graph.size(); ++v) {
    const auto readers = graph.dag().successors(static_cast<Vertex>(v));
    const bool joins = graph.op(OpId(v)).kind == graph::OpKind::input && !readers.empty();
    main[v] = joins ? static_cast<std::size_t>(readers.front()) : v;
  }
  return main;
}

/// Stages of a row or block under construction. `first` holds all of what a run before it may join, `last`
/// what a run after it may join, as positions in `stages`.
struct StageCut {
  std::vector<UnitSet> stages;
  std::vector<std::size_t> first, last;

  void beside(const StageCut& other) {
    for (std::size_t s : other.first) first.push_back(stages.size() + s);
    for (std::size_t s : other.last) last.push_back(stages.size() + s);
    stages.insert(stages.end(), other.stages.begin(), other.stages.end());
  }
};

UnitSet below(const SpTree& tree, int node) {
  UnitSet set = 0;
  for (Vertex v : tree.leaves(node)) set |= UnitSet{1} << v;
  return set;
}

/// All cuts of blocks and rows, by the definition and with repetitions.
class CutSpace {
 public:
  CutSpace(const SpTree& tree, bool rejoined) : tree_(tree), rejoined_(rejoined) {}

  std::vector<StageCut> row(int node) const {
    const bool series = tree_.node(node).kind == SpTree::NodeKind::series;
    ElementRow row{{node}, {}};
    if (series) row.elements.assign(tree_.children_of(node).begin(), tree_.children_of(node).end());
    extend(row, {}, 0);
    return std::move(row.cuts);
  }

 private:
  struct ElementRow {
    std::vector<int> elements;
    std::vector<StageCut> cuts;
  };
  /// A row cut up to some element. `run`: the stage of the run that ended there, if one did.
  struct CutPrefix {
    StageCut cut;
    std::optional<std::size_t> run;
    bool joined_behind = false;     ///< that run is part of a stage of the block before it
    std::vector<std::size_t> open;  ///< stages of the block opened just before that the next run may join
  };

  void extend(ElementRow& row, const CutPrefix& prefix, std::size_t from) const {
    if (from == row.elements.size()) {
      row.cuts.push_back(prefix.cut);
      if (prefix.run && (rejoined_ || !prefix.joined_behind)) row.cuts.back().last = {*prefix.run};
      return;
    }
    UnitSet run = 0;
    for (std::size_t to = from; to < row.elements.size(); ++to) {
      run |= below(tree_, row.elements[to]);
      add_run(row, prefix, run, from, to + 1);
    }
    if (tree_.node(row.elements[from]).kind == SpTree::NodeKind::parallel) open_block(row, prefix, from);
  }

  /// The run becomes a stage of its own or joins a stage of the block opened before it.
  void add_run(ElementRow& row, const CutPrefix& prefix, UnitSet run, std::size_t from,
               std::size_t to) const {
    CutPrefix next{prefix.cut, prefix.cut.stages.size(), false, {}};
    next.cut.stages.push_back(0);
    std::vector<std::size_t> homes = prefix.open;
    homes.push_back(*next.run);
    for (std::size_t home : homes) {
      CutPrefix placed = next;
      placed.run = home;
      placed.joined_behind = home != *next.run;
      placed.cut.stages[home] |= run;
      if (from == 0) placed.cut.first = {home};
      extend(row, placed, to);
    }
  }

  void open_block(ElementRow& row, const CutPrefix& prefix, std::size_t at) const {
    for (const StageCut& block : opened(row.elements[at])) {
      CutPrefix next{prefix.cut, {}, false, {}};
      for (std::size_t s : block.last) next.open.push_back(next.cut.stages.size() + s);
      const std::size_t offset = next.cut.stages.size();
      next.cut.stages.insert(next.cut.stages.end(), block.stages.begin(), block.stages.end());
      extend(row, next, at + 1);
      if (!prefix.run) continue;
      for (std::size_t s : block.first) extend(row, joined(next, *prefix.run, offset + s), at + 1);
    }
  }

  /// The run before the block and the block's stage `s` become one, which no run after the block may join.
  static CutPrefix joined(CutPrefix prefix, std::size_t run, std::size_t s) {
    prefix.cut.stages[run] |= prefix.cut.stages[s];
    prefix.cut.stages[s] = 0;
    std::erase(prefix.open, s);
    return prefix;
  }

  /// Branches side by side: each by itself as a row, or several whole ones as a stage.
  std::vector<StageCut> opened(int block) const {
    std::vector<StageCut> out;
    std::vector<std::vector<int>> groups;
    const auto branches = tree_.children_of(block);
    const std::function<void(std::size_t)> place = [&](std::size_t b) {
      if (b == branches.size()) return side_by_side(groups, out);
      for (std::size_t g = 0; g < groups.size(); ++g) {
        groups[g].push_back(branches[b]);
        place(b + 1);
        groups[g].pop_back();
      }
      groups.push_back({branches[b]});
      place(b + 1);
      groups.pop_back();
    };
    place(0);
    return out;
  }

  void side_by_side(const std::vector<std::vector<int>>& groups, std::vector<StageCut>& out) const {
    std::vector<StageCut> cuts(1);
    for (const auto& group : groups) {
      std::vector<StageCut> longer;
      for (const StageCut& alternative : alternatives(group))
        for (StageCut cut : cuts) {
          cut.beside(alternative);
          longer.push_back(std::move(cut));
        }
      cuts = std::move(longer);
    }
    out.insert(out.end(), cuts.begin(), cuts.end());
  }

  std::vector<StageCut> alternatives(const std::vector<int>& group) const {
    if (group.size() == 1) return row(group.front());
    StageCut one{{0}, {0}, {0}};
    for (int branch : group) one.stages[0] |= below(tree_, branch);
    return {one};
  }

  const SpTree& tree_;
  bool rejoined_;
};

UnitSet readers_of(const Dag& units, UnitSet set) {
  UnitSet out = 0;
  for (std::size_t u = 0; u < units.size(); ++u)
    if (set >> u & 1)
      for (Vertex to : units.successors(static_cast<Vertex>(u))) out |= UnitSet{1} << to;
  return out & ~set;
}

}  // namespace

PlanningUnits planning_units(const graph::OpGraph& graph) {
  const auto main = main_operators(graph);
  std::map<std::size_t, std::size_t> number;  // by main operator, ascending
  for (std::size_t m : main) number[m] = 0;
  std::size_t next = 0;
  for (auto& entry : number) entry.second = next++;
  PlanningUnits units;
  units.operators.resize(number.size());
  std::vector<graph::Edge> edges;
  for (std::size_t v = 0; v < graph.size(); ++v) units.operators[number[main[v]]].emplace_back(v);
  for (const auto& [from, to] : graph.dag().edges()) {
    const graph::Edge edge(number[main[static_cast<std::size_t>(from)]],
                           number[main[static_cast<std::size_t>(to)]]);
    if (edge.first != edge.second) edges.push_back(edge);
  }
  units.dag = Dag(number.size(), edges);
  return units;
}

Partition in_order(const Dag& units, std::vector<UnitSet> stages) {
  std::erase(stages, UnitSet{0});
  std::sort(stages.begin(), stages.end());
  Partition out;
  while (!stages.empty()) {
    const auto ready = std::find_if(stages.begin(), stages.end(), [&](UnitSet candidate) {
      return std::none_of(stages.begin(), stages.end(), [&](UnitSet other) {
        return other != candidate && (readers_of(units, other) & candidate) != 0;
      });
    });
    if (ready == stages.end()) return {};
    out.push_back(*ready);
    stages.erase(ready);
  }
  return out;
}

Partitions series_parallel_partitions(const Dag& units, bool rejoined) {
  const auto tree = graph::decompose(units);
  core::require(tree.has_value(), "the oracle is asked about series-parallel orders only");
  Partitions out;
  for (const StageCut& cut : CutSpace(*tree, rejoined).row(tree->root)) {
    const Partition ordered = in_order(units, cut.stages);
    core::require(!ordered.empty(), "every cut of the space can be ordered");
    out.insert(ordered);
  }
  return out;
}

Partitions row_partitions(std::size_t units) {
  Partitions out;
  for (UnitSet cuts = 0; cuts < UnitSet{1} << (units - 1); ++cuts) {
    Partition stages(1, 0);
    for (std::size_t u = 0; u < units; ++u) {
      stages.back() |= UnitSet{1} << u;
      if (cuts >> u & 1) stages.push_back(0);
    }
    out.insert(stages);
  }
  return out;
}

Partitions all_partitions(const Dag& units) {
  Partitions out;
  std::vector<UnitSet> stages;
  const std::function<void(std::size_t)> place = [&](std::size_t u) {
    if (u == units.size()) {
      if (const Partition ordered = in_order(units, stages); !ordered.empty()) out.insert(ordered);
      return;
    }
    for (std::size_t s = 0; s < stages.size(); ++s) {
      stages[s] |= UnitSet{1} << u;
      place(u + 1);
      stages[s] &= ~(UnitSet{1} << u);
    }
    stages.push_back(UnitSet{1} << u);
    place(u + 1);
    stages.pop_back();
  };
  place(0);
  return out;
}

}  // namespace penstock::support
