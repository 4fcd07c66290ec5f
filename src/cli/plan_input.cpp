#include "plan_input.hpp"

#include <algorithm>

#include "penstock/core/files.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/frameworks/framework.hpp"

namespace penstock::cli {

plan::PlanHead head_of(const std::string& text, const std::string& file, const ModelFlags& model,
                       const ClusterFlags& cluster) {
  plan::PlanHead head = plan::parse_plan_head(text, file);
  if (model.name.empty() && !model.parameters.empty())
    throw core::BadInput("-p belongs to --model; the plan's own model keeps the plan's parameters");
  if (!model.name.empty()) head.model = model.ref();
  if (!cluster.file.empty()) head.cluster.name = cluster.file;
  if (cluster.devices > 0) head.cluster.devices = cluster.devices;
  if (!cluster.runtime.empty()) head.cluster.runtime = cluster.runtime;
  if (const auto reserved = cluster.reserved()) head.cluster.reserved = reserved;
  return head;
}

experiment::PlanInput read_plan(const std::string& file, const ModelFlags& model, const ClusterFlags& cluster,
                                const CostFlags& costs) {
  const std::string text = core::read_file(file);
  return experiment::read_plan(text, file, head_of(text, file, model, cluster),
                               [&](const cluster::Cluster& stated) { return costs.load(stated); });
}

ClusterFlags run_by(const ClusterFlags& cluster, const CostFlags& costs, const std::string& file,
                    const std::string& framework) {
  if (framework.empty()) return cluster;
  ClusterFlags out = cluster;
  plan::ClusterRef ref = head_of(core::read_file(file), file, {}, cluster).cluster;
  const auto names = frameworks::framework_names();
  const bool another = std::ranges::find(names, ref.runtime) != names.end();  // ran the plan before
  if (another && cluster.runtime.empty()) ref.runtime.clear();
  out.runtime = experiment::runtime_for(framework, ref, costs.file, experiment::load_cluster({ref.name, 0}));
  return out;
}

}  // namespace penstock::cli
