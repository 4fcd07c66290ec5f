#include "pipedream/pipedream_table.hpp"

#include <algorithm>

namespace penstock::planners {

CutRow::CutRow(const std::vector<CutState>& states) : before(states.size(), LayerSet(states.size())) {
  for (std::size_t i = 0; i < states.size(); ++i) {
    weights.push_back(states[i].parameters);
    output.push_back(states[i].output);
    most_weights.push_back(i == 0 ? weights[0] : std::max(most_weights.back(), weights[i]));
    for (std::size_t j : states[i].next) (before[j] |= before[i]).set(i);
  }
}

TriangleTable layer_times(const std::vector<CutState>& states) {
  TriangleTable times(states.size());
  for (std::size_t j = 0; j < states.size(); ++j) {
    times.row(j)[0] = states[j].compute;
    for (std::size_t i = 1; i <= j; ++i) times.row(j)[i] = states[j].compute - states[i - 1].compute;
  }
  return times;
}

IntervalTimes interval_times(const CutRow& cuts, TriangleTable whole) {
  IntervalTimes out{std::move(whole), TriangleTable(cuts.size()), TriangleTable(cuts.size())};
  for (std::size_t j = 0; j < cuts.size(); ++j) {
    double least = kNever;
    for (std::size_t i = 1; i <= j; ++i) {
      if (cuts.before[j].test(i - 1)) out.stage.row(j)[i] = out.whole.row(j)[i];
      least = std::min(least, out.stage.row(j)[i]);
      out.at_least.row(j)[i] = least;
    }
  }
  return out;
}

}  // namespace penstock::planners
