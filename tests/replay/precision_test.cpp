// In which numbers a plan is replayed.

#include "penstock/replay/precision.hpp"

#include <doctest/doctest.h>

#include <optional>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/graph_builder.hpp"

using namespace penstock;
using cluster::Precision;

namespace {

graph::OpGraph model(int element_bytes) {
  graph::GraphBuilder net("one", element_bytes);
  net.add({.name = "only"});
  return net.build();
}

plan::Training held_in(std::optional<plan::MixedPrecision> precision) {
  return {.precision = precision};
}

}  // namespace

TEST_CASE("numbers of four bytes are replayed in fp32, and other settings of a plan are refused") {
  const auto graph = model(4);
  CHECK(replay::precision_of(graph, held_in({})) == kernels::Precision::fp32);
  CHECK(replay::precision_of(graph, held_in(plan::mixed_precision("fp32"))) == kernels::Precision::fp32);
  for (const char* other : {"bf16", "mixed_bf16", "mixed_fp16"})
    CHECK_THROWS_WITH_AS(
        replay::precision_of(graph, held_in(plan::mixed_precision(other))),
        "numbers of four bytes are replayed with all else in fp32: leave precision out, or say fp32",
        core::BadInput);
}

TEST_CASE("numbers of other sizes are not replayed") {
  for (const int bytes : {1, 8})
    CHECK_THROWS_AS(replay::precision_of(model(bytes), held_in({})), core::BadInput);
}

TEST_CASE(
    "numbers of two bytes are replayed as the plan's weights, beside state and master weights in fp32") {
  const auto graph = model(2);
  const auto with = [](Precision weights) {
    return held_in(plan::MixedPrecision{weights, weights, Precision::fp32, Precision::fp32});
  };
  CHECK(replay::precision_of(graph, with(Precision::bf16)) == kernels::Precision::bf16);
  CHECK(replay::precision_of(graph, with(Precision::fp16)) == kernels::Precision::fp16);
  CHECK(replay::precision_of(graph, held_in(plan::mixed_precision("mixed_fp16"))) ==
        kernels::Precision::fp16);
  CHECK_THROWS_AS(replay::precision_of(graph, held_in({})), core::BadInput);
  for (const char* other : {"bf16", "mixed_bf16", "deepspeed_bf16"})
    CHECK_THROWS_AS(replay::precision_of(graph, held_in(plan::mixed_precision(other))), core::BadInput);
  const auto narrow = models::build("transformer", {{"element_bytes", "2"}, {"products", "mxfp8"}});
  CHECK_THROWS_WITH_AS(replay::precision_of(narrow, held_in(plan::mixed_precision("mxfp8"))),
                       "products in mxfp8 are not replayed: no kernel multiplies in less than 16 bits",
                       core::BadInput);
}

TEST_CASE("adapters are not replayed") {
  const auto tuned = models::build("transformer", {{"lora", "rank=4"}});
  CHECK_THROWS_WITH_AS(replay::precision_of(tuned, held_in({})),
                       "LoRA is not replayed: no kernel runs adapters beside frozen weights", core::BadInput);
}
