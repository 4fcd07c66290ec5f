#pragma once
// What attention does between its projections, where a context group has the tokens between them.

#include <array>
#include <memory>

#include "penstock/cost/context.hpp"
#include "penstock/cost/sharding.hpp"
#include "worker/collectives.hpp"

namespace penstock::replay {

/// How the context groups of a stage exchange, and how long that takes.
struct ContextGroup {
  ContextGroup(const cluster::Cluster& cluster, const plan::Stage& stage);
  plan::ContextExchange exchange;
  cost::GroupTimes times;
  cost::Affine hop;  ///< from one device to the next, of a ring
};

/// Of a buffer that someone else holds.
inline Lease lent(kernels::Buffer* buffer) {
  return {Lease(), buffer};
}

/// The core of one attention for one number of samples. All of the group make the same calls. A pass's
/// exchanges take the time that the cost model gives them (cost::GroupTimes).
class ContextCore {
 public:
  using Triple = std::array<Lease, 3>;  ///< query, key, value; or their gradients
  using Saved = std::vector<kernels::Buffer*>;
  virtual ~ContextCore() = default;

  /// What it keeps from its forward pass for its backward pass.
  virtual std::vector<kernels::Slot> saved() const = 0;
  virtual core::Bytes workspace(graph::Pass pass) const = 0;
  /// Where the projections of the device's own tokens are to be written.
  virtual Triple room(const Saved& saved) = 0;
  /// From the projections to `result`, which is of the device's own tokens.
  virtual void forward(const Triple& projected, const Saved& saved, const Lease& result) = 0;
  /// Writes the gradients of the projections.
  virtual void backward(const Saved& saved, const Lease& result, const Lease& result_gradient,
                        const Triple& gradients) = 0;
};

/// Of the kind that the stage's plan asks for. Throws BadInput where the device has no kernel of a core.
std::unique_ptr<ContextCore> make_context_core(Device& device, const ContextGroup& group, core::OpId id,
                                               std::int64_t samples);
/// Blocks of keys and values go round from device to device (Liu et al., ICLR 2024).
std::unique_ptr<ContextCore> make_ring_core(Device& device, const ContextGroup& group, core::OpId id,
                                            std::int64_t samples);

}  // namespace penstock::replay
