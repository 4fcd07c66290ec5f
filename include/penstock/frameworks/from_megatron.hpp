#pragma once
// A launch script of Megatron-LM becomes a model and a plan.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "penstock/plan/plan.hpp"

namespace penstock::frameworks {

struct MegatronRun {
  plan::Plan plan;                  ///< stages without in-flight counts
  std::vector<std::string> unread;  ///< arguments that were not read: data, logs, learning rates
  std::string note{};               ///< one line on what script and cluster disagree on; may be empty
};

/// Reads a bash script with the arguments of pretrain_gpt.py, or a YAML file that gives the same names. It
/// reads the model (llama or gpt of the zoo, in the numbers trained with), degrees of parallelism, virtual
/// stages, and layout. It also reads first and last stage, batches, recomputation, sequence parallelism,
/// distributed optimizer, precision, and buckets. `devices` of the cluster take part; what tensor and
/// pipeline parallelism leave of them are replicas. `given` goes before the arguments of the model (a
/// vocabulary, which scripts leave to the tokenizer). Arguments of `ignored` count as not given. Without
/// `flash` the GPUs run attention kernel by kernel. Defaults are Megatron-LM's. Throws BadInput naming file,
/// line and argument for what is missing, does not divide, or would be another computation (context
/// parallelism, latent attention, multi-token prediction, 8-bit numbers, Megatron-FSDP).
MegatronRun from_megatron(const std::string& text, const std::string& file, const plan::ClusterRef& cluster,
                          std::int64_t devices, const std::map<std::string, std::string>& given,
                          const std::vector<std::string>& ignored = {}, bool flash = true);

}  // namespace penstock::frameworks
