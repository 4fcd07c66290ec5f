#include "penstock/graph/series_parallel.hpp"

#include <algorithm>
#include <array>
#include <unordered_map>

#include "penstock/core/error.hpp"
#include "penstock/graph/order.hpp"
#include "sp_tree.hpp"

namespace penstock::graph {
namespace {

using NodeKind = SpTree::NodeKind;
constexpr int kNone = -1, kStart = 0, kEnd = 1;

/// Vertices as arcs between points: an edge u -> w means that arc u ends where arc w begins.
struct ArcGraph {
  explicit ArcGraph(std::size_t arcs) : tail(arcs, kNone), head(arcs, kNone) {}
  std::vector<int> tail, head;  ///< point where each arc begins and ends
  int points = 2;               ///< kStart and kEnd included
};

/// Opens a point between all predecessors and all successors of an edge from `v`; they must form a biclique.
bool open_point(const Dag& reduced, Vertex v, ArcGraph& arcs) {
  const auto after = reduced.successors(v);
  for (Vertex u : reduced.predecessors(after.front())) {
    if (!std::ranges::equal(reduced.successors(u), after)) return false;
    arcs.head[u] = arcs.points;
  }
  for (Vertex w : after) {
    if (arcs.tail[w] != kNone) return false;  // a predecessor outside the biclique came first
    arcs.tail[w] = arcs.points;
  }
  ++arcs.points;
  return true;
}

std::optional<ArcGraph> inverse_line_graph(const Dag& reduced) {
  ArcGraph arcs(reduced.size());
  for (Vertex v = 0; static_cast<std::size_t>(v) < reduced.size(); ++v) {
    if (reduced.predecessors(v).empty()) arcs.tail[v] = kStart;
    if (reduced.successors(v).empty())
      arcs.head[v] = kEnd;
    else if (arcs.head[v] == kNone && !open_point(reduced, v, arcs))
      return std::nullopt;
  }
  return arcs;
}

/// Contracts arcs until one leads from start to end, or none can be contracted. Arc numbers are tree nodes.
class ArcContraction {
 public:
  explicit ArcContraction(ArcGraph arcs)
      : tail_(std::move(arcs.tail)),
        head_(std::move(arcs.head)),
        points_(static_cast<std::size_t>(arcs.points)) {
    between_.reserve(2 * tail_.size());
    for (std::size_t v = 0; v < tail_.size(); ++v)
      tree_.nodes.push_back({NodeKind::leaf, static_cast<Vertex>(v), 0, 0});
  }

  std::optional<SpTree> run() {
    const auto leaves = static_cast<int>(tail_.size());
    for (int arc = 0; arc < leaves; ++arc) add(arc);
    while (!candidates_.empty()) {
      const int point = candidates_.back();
      candidates_.pop_back();
      if (joins_two(point)) contract_series(point);
    }
    if (between_.size() != 1) return std::nullopt;
    tree_.root = between_.begin()->second;
    return tidied(tree_);
  }

 private:
  struct ArcPoint {
    int in = 0, out = 0;            ///< arcs that end and begin here
    int in_arcs = 0, out_arcs = 0;  ///< exclusive or of their numbers: the number itself when there is one
  };

  bool joins_two(int point) const {
    return point > kEnd && points_[point].in == 1 && points_[point].out == 1;
  }

  std::uint64_t key(int arc) const {
    return static_cast<std::uint64_t>(tail_[arc]) << 32 | static_cast<std::uint32_t>(head_[arc]);
  }

  int join(NodeKind kind, int first, int second) {
    const int arc = append_node(tree_, kind, std::array{first, second});
    tail_.push_back(tail_[first]);
    head_.push_back(head_[second]);
    return arc;
  }

  void count(int arc, int sign) {
    ArcPoint& from = points_[tail_[arc]];
    ArcPoint& to = points_[head_[arc]];
    from.out += sign;
    from.out_arcs ^= arc;
    to.in += sign;
    to.in_arcs ^= arc;
  }

  /// Adds an arc, merged with the one between the same points if there is one.
  void add(int arc) {
    auto [place, fresh] = between_.try_emplace(key(arc), arc);
    if (!fresh) {
      count(place->second, -1);
      arc = place->second = join(NodeKind::parallel, place->second, arc);
    }
    count(arc, +1);
    for (int point : {tail_[arc], head_[arc]})
      if (joins_two(point)) candidates_.push_back(point);
  }

  void remove(int arc) {
    between_.erase(key(arc));
    count(arc, -1);
  }

  void contract_series(int point) {
    const int first = points_[point].in_arcs, second = points_[point].out_arcs;
    remove(first);
    remove(second);
    add(join(NodeKind::series, first, second));
  }

  std::vector<int> tail_, head_;  ///< points of each arc
  std::vector<ArcPoint> points_;
  std::unordered_map<std::uint64_t, int> between_;  ///< the arc between two points
  std::vector<int> candidates_;                     ///< points that may join just two arcs
  SpTree tree_;
};

}  // namespace

std::optional<SpTree> decompose(const Dag& dag) {
  core::require(dag.size() > 0, "only a graph with vertices has a tree");
  auto arcs = inverse_line_graph(transitive_reduction(dag));
  if (!arcs) return std::nullopt;
  return ArcContraction(std::move(*arcs)).run();
}

}  // namespace penstock::graph
