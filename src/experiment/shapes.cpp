#include "penstock/experiment/shapes.hpp"

#include <algorithm>
#include <map>

#include "penstock/cost/stage_load.hpp"
#include "penstock/experiment/inputs.hpp"

namespace penstock::experiment {
namespace {

std::vector<std::int64_t> micro_batches(const Cell& cell) {
  if (cell.pipeline_micro_batch) return {*cell.pipeline_micro_batch};
  std::vector<std::int64_t> out;
  const std::int64_t mini_batch = cell.training.mini_batch;
  for (std::int64_t b = 1; b <= mini_batch && mini_batch % b == 0; b *= 2) out.push_back(b);
  return out;
}

void add_samples(const Cell& cell, int devices, std::set<std::int64_t>& samples) {
  if (cell.micro_batch) {
    samples.insert(*cell.micro_batch);
    return;
  }
  for (const std::int64_t b : micro_batches(cell))
    for (int r = 1; r <= devices && r <= b; r = cell.search.any_degree ? r + 1 : 2 * r)
      samples.insert(cost::samples_per_device(b, r));
}

int fullest_node(const cluster::Cluster& cluster) {
  std::map<int, int> devices;
  int most = 1;
  for (std::size_t d = 0; d < cluster.size(); ++d)
    most = std::max(most, ++devices[cluster.node(core::DeviceId(d))]);
  return most;
}

/// Largest group that a planner makes; 1 if it divides no operators.
int largest_group(const planners::PlannerChoice& choice, const cluster::Cluster& cluster) {
  const std::string limit = "max_tensor_parallel";
  const auto& options = planners::planner(choice.name).options;
  if (std::ranges::find(options, limit, &planners::PlannerOption::name) == options.end()) return 1;
  const auto given = choice.options.find(limit);
  const int own = given == choice.options.end() ? 0 : std::stoi(given->second);
  const int most = fullest_node(cluster);
  return own > 0 ? std::min(own, most) : most;
}

}  // namespace

std::vector<ModelShapes> shapes(const Spec& spec) {
  std::vector<ModelShapes> out;
  std::map<std::pair<std::string, int>, cluster::Cluster> clusters;
  for (const Cell& cell : spec.cells) {
    auto own = std::ranges::find_if(out, [&](const ModelShapes& known) {
      return known.model.name == cell.model.name && known.model.parameters == cell.model.parameters;
    });
    if (own == out.end()) own = out.insert(out.end(), ModelShapes{cell.model, {}, {}});
    const std::pair key(cell.cluster.name, cell.cluster.devices);
    auto cluster = clusters.find(key);
    if (cluster == clusters.end()) cluster = clusters.emplace(key, load_cluster(cell.cluster)).first;
    add_samples(cell, static_cast<int>(cluster->second.size()), own->samples);
    for (int t = 2; t <= largest_group(cell.planner, cluster->second); t *= 2) own->tensor_degrees.insert(t);
  }
  return out;
}

}  // namespace penstock::experiment
