#include "penstock/program/sharing.hpp"

namespace penstock::program {

SampleSharing::SampleSharing(const plan::Plan& plan, const plan::Stage& stage)
    : micro_batch(stage.micro_batch),
      replicas(static_cast<std::int32_t>(stage.replicas())),
      group(static_cast<std::int32_t>(stage.replica_size())),
      before(static_cast<std::int32_t>(stage.part.before)),
      of(static_cast<std::int32_t>(stage.sharing_replicas())),
      in_turn(plan::asynchronous(plan)) {}

}  // namespace penstock::program
