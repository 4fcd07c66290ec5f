#pragma once
// Interface of the backends: one operator of a model executed once, in one direction, on one device.
//
// Tensors are contiguous, samples first. Images are channels-last: the {channels, height, width} of a model
// is stored as {samples, height, width, channels}, so that every tensor is a matrix of rows x channels.

#include <cstddef>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "penstock/core/units.hpp"
#include "penstock/graph/op_graph.hpp"
#include "penstock/graph/pass.hpp"
#include "penstock/kernels/precision.hpp"
#include "penstock/kernels/update_rule.hpp"

namespace penstock::kernels {

/// Memory of a device, aligned to 64 bytes or more; contents are undefined at first.
class Buffer {
 public:
  Buffer(Element element, std::int64_t count) : element_(element), count_(count) {}
  virtual ~Buffer() = default;
  Element element() const { return element_; }
  std::int64_t count() const { return count_; }  ///< number of elements
  core::Bytes bytes() const { return core::Bytes(count_ * size(element_)); }
  virtual void* data() const = 0;  ///< address on the device

 private:
  Element element_;
  std::int64_t count_;
};

/// A point in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
  /// Time between both events; waits for them. `earlier` comes from the same backend.
  virtual core::Seconds since(const Event& earlier) const = 0;
  /// True once the event has occurred; throws the failure of the work before it.
  virtual bool reached() const = 0;
};

/// Work in order. A host stream has done its work when the call returns; other streams are asynchronous.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual std::unique_ptr<Event> record_event() = 0;
  virtual void wait(const Event& event) = 0;  ///< later work starts after `event`, of any stream
  virtual void synchronise() = 0;             ///< returns when all work is done; throws its failure
  virtual void evict_caches() = 0;            ///< the next reads come from memory
  /// Returns a function that runs the work that `body` puts on this stream, `copies` times, as one launch if
  /// the device supports it (a captured graph).
  virtual std::function<void()> bundle(int copies, const std::function<void()>& body) = 0;
};

/// One operand: the size of its buffer.
struct Slot {
  std::string name;                 ///< name such as "weights"
  std::vector<std::int64_t> shape;  ///< including samples
  Element element = Element::fp32;
  /// A parameter whose gradient is added to, not overwritten: only looked-up rows of a table are touched. The
  /// caller zeroes it.
  bool added = false;
  std::int64_t count() const;
};

/// All operands of a kernel. A gradient has the slot of its tensor; int64 inputs have none.
struct KernelSlots {
  std::vector<Slot> inputs;
  std::vector<Slot> parameters;  ///< for tied operators, too: the caller passes the table
  Slot output;
  std::vector<Slot> saved;   ///< written by forward, read by the gradients, in addition to inputs and output
  std::vector<Slot> handed;  ///< written by input_gradient, read by weight_gradient, which then runs second
};

/// Buffers in the order of the slots. A pass accesses only what it needs, so others may be null:
///   forward          inputs, parameters -> output, saved
///   input_gradient   inputs, parameters, output, saved, output_gradient -> input_gradients, handed
///   weight_gradient  inputs, output, saved, handed, output_gradient -> parameter_gradients
/// Inputs may be one buffer. Gradients of the terms of a sum may be the buffer of the output gradient, which
/// is passed on unchanged.
struct Operands {
  std::vector<Buffer*> inputs, parameters, saved, handed;
  std::vector<Buffer*> input_gradients;  ///< one per input; null for int64 inputs
  std::vector<Buffer*> parameter_gradients;
  Buffer* output = nullptr;
  Buffer* output_gradient = nullptr;
};

/// An operator prepared for one number of samples and one precision. The caller owns the buffers, so that
/// micro-batches in flight share a kernel. The kernel owns its workspace, and runs on one stream at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const KernelSlots& slots() const = 0;
  virtual bool has(graph::Pass pass) const = 0;  ///< false: no parameters, or no differentiable input
  /// Precondition: operands match the slots, and the kernel has the pass (checked, an internal error). Writes
  /// every element of its results, whatever they held before, except for Slot::added. Equal operands give
  /// equal bits.
  virtual void run(graph::Pass pass, const Operands& operands, Stream& stream) = 0;
  virtual std::string algorithm(graph::Pass pass) const = 0;  ///< as chosen by the library
  virtual core::Bytes workspace(graph::Pass pass) const = 0;  ///< in addition to the operands
};

/// One optimizer step for a tensor of parameters.
class OptimizerStep {
 public:
  virtual ~OptimizerStep() = default;
  /// "moment" and "variance" as the rule needs, and "master" if parameters are not stored in fp32; all fp32.
  virtual const std::vector<Slot>& state() const = 0;
  /// Updates `parameters` from `before`, which may be the same buffer. `state` starts as zeros, "master" as
  /// the parameters. `step` counts from 1.
  virtual void run(Buffer& parameters, const Buffer& before, const Buffer& gradient,
                   std::span<Buffer* const> state, std::int64_t step, Stream& stream) = 0;
};

class Collectives;

/// Token by which devices of several processes connect; the processes exchange it.
using Invitation = std::vector<std::byte>;

/// One device. Not thread-safe, except that `allocate` may be called at any time, and `copy` and `add` on
/// different streams.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;  ///< "host", "cuda:0", "cuda:0/4"
  /// Backends with one place share its processors; on the host each has its own cores.
  virtual std::string place() const { return name(); }
  /// Properties that a measurement depends on, such as ("device", "..."), ("oneDNN", "2.6.3"), ("threads",
  /// "2").
  virtual std::vector<std::pair<std::string, std::string>> identity() const = 0;
  virtual bool supports(Precision precision) const = 0;

  /// Throws BadInput if the device has too little memory.
  virtual std::unique_ptr<Buffer> allocate(Element element, std::int64_t count) = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  /// Waits until the bytes have moved, not for work on other streams. `bytes` has the size of the buffer.
  virtual void write(Buffer& to, std::span<const std::byte> bytes) = 0;
  virtual void read(const Buffer& from, std::span<std::byte> bytes) = 0;
  virtual void copy(Buffer& to, const Buffer& from, Stream& stream) = 0;  ///< same element and count
  virtual void zero(Buffer& buffer, Stream& stream) = 0;
  virtual void add(Buffer& to, const Buffer& term, Stream& stream) = 0;  ///< to += term, floating elements

  /// Throws BadInput naming operator and extent if `shape` does not determine the computation, for kinds
  /// without a kernel, and for a precision that the device lacks.
  virtual std::unique_ptr<Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                              Precision precision) = 0;
  /// Creates the core of an attention, between its projections. Inputs are its projected query, key and
  /// value, samples x tokens x inner, and so is the output; it has no parameters. Saved: first the shares,
  /// samples x heads x queries by keys, of exponentials that add up to `log_sums`, which is saved second, in
  /// fp32. The gradient reads only shares and output, so these may refer to more keys than the kernel was
  /// given. Throws BadInput if the device has no such kernel.
  virtual std::unique_ptr<Kernel> make_attention_core(const graph::Operator& op, std::int64_t samples,
                                                      Precision precision);
  virtual std::unique_ptr<OptimizerStep> make_update(const UpdateRule& rule, std::int64_t count,
                                                     Precision precision) = 0;

  /// Collectives of the vendor's library among `ranks`, which include this backend. Null if the library has
  /// none for these. Throws core::Error if the library fails. Ranks of other processes are null. All their
  /// hosts then call this with one invitation, made by one of them. The result is ready once
  /// Collectives::settled is true for their ranks.
  virtual std::unique_ptr<Collectives> collectives(const std::vector<Backend*>& ranks,
                                                   const Invitation& invitation = {});
  /// Creates an invitation for one such group of ranks; empty if devices of other processes cannot be
  /// reached.
  virtual Invitation invite() { return {}; }
};

/// False for inputs, views and imported profiles: these compute nothing, or something unknown.
bool has_kernel(graph::OpKind kind);

}  // namespace penstock::kernels
