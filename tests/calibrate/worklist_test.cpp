#include "penstock/calibrate/worklist.hpp"

#include <doctest/doctest.h>

#include <set>

#include "models/layers.hpp"
#include "support/near.hpp"

using namespace penstock;
using calibrate::KernelItem;
using calibrate::NamedModel;
using calibrate::Roofline;
using calibrate::WorkLimits;

namespace {

constexpr auto kFp32 = cluster::Precision::fp32;
const Roofline kRoofline{core::Bandwidth(1e10), core::FlopRate(1e11)};
const WorkLimits kLoose{.most_samples = 4, .memory = core::Bytes(1 << 30), .longest = core::Seconds(10)};

//  x --> a --> b --> c        a and b are equal, but only b hands a gradient on; c is larger
NamedModel three_layers() {
  models::Layers net("three");
  const auto a = net.linear("a", net.input("x", {8}), 8);
  net.linear("c", net.linear("b", a, 8), 64);
  return {"three", {}, net.build()};
}

std::vector<std::string> names(const std::vector<KernelItem>& items) {
  std::vector<std::string> out;
  for (const KernelItem& item : items) out.push_back(item.op.name + " x " + std::to_string(item.samples));
  return out;
}

}  // namespace

TEST_CASE("batch sizes start with the ends and fill the gaps") {
  using Sizes = std::vector<std::int64_t>;
  CHECK(calibrate::batch_sizes(1) == Sizes{1});
  CHECK(calibrate::batch_sizes(2) == Sizes{1, 2});
  CHECK(calibrate::batch_sizes(4) == Sizes{1, 4, 2});
  CHECK(calibrate::batch_sizes(64) == Sizes{1, 64, 8, 16, 2, 32, 4});
}

TEST_CASE("equal operators are one item, and the heaviest comes first") {
  const std::vector<NamedModel> models = {three_layers()};
  const auto items = calibrate::kernel_items(models, kFp32, kRoofline, kLoose);
  // c moves (8 + 64 + 8 * 64) numbers three times; a and b together 2 * (8 + 8 + 64), a's input gradient left
  // out
  CHECK(names(items) == std::vector<std::string>{"c x 1", "a x 1", "c x 4", "a x 4", "c x 2", "a x 2"});
  CHECK(items[1].passes == std::array<bool, 3>{true, true, true});  // b's too
  CHECK(items[1].work.flops[1].value() == 2 * 8 * 8);               // b's input gradient
  CHECK(items[1].key == cost::key_of(models[0].graph.op(core::OpId(2)), kFp32));
}

TEST_CASE("a model's own sizes, the ends first, and always one sample") {
  NamedModel one = three_layers();
  one.samples = {3, 6, 12};
  CHECK(names(calibrate::kernel_items({&one, 1}, kFp32, kRoofline, kLoose)) ==
        std::vector<std::string>{"c x 1", "a x 1", "c x 12", "a x 12", "c x 3", "a x 3", "c x 6", "a x 6"});
}

// Two devices have half of the outputs, or of the inputs, of each layer: of a and b equally, and of c.
TEST_CASE("shards of tensor-parallel groups are kernels, with the work that costs look up") {
  NamedModel model = three_layers();
  model.samples = {1};
  model.tensor_degrees = {2};
  const auto items = calibrate::kernel_items({&model, 1}, kFp32, kRoofline, kLoose);
  std::set<std::pair<std::int64_t, std::int64_t>> extents;
  for (const KernelItem& item : items)
    extents.emplace(as<graph::Linear>(item.op).in, as<graph::Linear>(item.op).out);
  CHECK(extents ==
        std::set<std::pair<std::int64_t, std::int64_t>>{{8, 8}, {8, 64}, {8, 4}, {4, 8}, {8, 32}, {4, 64}});
  for (const KernelItem& item : items)
    if (item.key.shape == cost::Shape{{"rows", 1}, {"in", 8}, {"out", 32}})
      CHECK(item.work.weights == core::Bytes(4 * 8 * 32));
}

TEST_CASE("a kernel of two models is measured once, and inputs and views not at all") {
  const std::vector<NamedModel> once = {three_layers()}, twice = {three_layers(), three_layers()};
  CHECK(names(calibrate::kernel_items(once, kFp32, kRoofline, kLoose)) ==
        names(calibrate::kernel_items(twice, kFp32, kRoofline, kLoose)));
}

TEST_CASE("kernels that need more memory than the device has are left out") {
  const std::vector<NamedModel> models = {three_layers()};
  // c at 4 samples: twice (4 * 72 + 512) numbers and 4 * 64 kept ones, 7424 bytes; at 1 sample 4928
  WorkLimits tight = kLoose;
  tight.memory = core::Bytes(7424);
  CHECK(calibrate::kernel_items(models, kFp32, kRoofline, tight).size() == 6);
  tight.memory = core::Bytes(7423);
  CHECK(names(calibrate::kernel_items(models, kFp32, kRoofline, tight)) ==
        std::vector<std::string>{"c x 1", "a x 1", "a x 4", "c x 2", "a x 2"});
}

TEST_CASE("slow kernels are measured with one sample only") {
  const std::vector<NamedModel> models = {three_layers()};
  WorkLimits quick = kLoose;
  quick.longest = core::Seconds(1e-12);
  CHECK(names(calibrate::kernel_items(models, kFp32, kRoofline, quick)) ==
        std::vector<std::string>{"c x 1", "a x 1"});
}

// One pass of 100 GFLOP, a second each run, with operands at 1 GB/s both ways. A run and 0.2 s to warm up and
// ten timings, cold and not; an eviction is 10 ms.
TEST_CASE("the time to measure is that of warm-up and timings") {
  KernelItem item;
  item.work = {{core::Flops(1e11), {}, {}}, core::Bytes(3'000'000), core::Bytes(0)};
  item.passes = {true, false, false};
  CHECK(calibrate::measuring_time(item, kRoofline, {}).value() ==
        support::near(0.006 + 1.2 + 10 + 1.21 + 10.1));
  item.work.flops[0] = core::Flops(1e8);  // 1 ms: half a second each way, whatever it takes
  CHECK(calibrate::measuring_time(item, kRoofline, {}).value() ==
        support::near(0.006 + 0.5 + 0.004 + 0.5 + 0.044));
  item.work.flops[0] = core::Flops(1e12);  // 10 s: ten timings would pass the cap of 15 s
  CHECK(calibrate::measuring_time(item, kRoofline, {}).value() ==
        support::near(0.006 + 10.2 + 15 + 10.21 + 15));
}
