// Numbers that are drawn on demand.

#include "worker/draw.hpp"

#include <doctest/doctest.h>

#include "penstock/kernels/devices.hpp"

using namespace penstock;
using core::OpId;

namespace {

kernels::OperatorWiring wire(std::int64_t count) {
  kernels::OperatorWiring out;
  out.made.count = count;
  return out;
}

}  // namespace

TEST_CASE("a sample's numbers do not depend on the other samples and on the first place") {
  const replay::TrainingSetup setup{.seed = 3};
  const auto all = replay::target_values(setup, OpId(4), wire(1000), {0, 12}).values();
  CHECK(all.size() == 12000);
  const auto some = replay::target_values(setup, OpId(4), wire(1000), {5, 4});
  CHECK(some.values() == std::vector(all.begin() + 5000, all.begin() + 9000));
  std::vector<double> piece(1501);  // begins within one sample and ends within the next but one
  some.piece(700, piece);
  CHECK(piece == std::vector(all.begin() + 5700, all.begin() + 7201));
  for (double& value : piece) value = -value;
  std::vector<double> turned(piece.size());
  negative(some).piece(700, turned);
  CHECK(turned == piece);
}

TEST_CASE("a device writes its shard of what is drawn, and no more") {
  const auto host = kernels::open_device("host", 1);
  const auto all = replay::target_values({}, OpId(0), wire(6000), {0, 3});
  const auto whole = all.values();
  const replay::TensorShard shard{.rows = 300, .width = 60, .spans = {{3, 17}, {40, 60}}};
  const auto buffer = host->allocate(kernels::Element::fp32, shard.count());
  write(*host, *buffer, shard, all);
  const auto found = kernels::read_values(*host, *buffer);
  std::size_t at = 0;
  bool equal = true;
  for (std::size_t row = 0; row < 300; ++row)
    for (std::size_t column = 0; column < 60; ++column)
      if ((column >= 3 && column < 17) || column >= 40)
        equal = equal && found[at++] == static_cast<float>(whole[60 * row + column]);
  CHECK(equal);
  CHECK(at == found.size());
}
