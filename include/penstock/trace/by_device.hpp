#pragma once
// Access to a run device by device, without the whole in memory.

#include <functional>

#include "penstock/trace/trace.hpp"

namespace penstock::trace {

using SpanVisitor = std::function<void(const Span&)>;

/// Interface for summaries of a run. A Trace can be read in this form. The simulator offers its tasks in it,
/// in a fraction of the memory of a trace.
class ByDevice {
 public:
  struct RunExtent {
    std::int64_t mini_batch = 0;    ///< as in Trace
    core::Picoseconds iteration;    ///< as in Trace
    std::int64_t mini_batches = 1;  ///< as in Trace
    std::size_t devices = 0;        ///< of the cluster
  };
  virtual ~ByDevice() = default;
  virtual RunExtent extent() const = 0;
  /// Builds the device's trace at each call.
  virtual DeviceTrace device(core::DeviceId device) const = 0;
  /// Visits every span that occupies the device or arrives at it, once each, in no particular order.
  virtual void visit(core::DeviceId device, const SpanVisitor& visitor) const = 0;
};

/// The whole run as a trace.
Trace whole(const ByDevice& run);

/// Adapter of a trace, which must outlive this.
class TraceByDevice final : public ByDevice {
 public:
  /// Throws an internal error if a span names a device that the trace does not have.
  explicit TraceByDevice(const Trace& trace);
  RunExtent extent() const override;
  DeviceTrace device(core::DeviceId device) const override { return trace_.devices[device.index()]; }
  void visit(core::DeviceId device, const SpanVisitor& visitor) const override;

 private:
  const Trace& trace_;
  std::vector<std::size_t> start_;    ///< [device], one more than devices
  std::vector<std::uint32_t> spans_;  ///< of one device after the other
};

}  // namespace penstock::trace
