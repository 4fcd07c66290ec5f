#pragma once
// The closed formulas of PipeDream's search at one level; pipedream_search.hpp tells them.

#include "pipedream_search.hpp"

namespace penstock::planners {

class PipedreamFormula {
 public:
  PipedreamFormula(const PipedreamRules& rules, const PipedreamLevel& level, int inside)
      : rules_(rules), bandwidth_(level.bandwidth), inside_(inside) {}

  /// One stage alone on m machines.
  double alone(double compute, double weights, int m) const {
    const double share = rules_.form == PipedreamForm::code ? 1.0 / inside_ : 1.0;
    return joined(compute, reduce(weights, m) * share, m);
  }
  /// The last of several. Monotone in compute and weights, rounding included.
  double last(double compute, double weights, int m) const { return joined(compute, reduce(weights, m), m); }

  double entering(double bytes, int m) const { return rules_.compression ? transfer(bytes, m) : 0; }
  double leaving(double bytes, int m) const {
    return rules_.compression && rules_.form == PipedreamForm::code ? transfer(bytes, m) : 0;
  }

 private:
  double joined(double compute, double reduce, int m) const {
    if (rules_.form == PipedreamForm::code) return (compute + reduce) / m;
    return (compute > reduce ? compute : reduce) / m;
  }
  /// Seconds of the all-reduce that fall to a round of m micro-batches.
  double reduce(double weights, int m) const {
    const double each = rules_.form == PipedreamForm::code ? 4.0 * (m - 1) * weights / (bandwidth_ * m)
                                                           : 2.0 * (m - 1) * weights / bandwidth_;
    return rules_.update_every > 0 ? each * (m / rules_.update_every) : each;
  }
  double transfer(double bytes, int m) const {
    const double ways = rules_.form == PipedreamForm::code ? m : 1;
    return 2.0 * bytes / (bandwidth_ * ways) / *rules_.compression;
  }

  const PipedreamRules& rules_;
  double bandwidth_;
  int inside_;
};

}  // namespace penstock::planners
