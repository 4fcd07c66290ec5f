#include <algorithm>

#include "penstock/graph/order.hpp"

namespace penstock::graph {
namespace {

/// Reachability from one depth-first search, per vertex.
struct SearchLabels {
  std::vector<int> entry;  ///< place in the order of discovery
  std::vector<int>
      leave;  ///< one past the last entry below: entry[u] <= entry[w] < leave[u] means u reaches w
  std::vector<int> rank;  ///< place in a linear extension: rank[u] > rank[w] means u does not reach w
};

/// Searches from every source; successors in rising order, or in falling order when `reversed`.
class LabelSearch {
 public:
  LabelSearch(const Dag& dag, bool reversed) : dag_(dag), reversed_(reversed) {
    const std::size_t n = dag.size();
    labels_ = {std::vector<int>(n, -1), std::vector<int>(n), std::vector<int>(n)};
    rank_ = static_cast<int>(n);
  }

  SearchLabels run() {
    const auto n = static_cast<Vertex>(dag_.size());
    for (Vertex i = 0; i < n; ++i) {
      const Vertex v = reversed_ ? n - 1 - i : i;
      if (dag_.predecessors(v).empty()) search(v);
    }
    return std::move(labels_);
  }

 private:
  struct VertexFrame {
    Vertex vertex;
    std::size_t next;  ///< successors already followed
  };

  void enter(Vertex v) {
    labels_.entry[v] = entries_++;
    stack_.push_back({v, 0});
  }

  void search(Vertex root) {
    enter(root);
    while (!stack_.empty()) {
      auto& [v, next] = stack_.back();
      const auto row = dag_.successors(v);
      if (next == row.size()) {
        labels_.leave[v] = entries_;
        labels_.rank[v] = --rank_;
        stack_.pop_back();
        continue;
      }
      const Vertex to = row[reversed_ ? row.size() - 1 - next : next];
      ++next;
      if (labels_.entry[to] < 0) enter(to);
    }
  }

  const Dag& dag_;
  bool reversed_;
  int entries_ = 0;
  int rank_;
  std::vector<VertexFrame> stack_;
  SearchLabels labels_;
};

/// Finds the edges of one vertex after another that a longer path replaces.
class ShortcutFinder {
 public:
  explicit ShortcutFinder(const Dag& dag)
      : dag_(dag),
        left_(LabelSearch(dag, false).run()),
        right_(LabelSearch(dag, true).run()),
        reached_from_(dag.size(), -1) {}

  /// Afterwards `is_shortcut` answers for the successors of `v`.
  void visit(Vertex v) {
    from_ = v;
    if (dag_.successors(v).size() < 2) return;
    mark_tree_descendants(left_);
    mark_tree_descendants(right_);
    if (!bound_search()) return;
    for (Vertex s : dag_.successors(v)) follow(s);
  }
  bool is_shortcut(Vertex successor) const { return reached_from_[successor] == from_; }

 private:
  /// Subtrees of the search are nested or apart, so one sweep in order of entry finds who lies below a
  /// sibling.
  void mark_tree_descendants(const SearchLabels& labels) {
    const auto row = dag_.successors(from_);
    order_.assign(row.begin(), row.end());
    std::sort(order_.begin(), order_.end(),
              [&](Vertex a, Vertex b) { return labels.entry[a] < labels.entry[b]; });
    int covered = 0;
    for (Vertex s : order_) {
      if (labels.entry[s] < covered) reached_from_[s] = from_;
      covered = std::max(covered, labels.leave[s]);
    }
  }

  /// A useful path stays at or below the highest labels among the successors still in doubt. False: none is.
  bool bound_search() {
    last_ = last_left_ = last_right_ = -1;
    for (Vertex s : dag_.successors(from_)) {
      if (is_shortcut(s) || dag_.predecessors(s).size() < 2) continue;
      last_ = std::max(last_, s);
      last_left_ = std::max(last_left_, left_.rank[s]);
      last_right_ = std::max(last_right_, right_.rank[s]);
    }
    return last_ >= 0;
  }

  bool within_bounds(Vertex v) const {
    return v <= last_ && left_.rank[v] <= last_left_ && right_.rank[v] <= last_right_;
  }

  void follow(Vertex start) {
    if (within_bounds(start)) stack_.push_back(start);
    while (!stack_.empty()) {
      const Vertex v = stack_.back();
      stack_.pop_back();
      for (Vertex to : dag_.successors(v)) {
        if (!within_bounds(to) || reached_from_[to] == from_) continue;
        reached_from_[to] = from_;
        stack_.push_back(to);
      }
    }
  }

  const Dag& dag_;
  SearchLabels left_, right_;
  std::vector<Vertex> reached_from_;  ///< the last vertex whose successors were seen to reach this one
  std::vector<Vertex> order_, stack_;
  Vertex from_ = -1;
  Vertex last_ = -1;
  int last_left_ = -1, last_right_ = -1;
};

}  // namespace

Dag transitive_reduction(const Dag& dag) {
  ShortcutFinder finder(dag);
  std::vector<Edge> kept;
  kept.reserve(dag.edge_count());
  for (Vertex v = 0; static_cast<std::size_t>(v) < dag.size(); ++v) {
    finder.visit(v);
    for (Vertex to : dag.successors(v))
      if (!finder.is_shortcut(to)) kept.emplace_back(v, to);
  }
  return Dag(dag.size(), std::move(kept));
}

}  // namespace penstock::graph
