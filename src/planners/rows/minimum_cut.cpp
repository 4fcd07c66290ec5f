#include "rows/minimum_cut.hpp"

#include <limits>
#include <utility>

namespace penstock::planners {
namespace {

using Vertices = std::vector<std::size_t>;

class VertexContraction {
 public:
  VertexContraction(Weights weights, core::StopToken stop) : weights_(std::move(weights)), stop_(stop) {
    for (std::size_t v = 0; v < weights_.size(); ++v) {
      left_.push_back(v);
      merged_.push_back({v});
    }
  }

  MinimumCut run() {
    MinimumCut best{std::numeric_limits<double>::infinity(), {}};
    while (left_.size() > 1) {
      stop_.check();
      phase(best);
    }
    if (best.side.front()) best.side.flip();
    return best;
  }

 private:
  /// Adds the most tightly connected vertex until all are added. The last one against the rest is a minimum
  /// cut between the last two, which are then merged.
  void phase(MinimumCut& best) {
    Vertices waiting(left_.begin() + 1, left_.end());
    std::vector<double> pull = weights_[left_.front()];
    std::size_t before = 0, last = left_.front();
    while (!waiting.empty()) {
      // Add the vertex with the largest weight to those already added.
      std::size_t tightest = 0;
      for (std::size_t i = 1; i < waiting.size(); ++i)
        if (pull[waiting[i]] > pull[waiting[tightest]]) tightest = i;
      before = std::exchange(last, waiting[tightest]);
      waiting.erase(waiting.begin() + static_cast<std::ptrdiff_t>(tightest));
      if (waiting.empty()) break;
      for (std::size_t v : waiting) pull[v] += weights_[last][v];
    }
    // Cut of the phase: the last vertex against all others.
    if (pull[last] < best.weight) best = {pull[last], side_of(last)};
    // Merge the last two vertices, since no better cut separates them.
    merge(before, last);
  }

  std::vector<bool> side_of(std::size_t vertex) const {
    std::vector<bool> side(weights_.size());
    for (std::size_t v : merged_[vertex]) side[v] = true;
    return side;
  }

  void merge(std::size_t kept, std::size_t gone) {
    merged_[kept].insert(merged_[kept].end(), merged_[gone].begin(), merged_[gone].end());
    std::erase(left_, gone);
    for (std::size_t v : left_) weights_[kept][v] = weights_[v][kept] = weights_[kept][v] + weights_[gone][v];
  }

  Weights weights_;
  core::StopToken stop_;
  Vertices left_;                 ///< ascending
  std::vector<Vertices> merged_;  ///< [vertex of left_] vertices it represents
};

}  // namespace

MinimumCut minimum_cut(Weights weights, core::StopToken stop) {
  return VertexContraction(std::move(weights), stop).run();
}

}  // namespace penstock::planners
