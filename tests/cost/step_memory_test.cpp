// Copies and temporaries of the optimizer's step, and buckets of gradients.

#include <doctest/doctest.h>

#include "penstock/cluster/runtime.hpp"
#include "penstock/cost/stage_load.hpp"
#include "support/near.hpp"

using namespace penstock;
using core::Bytes;
using plan::MemoryKind;

namespace {

constexpr std::int64_t kParameters = 6'738'000'000, kDevices = 8;
constexpr double kGiB = 1 << 30;

/// Weights of 16 bits and their state, of a stage whose devices divide them by `zero`.
plan::MemoryByKind held(const char* framework, const char* precision, int zero,
                        plan::Optimizer optimizer = plan::Optimizer::adam) {
  cost::StageLoad load;
  load.parameters = Bytes(kParameters * 2);
  load.framework = cluster::runtime(framework).memory;
  load.bucket = Bytes(load.framework.bucket_numbers * 2);
  plan::Training training;
  training.optimizer = optimizer;
  training.precision = plan::mixed_precision(precision);
  plan::Stage stage;
  for (std::size_t d = 0; d < kDevices; ++d) stage.devices.emplace_back(d);
  stage.zero = zero;
  return cost::stage_memory(load, {}, training, 0, 0, {}, plan::replica_placement(stage));
}

double per_parameter(const plan::MemoryByKind& memory) {
  return plan::total(memory) / Bytes(kParameters);
}

}  // namespace

TEST_CASE("Megatron-LM's bytes per parameter are those of its own table") {
  // docs/user-guide/features/dist_optimizer.md: fp16 20, or 4 + 16/d; bf16 with fp32 gradients 18, or 6 + 12/d.
  CHECK(per_parameter(held("megatron", "mixed_fp16", 0)) == support::near(20, 1e-9));
  CHECK(per_parameter(held("megatron", "mixed_fp16", 1)) == support::near(4 + 16.0 / kDevices, 1e-9));
  CHECK(per_parameter(held("megatron", "mixed_bf16", 0)) == support::near(18, 1e-9));
  CHECK(per_parameter(held("megatron", "mixed_bf16", 1)) == support::near(6 + 12.0 / kDevices, 1e-9));
  CHECK(per_parameter(held("none", "mixed_fp16", 0)) == support::near(16, 1e-9));
}

TEST_CASE("torch's foreach step has a list as large as the weights that it updates; a fused one has none") {
  for (const char* framework : {"pytorch", "accelerate", "automodel"})
    CHECK(at(held(framework, "mixed_bf16", 0), MemoryKind::step) == Bytes(kParameters * 4));
  CHECK(at(held("pytorch", "bf16", 0), MemoryKind::step) == Bytes(kParameters * 2));
  CHECK(at(held("torchtitan", "mixed_bf16", 0), MemoryKind::step) == Bytes(0));
  CHECK(at(held("pytorch", "mixed_bf16", 0, plan::Optimizer::sgd), MemoryKind::step) == Bytes(0));
}

TEST_CASE("DeepSpeed's ZeRO 2 step holds what a run measured before it ran out of memory") {
  // Llama 7B in fp16 on 8 V100 of 32 GB: 28.28 GiB allocated, 3.14 GiB more requested.
  const auto memory = held("deepspeed", "mixed_fp16", 2);
  const double part = kParameters / 8.0;
  CHECK(at(memory, MemoryKind::step).value() ==
        support::near(part * 8, 1e-9));  // fp32 copy, and AdamW's list
  CHECK(at(memory, MemoryKind::buckets) == Bytes(2 * 500'000'000 * 2));
  const double list = part * 4, asked = plan::total(memory) / Bytes(1) - list;
  CHECK(list / kGiB == support::near(3.14, 1e-2));
  CHECK(asked / kGiB == support::near(28.28, 2e-2));
  for (const int zero : {1, 3})
    CHECK(at(held("deepspeed", "mixed_fp16", zero), MemoryKind::buckets) == Bytes(500'000'000 * 2));
  CHECK(at(held("deepspeed", "mixed_fp16", 0), MemoryKind::buckets) == Bytes(0));
}

TEST_CASE("the optimizer's step is a moment of its own") {
  plan::MemoryByKind memory{};
  at(memory, MemoryKind::weights) = Bytes(100);
  at(memory, MemoryKind::buckets) = Bytes(10);
  at(memory, MemoryKind::activations) = Bytes(30);
  at(memory, MemoryKind::workspace) = Bytes(3);
  at(memory, MemoryKind::buffers) = Bytes(2);
  CHECK(plan::total(memory) == Bytes(145));
  at(memory, MemoryKind::step) = Bytes(35);
  CHECK(plan::total(memory) == Bytes(145));
  at(memory, MemoryKind::step) = Bytes(40);
  CHECK(plan::total(memory) == Bytes(150));
}
