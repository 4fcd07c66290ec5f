#include "exact_cut.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <unordered_map>

namespace penstock::graph {
namespace {

using Set = std::uint64_t;  ///< of at most 64 vertices
constexpr double kNever = std::numeric_limits<double>::infinity();

Set bit(int v) {
  return Set{1} << v;
}
int lowest(Set set) {
  return std::countr_zero(set);
}
int highest(Set set) {
  return 63 - std::countl_zero(set);
}

/// Dynamic programming over convex sets. A connected set can only be composed in series, so each of its
/// downsets is a choice; a disconnected one is best left apart. A cut costs at least the critical paths of
/// its two sides.
class CutSearcher {
 public:
  CutSearcher(const GraphPiece& piece, std::size_t most_cuts)
      : weights_(piece.weights), cuts_left_(most_cuts) {
    for (Vertex v = 0; static_cast<std::size_t>(v) < piece.dag.size(); ++v) {
      before_.push_back(0);
      after_.push_back(0);
      for (Vertex p : piece.dag.predecessors(v)) before_[v] |= bit(p);
      for (Vertex s : piece.dag.successors(v)) after_[v] |= bit(s);
    }
  }

  /// The best first side of a connected set; 0 when the search gave up.
  Set best_first(Set all) {
    best_length(all);
    return gave_up_ ? 0 : known_[all].first;
  }

 private:
  struct CutAnswer {
    double length;
    Set first;
  };
  struct BoundedCut {
    double bound;
    Set first;
    bool operator<(const BoundedCut& other) const {
      return bound != other.bound ? bound < other.bound : first < other.first;
    }
  };

  double best_length(Set set) {
    if ((set & (set - 1)) == 0) return weights_[lowest(set)];
    const auto found = known_.find(set);
    if (found != known_.end()) return found->second.length;
    const Set part = component(set);
    const CutAnswer answer = part == set ? best_series(set) : CutAnswer{best_parallel(set, part), 0};
    known_.emplace(set, answer);
    return answer.length;
  }

  double best_parallel(Set set, Set part) { return std::max(best_length(part), best_length(set & ~part)); }

  CutAnswer best_series(Set set) {
    CutAnswer best{kNever, 0};
    for (const BoundedCut& cut : cuts(set)) {
      if (cut.bound >= best.length || gave_up_) break;
      const double length = best_length(cut.first) + best_length(set & ~cut.first);
      if (length < best.length) best = {length, cut.first};
    }
    return best;
  }

  /// Every proper downset, the lowest bound first.
  std::vector<BoundedCut> cuts(Set set) {
    measure(set);
    std::vector<BoundedCut> out;
    for (Set first = next_downset(set, 0); first != set; first = next_downset(set, first)) {
      if ((gave_up_ = gave_up_ || cuts_left_ == 0)) return {};
      --cuts_left_;
      out.push_back({longest(to_, first) + longest(from_, set & ~first), first});
    }
    std::sort(out.begin(), out.end());
    return out;
  }

  /// Heaviest paths inside the set, to and from each of its vertices.
  void measure(Set set) {
    for (Set left = set; left != 0; left &= left - 1) {
      const int v = lowest(left);
      to_[v] = weights_[v] + longest(to_, before_[v] & set);
    }
    for (Set left = set; left != 0; left &= ~bit(highest(left))) {
      const int v = highest(left);
      from_[v] = weights_[v] + longest(from_, after_[v] & set);
    }
  }

  static double longest(const double (&lengths)[64], Set set) {
    double most = 0;
    for (; set != 0; set &= set - 1) most = std::max(most, lengths[lowest(set)]);
    return most;
  }

  /// The lexicographic successor: the last vertex that may still join joins, and all behind it leave.
  Set next_downset(Set set, Set first) const {
    for (Set left = set;; left &= ~bit(highest(left))) {
      const int v = highest(left);
      if ((first & bit(v)) == 0 && (before_[v] & set & ~first) == 0) return (first & (bit(v) - 1)) | bit(v);
    }
  }

  Set component(Set set) const {
    Set part = 0, fresh = set & -set;
    while (fresh != 0) {
      part |= fresh;
      Set near = 0;
      for (; fresh != 0; fresh &= fresh - 1) near |= before_[lowest(fresh)] | after_[lowest(fresh)];
      fresh = near & set & ~part;
    }
    return part;
  }

  const std::vector<double>& weights_;
  std::vector<Set> before_, after_;
  double to_[64] = {}, from_[64] = {};
  std::unordered_map<Set, CutAnswer> known_;
  std::size_t cuts_left_;
  bool gave_up_ = false;
};

}  // namespace

std::optional<std::vector<int>> exact_cut(const GraphPiece& piece, std::size_t most_cuts) {
  const std::size_t n = piece.dag.size();
  if (n > 64) return std::nullopt;
  const Set first =
      CutSearcher(piece, most_cuts).best_first(n == 64 ? ~Set{0} : bit(static_cast<int>(n)) - 1);
  if (first == 0) return std::nullopt;
  std::vector<int> labels(n);
  for (std::size_t v = 0; v < n; ++v) labels[v] = (first >> v & 1) == 0;
  return labels;
}

}  // namespace penstock::graph
