// DeepSpeed's list of parts and its configuration.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "writers.hpp"

namespace penstock::frameworks {
namespace {

/// Layers of the PipelineModule before stage s: the embedding, the decoder's layers, the head.
std::vector<std::int64_t> parts(const LayerPlan& layers) {
  std::vector<std::int64_t> out = {0};
  for (const std::int32_t end : layers.ends) out.push_back(end);
  return out;
}

/// JSON has no comments: a key that DeepSpeed does not read.
std::string left_out(const plan::ModelRef& model) {
  const auto values = model_values(model);
  if (values.empty()) return "";
  return fmt::format("  \"_left_out\": \"DeepSpeed has no key for what comes with the model: {}\",\n",
                     fmt::join(values, ", "));
}

}  // namespace

std::string to_deepspeed(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  const plan::Training& training = handover.plan.training;
  const auto precision = precision_of(handover.graph, handover.plan);
  const std::int64_t each = layers.micro_batch * layers.data_parallel;
  const int zero = layers.data_parallel > 1 ? layers.zero : 0;
  // DeepSpeed keeps bf16 gradients of a pass beside the fp32 sums unless each is added at once. It takes the
  // optimizer with fp32 sums in every pipeline without ZeRO, where it refuses the data type, and with ZeRO 1
  // on request.
  const bool bf16 = precision == "mixed_bf16" || precision == "deepspeed_bf16";
  return fmt::format(
      "{{\n{}"
      "  \"pipeline\": {{\n"
      "    \"stages\": {},\n"
      "    \"layers\": \"embedding, {} layers, head\",\n"
      "    \"parts\": [{}],\n"
      "    \"activation_checkpoint_interval\": {}\n"
      "  }},\n"
      "  \"train_batch_size\": {},\n"
      "  \"train_micro_batch_size_per_gpu\": {},\n"
      "  \"gradient_accumulation_steps\": {},\n"
      "  \"zero_optimization\": {{\"stage\": {}}},\n"
      "  \"bf16\": {{\"enabled\": {}{}}},\n{}"
      "  \"fp16\": {{\"enabled\": {}}}\n"
      "}}\n",
      left_out(handover.plan.model), layers.ends.size(), layers.row.layers, fmt::join(parts(layers), ", "),
      layers.recompute ? 1 : 0, training.mini_batch, layers.micro_batch, training.mini_batch / each, zero,
      bf16, bf16 ? fmt::format(", \"immediate_grad_update\": {}", precision == "mixed_bf16") : "",
      bf16 && zero == 1 ? "  \"data_types\": {\"grad_accum_dtype\": \"fp32\"},\n" : "",
      precision == "mixed_fp16");
}

}  // namespace penstock::frameworks
