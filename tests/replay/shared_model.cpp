#include "shared_model.hpp"

#include <numeric>

#include "models/catalogue.hpp"
#include "models/layers.hpp"
#include "penstock/schedule/in_flight.hpp"

namespace penstock::replay::test {

using core::DeviceId;

namespace {

void place(CutModel& model, const std::vector<std::int32_t>& rank, const std::vector<std::size_t>& replicas,
           double bandwidth) {
  std::vector<std::vector<DeviceId>> devices(replicas.size());
  std::size_t next = 0;
  for (std::size_t r = 0; r < replicas.size(); ++r)
    for (std::size_t i = 0; i < replicas[r]; ++i) devices[r].emplace_back(next++);
  model.cluster = support::tiny_cluster(next, std::int64_t{1} << 40, bandwidth);
  for (std::size_t s = 0; s < rank.size(); ++s)
    model.plan.stages[s].devices = devices[static_cast<std::size_t>(rank[s])];
}

}  // namespace

CutModel shared_model(const std::string& name, const CutSetting& cut,
                      const std::vector<std::size_t>& replicas) {
  std::map<std::string, std::string> given = {
      {"vocabulary", "13"}, {"layers", "1"}, {"hidden", "8"}, {"heads", "2"}};
  if (name == "gpt") given["sequence"] = "3";
  if (name == "encoder_decoder")
    given.insert({{"feed_forward", "8"}, {"source_length", "3"}, {"target_length", "2"}});
  CutModel out = cut_model(models::build(name, given), cut);
  place(out, cut.rank, replicas, 1e9);
  return out;
}

CutModel crossed_chain() {
  models::Layers net("crossed");
  const auto x = net.embedding("table", net.indices("rows", 2), {.rows = 5, .width = 4});
  net.linear("head", net.linear("down", net.linear("up", x, 6), 4, {.parameters_of = "up"}), 5,
             {.parameters_of = "table"});
  const std::vector<std::int32_t> rank = {0, 1, 0, 1};
  CutModel out = cut_model(net.build(), {.schedule = "interleaved_1f1b", .rank = rank, .mini_batch = 8});
  for (std::size_t s = 0; s < 4; ++s) out.plan.stages[s].operators = {core::OpId(s + 1)};
  out.plan.stages[0].operators.insert(out.plan.stages[0].operators.begin(), core::OpId(0));
  place(out, rank, {1, 2}, 1e6);
  schedule::derive_in_flight(out.plan, plan::StageGraph(out.graph, out.plan));
  return out;
}

CutModel shared_chain(const std::vector<std::size_t>& replicas) {
  models::Layers net("chain");
  const auto rows = net.indices("rows", 2);
  const auto x = net.embedding("table", rows, {.rows = 5, .width = 4});
  net.linear("head", net.linear("middle", x, 4), 5, {.parameters_of = "table"});
  CutModel out = cut_model(net.build(), {.rank = {0, 1, 2}, .optimizer = plan::Optimizer::sgd});
  for (std::size_t s = 0; s < 3; ++s) out.plan.stages[s].operators = {core::OpId(s + 1)};
  out.plan.stages[0].operators.insert(out.plan.stages[0].operators.begin(), core::OpId(0));
  out.costs = support::LaunchCosts(std::vector<support::LaunchCosts::PassTime>(4));
  place(out, {0, 1, 2}, replicas, 1000);
  schedule::derive_in_flight(out.plan, plan::StageGraph(out.graph, out.plan));
  return out;
}

}  // namespace penstock::replay::test
