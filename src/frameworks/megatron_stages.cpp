#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "megatron_parts.hpp"
#include "megatron_run.hpp"

namespace penstock::frameworks {
namespace {

/// `all` in equal shares; refused where they do not divide, and where nothing is left for a share.
std::int64_t share(MegatronArguments& args, std::string_view name, std::int64_t all, std::int64_t parts,
                   const char* what) {
  if (parts < 1 || all < parts || all % parts != 0)
    args.fail(name, fmt::format("{} {} are not {} equal shares", all, what, parts));
  return all / parts;
}

/// Embedding and loss count as layers of the first and last stage (get_num_layers_to_build): all stages have
/// as many layers, these two one less each.
std::vector<StageLayers> counted_ends(MegatronArguments& args, std::int64_t layers, std::int64_t ranks,
                                      std::int64_t chunks) {
  constexpr const char *kFirst = "account_for_embedding_in_pipeline_split",
                       *kLast = "account_for_loss_in_pipeline_split";
  const bool first = args.flag(kFirst), last = args.flag(kLast);
  const char* const name = first ? kFirst : kLast;
  for (const char* other : {"decoder_first_pipeline_num_layers", "num_layers_in_first_pipeline_stage",
                            "decoder_last_pipeline_num_layers", "num_layers_in_last_pipeline_stage"})
    if (args.has(other)) args.fail(other, fmt::format("does not go with {}", name));
  const std::int64_t all = layers + (first ? 1 : 0) + (last ? 1 : 0);
  const std::int64_t each =
      share(args, name, share(args, name, all, ranks, "layers, counted so,"), chunks, "layers of a rank");
  std::vector<StageLayers> out(static_cast<std::size_t>(ranks * chunks), {false, each, 0, false});
  if (first) --out.front().layers;
  if (last) --out.back().layers;
  out.front().embedding = out.back().loss = true;
  return out;
}

/// [rank] layers where no layout gives them: even, except for the first and the last rank if they are given.
std::vector<std::int64_t> layers_of_ranks(MegatronArguments& args, std::int64_t layers, std::int64_t ranks) {
  const char* const first_name = args.has("decoder_first_pipeline_num_layers")
                                     ? "decoder_first_pipeline_num_layers"
                                     : "num_layers_in_first_pipeline_stage";
  const char* const last_name = args.has("decoder_last_pipeline_num_layers")
                                    ? "decoder_last_pipeline_num_layers"
                                    : "num_layers_in_last_pipeline_stage";
  const bool first = args.has(first_name), last = args.has(last_name);
  std::int64_t left = layers, others = ranks;
  if (first) left -= args.count(first_name), --others;
  if (last) left -= args.count(last_name), --others;
  std::int64_t each = 0;
  if (others > 0)
    each = share(args, first ? first_name : last ? last_name : "num_layers", left, others, "layers");
  else if (left != 0)
    args.fail(first_name, fmt::format("first and last stage leave {} layers", left));
  std::vector<std::int64_t> out(static_cast<std::size_t>(ranks), each);
  if (first) out.front() = args.count(first_name);
  if (last) out.back() = args.count(last_name);
  return out;
}

std::int64_t virtual_stages(MegatronArguments& args, std::int64_t layers, std::int64_t ranks) {
  if (args.has("num_layers_per_virtual_pipeline_stage")) {
    const auto each = args.count("num_layers_per_virtual_pipeline_stage");
    return share(args, "num_layers_per_virtual_pipeline_stage",
                 share(args, "num_layers", layers, ranks, "layers"), each, "layers of a rank");
  }
  return args.count("num_virtual_stages_per_pipeline_rank",
                    args.count("virtual_pipeline_model_parallel_size", 1));
}

/// MindSpeed's --num-layer-list 11,13,13,11: layers of each rank.
std::vector<std::int64_t> listed_layers(MegatronArguments& args, std::int64_t layers, std::int64_t ranks) {
  constexpr const char* kName = "num_layer_list";
  const std::string text = args.text(kName, "");
  std::vector<std::int64_t> out;
  std::int64_t sum = 0;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    std::int64_t count = 0;
    const char* const end = text.data() + comma;
    const auto [stop, fault] = std::from_chars(text.data() + from, end, count);
    if (fault != std::errc() || stop != end || count < 1 || count > layers)
      args.fail(kName, fmt::format("expected layers of each stage such as 11,13,13,11, found '{}'", text));
    out.push_back(count);
    sum += count;
    from = comma + 1;
  }
  if (std::ssize(out) != ranks)
    args.fail(kName, fmt::format("has {} stages, the pipeline {} ranks", out.size(), ranks));
  if (sum != layers) args.fail(kName, fmt::format("has {} layers, the model {}", sum, layers));
  for (const char* other : {"num_layers_per_virtual_pipeline_stage", "num_virtual_stages_per_pipeline_rank",
                            "virtual_pipeline_model_parallel_size", "decoder_first_pipeline_num_layers",
                            "decoder_last_pipeline_num_layers", "account_for_embedding_in_pipeline_split",
                            "account_for_loss_in_pipeline_split"})
    if (!args.nothing(other)) args.fail(other, fmt::format("does not go with {}", kName));
  return out;
}

std::vector<StageLayers> one_stage_each(const std::vector<std::int64_t>& layers) {
  std::vector<StageLayers> out;
  for (const std::int64_t count : layers) out.push_back({false, count, 0, false});
  out.front().embedding = out.back().loss = true;
  return out;
}

/// Stages between the bars of a pattern, the v-th of all ranks before the next of the first.
std::vector<StageLayers> barred_layers(MegatronArguments& args, std::int64_t ranks) {
  const auto stages = hybrid_pattern(args).stages;
  if (std::ssize(stages) % ranks != 0)
    args.fail("pipeline_model_parallel_size",
              fmt::format("the pattern has {} stages, not equally many on {} ranks", stages.size(), ranks));
  return one_stage_each(stages);
}

/// The layout whose empty stages have each taken a layer from the fullest stage; "" if no stage has one to spare.
std::string filled_layout(std::vector<StageLayers> stages) {
  for (StageLayers& stage : stages) {
    if (stage != StageLayers{}) continue;
    StageLayers& fullest = *std::ranges::max_element(stages, {}, &StageLayers::layers);
    if (fullest.layers < 2) return "";
    --fullest.layers, ++stage.layers;
  }
  return to_layout(stages);
}

/// An empty stage only passes tensors on, which costs its rank a hop. Left out, the times would be too short.
void refuse_empty_stages(MegatronArguments& args, const std::vector<StageLayers>& stages) {
  std::vector<std::size_t> empty;
  for (std::size_t s = 0; s < stages.size(); ++s)
    if (stages[s] == StageLayers{}) empty.push_back(s);
  if (empty.empty()) return;
  const std::string filled = filled_layout(stages);
  args.fail("pipeline_model_parallel_layout",
            fmt::format("{} {} of {} (from 0) {} empty, and every stage of a plan has an operator: {}",
                        empty.size() == 1 ? "stage" : "stages", fmt::join(empty, ", "), stages.size(),
                        empty.size() == 1 ? "is" : "are",
                        filled.empty() ? "use fewer stages"
                                       : fmt::format("give {} a layer, as in '{}'",
                                                     empty.size() == 1 ? "it" : "each", filled)));
}

std::vector<StageLayers> given_layout(MegatronArguments& args, std::int64_t layers, std::int64_t ranks) {
  constexpr std::string_view kName = "pipeline_model_parallel_layout";
  std::vector<StageLayers> out;
  try {
    out = parse_layout(args.text(kName, ""));
  } catch (const core::BadInput& e) {
    args.fail(kName, e.what());
  }
  std::int64_t counted = 0;
  for (const StageLayers& stage : out) {
    counted += stage.layers;
    if (stage.predictors > 0) args.fail(kName, "multi-token prediction (m): no plan states this");
  }
  refuse_empty_stages(args, out);
  if (counted != layers) args.fail(kName, fmt::format("has {} layers, the model {}", counted, layers));
  if (static_cast<std::int64_t>(out.size()) % ranks != 0)
    args.fail(kName, fmt::format("has {} stages, which are not equally many on {} ranks", out.size(), ranks));
  return out;
}

}  // namespace

std::vector<StageLayers> read_megatron_stages(MegatronArguments& args, std::int64_t layers,
                                              std::int64_t ranks) {
  if (args.has("pipeline_model_parallel_layout")) return given_layout(args, layers, ranks);
  if (is_hybrid(args) && hybrid_pattern(args).stages.size() > 1) return barred_layers(args, ranks);
  if (args.has("num_layer_list")) return one_stage_each(listed_layers(args, layers, ranks));
  const std::int64_t chunks = virtual_stages(args, layers, ranks);
  if (args.flag("account_for_embedding_in_pipeline_split") || args.flag("account_for_loss_in_pipeline_split"))
    return counted_ends(args, layers, ranks, chunks);
  const auto of_rank = layers_of_ranks(args, layers, ranks);
  std::vector<StageLayers> out;
  for (std::int64_t v = 0; v < chunks; ++v)
    for (const std::int64_t count : of_rank)
      out.push_back({false,
                     share(args, "num_virtual_stages_per_pipeline_rank", count, chunks, "layers of a rank"),
                     0, false});
  out.front().embedding = out.back().loss = true;
  return out;
}

}  // namespace penstock::frameworks
