#pragma once
// Core of attention, between its projections, if a context group has the tokens between them.

#include <array>
#include <memory>

#include "penstock/cost/context.hpp"
#include "penstock/cost/sharding.hpp"
#include "worker/collectives.hpp"

namespace penstock::replay {

/// Exchange of a stage's context groups, and its times.
struct ContextGroup {
  ContextGroup(const cluster::Cluster& cluster, const plan::Stage& stage);
  plan::ContextExchange exchange;
  cost::GroupTimes times;
  cost::AffineTime hop;  ///< from one device to the next in a ring
};

/// Wraps a buffer that another owner keeps alive.
inline Lease lent(kernels::Buffer* buffer) {
  return {Lease(), buffer};
}

/// The core of one attention for one number of samples. All devices of the group make the same calls. A
/// pass's exchanges take the time of the cost model (cost::GroupTimes).
class ContextCore {
 public:
  using Triple = std::array<Lease, 3>;  ///< query, key, value; or their gradients
  using Saved = std::vector<kernels::Buffer*>;
  virtual ~ContextCore() = default;

  /// Tensors that it keeps from its forward pass for its backward pass.
  virtual std::vector<kernels::Slot> saved() const = 0;
  virtual core::Bytes workspace(graph::Pass pass) const = 0;
  /// Buffers for the projections of the device's own tokens.
  virtual Triple room(const Saved& saved) = 0;
  /// Computes `result`, for the device's own tokens, from the projections.
  virtual void forward(const Triple& projected, const Saved& saved, const Lease& result) = 0;
  /// Writes the gradients of the projections.
  virtual void backward(const Saved& saved, const Lease& result, const Lease& result_gradient,
                        const Triple& gradients) = 0;
};

/// Creates the kind that the stage's plan requires. Throws BadInput if the device has no kernel of a core.
std::unique_ptr<ContextCore> make_context_core(DeviceContext& device, const ContextGroup& group,
                                               core::OpId id, std::int64_t samples);
/// Creates a core that passes blocks of keys and values from device to device (Liu et al., ICLR 2024).
std::unique_ptr<ContextCore> make_ring_core(DeviceContext& device, const ContextGroup& group, core::OpId id,
                                            std::int64_t samples);

}  // namespace penstock::replay
