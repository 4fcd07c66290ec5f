#include "experts.hpp"

#include <algorithm>

namespace penstock::cost {

ExpertWork expert_work(const graph::Experts& e, double samples, const OpShard& part) {
  // By tokens or samples a device has its part of the rows, else its part of every expert's width.
  const bool by_rows =
      part.partition == plan::Partition::sequence || part.partition == plan::Partition::batch;
  const double rows = static_cast<double>(e.rows) * samples * (by_rows ? part.part : 1),
               copies = rows * static_cast<double>(e.chosen), hidden = static_cast<double>(e.hidden),
               inner = static_cast<double>(e.inner) * (by_rows ? 1 : part.part),
               first = inner * static_cast<double>(e.matrices() - 1);
  ExpertWork out;
  out.experts = std::max(1.0, std::min(static_cast<double>(e.experts), copies));
  out.rows = copies / out.experts;
  out.layers = {{{hidden, first}, {inner, hidden}}};
  const double there_and_back = 2 * (rows + copies) * hidden;
  out.moved = {there_and_back + copies * (first + inner), there_and_back + copies * 2 * (first + inner), 0};
  return out;
}

}  // namespace penstock::cost
