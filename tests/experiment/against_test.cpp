#include "penstock/experiment/against.hpp"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/experiment/inputs.hpp"
#include "penstock/experiment/published_problem.hpp"
#include "support/checkout.hpp"
#include "support/near.hpp"
#include "support/published_row.hpp"

using namespace penstock;
using support::near;
using support::published_csv;

namespace {

const cost::AnalyticCosts kCosts;

experiment::AgainstOptions options() {
  return {support::checkout("/experiments/clusters")};
}

std::vector<report::PublishedRun> read(const std::vector<std::map<std::string, std::string>>& rows) {
  return report::parse_published_runs(published_csv(rows), "runs.csv");
}

}  // namespace

TEST_CASE(
    "a measured time that the devices' peak forbids, or far from the prediction, is doubted by its line") {
  const auto runs =
      read({{}, {{"measured_s", "0.0000000125"}}, {{"measured_s", "900000"}}, {{"measured_s", ""}}});
  const auto predicted = experiment::predicted(
      runs[0], experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 0}), kCosts,
      {});
  std::vector<std::map<std::string, std::string>> rows = {
      {{"measured_s", std::to_string(predicted.seconds)}},
      {{"measured_s", "0.0000000125"}},
      {{"measured_s", "900000"}},
      {{"measured_s", std::to_string(predicted.seconds)}, {"measured_gib", "16000"}},
      {{"measured_s", ""}}};
  const auto found = experiment::against(read(rows), kCosts, options(), {});
  REQUIRE(found.doubts.size() == 3);
  CHECK(found.doubts[2].second ==
        "measured_gib of run '4' of 'made_up': 16000 GiB, of devices that have 16 GiB");
  CHECK(found.doubts[0].first == 3);
  CHECK(found.doubts[0].second.find("measured_s of run '2' of 'made_up': 1.25e-08 s mean MFU ") == 0);
  CHECK(found.doubts[1].first == 4);
  CHECK(found.doubts[1].second.find("most likely another unit than seconds") != std::string::npos);
}

TEST_CASE("a run is predicted with the framework of its row, or else of the options") {
  report::PublishedRun run = read({{}})[0];
  const auto seconds = [&](const std::string& framework) {
    experiment::AgainstOptions with = options();
    with.framework = framework;
    return experiment::against({run}, kCosts, with, {}).as_stated.at(0).seconds;
  };
  const double alone = seconds(""), eager = seconds("megatron");
  CHECK(eager > alone);
  run.framework = "megatron";
  CHECK(seconds("none") == eager);
}

TEST_CASE("a published run becomes whole layers on ranks numbered tensor, data, pipeline") {
  const auto run = read({{{"devices", "8"}, {"dp", "2"}, {"layers_per_stage", "1 3"}}})[0];
  const auto stated = experiment::published_problem(run);
  REQUIRE(stated.plan.stages.size() == 2);
  CHECK(stated.graph.element_bytes() == 2);
  const plan::Stage& first = stated.plan.stages[0];
  CHECK(first.devices == std::vector<core::DeviceId>{core::DeviceId(0), core::DeviceId(1), core::DeviceId(2),
                                                     core::DeviceId(3)});
  CHECK(first.tensor_parallel == 2);
  CHECK(first.micro_batch == 2);  // of both replicas
  CHECK(first.recompute == plan::kRecomputeLayers);
  const auto selective = read({{{"recompute", "selective"}}})[0];
  CHECK(experiment::published_problem(selective).plan.stages[1].recompute == plan::kRecomputeCore);
  const auto name = [&](core::OpId id) { return stated.graph.op(id).name; };
  CHECK(name(first.operators.front()) == "token.input");
  CHECK(name(first.operators.back()) == "layer0.add2");
  CHECK(name(stated.plan.stages[1].operators.front()) == "layer1.norm1");
  CHECK(name(stated.plan.stages[1].operators.back()) == "loss");
  CHECK(stated.plan.training.precision == plan::mixed_precision("mixed_fp16"));
  const auto whole = read({{{"ignored", " sequence parallelism ;fp32 gradients "}}})[0];
  CHECK(whole.beside == std::vector<std::string>{"sequence parallelism", "fp32 gradients"});
  CHECK(experiment::published_problem(whole).plan.training.precision == plan::mixed_precision("mixed_bf16"));
  CHECK(experiment::published_problem(whole).plan.stages[1].sequence_parallel);
  const auto beside = read({{{"ignored", "fp32 gradients beside bf16"}}})[0];
  CHECK(experiment::published_problem(beside).plan.training.precision ==
        plan::mixed_precision("deepspeed_bf16"));
  auto narrow = read({{{"element_bytes", "2"}}})[0];
  narrow.products = graph::ProductFormat::mxfp8;
  CHECK(experiment::published_problem(narrow).plan.training.precision == plan::mixed_precision("mxfp8"));
  CHECK(experiment::published_problem(narrow).graph.products() == graph::ProductFormat::mxfp8);
  CHECK(!stated.plan.stages[1].sequence_parallel);
  CHECK_FALSE(experiment::published_problem(read({{{"element_bytes", "4"}}})[0]).plan.training.precision);
  auto llama = run;
  llama.block = "llama";
  CHECK(experiment::unstated(llama) == "table positions in llama blocks");
  CHECK_THROWS_AS(experiment::published_problem(llama), core::BadInput);
  llama.positions = "rope";
  llama.kv_heads = 2;
  llama.attention = "flash";
  CHECK(experiment::unstated(llama) == "");
  CHECK(experiment::published_problem(llama).graph.parameters() ==
        models::build("llama", {{"layers", "4"},
                                {"hidden", "64"},
                                {"heads", "4"},
                                {"kv_heads", "2"},
                                {"feed_forward", "256"},
                                {"vocabulary", "96"},
                                {"sequence", "32"}})
            .parameters());
}

TEST_CASE("a published mixture of experts has its family's parameters, its groups and its virtual stages") {
  const auto run = read({{{"block", "mixtral"},
                          {"positions", "rope"},
                          {"attention", "flash"},
                          {"parameters", "experts=8 chosen=2"},
                          {"devices", "16"},
                          {"cp", "2"},
                          {"dp", "2"},
                          {"ep", "4"},
                          {"vpp", "2"},
                          {"schedule", "interleaved_1f1b"}}})[0];
  const auto stated = experiment::published_problem(run);
  CHECK(stated.plan.model.parameters.at("expert_width") == "256");
  REQUIRE(stated.plan.stages.size() == 4);
  for (const plan::Stage& stage : stated.plan.stages) {
    CHECK(stage.context_parallel == 2);
    CHECK(stage.expert_parallel == 4);
    CHECK(stage.devices.size() == 8);
    CHECK(stage.replicas() == 2);
  }
  CHECK(stated.plan.stages[2].devices == stated.plan.stages[0].devices);
  CHECK(stated.plan.stages[1].devices.front() == core::DeviceId(8));
  CHECK(stated.graph.op(stated.plan.stages[2].operators.front()).name == "layer2.norm1");
  auto twice = run;
  twice.parameters["layers"] = "4";
  CHECK_THROWS_AS(experiment::published_problem(twice), core::BadInput);
}

TEST_CASE("a host constant is found again by the runs it was hidden in") {
  // The measured times are the predictions with 12.5 us per launch; small layers wait for the host.
  constexpr std::size_t kRuns = 120;
  std::vector<std::map<std::string, std::string>> rows;
  for (std::size_t i = 0; i < kRuns; ++i)
    rows.push_back(
        {{"id", std::to_string(i)}, {"micro_batch", i % 2 ? "2" : "1"}, {"layers", i % 3 ? "4" : "8"}});
  rows.push_back({{"id", "llama"}, {"block", "llama"}});
  auto runs = read(rows);
  const auto truth = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 0})
                         .run_by({.per_kernel = core::Seconds(12.5e-6)});
  std::size_t fitted = 0;
  for (auto& run : runs) fitted += run.block == "gpt" && experiment::fitted_on(run);
  REQUIRE(fitted >= 8);
  REQUIRE(fitted < 30);
  const auto blind = experiment::against(runs, kCosts, options(), {});
  for (std::size_t i = 0; i < kRuns; ++i) {
    auto one = runs[i];
    runs[i].measured_s = experiment::predicted(one, truth, kCosts, {}).seconds;
  }
  const auto found = experiment::against(runs, kCosts, options(), {});
  const auto& host = found.time;
  REQUIRE(host.constants.size() == 1);
  CHECK(host.constants[0].what == experiment::ClusterConstant::host_launch);
  CHECK(host.constants[0].value == near(12.5e-6));
  CHECK(host.constants[0].runs == fitted);
  CHECK(host.constants[0].residual < 1e-6);
  CHECK(host.constants[0].rejected.value() > 0.01);  // no slow-down of kernels fits small and large layers
  CHECK(host.predictions.size() == kRuns - fitted);
  for (const auto& p : host.predictions) {
    CHECK_FALSE(experiment::fitted_on(*p.run));
    CHECK(p.seconds == near(p.run->measured_s));
  }
  REQUIRE(found.as_stated.size() == kRuns);
  for (std::size_t i = 0; i < kRuns; ++i) {
    CHECK(found.as_stated[i].seconds == blind.as_stated[i].seconds);  // which never saw a measurement
    CHECK(found.as_stated[i].seconds < runs[i].measured_s);
  }
  CHECK(found.left_out ==
        std::vector<std::pair<std::string, std::size_t>>{{"table positions in llama blocks", 1}});
}

TEST_CASE("a published run on an unknown cluster is refused") {
  const auto elsewhere = read({{{"cluster", "nowhere"}}});
  CHECK_THROWS_AS(experiment::against(elsewhere, kCosts, options(), {}), core::BadInput);
  const auto many =
      read({{{"devices", "4096"}, {"dp", "1024"}, {"mini_batch", "8192"}, {"cluster", "host"}}});
  CHECK_THROWS_AS(experiment::against(many, kCosts, options(), {}), core::BadInput);
}

TEST_CASE("a slow-down of kernels is found again by the runs it was hidden in, however few") {
  std::vector<std::map<std::string, std::string>> rows;
  for (int i = 0; i < 20; ++i) rows.push_back({{"id", std::to_string(i)}, {"layers", i % 2 ? "4" : "8"}});
  auto runs = read(rows);
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 0});
  for (auto& run : runs)
    run.measured_s = experiment::predicted(run, cluster.slowed_by(1.375), kCosts, {}).seconds;
  const auto found = experiment::against(runs, kCosts, options(), {});
  const auto fitted = static_cast<std::size_t>(std::ranges::count_if(runs, experiment::fitted_on));
  REQUIRE(fitted >= 1);
  REQUIRE(fitted < 8);
  const auto& slowdown = found.time;
  REQUIRE(slowdown.constants.size() == 1);
  CHECK(slowdown.constants[0].what == experiment::ClusterConstant::kernel_slowdown);
  CHECK_FALSE(slowdown.constants[0].rejected);  // too few numbers for a host constant
  CHECK(slowdown.constants[0].value == near(1.375));
  CHECK(slowdown.constants[0].runs == fitted);
  CHECK(slowdown.predictions.size() == runs.size() - fitted);
  for (const auto& p : slowdown.predictions) CHECK(p.seconds == near(p.run->measured_s));
}

TEST_CASE("sets on one cluster have constants of their own, each of the kind that fits its chosen runs") {
  constexpr int kRuns = 100;
  std::vector<std::map<std::string, std::string>> rows;
  for (const char* set : {"eager", "throttled"})
    for (int i = 0; i < kRuns; ++i)
      rows.push_back({{"set", set}, {"id", std::to_string(i)}, {"micro_batch", i % 2 ? "2" : "1"}});
  auto runs = read(rows);
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 0});
  for (auto& run : runs) {
    const auto truth = run.set == "eager" ? cluster.run_by({.per_kernel = core::Seconds(12.5e-6)})
                                          : cluster.slowed_by(1.375);
    run.measured_s = experiment::predicted(run, truth, kCosts, {}).seconds;
  }
  const auto fitted = [&](const char* set) {
    return std::ranges::count_if(runs,
                                 [&](const auto& r) { return r.set == set && experiment::fitted_on(r); });
  };
  REQUIRE(fitted("eager") >= 8);
  REQUIRE(fitted("throttled") >= 8);
  const auto found = experiment::against(runs, kCosts, options(), {}).time;
  REQUIRE(found.constants.size() == 2);
  CHECK(found.constants[0].set == "eager");
  CHECK(found.constants[0].what == experiment::ClusterConstant::host_launch);
  CHECK(found.constants[0].value == near(12.5e-6));
  CHECK(found.constants[1].set == "throttled");
  CHECK(found.constants[1].what == experiment::ClusterConstant::kernel_slowdown);
  CHECK(found.constants[1].value == near(1.375));
  for (const auto& constant : found.constants) CHECK(constant.rejected.value() > constant.residual);
  for (const auto& p : found.predictions) CHECK(p.seconds == near(p.run->measured_s));
}

TEST_CASE("a set without chosen runs takes the slow-down of kernels on its cluster") {
  std::vector<std::map<std::string, std::string>> rows;
  for (int i = 0; i < 120; ++i) rows.push_back({{"set", "many"}, {"id", std::to_string(i)}});
  for (int i = 0; i < 20; ++i) rows.push_back({{"set", "few"}, {"id", std::to_string(i)}});
  auto runs = read(rows);
  std::erase_if(runs, [](const auto& run) { return run.set == "few" && experiment::fitted_on(run); });
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 0});
  for (auto& run : runs)
    run.measured_s = experiment::predicted(run, cluster.slowed_by(1.375), kCosts, {}).seconds;
  const auto found = experiment::against(runs, kCosts, options(), {}).time;
  REQUIRE(found.constants.size() == 2);
  CHECK(found.constants[0].set == "few");
  CHECK(found.constants[0].what == experiment::ClusterConstant::kernel_slowdown);
  CHECK(found.constants[0].of_others);
  CHECK(found.constants[0].value == near(1.375));
  CHECK(found.constants[0].runs == found.constants[1].runs);
  CHECK_FALSE(found.constants[1].of_others);
}

TEST_CASE("runs of which none is chosen found no constant") {
  std::vector<std::map<std::string, std::string>> rows;
  for (int i = 0; i < 20; ++i) rows.push_back({{"id", std::to_string(i)}});
  auto runs = read(rows);
  std::erase_if(runs, experiment::fitted_on);
  const auto found = experiment::against(runs, kCosts, options(), {});
  CHECK(found.time.constants.empty());
  CHECK(found.time.predictions.empty());
  CHECK(found.memory.constants.empty());
  CHECK(found.as_stated.size() == runs.size());
}

TEST_CASE("a run without a measurement is predicted like the others and judges nothing") {
  std::vector<std::map<std::string, std::string>> rows;
  for (int i = 0; i < 20; ++i)
    rows.push_back({{"id", std::to_string(i)}, {"measured_s", i % 2 ? "0.25" : ""}});
  const auto runs = read(rows);
  const auto found = experiment::against(runs, kCosts, options(), {});
  REQUIRE(found.unmeasured.size() == 10);
  REQUIRE(found.as_stated.size() == 10);
  CHECK(found.unmeasured[3].run->id == "6");
  CHECK(found.unmeasured[3].seconds == found.as_stated[3].seconds);
  for (const auto& run : runs) CHECK((run.measured_s > 0 || !experiment::fitted_on(run)));
  for (const auto& p : found.time.predictions) CHECK(p.run->measured_s > 0);
  const auto csv = report::predictions_csv({{"as stated", found.unmeasured}});
  CHECK(csv.find("made_up,6,4,as stated," + fmt::format("{:.6g},,", found.unmeasured[3].seconds)) !=
        std::string::npos);
}

TEST_CASE("memory beside the plan is found again by the runs it was hidden in") {
  std::vector<std::map<std::string, std::string>> rows;
  for (int i = 0; i < 20; ++i) rows.push_back({{"id", std::to_string(i)}, {"layers", i % 2 ? "4" : "8"}});
  auto runs = read(rows);
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 0});
  for (auto& run : runs) run.measured_gib = experiment::predicted(run, cluster, kCosts, {}).gib + 2.25;
  const auto found = experiment::against(runs, kCosts, options(), {});
  const auto& memory = found.memory;
  REQUIRE(memory.constants.size() == 1);
  CHECK(memory.constants[0].what == experiment::ClusterConstant::reserved_memory);
  CHECK(memory.constants[0].value == near(2.25));
  for (const auto& p : memory.predictions) CHECK(p.gib == near(*p.run->measured_gib));
  CHECK(std::ssize(memory.predictions) == std::ranges::count_if(runs, std::not_fn(experiment::fitted_on)));
}

TEST_CASE("gradients are reduced after the last pass by default, not with overlap or FSDP") {
  const auto bucket = [](const std::map<std::string, std::string>& row) {
    return experiment::published_problem(read({row})[0]).plan.training.bucket;
  };
  CHECK(bucket({}) == core::Bytes(0));
  CHECK(bucket({{"ignored", "overlap"}}) == plan::kUsualBucket);
  CHECK(bucket({{"devices", "8"}, {"dp", "2"}, {"zero", "1"}}) == core::Bytes(0));
  CHECK(bucket({{"devices", "8"}, {"dp", "2"}, {"zero", "2"}}) == plan::kUsualBucket);
  CHECK(bucket({{"devices", "8"}, {"dp", "2"}, {"zero", "3"}}) == plan::kUsualBucket);
}

TEST_CASE("memory beside the plan is the median of the chosen runs") {
  std::vector<std::map<std::string, std::string>> rows;
  for (int i = 0; i < 60; ++i) rows.push_back({{"id", std::to_string(i)}, {"layers", i % 2 ? "4" : "8"}});
  auto runs = read(rows);
  const auto cluster = experiment::load_cluster({support::checkout("/experiments/clusters/summit.yaml"), 0});
  std::vector<double> beside;
  for (auto& run : runs) {
    const double above = experiment::fitted_on(run) ? 1.0 + static_cast<double>(beside.size()) : 9.0;
    if (experiment::fitted_on(run)) beside.push_back(above);
    run.measured_gib = experiment::predicted(run, cluster, kCosts, {}).gib + above;
  }
  REQUIRE(beside.size() > 2);
  // 1, 2, ... n GiB: (n + 1) / 2.
  const auto found = experiment::against(runs, kCosts, options(), {}).memory;
  REQUIRE(found.constants.size() == 1);
  CHECK(found.constants[0].value == near((static_cast<double>(beside.size()) + 1) / 2, 1e-2));
}
