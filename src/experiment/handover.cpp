#include "penstock/experiment/handover.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "penstock/core/quantity_text.hpp"
#include "penstock/experiment/cell.hpp"
#include "penstock/experiment/plan_input.hpp"
#include "penstock/score/validate.hpp"

namespace penstock::experiment {
namespace {

std::string compared(double before, double after) {
  const double percent = (after / before - 1) * 100;
  const std::string than =
      std::abs(percent) < 0.05
          ? "as long as the plan"
          : fmt::format("{:.1f} % {} than the plan would there ({})", std::abs(percent),
                        percent > 0 ? "longer" : "less", core::show(core::Seconds(before)));
  return fmt::format("the nearest plan that it can run takes {} per iteration in simulation, {}",
                     core::show(core::Seconds(after)), than);
}

/// Fills in the nearest plan, if there is a valid one, and its description.
void find_nearest(const frameworks::Framework& framework, const cost::Problem& problem,
                  const plan::Plan& plan, const std::string& file, RunnablePlan& out) {
  auto next = frameworks::nearest(framework, problem.graph, plan);
  out.nearest = fmt::format(
      "no plan near it is known that it can run (penstock plan --for {} searches for one)", framework.name);
  if (!next) return;
  const cost::Problem asked{problem.graph, problem.cluster, problem.costs, next->training};
  derive_in_flight(asked, *next, file);
  if (const auto violations = score::violations(asked, *next); !violations.empty()) {
    out.nearest = "the nearest plan that it could run is not valid: " + violations.front();
    return;
  }
  const auto time = [](const cost::Problem& of, const plan::Plan& one) {
    return simulated_time(of, {})(one).value();
  };
  out.nearest = compared(time(problem, plan), time(asked, *next));
  out.plan = std::move(next);
}

}  // namespace

RunnablePlan runnable(const frameworks::Framework& framework, const cost::Problem& problem,
                      const plan::Plan& plan, const std::string& file, bool with_order) {
  RunnablePlan out{frameworks::refusals(framework, problem.graph, plan, with_order), {}, {}};
  if (out.refused.empty())
    out.plan = plan;
  else
    find_nearest(framework, problem, plan, file, out);
  return out;
}

std::string reasons(const RunnablePlan& able) {
  constexpr std::size_t kShown = 6;
  const auto& refused = able.refused;
  std::string out;
  for (std::size_t i = 0; i < std::min(kShown, refused.size()); ++i) out += "\n  " + refused[i];
  if (refused.size() > kShown) out += fmt::format("\n  and {} more", refused.size() - kShown);
  return out + "\n  " + able.nearest;
}

void refuse(const frameworks::Framework& framework, const RunnablePlan& able, const std::string& file,
            const std::string& hint) {
  throw core::Error(core::ExitCode::invalid_plan, fmt::format("{}: {} cannot run this plan{}{}", file,
                                                              framework.title, reasons(able), hint));
}

}  // namespace penstock::experiment
