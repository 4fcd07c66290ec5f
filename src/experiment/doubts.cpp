#include "penstock/experiment/doubts.hpp"

#include <fmt/format.h>

#include <cmath>

#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/plausible.hpp"

namespace penstock::experiment {
namespace {

constexpr double kRounded = 1e-6;

/// Likely cause, by the origin of the times.
std::string cause_of(const report::CellResult& row) {
  if (row.costs == "analytic" || row.costs.empty())
    return "the cluster file most likely states too low a peak for numbers of this size, or a perturbation "
           "makes "
           "devices faster";
  return fmt::format("the costs ({}) most likely have times in another unit, or of another model or device",
                     row.costs);
}

}  // namespace

std::vector<std::string> doubts(const report::CellResult& row) {
  std::vector<std::string> out;
  if (row.mfu)
    if (const auto wrong = cost::above_whole(*row.mfu); !wrong.empty())
      out.push_back(fmt::format("{}; {}", wrong, cause_of(row)));
  if (row.iteration_s && !(std::isfinite(*row.iteration_s) && *row.iteration_s > 0))
    out.push_back(fmt::format("an iteration of {} s; {}", *row.iteration_s, cause_of(row)));
  if (row.bubble && !(*row.bubble >= -kRounded && *row.bubble <= 1 + kRounded))
    out.push_back(fmt::format("a bubble of {:.1f} %, outside 0 to 100 %", *row.bubble * 100));
  if (row.gap && !(*row.gap >= -kRounded))
    out.push_back(fmt::format("{:.3f} % faster than the lower bound for any plan: please report this",
                              -*row.gap * 100));
  return out;
}

std::vector<std::string> doubts(const cost::Problem& problem, const CellOutcome& outcome) {
  std::vector<std::string> out = doubts(outcome.row);
  if (!outcome.summary) return out;
  double held = 0;
  for (const trace::DeviceSummary& device : outcome.summary->devices)
    held += static_cast<double>(device.peak.value());
  const double weights = static_cast<double>(problem.graph.parameters()) * problem.graph.element_bytes();
  if (held < weights)
    out.push_back(
        fmt::format("all devices together hold {} at their peaks, less than the model's weights of {}: "
                    "please report this",
                    core::show(core::Bytes(static_cast<std::int64_t>(held))),
                    core::show(core::Bytes(static_cast<std::int64_t>(weights)))));
  for (const CellOutcome& other : outcome.others)
    for (const std::string& doubt : doubts(problem, other))
      out.push_back(fmt::format("{}: {}", *other.row.strategy, doubt));
  return out;
}

std::vector<std::string> doubts(std::span<const report::CellResult> rows) {
  constexpr std::size_t kMost = 20;
  std::vector<std::string> out;
  std::size_t more = 0;
  for (const report::CellResult& row : rows)
    for (const std::string& doubt : doubts(row)) {
      if (out.size() == kMost)
        ++more;
      else
        out.push_back(fmt::format("{} on {} devices of {}, {}: {}", row.model, row.devices, row.cluster,
                                  row.planner, doubt));
    }
  if (more > 0) out.push_back(fmt::format("{} more rows like these", more));
  return out;
}

std::string in_lines(const std::vector<std::string>& doubts) {
  std::string out;
  for (const std::string& doubt : doubts) out += "warning: " + doubt + "\n";
  return out;
}

}  // namespace penstock::experiment
