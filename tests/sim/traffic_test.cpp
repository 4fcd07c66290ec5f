// Traffic of ranks against Megatron-LM's and FSDP's counts, sums by hand, and bytes on the links of a simulation.

#include "penstock/sim/traffic.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <map>
#include <tuple>

#include "models/catalogue.hpp"
#include "penstock/cluster/runtime.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/judged_plan.hpp"
#include "support/random_plan.hpp"
#include "support/small_mixture.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using sim::TrafficAmong;
using sim::TrafficKind;
using support::stage_of;

namespace {

constexpr std::int64_t kLayers = 4, kTokens = 64, kWidth = 32, kBytes = 4;
constexpr std::int64_t kTensor = kTokens * kWidth * kBytes;  // of one sample

graph::OpGraph decoder(const char* number_bytes = "4") {
  return models::build("llama", {{"layers", "4"},
                                 {"element_bytes", number_bytes},
                                 {"hidden", "32"},
                                 {"heads", "4"},
                                 {"kv_heads", "4"},
                                 {"feed_forward", "64"},
                                 {"sequence", "64"},
                                 {"vocabulary", "128"},
                                 {"loss", "no"}});
}

/// One stage or a chain of equal ones, on consecutive devices.
struct StageCase {
  graph::OpGraph graph;
  std::size_t devices;
  plan::Plan plan;
  cost::AnalyticCosts costs{};
  cluster::Cluster cluster = support::tiny_cluster(devices);

  std::vector<sim::RankTraffic> run() {
    const cost::Problem problem{graph, cluster, costs, plan.training};
    score::derive_in_flight(problem, plan);
    return sim::traffic(problem, score::scheduled(problem, plan));
  }
};

StageCase on(graph::OpGraph graph, std::size_t devices, std::int64_t micro_batch) {
  const std::size_t size = graph.size();
  StageCase out{std::move(graph), devices, {}};
  out.plan.training.mini_batch = 8;
  out.plan.stages = {stage_of(0, size, devices, micro_batch)};
  return out;
}

/// RankRows of one rank.
class RankRows {
 public:
  explicit RankRows(const sim::RankTraffic& rank) {
    for (const sim::TrafficRow& row : rank.rows) rows_[{row.kind, row.among}] = row;
  }
  std::int64_t count(TrafficKind kind, TrafficAmong among) const { return at(kind, among).count; }
  std::int64_t bytes(TrafficKind kind, TrafficAmong among) const { return at(kind, among).bytes.value(); }
  std::int64_t sent(TrafficKind kind, TrafficAmong among) const { return at(kind, among).sent.value(); }
  std::size_t size() const { return rows_.size(); }

 private:
  sim::TrafficRow at(TrafficKind kind, TrafficAmong among) const {
    const auto found = rows_.find({kind, among});
    return found == rows_.end() ? sim::TrafficRow{} : found->second;
  }
  std::map<std::pair<TrafficKind, TrafficAmong>, sim::TrafficRow> rows_;
};

/// Bytes that a device puts on links in a simulation, per mini-batch.
std::int64_t on_links(const trace::Trace& trace, core::DeviceId device) {
  std::int64_t out = 0;
  for (const trace::Span& span : trace.spans)
    if (span.device == device && !trace::computes(span.kind)) out += span.bytes.value();
  return out / trace.mini_batches;
}

}  // namespace

TEST_CASE("tensor parallelism all-reduces two tensors per layer and pass") {
  // Megatron-LM without sequence parallelism (Shoeybi et al., 2019, section 3): f and g of each half of a layer. The
  // embedding's table is divided by rows, so its output is a sum; the head's input gradient is one.
  StageCase c = on(decoder(), 2, 1);
  c.plan.stages[0].tensor_parallel = 2;
  const RankRows rows(c.run()[0]);
  const std::int64_t micro_batches = 8;
  CHECK(rows.count(TrafficKind::all_reduce, TrafficAmong::tensor) ==
        micro_batches * (2 * kLayers + 1 + 2 * kLayers + 1));
  CHECK(rows.bytes(TrafficKind::all_reduce, TrafficAmong::tensor) ==
        micro_batches * (4 * kLayers + 2) * kTensor);
  CHECK(rows.size() == 1);
}

TEST_CASE("sequence parallelism: eight collectives per layer with torch, ten with Megatron-LM") {
  // Per layer two gathers and two scatters forward, as many backward; the embedding scatters, the head gathers.
  // Megatron-LM gathers the inputs of two products per layer, and the head's, once more in the backward pass.
  for (const int tensor : {2, 4})
    for (const char* framework : {"torchtitan", "accelerate", "torchtitan+compiled", "megatron", "none"}) {
      CAPTURE(tensor);
      CAPTURE(framework);
      const bool again = framework == std::string("megatron") || framework == std::string("none");
      StageCase c = on(decoder(), static_cast<std::size_t>(tensor), 1);
      c.cluster = c.cluster.run_by(cluster::runtime(framework));
      c.plan.stages[0].tensor_parallel = tensor;
      c.plan.stages[0].sequence_parallel = true;
      const RankRows rows(c.run()[0]);
      const std::int64_t scatters = 8 * (4 * kLayers + 2),
                         gathers = scatters + (again ? 8 * (2 * kLayers + 1) : 0);
      CHECK(rows.count(TrafficKind::reduce_scatter, TrafficAmong::tensor) == scatters);
      CHECK(rows.count(TrafficKind::all_gather, TrafficAmong::tensor) == gathers);
      CHECK(rows.bytes(TrafficKind::all_gather, TrafficAmong::tensor) == gathers * kTensor);
      CHECK(rows.sent(TrafficKind::all_gather, TrafficAmong::tensor) ==
            gathers * kTensor * (tensor - 1) / tensor);
    }
}

TEST_CASE("a product gathers its input again once per backward pass, also where layers are computed again") {
  StageCase c = on(decoder(), 2, 1);
  c.plan.stages[0].tensor_parallel = 2;
  c.plan.stages[0].sequence_parallel = true;
  const auto gathers = [&] {
    return RankRows(c.run()[0]).count(TrafficKind::all_gather, TrafficAmong::tensor);
  };
  const std::int64_t saved = gathers();
  c.plan.stages[0].recompute = plan::kRecomputeLayers;
  CHECK(gathers() == saved + 8 * 2 * kLayers);  // those of the forward pass
}

TEST_CASE(
    "replicas: one all-reduce, or a scatter and a gather, or FSDP's gathers and scatters of every pass") {
  const std::int64_t weights = decoder().parameters() * kBytes, micro_batches = 2;
  const auto with = [&](int zero) {
    StageCase c = on(decoder(), 4, 4);
    c.plan.stages[0].zero = zero;
    c.plan.training.bucket = core::Bytes(0);
    return RankRows(c.run()[0]);
  };
  using enum TrafficKind;
  const auto replicas = TrafficAmong::replicas;
  CHECK(with(0).count(all_reduce, replicas) == 1);
  CHECK(with(0).bytes(all_reduce, replicas) == weights);
  CHECK(with(0).sent(all_reduce, replicas) == 2 * weights * 3 / 4);
  CHECK(with(1).count(reduce_scatter, replicas) == 1);
  CHECK(with(1).bytes(reduce_scatter, replicas) == weights);
  CHECK(with(1).bytes(all_gather, replicas) == weights);
  CHECK(with(2).bytes(reduce_scatter, replicas) == micro_batches * weights);
  CHECK(with(2).bytes(all_gather, replicas) == weights);
  CHECK(with(3).bytes(reduce_scatter, replicas) == micro_batches * weights);
  CHECK(with(3).bytes(all_gather, replicas) == 2 * micro_batches * weights);
  // One per layer, one for the embedding, one for the head.
  CHECK(with(3).count(reduce_scatter, replicas) == micro_batches * (kLayers + 2));
}

TEST_CASE(
    "accelerate's FSDP2 scatters gradients in bf16, torch's own in fp32; groups sum their parts likewise") {
  using enum TrafficKind;
  const auto replicas = TrafficAmong::replicas;
  const auto with = [](const char* framework, int zero, int over) {
    StageCase c = on(decoder("2"), 4, 4);
    c.cluster = c.cluster.run_by(cluster::runtime(framework));
    c.plan.training.precision = plan::mixed_precision("mixed_bf16");
    c.plan.stages[0].zero = zero;
    c.plan.stages[0].zero_over = over;
    return RankRows(c.run()[0]);
  };
  const std::int64_t numbers = decoder("2").parameters(), micro_batches = 2;
  for (const int zero : {2, 3}) {
    CHECK(with("pytorch", zero, 0).bytes(reduce_scatter, replicas) == micro_batches * numbers * 4);
    CHECK(with("accelerate", zero, 0).bytes(reduce_scatter, replicas) == micro_batches * numbers * 2);
    CHECK(with("accelerate", zero, 2).bytes(all_reduce, replicas) * 2 ==
          with("pytorch", zero, 2).bytes(all_reduce, replicas));
    CHECK(with("pytorch", zero, 2).bytes(all_reduce, replicas) > 0);
  }
  CHECK(with("accelerate", 0, 0).bytes(all_reduce, replicas) == numbers * 4);
}

TEST_CASE("gradient buckets are reduced one by one, new weights gathered once") {
  StageCase c = on(decoder(), 4, 4);
  c.plan.stages[0].zero = 1;
  c.plan.training.bucket = core::Bytes(20'000);
  const RankRows rows(c.run()[0]);
  CHECK(rows.count(TrafficKind::reduce_scatter, TrafficAmong::replicas) > 4);
  CHECK(rows.bytes(TrafficKind::reduce_scatter, TrafficAmong::replicas) == decoder().parameters() * kBytes);
  CHECK(rows.count(TrafficKind::all_gather, TrafficAmong::replicas) == 1);
}

TEST_CASE("experts: four exchanges of the chosen rows per layer and micro-batch") {
  // 16 tokens of 32 numbers, two experts each.
  StageCase c = on(support::small_mixture("3"), 2, 4);
  c.plan.stages[0].expert_parallel = 2;
  const RankRows rows(c.run()[0]);
  CHECK(rows.count(TrafficKind::all_to_all, TrafficAmong::experts) == 4 * 3 * 2);
  // A replica has two of the four samples of a micro-batch.
  CHECK(rows.bytes(TrafficKind::all_to_all, TrafficAmong::experts) == 4 * 3 * 2 * (2 * 16 * 2 * 32 * 4));
}

TEST_CASE("ring attention passes keys and values on; gradients make one more hop") {
  StageCase c = on(decoder(), 4, 1);
  c.plan.stages[0].context_parallel = 4;
  c.plan.stages[0].context_exchange = plan::ContextExchange::ring;
  const RankRows rows(c.run()[0]);
  CHECK(rows.count(TrafficKind::send, TrafficAmong::context) == 8 * kLayers * (3 + 3 + 4));
  CHECK(rows.count(TrafficKind::receive, TrafficAmong::context) == 8 * kLayers * (3 + 3 + 4));
  CHECK(rows.bytes(TrafficKind::send, TrafficAmong::context) ==
        8 * kLayers * (3 + 3 + 4) * (2 * kTensor / 4));
}

TEST_CASE("tied parameters are summed once with a flush, and never without") {
  const auto tied = [](const char* schedule) {
    auto graph = models::build("gpt", {{"layers", "2"},
                                       {"hidden", "32"},
                                       {"heads", "4"},
                                       {"sequence", "16"},
                                       {"vocabulary", "64"},
                                       {"tied_head", "yes"},
                                       {"loss", "no"}});
    const std::size_t size = graph.size();
    StageCase c{std::move(graph), 2, {}};
    c.plan.training.mini_batch = 8;
    c.plan.schedule = schedule;
    c.plan.stages = {stage_of(0, size / 2, 1, 1), stage_of(size / 2, size, 1, 1)};
    c.plan.stages[1].devices = {core::DeviceId(1)};
    return RankRows(c.run()[0]).count(TrafficKind::all_reduce, TrafficAmong::tied);
  };
  CHECK(tied("1f1b") == 1);
  CHECK(tied("pipedream_2bw") == 0);
}

TEST_CASE("the links of a simulation carry as many bytes as the traffic has") {
  int compared = 0;
  for (const int most_group : {1, 4})
    for (std::uint64_t seed = 0; seed < 400; ++seed) {
      support::RandomPlan random = support::random_plan(seed, most_group);
      if (random.plan.schedule == "dualpipev") continue;  // the simulator never cuts its pairs at collectives
      random.options.collective = sim::collective("ring");
      // Products that gather their inputs again take no links for it.
      random.cluster = random.cluster.run_by({.memory = {.saves_gathered = true,
                                                         .buckets_first_chunk = seed % 2 == 0,
                                                         .sends_as_weights = seed % 3 == 0}});
      random.options.pass_collectives = sim::PassCollectives::links;
      const cost::Problem problem = random.problem();
      const auto scheduled = score::scheduled(problem, random.plan);
      const trace::Trace trace = sim::simulate(problem, scheduled, random.options);
      const auto traffic = sim::traffic(problem, scheduled);
      for (const sim::RankTraffic& rank : traffic) {
        std::int64_t sent = 0, count = 0;
        for (const sim::TrafficRow& row : rank.rows)
          if (row.among != TrafficAmong::context || row.kind != TrafficKind::send)
            sent += row.sent.value(), count += row.count;
        const std::int64_t moved = on_links(trace, rank.devices.front());
        CAPTURE(seed);
        CAPTURE(most_group);
        // A ring's parts differ by a byte, in each of its steps.
        const std::int64_t rounding = count * 2 * static_cast<std::int64_t>(random.cluster.size());
        CHECK(std::abs(sent - moved) <= rounding);
        compared += moved > 0;
      }
    }
  CHECK(compared > 500);
}
