#include "penstock/score/validate.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/layout/context.hpp"
#include "penstock/layout/experts.hpp"
#include "penstock/layout/ties.hpp"
#include "penstock/plan/violations.hpp"
#include "penstock/schedule/plan_order.hpp"
#include "penstock/score/order.hpp"
#include "rank_memory.hpp"

namespace penstock::score {

namespace {

/// Violations of what operators allow.
std::vector<std::string> layout_violations(const graph::OpGraph& graph, const plan::Plan& judged) {
  auto out = layout::context_violations(graph, judged);
  const auto experts = layout::expert_violations(graph, judged);
  out.insert(out.end(), experts.begin(), experts.end());
  return out.empty() ? layout::tie_violations(graph, judged) : out;
}

std::vector<std::string> order_violations(const cost::Problem& problem, const plan::Plan& judged) {
  try {
    (void)schedule::weight_copies(judged);  // throws if no order is possible with its weights
    return schedule::order_violations(judged, order_of(problem, judged));
  } catch (const core::BadInput& e) {
    return {e.what()};
  }
}

}  // namespace

std::vector<std::string> stage_violations(const cost::Problem& problem, const plan::Plan& judged) {
  auto out = plan::structural_violations(problem.graph, problem.cluster, judged);
  return out.empty() ? layout_violations(problem.graph, judged) : out;
}

std::vector<std::string> rule_violations(const cost::Problem& problem, const plan::Plan& judged) {
  auto out = stage_violations(problem, judged);
  return out.empty() ? order_violations(problem, judged) : out;
}

namespace {

/// Neighbours with equal memory, [first, last].
struct DeviceSpan {
  std::size_t first, last;
  core::Bytes memory;
};

/// Devices that have less memory than this.
std::vector<DeviceSpan> too_small(const cluster::Cluster& cluster, const std::vector<core::DeviceId>& devices,
                                  core::Bytes needed) {
  std::vector<DeviceSpan> out;
  for (const core::DeviceId d : devices) {
    const core::Bytes has = cluster.type(d).memory;
    if (needed <= has) continue;
    if (!out.empty() && out.back().last + 1 == d.index() && out.back().memory == has)
      out.back().last = d.index();
    else
      out.push_back({d.index(), d.index(), has});
  }
  return out;
}

}  // namespace

std::vector<std::string> memory_violations(const cost::Problem& problem, const plan::Plan& judged) {
  std::vector<std::string> out;
  for (const RankMemory& rank : rank_memories(problem, judged))
    for (const auto& [first, last, has] :
         too_small(problem.cluster, judged.stages[rank.stages.front()].devices, rank.needed)) {
      const bool stages = rank.stages.size() > 1;
      const std::string where = first == last ? fmt::format("device {}, which has {}", first, core::show(has))
                                              : fmt::format("each of devices {} to {}, which have {}", first,
                                                            last, core::show(has));
      out.push_back(fmt::format("stage{} {} need{} {} on {}: {} missing", stages ? "s" : "",
                                fmt::join(rank.stages, ", "), stages ? "" : "s", core::show(rank.needed),
                                where, core::show(rank.needed - has)));
    }
  return out;
}

std::vector<std::string> violations(const cost::Problem& problem, const plan::Plan& judged) {
  if (auto out = plan::structural_violations(problem.graph, problem.cluster, judged); !out.empty())
    return out;
  auto out = layout_violations(problem.graph, judged);
  const auto order = order_violations(problem, judged);
  out.insert(out.end(), order.begin(), order.end());
  try {
    const auto memory = memory_violations(problem, judged);
    out.insert(out.end(), memory.begin(), memory.end());
    // Memory of an order that cannot be made is unknown; order_violations reports why.
  } catch (const core::BadInput&) {
  }
  return out;
}

}  // namespace penstock::score
