#pragma once
// One row of PipeDream's table: all pipelines that begin at one cut.

#include "penstock/core/stop.hpp"
#include "pipedream/pipedream_formula.hpp"
#include "pipedream/pipedream_table.hpp"

namespace penstock::planners {

/// Inputs of a row of one level.
struct RowContext {
  const CutRow& cuts;
  const IntervalTimes& times;
  const PipedreamLevel& level;
  std::size_t number = 0;  ///< number of the level; 0 is the innermost
  const PipedreamRules& rules;
  PipedreamFormula formula;
  core::StopToken stop;
};

/// Pipelines over the layers from `first` to each last cut up to `end`, on 1 to all machines of the level.
class PipedreamRow {
 public:
  PipedreamRow(const RowContext& context, std::size_t first, std::size_t end);

  /// Seconds per micro-batch of the slowest stage; kNever if no pipeline fits.
  double seconds(std::size_t last, int machines) const { return value_[machine(machines)][last - first_]; }
  double best(std::size_t last) const { return seconds(last, context_.level.machines); }
  /// Stages of a best pipeline on all machines. Precondition: seconds is not kNever.
  std::vector<PipedreamStage> stages(std::size_t last) const;

 private:
  static std::size_t machine(int m) { return static_cast<std::size_t>(m - 1); }
  bool allowed(int m) const;
  bool fits(std::size_t first, std::size_t last, int m, int used) const;
  double alone(std::size_t last, int m) const;
  double candidate(std::size_t cut, std::size_t last, int m, int used) const;
  double entry(std::size_t last, int used);
  double split(std::size_t last, int m, int used, std::size_t& near, double best) const;
  void set(std::size_t last, int used, double seconds);
  PipedreamStage last_stage(std::size_t last, int used) const;

  const RowContext& context_;
  std::size_t first_;
  std::vector<int> replicas_;               ///< counts allowed for a last stage
  std::vector<std::vector<double>> value_;  ///< [machines - 1][last - first]
  std::vector<std::vector<double>> least_;  ///< minimum value at or behind
  std::vector<std::vector<std::size_t>>
      near_;  ///< [machines - 1][index into replicas_] where bounds last crossed
};

}  // namespace penstock::planners
