#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include "penstock/graph/order.hpp"

namespace penstock::graph {
namespace {

constexpr char kLabels = 3;  ///< in the inner downset, only in the outer one, in none

/// Ways to label the vertices so far, distinct by the labels of those that have successors to come.
class LabellingSet {
 public:
  explicit LabellingSet(const Dag& dag) : dag_(dag), to_come_(dag.size()) {
    for (std::size_t v = 0; v < dag.size(); ++v) to_come_[v] = dag.successors(static_cast<Vertex>(v)).size();
  }

  /// The next vertex; false where there are more ways than so many.
  bool add(Vertex v, std::size_t most) {
    for (const Vertex p : dag_.predecessors(v)) --to_come_[static_cast<std::size_t>(p)];
    std::map<std::string, std::uint64_t> next;
    for (const auto& [labels, count] : ways_) {
      std::string kept = still_open(labels);
      for (char label = least(v, labels); label < kLabels; ++label) {
        std::string with = kept;
        if (is_open(v)) with += label;
        add(count, next[with]);
      }
      if (next.size() > most) return false;
    }
    ways_ = std::move(next);
    std::erase_if(open_, [&](Vertex o) { return !is_open(o); });
    if (is_open(v)) open_.push_back(v);
    return true;
  }
  std::uint64_t count() const { return ways_.begin()->second; }  ///< of all vertices: none is open

 private:
  static void add(std::uint64_t count, std::uint64_t& sum) {
    sum += std::min(count, std::numeric_limits<std::uint64_t>::max() - sum);
  }
  bool is_open(Vertex v) const { return to_come_[static_cast<std::size_t>(v)] > 0; }
  std::string still_open(const std::string& labels) const {
    std::string out;
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (is_open(open_[i])) out += labels[i];
    return out;
  }
  /// No downset holds a vertex without its predecessors.
  char least(Vertex v, const std::string& labels) const {
    char out = 0;
    for (std::size_t i = 0; i < open_.size(); ++i)
      if (std::ranges::count(dag_.predecessors(v), open_[i]) > 0) out = std::max(out, labels[i]);
    return out;
  }

  const Dag& dag_;
  std::vector<std::size_t> to_come_;  ///< [vertex] successors
  std::vector<Vertex> open_;
  std::map<std::string, std::uint64_t> ways_ = {{"", 1}};  ///< by the open ones' labels
};

}  // namespace

std::optional<std::uint64_t> count_nested_downsets(const Dag& dag, std::size_t most) {
  LabellingSet labellings(dag);
  for (std::size_t v = 0; v < dag.size(); ++v)
    if (!labellings.add(static_cast<Vertex>(v), most)) return std::nullopt;
  return labellings.count();
}

}  // namespace penstock::graph
