#include "penstock/experiment/what_if.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "experiment/changed_cluster.hpp"
#include "experiment/changed_plan.hpp"
#include "experiment/what_if_report.hpp"
#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/quantity_text.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/utilisation.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/plan_sentences.hpp"
#include "penstock/score/order.hpp"
#include "penstock/sim/simulate.hpp"
#include "support/fixed_costs.hpp"
#include "support/near.hpp"

using namespace penstock;
using experiment::ChangedKey;
using experiment::what_if_changes;
using experiment::WhatIfRow;

namespace {

/// `stages` stages of a small GPT, each on so many neighbours, whose replicas take 2 samples at a time.
experiment::PlanInput input(const std::string& cluster, int stages, int replicas, std::int64_t mini_batch) {
  const plan::ModelRef model{"gpt", {{"layers", "4"}, {"hidden", "768"}}};
  const plan::ClusterRef ref{cluster, stages * replicas, ""};
  experiment::PlanInput out{models::build(model.name, model.parameters),
                            std::make_shared<cost::AnalyticCosts>(),
                            experiment::load_cluster(ref),
                            {}};
  out.plan.model = model;
  out.plan.cluster = ref;
  out.plan.training.mini_batch = mini_batch;
  const std::size_t size = out.graph.size();
  for (int s = 0; s < stages; ++s) {
    plan::Stage& stage = out.plan.stages.emplace_back();
    const auto first = static_cast<std::size_t>(s), parts = static_cast<std::size_t>(stages);
    for (std::size_t v = size * first / parts; v < size * (first + 1) / parts; ++v)
      stage.operators.emplace_back(v);
    for (int d = 0; d < replicas; ++d) stage.devices.emplace_back(static_cast<std::size_t>(s * replicas + d));
    stage.micro_batch = 2 * replicas;
  }
  experiment::complete(out.problem(), out.plan, "plan.yaml");
  return out;
}

double iteration(const experiment::PlanInput& input) {
  return to_seconds(sim::simulate_time(input.problem(), score::scheduled(input.problem(), input.plan)))
      .value();
}

std::vector<WhatIfRow> asked(const experiment::PlanInput& input, const std::string& changes) {
  return experiment::what_if(input, what_if_changes(changes), {});
}

bool holds(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

std::string fault(const std::string& text) {
  try {
    what_if_changes(text);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE("changes are read with the units of their keys, or as factors") {
  const auto changes = what_if_changes("network=200Gb/s, devices = 48,mini_batch=2x, memory=80GiB");
  REQUIRE(changes.size() == 4);
  CHECK(changes[0].key == ChangedKey::network);
  CHECK(changes[0].value == support::near(25e9));
  CHECK(changes[1].text == "devices=48");
  CHECK(changes[1].value == 48);
  CHECK(changes[2].factor);
  CHECK(changes[2].value == 2);
  CHECK(changes[3].value == 80.0 * (1 << 30));
  CHECK(holds(fault("colour=2x"), "expected one of devices, network, node_links, memory"));
  CHECK(holds(fault("netwrok=2x"), "did you mean 'network'?"));
  CHECK(holds(fault("network=2x, network=3x"), "a key may be given once"));
  CHECK(
      holds(fault("network=80GiB"), "expected a factor such as 2x, or a value such as 200Gb/s, not '80GiB'"));
  CHECK(holds(fault("speed=3"), "expected a factor such as 2x, not '3'"));
  CHECK(holds(fault("devices=0"), "devices: expected"));
  CHECK(holds(fault("devices=-2x"), "devices: expected"));
  CHECK(holds(fault("memory=nanx"), "memory: expected"));
  CHECK(holds(fault(""), "expected KEY=VALUE"));
  CHECK(holds(fault("network=2x,"), "expected KEY=VALUE"));
}

TEST_CASE("a changed cluster differs only in the change") {
  const auto g = models::build("gpt", {{"layers", "1"}});
  const auto changed = [&](const std::string& cluster, const std::string& text, int devices = 16) {
    const auto changes = what_if_changes(text);
    return experiment::changed_cluster({cluster, devices, ""}, g, cost::AnalyticCosts(), changes);
  };
  const auto route = [](const cluster::Cluster& c, std::size_t to) {
    return c.route(core::DeviceId(0), core::DeviceId(to)).bandwidth.value();
  };
  const auto plain = experiment::load_cluster({"8xH100x2", 16, ""});
  // Eight adapters of 50 GB/s are one uplink; 25 GB/s per device are half of it, whatever the form.
  for (const char* cluster : {"8xH100x2", "8xH100x2-rails"}) {
    const auto as_is = experiment::load_cluster({cluster, 16, ""});
    for (const char* text : {"network=200Gb/s", "network=0.5x"}) {
      const auto half = changed(cluster, text);
      CHECK(route(half, 8) == support::near(route(as_is, 8) / 2));
      CHECK(route(half, 1) == route(as_is, 1));
    }
  }
  const auto links = changed("8xH100x2", "node_links=900GB/s");
  CHECK(route(links, 1) == support::near(2 * route(plain, 1)));
  const core::DeviceId first(0);
  CHECK(changed("8xH100x2", "memory=2x").type(first).memory.value() ==
        2 * (plain.type(first).memory + plain.type(first).reserved).value() -
            plain.type(first).reserved.value());
  CHECK(cost::peak_rate(g, changed("8xH100x2", "flops=2x")).value() ==
        support::near(2 * cost::peak_rate(g, plain).value()));
  CHECK(changed("8xH100x2", "speed=2x").type(first).kernel_slowdown == 0.5);
  // A short form has as many nodes as it takes.
  CHECK(changed("8xH100x2", "devices=40", 40).size() == 40);
  // A cluster of one node has one all the same, which nothing takes.
  CHECK(asked(input("8xH100", 1, 8, 64), "network=2x")[1].note ==
        "no effect: the plan waits for nothing on these links; 100 instead of 50 GB/s per device");
  CHECK(asked(input("8xH100", 1, 8, 64), "network=50GB/s")[1].note == "already 50 GB/s per device");
}

TEST_CASE("replicas grow with the devices, and take as many samples as before") {
  const auto today = input("8xH100x2", 2, 4, 64), twice = input("8xH100x2", 2, 8, 64);
  const auto rows = asked(today, "devices=2x");
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].change == "today");
  CHECK(*rows[0].result->iteration_s == support::near(iteration(today)));
  CHECK(*rows[1].result->iteration_s == support::near(iteration(twice)));
  CHECK(rows[1].result->devices == 16);
  CHECK(*rows[1].result->strategy == "PP2 x DP8, 1F1B, mb 2");
  // Twice the devices and twice the samples: as many micro-batches as today.
  const auto both = asked(today, "devices=16, mini_batch=128");
  REQUIRE(both.size() == 4);
  CHECK(both[3].change == "all");
  CHECK(both[3].result->mini_batch == 128);
  CHECK(*both[3].result->iteration_s == support::near(iteration(input("8xH100x2", 2, 8, 128))));
  CHECK(*both[2].result->iteration_s == support::near(iteration(input("8xH100x2", 2, 4, 128))));
  // Half of the devices: two replicas each.
  CHECK(*asked(today, "devices=4")[1].result->iteration_s ==
        support::near(iteration(input("8xH100x2", 2, 2, 64))));
}

TEST_CASE("an impossible change has its reason in its row") {
  const auto today = input("8xH100x2", 2, 4, 64);
  const auto rows = asked(today, "devices=7, mini_batch=100, micro_batch=4, memory=0.01x, network=2x");
  REQUIRE(rows.size() == 7);
  CHECK_FALSE(rows[1].result);
  CHECK(holds(rows[1].note, "stage 0 has 4 replicas: 7 of 8 devices"));
  CHECK_FALSE(rows[2].result);
  CHECK(rows[2].note ==
        "mini_batch 100 must be a multiple of the micro-batch 8 (2 for each of 4 replicas): change "
        "micro_batch or "
        "mini_batch too");
  CHECK(*rows[3].result->strategy == "PP2 x DP4, 1F1B, mb 4");
  CHECK(rows[4].note == "does not fit in memory");
  CHECK(rows[5].note.starts_with("no effect"));  // one node has all devices
  CHECK_FALSE(rows[6].result);
  const auto json = experiment::what_if_json(rows);
  CHECK(json[0]["change"] == "today");
  CHECK(json[0]["speed_up"] == 1.0);
  CHECK_FALSE(json[1].contains("iteration_s"));
  CHECK(json[3]["iteration_s"] == *rows[3].result->iteration_s);
  CHECK(holds(experiment::what_if_table(rows), "7 of 8 devices"));
}

TEST_CASE("costs that do not follow data sheets have a note") {
  auto today = input("8xH100x2", 1, 4, 64);
  today.costs =
      std::make_shared<support::FixedCosts>(support::FixedCosts::uniform(today.graph.size(), 1e-3, 1e-3));
  const auto rows = asked(today, "flops=2x, speed=2x");
  CHECK(holds(rows[1].note, "no effect on these costs"));
  CHECK(rows[2].note.empty());
  CHECK(*rows[2].result->iteration_s < *rows[0].result->iteration_s);
}

TEST_CASE("copies of a plan lie behind each other where stages do not lie in rows") {
  plan::Plan plan;
  plan.training.mini_batch = 16;
  for (std::size_t s = 0; s < 2; ++s)
    plan.stages.push_back({{core::OpId(s)}, {core::DeviceId(s), core::DeviceId(s + 2)}, 4, 1, 8, {}});
  experiment::scale_devices(plan, 4, 8);
  const std::vector<core::DeviceId> odd = {core::DeviceId(1), core::DeviceId(3), core::DeviceId(5),
                                           core::DeviceId(7)};
  CHECK(plan.stages[1].devices == odd);
  CHECK(plan.stages[1].micro_batch == 8);
  CHECK(plan.stages[1].in_flight == 0);
  CHECK_THROWS_AS(experiment::scale_devices(plan, 8, 12), core::BadInput);
}

TEST_CASE("memory is what devices have in all, of which as much stays reserved as before") {
  const auto g = models::build("gpt", {{"layers", "1"}});
  constexpr std::int64_t kGib = std::int64_t{1} << 30;
  const auto memory = [&](const std::string& text) {
    const auto changes = what_if_changes(text);
    return experiment::changed_cluster({"8xH100", 8, "", core::Bytes(4 * kGib)}, g, cost::AnalyticCosts(),
                                       changes)
        .type(core::DeviceId(0))
        .memory.value();
  };
  // 80 GiB, of which 4 are reserved.
  CHECK(memory("memory=2x") == 156 * kGib);
  CHECK(memory("memory=100GiB") == 96 * kGib);
}

TEST_CASE("changes count in one order, whatever order they are given in") {
  // 64 samples for each of eight devices, then twice the devices: or the other way round.
  const auto today = input("8xH100x2", 2, 4, 64);
  const auto one = asked(today, "mini_batch=128, devices=2x"),
             other = asked(today, "devices=2x, mini_batch=128");
  REQUIRE(one.size() == 4);
  REQUIRE(one[3].result);
  CHECK(*one[3].result->iteration_s == support::near(*other[3].result->iteration_s));
  CHECK(one[3].result->mini_batch == 128);
  CHECK(other[3].result->mini_batch == 128);
}

TEST_CASE("an answer that breaks a limit has a note") {
  auto fast = input("summit", 2, 2, 64);
  CHECK(asked(fast, "memory=2x")[1].note.empty());
  fast.costs = std::make_shared<support::FixedCosts>(
      support::FixedCosts::uniform(fast.graph.size(), 1e-9, 1e-9));  // seconds per sample
  for (const WhatIfRow& row : asked(fast, "memory=2x")) CHECK(holds(row.note, "warning: MFU "));
}

TEST_CASE("the least memory of an answer is that of the smallest device, in any place") {
  auto today = input("mixed", 2, 4, 16);  // four V100, then four P100
  const std::size_t switches = today.cluster.points().size() - today.cluster.size();
  for (const bool small_first : {true, false}) {
    auto types = today.cluster.types();
    types[small_first ? 0 : 1].memory = core::Bytes(std::int64_t{10} << 30);
    today.cluster =
        cluster::Cluster("mixed", types, today.cluster.devices(), switches, today.cluster.links());
    CHECK(asked(today, "mini_batch=2x")[0].capacity == core::Bytes(std::int64_t{10} << 30));
    types[small_first ? 0 : 1].memory = core::Bytes(std::int64_t{16} << 30);
    today.cluster =
        cluster::Cluster("mixed", types, today.cluster.devices(), switches, today.cluster.links());
  }
}

namespace {

experiment::PlanSentences explained(const experiment::PlanInput& input) {
  const cost::Problem problem = input.problem();
  const auto outcome = experiment::evaluate(problem, score::scheduled(problem, input.plan),
                                            experiment::describe(problem, input.plan), {}, false);
  return experiment::plan_sentences(input, outcome, {});
}

std::string about(const experiment::PlanSentences& explained, const std::string& what) {
  for (const auto& sentence : explained.sentences)
    if (sentence.about == what) return sentence.words;
  return "none about " + what;
}

}  // namespace

TEST_CASE("the sentence on stages states how many a device holds") {
  auto looped = input("summit", 4, 1, 8);
  looped.plan.schedule = "interleaved_1f1b";
  for (std::size_t s = 0; s < 4; ++s) {
    looped.plan.stages[s].devices = {core::DeviceId(s % 2)};
    looped.plan.stages[s].in_flight = 0;
  }
  looped.cluster = looped.cluster.first(2);
  looped.plan.cluster.devices = 2;
  experiment::complete(looped.problem(), looped.plan, "plan.yaml");
  CHECK(
      about(explained(looped), "stages") ==
      "gpt hidden=768 layers=4 is cut into 4 pipeline stages in a chain, on 2 v100 devices; each device holds "
      "2 of them.");
}

TEST_CASE("a plan is explained in ten sentences, whose numbers are those of the simulation") {
  const auto two = input("summit", 2, 2, 64);
  const auto explained_two = explained(two);
  REQUIRE(explained_two.sentences.size() == 10);
  CHECK(about(explained_two, "stages") ==
        "gpt hidden=768 layers=4 is cut into 2 pipeline stages in a chain, on 4 v100 devices.");
  CHECK(about(explained_two, "replicas") == "Each stage has 2 replicas (data parallelism).");
  CHECK(holds(about(explained_two, "batch"),
              "An iteration trains 64 samples in micro-batches of 2 per replica, in the order of 1F1B."));
  CHECK(holds(about(explained_two, "speed"),
              fmt::format("An iteration takes {} in simulation", core::show(core::Seconds(iteration(two))))));
  const auto fullest = asked(two, "memory=2x").front().result->peak_memory_bytes;
  CHECK(holds(about(explained_two, "memory"),
              fmt::format("is the fullest: at its peak {} of 16.0 GiB", core::show(core::Bytes(*fullest)))));
  // The change that helps most, by simulate --what-if; devices compete with no other.
  auto rows = asked(two, "mini_batch=2x, micro_batch=2x, network=2x, node_links=2x");
  const double now = *rows.front().result->samples_per_s;
  rows.erase(rows.begin());
  rows.pop_back();
  const auto best =
      std::ranges::max_element(rows, {}, [](const WhatIfRow& row) { return *row.result->samples_per_s; });
  CHECK(holds(about(explained_two, "changes"),
              fmt::format("Of the changes that were simulated, {} ({:.2f} times the samples/s) helps most",
                          best->change, *best->result->samples_per_s / now)));
  CHECK(holds(about(explained_two, "changes"), " Twice the devices would give "));
  const auto one = explained(input("summit", 1, 4, 64));
  CHECK(holds(about(one, "stages"), "runs as one stage on 4 v100 devices, without a pipeline."));
  const std::string lines = experiment::in_lines(explained_two, 60);
  CHECK(holds(lines, "\n10. "));
  std::istringstream in(lines);
  for (std::string line; std::getline(in, line);) CHECK(line.size() <= 60);
  const auto json = nlohmann::json::parse(experiment::to_json(explained_two));
  CHECK(json["sentences"].size() == 10);
  CHECK(json["what_if"][0]["change"] == "today");
}
