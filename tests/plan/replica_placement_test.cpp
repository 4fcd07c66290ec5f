#include "penstock/plan/replica_placement.hpp"

#include <doctest/doctest.h>

#include <string>

using namespace penstock;
using core::Bytes;
using plan::replica_placement;

namespace {

plan::Stage stage(std::size_t devices, int tensor, int context, int zero, std::int64_t over = 0) {
  plan::Stage out;
  for (std::size_t d = 0; d < devices; ++d) out.devices.emplace_back(d);
  out.tensor_parallel = tensor;
  out.context_parallel = context;
  out.zero = zero;
  out.zero_over = over;
  return out;
}

std::string numbers(const std::vector<std::vector<core::DeviceId>>& groups) {
  std::string out;
  for (const auto& group : groups) {
    for (const core::DeviceId d : group) out += std::to_string(d.index());
    out += ' ';
  }
  return out;
}

}  // namespace

TEST_CASE("ZeRO shards optimizer state, then gradients, then weights, over replicas and context groups") {
  //          state   gradients   weights
  //   0
  //   1      shard
  //   2      shard   shard
  //   3      shard   shard       shard
  for (int zero = 0; zero <= 3; ++zero) {
    const auto placement = replica_placement(stage(8, 2, 2, zero));
    CHECK(placement.shards_state() == (zero > 0));
    CHECK(placement.shards_gradients() == (zero > 1));
    CHECK(placement.shards_weights() == (zero > 2));
    CHECK(placement.shards == (zero > 0 ? 4 : 1));  // two replicas of two context groups
  }
  const auto placement = replica_placement(stage(4, 1, 1, 1));
  CHECK(placement.held(Bytes(10), {}, placement.state) == Bytes(3));  // a quarter, rounded up
  CHECK(placement.held(Bytes(10), {}, placement.weights) == Bytes(10));
}

TEST_CASE("one device with its weights shares nothing, and has nothing to reduce") {
  const auto alone = stage(2, 2, 1, 3);
  CHECK(!replica_placement(alone).shards_state());
  CHECK(!plan::reduces_gradients(alone));
}

TEST_CASE("sharded over two of four: neighbours have a part each, every other device the same part") {
  const auto hybrid = stage(8, 2, 1, 3, 2);  // tensor-parallel groups 01, 23, 45, 67
  CHECK(replica_placement(hybrid).shards == 2);
  CHECK(replica_placement(hybrid).copies == 2);
  CHECK(numbers(plan::replica_groups(hybrid)) == "0246 1357 ");
  CHECK(numbers(plan::shard_groups(hybrid)) == "02 46 13 57 ");
  CHECK(numbers(plan::copy_groups(hybrid)) == "04 26 15 37 ");
  // Backward passes sum gradients within the groups; across, somebody else has to.
  CHECK(plan::reduces_gradients(hybrid));
  CHECK(!plan::reduces_gradients(stage(8, 2, 1, 3)));
}

TEST_CASE("state of experts is sharded over the replicas that hold the same ones") {
  plan::Stage experts = stage(8, 1, 1, 1);
  experts.expert_parallel = 4;
  CHECK(replica_placement(experts).shards == 8);
  CHECK(replica_placement(experts).expert_shards == 2);
  experts.expert_parallel = 1;
  CHECK(replica_placement(experts).expert_shards == 8);
}

TEST_CASE(
    "what all devices of a group hold whole is summed, where samples or tokens are divided among them") {
  // One replica of two devices: only weights of operators that these divide by samples or tokens.
  plan::Stage one = stage(2, 2, 1, 0);
  CHECK_FALSE(plan::reduces_gradients(one));
  one.partition[core::OpId(0)] = plan::Partition::column;
  CHECK_FALSE(plan::reduces_gradients(one));
  one.partition[core::OpId(0)] = plan::Partition::batch;
  CHECK(plan::reduces_gradients(one));
  one.partition[core::OpId(0)] = plan::Partition::sequence;
  CHECK(plan::reduces_gradients(one));
  one.partition.clear();
  one.sequence_parallel = true;
  CHECK(plan::reduces_gradients(one));
}
