// Layers of several kinds (megatron/core/models/hybrid/hybrid_layer_allocation.py, 0.19).
#include <fmt/format.h>

#include <algorithm>

#include "megatron_parts.hpp"

namespace penstock::frameworks {
namespace {

using Values = std::map<std::string, std::string>;

const char* pattern_name(MegatronArguments& args) {
  return args.spelling({"hybrid_layer_pattern", "hybrid_override_pattern"});
}

/// Widths that are not given are Megatron-LM's (TransformerConfig; chunk: MambaMixer).
void read_state_space(MegatronArguments& args, Values& out) {
  constexpr std::int64_t kHead = 64, kState = 128, kGroups = 8, kChunk = 128, kExpansion = 2;
  const std::int64_t head = args.count("mamba_head_dim", kHead);
  const std::int64_t heads = args.count("mamba_num_heads", kExpansion * args.count("hidden_size") / head);
  out["state_heads"] = std::to_string(heads);
  out["state_head_width"] = std::to_string(head);
  out["state_width"] = std::to_string(args.count("mamba_state_dim", kState));
  out["state_groups"] = std::to_string(args.count("mamba_num_groups", kGroups));
  out["scan_chunk"] = std::to_string(kChunk);
}

}  // namespace

bool is_hybrid(MegatronArguments& args) {
  return args.has(pattern_name(args)) && !args.nothing(pattern_name(args));
}

HybridPattern hybrid_pattern(MegatronArguments& args) {
  const char* const name = pattern_name(args);
  HybridPattern out{{}, {0}};
  for (const char letter : args.text(name, "")) {
    if (letter == '/') args.fail(name, "multi-token prediction (/): no plan states this");
    if (letter == '|') {
      out.stages.push_back(0);
      continue;
    }
    if (std::string_view("M*-E").find(letter) == std::string_view::npos)
      args.fail(name, fmt::format("expected M, *, -, E and bars between stages, found '{}'", letter));
    out.layers += letter;
    ++out.stages.back();
  }
  if (std::ranges::count(out.stages, 0) > 0) args.fail(name, "a stage has no layers: no plan states this");
  return out;
}

std::int64_t layer_count(MegatronArguments& args) {
  if (!is_hybrid(args)) return args.count(args.spelling({"num_layers", "encoder_num_layers"}));
  const std::int64_t layers = std::ssize(hybrid_pattern(args).layers);
  if (args.has("num_layers") && args.count("num_layers") != layers)
    args.fail("num_layers", fmt::format("is {}, and the pattern has {}", args.count("num_layers"), layers));
  return layers;
}

void read_hybrid(MegatronArguments& args, const std::string& attention, Values& out) {
  std::vector<std::string> mixers, feed_forwards;
  for (const char letter : hybrid_pattern(args).layers) {
    mixers.push_back(letter == 'M' ? "state_space" : letter == '*' ? attention : "none");
    feed_forwards.emplace_back(letter == '-' ? "dense" : letter == 'E' ? "experts" : "none");
  }
  out["mixers"] = counted_words(mixers);
  out["feed_forwards"] = counted_words(feed_forwards);
  if (std::ranges::count(mixers, "state_space") > 0) read_state_space(args, out);
}

}  // namespace penstock::frameworks
