#include "cut_model.hpp"

#include <algorithm>

#include "penstock/schedule/in_flight.hpp"

namespace penstock::replay::test {

using core::DeviceId;
using core::OpId;
using core::StageId;

CutModel cut_model(graph::OpGraph graph, const CutSetting& cut) {
  const auto ranks = static_cast<std::size_t>(*std::ranges::max_element(cut.rank) + 1);
  const std::size_t operators = graph.size(), stages = cut.rank.size();
  const std::size_t devices =
      cut.replicas * static_cast<std::size_t>(cut.tensor_parallel * cut.context_parallel);
  CutModel out{std::move(graph),
               support::tiny_cluster(ranks * devices),
               support::LaunchCosts(std::vector<support::LaunchCosts::PassTime>(operators, {1e-3, 1e-4})),
               {}};
  out.plan.training = {cut.mini_batch, cut.optimizer, {}};
  out.plan.schedule = cut.schedule;
  for (std::size_t s = 0; s < stages; ++s) {
    plan::Stage& stage = out.plan.stages.emplace_back();
    for (std::size_t op = s * operators / stages; op < (s + 1) * operators / stages; ++op)
      stage.operators.emplace_back(op);
    stage.tensor_parallel = cut.tensor_parallel;
    stage.context_parallel = cut.context_parallel;
    stage.context_exchange = cut.exchange;
    stage.expert_parallel = cut.expert_parallel;
    for (std::size_t d = 0; d < devices; ++d)
      stage.devices.emplace_back(static_cast<std::size_t>(cut.rank[s]) * devices + d);
    stage.micro_batch = cut.micro_batch;
    stage.recompute = cut.recompute;
    if (cut.sequential && s > 0) stage.after.emplace_back(s - 1);
  }
  schedule::derive_in_flight(out.plan, plan::StageGraph(out.graph, out.plan));
  return out;
}

const std::map<std::string, std::map<std::string, std::string>>& small_zoo() {
  static const std::map<std::string, std::map<std::string, std::string>> models = {
      {"mmt", {{"branches", "2"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}}},
      {"dlrm", {{"branches", "2"}, {"table_rows", "20"}, {"tower_input", "8"}, {"width", "8"}}},
      {"candle_uno", {{"towers", "2"}, {"width", "8"}}},
      {"case_study", {{"layers", "1"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}}},
      {"clip",
       {{"text_sequence", "3"},
        {"text_hidden", "8"},
        {"text_layers", "2"},
        {"text_heads", "2"},
        {"resolution", "32"},
        {"image_hidden", "8"},
        {"image_heads", "2"},
        {"image_layers", "2"}}},
      {"transformer", {{"layers", "2"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}}},
      {"gpt", {{"vocabulary", "13"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}}},
      {"opt", {{"vocabulary", "13"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "2"}, {"sequence", "3"}}},
      {"encoder_decoder",
       {{"vocabulary", "13"},
        {"layers", "1"},
        {"hidden", "8"},
        {"heads", "2"},
        {"feed_forward", "8"},
        {"source_length", "3"},
        {"target_length", "2"}}}};
  return models;
}

}  // namespace penstock::replay::test
