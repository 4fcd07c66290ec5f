#include "cycle_packing.hpp"

#include <algorithm>
#include <limits>

namespace penstock::collective {
namespace {

/// Search for a fixed number of cycles.
class CycleSearch {
 public:
  CycleSearch(const CableWeights& channels, std::int64_t& steps_left)
      : left_(channels), steps_left_(steps_left) {}

  /// Adds so many cycles, none lexicographically before the one added last.
  bool add(int cycles) {
    if (found_.size() > most_found_.size()) most_found_ = found_;
    if (cycles == 0) return true;
    if (!enough_channels(cycles)) return false;
    Members path{0};
    std::vector<bool> passed(left_.size());
    passed[0] = true;
    return extend(path, passed, cycles, !found_.empty());
  }
  std::vector<Members> take() { return std::move(most_found_); }

 private:
  /// True if every member has two channels for each of the cycles, which use a cable once each.
  bool enough_channels(int cycles) const {
    return std::ranges::all_of(left_, [&](const std::vector<double>& row) {
      double usable = 0;
      for (const double channels : row) usable += std::min(channels, static_cast<double>(cycles));
      return usable >= 2 * cycles;
    });
  }
  void use(std::size_t a, std::size_t b, double channels) {
    left_[a][b] -= channels;
    left_[b][a] -= channels;
  }

  /// `follows`: the path is so far the beginning of the cycle found last.
  bool extend(Members& path, std::vector<bool>& passed, int cycles, bool follows) {
    if (steps_left_-- <= 0) return false;
    const std::size_t at = path.back();
    if (path.size() == left_.size()) return close(path, cycles);
    const std::size_t first = follows ? found_.back()[path.size()] : 1;
    for (std::size_t next = first; next < left_.size(); ++next) {
      if (passed[next] || left_[at][next] < 1) continue;
      passed[next] = true;
      path.push_back(next);
      use(at, next, 1);
      if (extend(path, passed, cycles, follows && next == first)) return true;
      use(at, next, -1);
      path.pop_back();
      passed[next] = false;
    }
    return false;
  }

  /// Closes a path through all members, in one of its two directions only.
  bool close(const Members& path, int cycles) {
    const std::size_t last = path.back();
    if (path[1] > last || left_[last][0] < 1) return false;
    use(last, 0, 1);
    found_.push_back(path);
    if (add(cycles - 1)) return true;
    found_.pop_back();
    use(last, 0, -1);
    return false;
  }

  CableWeights left_;  ///< channels that no cycle uses
  std::int64_t& steps_left_;
  std::vector<Members> found_, most_found_;  ///< cycles of the current branch; of the branch with the most
};

/// Orders members by their weight to those before; returns the last two. `weight`: of the last one.
std::pair<std::size_t, std::size_t> last_two(const CableWeights& weights, const std::vector<bool>& merged,
                                             double& weight) {
  std::vector<double> to_before(weights.size());
  std::vector<bool> added = merged;
  std::size_t before = 0, last = 0;
  for (std::size_t left = static_cast<std::size_t>(std::ranges::count(merged, false)); left > 0; --left) {
    std::size_t next = weights.size();
    for (std::size_t v = 0; v < weights.size(); ++v)
      if (!added[v] && (next == weights.size() || to_before[v] > to_before[next])) next = v;
    added[next] = true;
    before = last, last = next;
    weight = to_before[next];
    for (std::size_t v = 0; v < weights.size(); ++v) to_before[v] += weights[next][v];
  }
  return {before, last};
}

}  // namespace

double min_cut(CableWeights weights) {
  double least = std::numeric_limits<double>::infinity();
  std::vector<bool> merged(weights.size());
  for (std::size_t left = weights.size(); left > 1; --left) {
    double weight = 0;
    const auto [kept, last] = last_two(weights, merged, weight);
    least = std::min(least, weight);
    merged[last] = true;
    for (std::size_t v = 0; v < weights.size(); ++v) {
      weights[kept][v] += weights[last][v];
      weights[v][kept] = weights[kept][v];
    }
    weights[kept][kept] = 0;
  }
  return least;
}

std::vector<Members> disjoint_cycles(const CableWeights& channels, std::int64_t most_steps) {
  std::int64_t steps_left = most_steps;
  for (int cycles = static_cast<int>(min_cut(channels) / 2); cycles > 0; --cycles) {
    CycleSearch search(channels, steps_left);
    if (search.add(cycles) || steps_left <= 0) return search.take();
  }
  return {};
}

}  // namespace penstock::collective
