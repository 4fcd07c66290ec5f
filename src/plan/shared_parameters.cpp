#include "penstock/plan/shared_parameters.hpp"

#include <algorithm>
#include <map>
#include <set>

#include "penstock/graph/ties.hpp"
#include "penstock/plan/colocated.hpp"

namespace penstock::plan {

using core::DeviceId;
using core::OpId;
using core::StageId;

namespace {

bool has(const Stage& stage, DeviceId device) {
  return std::find(stage.devices.begin(), stage.devices.end(), device) != stage.devices.end();
}

}  // namespace

std::vector<SharedParameters> shared_parameters(const graph::OpGraph& graph, const Plan& plan) {
  std::map<OpId, std::set<StageId>> users;
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (const auto& [owner, here] : graph::borrowed(graph, plan.stages[s].operators))
      users[owner].emplace(s);
  for (std::size_t s = 0; s < plan.stages.size(); ++s)
    for (const OpId op : plan.stages[s].operators)
      if (const auto found = users.find(op); found != users.end()) found->second.emplace(s);
  std::vector<SharedParameters> out;
  for (const auto& [owner, stages] : users) out.push_back({{owner}, {stages.begin(), stages.end()}});
  for (const auto& parts : colocated_stages(plan)) {
    SharedParameters all{{}, parts};
    for (const OpId op : plan.stages[parts.front().index()].operators)
      if (graph.parameter_bytes(op).value() > 0 && !users.contains(op)) all.owners.push_back(op);
    if (parts.size() > 1 && !all.owners.empty()) out.push_back(std::move(all));
  }
  std::sort(out.begin(), out.end(), [](const auto& a, const auto& b) { return a.owners < b.owners; });
  return out;
}

bool summed_first(const SharedParameters& shared, const Plan& plan) {
  return shared.stages.front().index() >= behind_pipeline(plan);
}

StageId home(const SharedParameters& shared, const Plan& plan) {
  return *std::find_if(shared.stages.begin(), shared.stages.end(), [&](StageId s) {
    const auto& operators = plan.stages[s.index()].operators;
    return std::find(operators.begin(), operators.end(), shared.owners.front()) != operators.end();
  });
}

std::vector<StageId> stages_on(const SharedParameters& shared, const Plan& plan, DeviceId device) {
  std::vector<StageId> out;
  for (const StageId s : shared.stages)
    if (has(plan.stages[s.index()], device)) out.push_back(s);
  return out;
}

std::vector<DeviceId> devices(const SharedParameters& shared, const Plan& plan) {
  std::vector<DeviceId> out;
  for (const StageId s : shared.stages)
    for (const DeviceId device : plan.stages[s.index()].devices)
      if (std::find(out.begin(), out.end(), device) == out.end()) out.push_back(device);
  return out;
}

std::vector<OpId> unshared(const std::vector<OpId>& operators, const std::vector<SharedParameters>& shared) {
  std::vector<OpId> out = operators;
  std::erase_if(out, [&](OpId op) {
    return std::any_of(shared.begin(), shared.end(), [&](const auto& s) {
      return std::binary_search(s.owners.begin(), s.owners.end(), op);
    });
  });
  return out;
}

}  // namespace penstock::plan
