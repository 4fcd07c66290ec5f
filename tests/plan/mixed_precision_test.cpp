#include "penstock/plan/mixed_precision.hpp"

#include <doctest/doctest.h>

#include "models/catalogue.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/yaml.hpp"
#include "penstock/plan/plan_file.hpp"
#include "penstock/plan/violations.hpp"

using namespace penstock;
using cluster::Precision;
using core::Bytes;

namespace {

plan::Training adam(std::optional<plan::MixedPrecision> precision) {
  plan::Training out{1, plan::Optimizer::adam};
  out.precision = precision;
  return out;
}

plan::MixedPrecision read(const std::string& text) {
  return plan::read_precision(core::Yaml::parse("precision: " + text, "p.yaml").at("precision"));
}

std::string refusal(const std::string& text) {
  try {
    read(text);
  } catch (const core::BadInput& e) {
    return e.what();
  }
  return "";
}

}  // namespace

TEST_CASE(
    "a hundred parameters as ZeRO's section 3.1 counts them, 2 + 2 + 12 bytes each, and with fp32 "
    "gradients") {
  const Bytes weights(200);
  const auto fp16 = adam(plan::mixed_precision("mixed_fp16")),
             bf16 = adam(plan::mixed_precision("mixed_bf16"));
  CHECK(fp16.gradients(weights) == Bytes(200));
  CHECK(fp16.optimizer_state(weights) == Bytes(1200));  // two moments and the master weights
  CHECK(bf16.gradients(weights) == Bytes(400));
  CHECK(bf16.held_gradients(weights) == Bytes(400));
  const auto beside = adam(plan::mixed_precision("deepspeed_bf16"));  // sums in fp32, a pass' own in bf16
  CHECK(beside.held_gradients(weights) == Bytes(400 + 200));
  CHECK(beside.sent_gradients(weights) == Bytes(400));
  CHECK(beside.step_traffic(weights) == bf16.step_traffic(weights));
  CHECK(bf16.optimizer_state(weights) == Bytes(1200));
  CHECK(bf16.sent_gradients(weights) == Bytes(400));
  CHECK(bf16.sent_per_weight() == 2);
  // An update reads gradients, reads and writes moments and master weights, writes the rounded ones. Before,
  // gradients are written as zeros, read for their norm, and read and written as they are scaled.
  CHECK(bf16.step_traffic(weights) == Bytes(400 * (1 + 4) + 2 * 1200 + 200));
}

TEST_CASE("without a word everything is in the model's numbers") {
  const Bytes weights(400);
  CHECK(adam({}).gradients(weights) == weights);
  CHECK(adam({}).optimizer_state(weights) == weights * 2);
  CHECK(adam({}).step_traffic(weights) == weights * (1 + 2 * 2 + 2));
  for (const char* all : {"fp32", "bf16"}) {
    CHECK(adam(plan::mixed_precision(all)).step_traffic(weights) == adam({}).step_traffic(weights));
    CHECK(adam(plan::mixed_precision(all)).optimizer_state(weights) == adam({}).optimizer_state(weights));
  }
}

TEST_CASE("half a number of a part is a number") {
  CHECK(adam(plan::mixed_precision("mixed_bf16")).gradients(Bytes(3)) == Bytes(8));
}

TEST_CASE("compressed gradients are a share of those that are held") {
  auto training = adam(plan::mixed_precision("mixed_bf16"));
  training.compression.gradients = 0.25;
  CHECK(training.sent_gradients(Bytes(200)) == Bytes(100));
  CHECK(training.gradients(Bytes(200)) == Bytes(400));
}

TEST_CASE("written as it is read, by name where it has one") {
  for (const char* text :
       {"fp32", "bf16", "mixed_bf16", "mixed_fp16", "deepspeed_bf16",
        "{weights: bf16, gradients: bf16, state: fp32, master: fp32}",
        "{weights: fp32, gradients: bf16, state: fp16}",
        "{weights: bf16, gradients: fp32, state: fp32, pass_gradients: bf16}", "fp8_delayed", "fp8_current",
        "fp8_block", "mxfp8", "nvfp4", "{weights: bf16, gradients: bf16, state: fp32, products: mxfp8}"})
    CHECK(plan::written(read(text)) == text);
  CHECK(read("{weights: bf16}") == plan::mixed_precision("bf16"));
  CHECK(plan::written(read("{weights: bf16, gradients: fp32, state: fp32, master: fp32}")) == "mixed_bf16");
}

TEST_CASE("an unknown precision is refused by line and key") {
  CHECK(refusal("mixed_bf61").starts_with("p.yaml:1: precision: unknown precision 'mixed_bf61'"));
  CHECK(refusal("{gradients: fp32}") == "p.yaml:1: precision: the key 'weights' is missing");
  CHECK(refusal("{weights: int8}").starts_with("p.yaml:1: precision.weights: unknown number format 'int8'"));
  CHECK(refusal("{weights: fp32, state: tf32}") ==
        "p.yaml:1: precision.state: tf32 is a rate of products, numbers are held in fp32");
  CHECK(refusal("{weights: fp8}").starts_with("p.yaml:1: precision.weights: unknown number format 'fp8'"));
  CHECK(refusal("{weights: bf16, products: fp8}")
            .starts_with("p.yaml:1: precision.products: unknown format of products 'fp8'"));
  CHECK(refusal("{weights: fp32, moments: fp32}").starts_with("p.yaml:1: precision.moments"));
}

TEST_CASE("weights have the size of the model's numbers") {
  const auto whole = models::build("transformer"),
             half = models::build("transformer", {{"element_bytes", "2"}});
  const auto mixed = adam(plan::mixed_precision("mixed_bf16"));
  CHECK_FALSE(plan::precision_violation(half, mixed));
  CHECK(plan::precision_violation(whole, mixed) == "weights in bf16 have 2 bytes, the model's numbers 4");
  CHECK_FALSE(plan::precision_violation(whole, adam({})));
}

TEST_CASE("compressed bytes are rounded up, so that nothing is sent as nothing") {
  const plan::Compression tenth{0.1, 0.25};
  CHECK(tenth.gradient_bytes(Bytes(1)) == Bytes(1));
  CHECK(tenth.gradient_bytes(Bytes(101)) == Bytes(11));
  CHECK(tenth.activation_bytes(Bytes(5)) == Bytes(2));
  CHECK(plan::Compression{}.activation_bytes(Bytes(5)) == Bytes(5));
}
