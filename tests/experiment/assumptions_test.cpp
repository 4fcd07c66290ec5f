#include "penstock/experiment/assumptions.hpp"

#include <doctest/doctest.h>

#include "penstock/cluster/reserved.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/curve_costs.hpp"
#include "penstock/experiment/inputs.hpp"
#include "support/checkout.hpp"

using namespace penstock;
using experiment::choose_training;

namespace {

const frameworks::NamedModel& qwen() {
  static const auto out =
      experiment::named_model({support::checkout("/tests/frameworks/configs/qwen3_32b.json"), {}});
  return out;
}

cluster::Cluster cluster_named(const std::string& name) {
  return experiment::load_cluster({name, 0});
}

std::string precision_on(const frameworks::NamedModel& model, const std::string& cluster) {
  const auto chosen = choose_training(model, cluster_named(cluster), {});
  return chosen.precision ? std::string(plan::name(*chosen.precision)) : "own";
}

}  // namespace

TEST_CASE("a language model gets Adam, the precision of its config and a reserve; another one none of them") {
  const auto chosen = choose_training(qwen(), cluster_named("8xH100x8"), {});
  CHECK(chosen.optimizer == plan::Optimizer::adam);
  CHECK(chosen.precision == plan::mixed_precision("mixed_bf16"));
  CHECK(chosen.reserved == core::Bytes(std::int64_t{2560} << 20));
  const auto mmt = choose_training({{"mmt", {}}}, cluster_named("8xH100x8"), {});
  CHECK(mmt.optimizer == plan::Optimizer::sgd);
  CHECK_FALSE(mmt.precision);
  CHECK_FALSE(mmt.reserved);
}

TEST_CASE("given values are not replaced by assumptions") {
  const auto chosen =
      choose_training(qwen(), cluster_named("8xH100x8"),
                      {.optimizer = plan::Optimizer::sgd, .precision = "fp32", .reserved = true});
  CHECK(chosen.optimizer == plan::Optimizer::sgd);
  CHECK(chosen.precision == plan::mixed_precision("fp32"));
  CHECK_FALSE(chosen.reserved);
  CHECK_FALSE(
      choose_training({{"llama", {{"element_bytes", "4"}}}}, cluster_named("8xH100x8"), {}).precision);
}

TEST_CASE("devices without a rate for a precision get another one, with a message") {
  CHECK(precision_on(qwen(), "p3_16xlarge") == "mixed_fp16");
  CHECK(precision_on({{"llama", {}}, "mixed_fp16"}, "8xH100") == "mixed_fp16");
  CHECK(precision_on({{"llama", {}}, "fp32"}, "8xH100") == "fp32");
  CHECK(precision_on({{"llama", {}}}, "8xH100") == "mixed_bf16");
  CHECK(precision_on(qwen(), "host") == "fp32");
  CHECK(choose_training(qwen(), cluster_named("p3_16xlarge"), {}).precision_note ==
        "a device states no bf16 rate");
  CHECK_FALSE(choose_training(qwen(), cluster_named("host"), {}).reserved);  // no GPUs
}

TEST_CASE("one line lists the assumptions, the options that change them, and the given values") {
  auto model = qwen().model;
  model.parameters["layers"] = "1";
  model.parameters["element_bytes"] = "2";
  const auto graph = experiment::load_model(model);
  const auto cluster = cluster_named("8xH100").reserving(core::Bytes(std::int64_t{2560} << 20));
  const cost::AnalyticCosts costs;
  plan::Training training{64, plan::Optimizer::adam};
  training.precision = plan::mixed_precision("mixed_bf16");
  const auto all = experiment::assumptions({graph, cluster, costs, training}, model, {});
  CHECK(in_words(all) ==
        "assumed: mixed_bf16 (--precision), adam (--optimizer), 4096 tokens per sample (-p sequence=N), with "
        "the loss (-p loss=no), 2.50 GiB "
        "reserved (--reserved), no host times (--framework), analytic costs (--costs); given: mini-batch 64");
  CHECK(in_python_words(all).find("adam (optimizer=), 4096 tokens per sample (sequence=)") !=
        std::string::npos);
  const auto stated = experiment::assumptions({graph, cluster, costs, training}, model,
                                              {.precision = true, .optimizer = true, .tokens = true});
  CHECK(in_words(stated).find("given: mixed_bf16, adam, 4096 tokens per sample, mini-batch 64") !=
        std::string::npos);
}

TEST_CASE("built-in costs are efficiency curves where a device has some, else its data sheet") {
  const auto graph = experiment::load_model({"transformer", {{"layers", "1"}}});
  const cost::CurveCosts curves;
  const auto costs = [&](const char* name) {
    const auto cluster = cluster_named(name);
    return experiment::assumptions({graph, cluster, curves, {}}, {"transformer", {}}, {}).back().words;
  };
  CHECK(costs("8xH100") == "costs: built-in efficiency curves");
  CHECK(costs("host").find("costs: data sheet of ") == 0);
}

TEST_CASE("reserves by size and by framework") {
  CHECK(cluster::reserve("0").value() == 0);
  CHECK(cluster::reserve("2GiB").value() == std::int64_t{2} << 30);
  CHECK(cluster::reserve("megatron") == cluster::reserves().front().bytes);
  CHECK(cluster::reserve_of("deepspeed") == cluster::reserve("deepspeed"));
  CHECK(cluster::reserve_of("deepspeed") > cluster::reserve_of(""));
  CHECK(cluster::reserve_of("torchtitan+compiled") == cluster::reserve("megatron"));
  CHECK(cluster::reserve("deepspeed").value() > std::int64_t{8} << 30);
  CHECK_THROWS_WITH_AS(
      cluster::reserve("megatrn"),
      "'megatrn': expected bytes such as 2.5GiB, 0, or a framework; did you mean 'megatron'?",
      core::BadInput);
  const auto cluster = cluster_named("8xH100");
  const auto less = cluster.reserving(cluster::reserve("4GiB"));
  CHECK(less.types()[0].memory + less.types()[0].reserved == cluster.types()[0].memory);
  CHECK(less.reserving(cluster::reserve("0")).types()[0].memory == cluster.types()[0].memory);
  CHECK_THROWS_AS(cluster.reserving(cluster.types()[0].memory), core::BadInput);
  CHECK(cluster::takes_usual_reserve(cluster));
  CHECK_FALSE(cluster::takes_usual_reserve(less));  // states one
  CHECK_FALSE(cluster::takes_usual_reserve(cluster_named("host")));
}
