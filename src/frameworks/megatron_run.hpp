#pragma once
// Parts of a Megatron-LM run, each read off its arguments.

#include <map>
#include <string>
#include <vector>

#include "megatron_arguments.hpp"
#include "penstock/frameworks/megatron_layout.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::frameworks {

/// A llama or a gpt of the zoo that ends in its loss; `tensor` devices divide its vocabulary. `given` goes
/// before the arguments. Without `flash` attention is plain, whatever the arguments are.
plan::ModelRef read_megatron_model(MegatronArguments& args, std::int64_t tensor,
                                   const std::map<std::string, std::string>& given, bool flash);

/// Adds what computes nothing here, where it differs from the family's default: Megatron-LM's defaults for
/// arguments that are not given.
void read_megatron_statements(MegatronArguments& args, plan::ModelRef& model);

/// The layers of every stage in the model's order; stage v * ranks + r is the v-th of rank r.
std::vector<StageLayers> read_megatron_stages(MegatronArguments& args, std::int64_t layers,
                                              std::int64_t ranks);

}  // namespace penstock::frameworks
