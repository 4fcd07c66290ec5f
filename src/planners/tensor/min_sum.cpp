#include "tensor/min_sum.hpp"

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock::planners {
namespace {

constexpr std::size_t kSumsBetweenChecks = 1024;  // cells

std::size_t at(int v) {
  return static_cast<std::size_t>(v);
}

}  // namespace

/// Elimination order, on a graph that shrinks.
class MinSum::Order {
 public:
  struct EliminationEntry {
    int variable;
    bool held;
    std::vector<int> scope;
  };

  Order(const MinSum& sum, std::size_t most_cells)
      : sum_(sum), most_cells_(static_cast<double>(most_cells)), near_(sum.variables_.size()) {
    for (const auto& [a, b] : sum.pairs_) {
      near_[at(a)].insert(b);
      near_[at(b)].insert(a);
    }
    for (std::size_t v = 0; v < near_.size(); ++v) enter(static_cast<int>(v));
  }

  std::vector<EliminationEntry> find() {
    std::vector<EliminationEntry> out;
    while (!waiting_.empty()) {
      const auto [cells, v] = *waiting_.begin();
      const int held = cells > most_cells_ ? most_joined() : -1;
      out.push_back(held < 0 ? EliminationEntry{v, false, take_out(v, true)}
                             : EliminationEntry{held, true, {}});
      if (held >= 0) take_out(held, false);
    }
    return out;
  }

 private:
  /// Cells of the table over a variable and its neighbours.
  double cells(int v) const {
    double out = static_cast<double>(sum_.labels(v));
    for (const int a : near_[at(v)]) out *= static_cast<double>(sum_.labels(a));
    return out;
  }
  void enter(int v) { waiting_.insert({cells(v), v}); }

  /// Variable with the most neighbours among those that wait and may be fixed; -1: none.
  int most_joined() const {
    int best = -1;
    for (const auto& [cells, v] : waiting_)
      if (sum_.variables_[at(v)].fallback >= 0 && (best < 0 || near_[at(v)].size() > near_[at(best)].size()))
        best = v;
    return best;
  }

  /// Removes a variable and returns its neighbours, which become neighbours of each other if `joined`.
  std::vector<int> take_out(int v, bool joined) {
    const std::vector<int> scope(near_[at(v)].begin(), near_[at(v)].end());
    waiting_.erase({cells(v), v});
    for (const int a : scope) waiting_.erase({cells(a), a});
    for (const int a : scope) {
      if (joined) near_[at(a)].insert(scope.begin(), scope.end());
      near_[at(a)].erase(a);
      near_[at(a)].erase(v);
    }
    for (const int a : scope) enter(a);
    return scope;
  }

  const MinSum& sum_;
  double most_cells_;
  std::vector<std::set<int>> near_;
  std::set<std::pair<double, int>> waiting_;  ///< {cells, variable}
};

MinSum::MinSum(std::vector<LabelVariable> variables, std::vector<Pair> pairs, std::size_t most_cells)
    : variables_(std::move(variables)), pairs_(std::move(pairs)), held_(variables_.size()) {
  const auto order = Order(*this, most_cells).find();
  std::vector<std::size_t> when(variables_.size());
  for (const Order::EliminationEntry& entry : order) {
    when[at(entry.variable)] = static_cast<std::size_t>(&entry - order.data());
    held_[at(entry.variable)] = entry.held;
    exact_ = exact_ && !entry.held;
  }
  for (const Order::EliminationEntry& entry : order) {
    EliminationStep& step = steps_.emplace_back();
    step.variable = entry.variable;
    for (const int v : entry.scope)
      if (!held_[at(v)]) step.scope.push_back(v);
    for (const int v : step.scope) step.cells *= labels(v);
    read(step, at(step.variable), {step.variable});
  }
  // A table is read by the step of its first variable; fixed variables are left out.
  const auto reader = [&](const std::vector<int>& scope) -> EliminationStep& {
    std::size_t first = steps_.size();
    for (const int v : scope)
      if (!held_[at(v)]) first = std::min(first, when[at(v)]);
    return steps_[first < steps_.size() ? first : when[at(scope.front())]];
  };
  for (std::size_t p = 0; p < pairs_.size(); ++p) {
    const std::vector<int> both = {pairs_[p].first, pairs_[p].second};
    read(reader(both), variables_.size() + p, both);
  }
  for (std::size_t s = 0; s < steps_.size(); ++s)
    if (!steps_[s].scope.empty())
      read(reader(steps_[s].scope), variables_.size() + pairs_.size() + s, steps_[s].scope);
}

void MinSum::read(EliminationStep& step, std::size_t table, const std::vector<int>& scope) const {
  TableSource source{table, 0, std::vector<std::size_t>(step.scope.size() + 1)};
  std::size_t stride = 1;
  for (std::size_t i = scope.size(); i-- > 0; stride *= labels(scope[i])) {
    const int v = scope[i];
    const auto place = std::find(step.scope.begin(), step.scope.end(), v);
    if (v == step.variable)
      source.strides.back() += stride;
    else if (held_[at(v)])
      source.offset += stride * at(variables_[at(v)].fallback);
    else
      source.strides[static_cast<std::size_t>(place - step.scope.begin())] += stride;
  }
  step.sources.push_back(std::move(source));
}

void MinSum::fill(const EliminationStep& step, std::span<const Table* const> tables, Table& left,
                  std::vector<int>& best, core::StopToken stop) const {
  const bool held = held_[at(step.variable)];
  const int first = held ? variables_[at(step.variable)].fallback : 0;
  const int end = held ? first + 1 : static_cast<int>(labels(step.variable));
  left.assign(step.cells, std::numeric_limits<double>::infinity());
  best.assign(step.cells, first);
  std::vector<std::size_t> chosen(step.scope.size()), base;
  for (const TableSource& source : step.sources) base.push_back(source.offset);
  for (std::size_t cell = 0; cell < step.cells; ++cell) {
    if (cell % kSumsBetweenChecks == 0) stop.check();
    for (int label = first; label < end; ++label) {
      double cost = 0;
      for (std::size_t s = 0; s < base.size(); ++s)
        cost += (*tables[step.sources[s].table])[base[s] + step.sources[s].strides.back() * at(label)];
      if (cost < left[cell]) left[cell] = cost, best[cell] = label;
    }
    for (std::size_t i = step.scope.size(); i-- > 0;) {  // next cell: the last label changes fastest
      const std::size_t back = ++chosen[i] == labels(step.scope[i]) ? std::exchange(chosen[i], 0) : 0;
      for (std::size_t s = 0; s < base.size(); ++s)
        base[s] += step.sources[s].strides[i] - back * step.sources[s].strides[i];
      if (back == 0) break;
    }
  }
}

MinSum::LabelSolution MinSum::solve(std::span<const Table> single, std::span<const Table> paired,
                                    core::StopToken stop) const {
  core::require(single.size() == variables_.size() && paired.size() == pairs_.size(), "a table each");
  std::vector<Table> left(steps_.size());
  std::vector<std::vector<int>> best(steps_.size());
  std::vector<const Table*> tables;
  for (const Table& table : single) tables.push_back(&table);
  for (const Table& table : paired) tables.push_back(&table);
  for (const Table& table : left) tables.push_back(&table);
  LabelSolution out{0, std::vector<int>(variables_.size())};
  for (std::size_t s = 0; s < steps_.size(); ++s) {
    fill(steps_[s], tables, left[s], best[s], stop);
    if (steps_[s].scope.empty()) out.cost += left[s].front();
  }
  for (std::size_t s = steps_.size(); s-- > 0;) {
    std::size_t cell = 0;
    for (const int v : steps_[s].scope) cell = cell * labels(v) + at(out.labels[at(v)]);
    out.labels[at(steps_[s].variable)] = best[s][cell];
  }
  return out;
}

}  // namespace penstock::planners
