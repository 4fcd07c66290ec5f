#pragma once
// One writer per framework.

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "penstock/frameworks/framework.hpp"

namespace penstock::frameworks {

std::string to_accelerate(const Handover& handover);
std::string to_megatron(const Handover& handover);
std::string to_torchtitan(const Handover& handover);
std::string to_torchtitan_toml(const Handover& handover);  ///< before 0.3
std::string to_deepspeed(const Handover& handover);
std::string to_automodel(const Handover& handover);
std::string to_pytorch(const Handover& handover);

/// Samples that a replica takes at once: all micro-batches of a pipeline, which it divides itself, else one,
/// the others as steps of gradient accumulation.
std::int64_t local_batch(const Handover& handover);

/// Replicas that shard, of the devices with equal weights that do.
std::int64_t data_shards(const LayerPlan& layers);

/// Name of a family of schedules in torch.distributed.pipelining; "" where it has none.
std::string_view torch_schedule(std::string_view family);

/// Modules of a family's program, by part of the row. `layer` comes before a layer's number.
struct ModuleNames {
  std::vector<std::string_view> embedding;
  std::string layer;
  std::vector<std::string_view> head;
  std::vector<std::string_view> every_stage;
};

/// [stage] of the plan: names of its modules, as a list in brackets with quotes.
std::string module_lists(const LayerPlan& layers, const ModuleNames& names, std::string_view indent);

/// Values of a model, "hidden 4096", that identify its network: all but its numbers and its loss. Empty for a
/// model that is not the zoo's.
std::vector<std::string> model_values(const plan::ModelRef& model);

/// "# <what>: a, b, c" in comment lines of at most 110 columns; "" for nothing.
std::string comment_of_left_out(std::string_view what, const std::vector<std::string>& values);

/// The zoo's parameters of a model with all defaults filled in; empty for a model that is not the zoo's.
std::map<std::string, std::string> all_parameters(const plan::ModelRef& model);

}  // namespace penstock::frameworks
