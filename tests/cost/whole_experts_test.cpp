// Experts that FSDP2 keeps whole: transformers 5 has one weight for all experts of a layer, experts first.

#include <doctest/doctest.h>

#include "penstock/cluster/runtime.hpp"
#include "penstock/cost/analytic.hpp"
#include "penstock/cost/sharding.hpp"
#include "penstock/plan/replica_placement.hpp"
#include "src/cost/zero_traffic.hpp"
#include "support/judged_plan.hpp"
#include "support/small_mixture.hpp"
#include "support/tiny.hpp"

using namespace penstock;
using core::Bytes;
using plan::MemoryKind;

namespace {

constexpr std::int64_t kExperts = 8 * 3 * 32 * 24 * 4;  ///< bytes of a layer's experts

/// The stage of a mixture with one layer, ZeRO on so many devices.
class ShardedMixture {
 public:
  ShardedMixture(std::size_t devices, int zero, const char* framework)
      : graph_(support::small_mixture("1")),
        cluster_(support::tiny_cluster(devices).run_by(cluster::runtime(framework))),
        problem_{graph_, cluster_, costs_, {static_cast<std::int64_t>(devices)}},
        stage_(support::stage_of(0, graph_.size(), devices, static_cast<std::int64_t>(devices))) {
    stage_.zero = zero;
  }

  plan::MemoryByKind memory() const {
    return cost::stage_memory(cost::stage_load(problem_, stage_), {}, problem_.training, 1, 0, {},
                              plan::replica_placement(stage_));
  }
  Bytes others() const { return Bytes(graph_.parameters() * 4 - kExperts); }
  cost::ZeroTraffic traffic() const {
    std::size_t experts = 0;
    while (graph_.op(core::OpId(experts)).kind != graph::OpKind::experts) ++experts;
    return cost::zero_traffic(problem_, stage_, core::OpId(experts), plan::Partition::whole);
  }

 private:
  graph::OpGraph graph_;
  cluster::Cluster cluster_;
  cost::AnalyticCosts costs_;
  cost::Problem problem_;
  plan::Stage stage_;
};

Bytes part(Bytes bytes, std::int64_t ways) {
  return Bytes((bytes.value() + ways - 1) / ways);
}

}  // namespace

// torch 2.15, fully_shard of a weight of 8 x 16 x 32 on 64 ranks: 512 numbers stored on every rank, 32,768 gathered.
// Of 128 x 16 x 32 on 48 ranks: 1,536 and 73,728.
TEST_CASE("a device keeps whole experts, and gathers a part of that size from all") {
  const auto placed = [](std::int64_t shards, std::int64_t experts) {
    return plan::ReplicaPlacement{.weights = plan::OverReplicas::shard,
                                  .shards = shards,
                                  .expert_shards = shards,
                                  .whole_experts = experts};
  };
  const auto stored = [](const plan::ReplicaPlacement& p, std::int64_t numbers) {
    return p.held(Bytes(numbers), Bytes(numbers), plan::OverReplicas::shard);
  };
  CHECK(stored(placed(64, 8), 4096) == Bytes(512));
  CHECK(placed(64, 8).gathered(Bytes(4096)) == Bytes(32768));
  CHECK(stored(placed(48, 128), 65536) == Bytes(1536));
  CHECK(placed(48, 128).gathered(Bytes(65536)) == Bytes(73728));
  CHECK(stored(placed(4, 8), 4096) == Bytes(1024));  // as many as equal parts
  CHECK(placed(4, 8).gathered(Bytes(4096)) == Bytes(4096));
}

TEST_CASE("accelerate's ZeRO 3 stores an eighth of eight experts on sixteen devices, others a sixteenth") {
  for (const char* framework : {"accelerate", "pytorch", "accelerate+compiled"}) {
    const ShardedMixture whole(16, 3, framework);
    CHECK(at(whole.memory(), MemoryKind::weights) == part(whole.others(), 16) + Bytes(kExperts / 8));
    CHECK(whole.traffic().gathered == Bytes(kExperts * 2));
    CHECK(whole.traffic().scattered == Bytes(kExperts * 2));
  }
  for (const char* framework : {"torchtitan", "automodel", "deepspeed"}) {
    const ShardedMixture even(16, 3, framework);
    CHECK(at(even.memory(), MemoryKind::weights) == part(even.others() + Bytes(kExperts), 16));
    CHECK(even.traffic().gathered == Bytes(kExperts));
  }
}

TEST_CASE("weights of ZeRO 2 are kept as they were gathered, and no padding is needed on eight devices") {
  const ShardedMixture kept(16, 2, "accelerate"), few(8, 2, "accelerate");
  CHECK(at(kept.memory(), MemoryKind::weights) == kept.others() + Bytes(kExperts * 2));
  CHECK(at(few.memory(), MemoryKind::weights) == few.others() + Bytes(kExperts));
  CHECK(at(few.memory(), MemoryKind::gradients) == part(few.others() + Bytes(kExperts), 8));
}
