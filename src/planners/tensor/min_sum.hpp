#pragma once
// Labels of minimum total cost, where every cost depends on one variable or on two.

#include <cstddef>
#include <span>
#include <utility>
#include <vector>

#include "penstock/core/stop.hpp"

namespace penstock::planners {

/// Variable elimination (Bertele and Brioschi, Nonserial Dynamic Programming, 1972), always of the variable
/// that leaves the smallest table: exact, and linear in the size of chains and series-parallel structures. If
/// every variable would need a table of more than `most_cells`, the variable with the most neighbours that
/// has a `fallback` label is fixed at it. Then the result is an upper bound. The order is computed once, for
/// any costs.
class MinSum {
 public:
  struct LabelVariable {
    int labels = 1;
    int fallback = -1;  ///< -1: must not be fixed
  };
  using Pair = std::pair<int, int>;  ///< two different variables
  using Table = std::vector<double>;

  MinSum(std::vector<LabelVariable> variables, std::vector<Pair> pairs,
         std::size_t most_cells = std::size_t{1} << 14);

  std::size_t size() const { return variables_.size(); }
  bool exact() const { return exact_; }

  struct LabelSolution {
    double cost = 0;          ///< infinite if every choice is forbidden
    std::vector<int> labels;  ///< [variable]
  };
  /// `single[v][label]`, `paired[p][label of first * labels of second + label of second]`; infinity forbids.
  /// Ties: the first label. Throws like `stop`.
  LabelSolution solve(std::span<const Table> single, std::span<const Table> paired,
                      core::StopToken stop = {}) const;

 private:
  /// A table that a step reads, at `offset` + sum of stride * label.
  struct TableSource {
    std::size_t table;                 ///< singles, then pairs, then results of steps
    std::size_t offset = 0;            ///< offset of fixed variables
    std::vector<std::size_t> strides;  ///< strides of the step's scope, then of its variable
  };
  struct EliminationStep {
    int variable = 0;
    std::vector<int> scope;  ///< variables of later steps on which the best label depends
    std::vector<TableSource> sources;
    std::size_t cells = 1;
  };
  class Order;

  std::size_t labels(int v) const {
    return static_cast<std::size_t>(variables_[static_cast<std::size_t>(v)].labels);
  }
  void read(EliminationStep& step, std::size_t table, const std::vector<int>& scope) const;
  void fill(const EliminationStep& step, std::span<const Table* const> tables, Table& left,
            std::vector<int>& best, core::StopToken stop) const;

  std::vector<LabelVariable> variables_;
  std::vector<Pair> pairs_;
  std::vector<bool> held_;
  std::vector<EliminationStep> steps_;
  bool exact_ = true;
};

}  // namespace penstock::planners
