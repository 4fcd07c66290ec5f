#pragma once
// A launch script of Megatron-LM becomes a model and a plan.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::frameworks {

struct MegatronRun {
  plan::Plan plan;                   ///< stages without in-flight counts
  std::vector<std::string> unread;   ///< arguments that change no plan: data, logs, learning rates
  std::vector<std::string> notes{};  ///< in words: parts of the run that its model leaves out
};

/// Reads a bash script with the arguments of pretrain_gpt.py, or a YAML file with the same names. The plan has
/// the model in the numbers trained with, degrees of parallelism, stages and batches. It has recomputation,
/// sequence parallelism, the distributed optimizer, precision and buckets too. `devices` of the cluster take
/// part; what tensor, context and pipeline parallelism leave of them are replicas. `given` goes before the
/// arguments of the model, such as a vocabulary, which scripts leave to the tokenizer. Arguments of `ignored`,
/// or a script named there, count as not given. Without `flash` the GPUs run attention kernel by kernel.
/// `script_arguments` are $1 and those after it. Defaults are Megatron-LM's. Throws BadInput naming file, line
/// and argument for what is missing or does not divide, and for another computation (multi-token prediction,
/// 8-bit numbers, Megatron-FSDP). It does so too for another model's script, and for arguments that are neither
/// read nor known to change nothing.
MegatronRun from_megatron(const std::string& text, const std::string& file, const plan::ClusterRef& cluster,
                          std::int64_t devices, const std::map<std::string, std::string>& given,
                          const std::vector<std::string>& ignored = {}, bool flash = true,
                          const std::string& script_arguments = "");

}  // namespace penstock::frameworks
