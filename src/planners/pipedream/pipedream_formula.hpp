#pragma once
// Closed formulas of PipeDream's search at one level; see pipedream_search.hpp.

#include "pipedream/pipedream_search.hpp"

namespace penstock::planners {

/// Precomputes factors, because divisions would dominate the search.
class PipedreamFormula {
 public:
  PipedreamFormula(const PipedreamRules& rules, const PipedreamLevel& level, int inside)
      : code_(rules.form == PipedreamForm::code) {
    for (int m = 1; m <= level.machines; ++m) factors_.push_back(factors(rules, level.bandwidth, inside, m));
  }

  /// A single stage on m machines.
  double alone(double compute, double weights, int m) const {
    return joined(compute, weights * of(m).reduce_alone, m);
  }
  /// The last of several stages. Monotone in compute and weights, rounding included.
  double last(double compute, double weights, int m) const {
    return joined(compute, weights * of(m).reduce, m);
  }
  double receiving(double bytes, int m) const { return bytes * of(m).receiving; }
  double sending(double bytes, int m) const { return bytes * of(m).sending; }

 private:
  struct FormulaFactors {
    double each;          ///< share of a replica: 1 / m
    double reduce;        ///< seconds per byte of weights for the all-reduce of a round of m micro-batches
    double reduce_alone;  ///< same if one stage uses all machines
    double receiving;     ///< s per B
    double sending;       ///< s per B
  };

  static FormulaFactors factors(const PipedreamRules& rules, double bandwidth, int inside, int m) {
    const bool code = rules.form == PipedreamForm::code;
    const double each = code ? 4.0 * (m - 1) / (bandwidth * m) : 2.0 * (m - 1) / bandwidth;
    const double reduce = rules.update_every > 0 ? each * (m / rules.update_every) : each;
    const double transfer = rules.compression ? 2.0 / (bandwidth * (code ? m : 1)) / *rules.compression : 0;
    return {1.0 / m, reduce, code ? reduce / inside : reduce, transfer, code ? transfer : 0};
  }

  const FormulaFactors& of(int m) const { return factors_[static_cast<std::size_t>(m - 1)]; }
  double joined(double compute, double reduce, int m) const {
    if (code_) return (compute + reduce) * of(m).each;
    return (compute > reduce ? compute : reduce) * of(m).each;
  }

  bool code_;
  std::vector<FormulaFactors> factors_;  ///< [m - 1]
};

}  // namespace penstock::planners
