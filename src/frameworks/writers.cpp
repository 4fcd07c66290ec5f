#include "writers.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <utility>

#include "models/catalogue.hpp"

namespace penstock::frameworks {
namespace {

std::string quoted_list(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += fmt::format("{}\"{}\"", out.empty() ? "" : ", ", name);
  return "[" + out + "]";
}

}  // namespace

std::int64_t local_batch(const Handover& handover) {
  const LayerPlan& layers = handover.layers;
  return layers.micro_batch * (layers.ends.size() > 1 ? layers.micro_batches(handover.plan) : 1);
}

std::int64_t data_shards(const LayerPlan& layers) {
  return layers.zero_over == 0 ? layers.data_parallel : layers.zero_over / layers.context_parallel;
}

std::string_view torch_schedule(std::string_view family) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 7> kNames = {
      {{"gpipe", "GPipe"},
       {"1f1b", "1F1B"},
       {"interleaved_1f1b", "Interleaved1F1B"},
       {"looped_bfs", "LoopedBFS"},
       {"interleaved_zb", "InterleavedZeroBubble"},
       {"zbv", "ZBVZeroBubble"},
       {"dualpipev", "DualPipeV"}}};
  for (const auto& [ours, theirs] : kNames)
    if (ours == family) return theirs;
  return "";
}

std::string module_lists(const LayerPlan& layers, const ModuleNames& names, std::string_view indent) {
  std::string out;
  for (std::size_t s = 0; s < layers.ends.size(); ++s) {
    std::vector<std::string> modules;
    if (layers.has_embedding(s)) modules.assign(names.embedding.begin(), names.embedding.end());
    for (std::int32_t p = std::max(layers.begin(s), 1); p < std::min(layers.ends[s], layers.row.head()); ++p)
      modules.push_back(names.layer + std::to_string(p - 1));
    if (layers.has_head(s)) modules.insert(modules.end(), names.head.begin(), names.head.end());
    modules.insert(modules.end(), names.every_stage.begin(), names.every_stage.end());
    out += fmt::format("{}{}{}\n", indent, quoted_list(modules), s + 1 < layers.ends.size() ? "," : "");
  }
  return out;
}

std::vector<std::string> model_values(const plan::ModelRef& model) {
  constexpr std::array<std::string_view, 4> kOfTraining = {"size", "element_bytes", "products", "loss"};
  std::vector<std::string> out;
  for (const auto& [key, value] : all_parameters(model))
    if (std::ranges::find(kOfTraining, key) == kOfTraining.end()) out.push_back(key + " " + value);
  return out;
}

std::string comment_of_left_out(std::string_view what, const std::vector<std::string>& values) {
  constexpr std::size_t kColumns = 110;
  if (values.empty()) return "";
  std::string out, line = fmt::format("# {}:", what);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::string next = " " + values[i] + (i + 1 < values.size() ? "," : "");
    if (line.size() + next.size() > kColumns) {
      out += line + "\n";
      line = "#  ";
    }
    line += next;
  }
  return out + line + "\n";
}

std::map<std::string, std::string> all_parameters(const plan::ModelRef& model) {
  std::map<std::string, std::string> out;
  for (const auto& info : models::catalogue()) {
    if (info.name != model.name) continue;
    for (const auto& parameter : info.parameters) out[parameter.name] = parameter.default_value;
    const auto asked = model.parameters.find("size");
    for (const auto& size : info.sizes)
      if (asked != model.parameters.end() && size.name == asked->second)
        for (const auto& [key, value] : size.parameters) out[key] = value;
    for (const auto& [key, value] : model.parameters) out[key] = value;
  }
  return out;
}

}  // namespace penstock::frameworks
