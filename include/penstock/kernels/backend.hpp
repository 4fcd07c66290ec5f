#pragma once
// The seam: one operator of a model executed once, in one direction, on one device.
//
// Tensors are contiguous, samples first. Images are channels-last: the {channels, height, width} of a model
// lies in memory as {samples, height, width, channels}, so that every tensor is a matrix of rows x channels.

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

/// Memory of a device, aligned to 64 bytes or more, contents undefined at first.
class Buffer {
 public:
  Buffer(Element element, std::int64_t count) : element_(element), count_(count) {}
  virtual ~Buffer() = default;
  Element element() const { return element_; }
  std::int64_t count() const { return count_; }  ///< of elements
  core::Bytes bytes() const { return core::Bytes(count_ * size(element_)); }
  virtual void* data() const = 0;  ///< address on the device

 private:
  Element element_;
  std::int64_t count_;
};

/// A moment in a stream's work.
class Event {
 public:
  virtual ~Event() = default;
  /// Waits for both moments. `earlier` comes from the same backend.
  virtual core::Seconds since(const Event& earlier) const = 0;
  /// Whether it has come; throws what the work before it failed with.
  virtual bool reached() const = 0;
};

/// Work in order. A host stream has done its work when the call returns; others run behind the caller.
class Stream {
 public:
  virtual ~Stream() = default;
  virtual std::unique_ptr<Event> record_event() = 0;
  virtual void wait(const Event& event) = 0;  ///< later work starts after `event`, of any stream
  virtual void synchronise() = 0;             ///< returns when all work is done; throws what it failed with
  virtual void evict_caches() = 0;            ///< what is next read comes from memory
  /// What `body` puts on this stream, `copies` times, as one launch where the device can (a captured graph).
  virtual std::function<void()> bundle(int copies, const std::function<void()>& body) = 0;
};

/// One operand: how large a buffer it wants.
struct Slot {
  std::string name;                 ///< such as "weights"
  std::vector<std::int64_t> shape;  ///< samples included
  Element element = Element::fp32;
  bool added = false;  ///< a parameter whose gradient is added to, not overwritten: only the rows of a table
                       ///< that were looked up are touched. The caller zeroes it.
  std::int64_t count() const;
};

/// All operands of a kernel. A gradient has the slot of what it belongs to; int64 inputs have none.
struct Slots {
  std::vector<Slot> inputs;
  std::vector<Slot> parameters;  ///< of tied operators too: the caller hands in the table
  Slot output;
  std::vector<Slot> saved;   ///< written by forward, read by the gradients, beside inputs and output
  std::vector<Slot> handed;  ///< written by input_gradient, read by weight_gradient, which then comes second
};

/// Buffers in the order of the slots. A pass reads and writes no more than it needs, so others may be null:
///   forward          inputs, parameters -> output, saved
///   input_gradient   inputs, parameters, output, saved, output_gradient -> input_gradients, handed
///   weight_gradient  inputs, output, saved, handed, output_gradient -> parameter_gradients
/// Inputs may be one buffer. So may gradients of the terms of a sum, and the output gradient: it is handed on
/// as it is.
struct Operands {
  std::vector<Buffer*> inputs, parameters, saved, handed;
  std::vector<Buffer*> input_gradients;  ///< one per input; null for int64 inputs
  std::vector<Buffer*> parameter_gradients;
  Buffer* output = nullptr;
  Buffer* output_gradient = nullptr;
};

/// An operator made ready for one number of samples and one precision. Buffers are the caller's, so that
/// micro-batches in flight share a kernel; workspace is the kernel's, which runs on one stream at a time.
class Kernel {
 public:
  virtual ~Kernel() = default;
  virtual const Slots& slots() const = 0;
  virtual bool has(graph::Pass pass) const = 0;  ///< false: no parameters, or no differentiable input
  /// Operands and slots match, and the kernel has the pass (checked, an internal error). Writes every element
  /// of its results whatever they held before, but see Slot::added. Same operands, same bits.
  virtual void run(graph::Pass pass, const Operands& operands, Stream& stream) = 0;
  virtual std::string algorithm(graph::Pass pass) const = 0;  ///< of the library's choice
  virtual core::Bytes workspace(graph::Pass pass) const = 0;  ///< beyond the operands
};

/// One optimizer step on a tensor of parameters.
class Update {
 public:
  virtual ~Update() = default;
  /// "moment", "variance" as the rule asks, and "master" where parameters are not stored in fp32; all fp32.
  virtual const std::vector<Slot>& state() const = 0;
  /// Updates `parameters` from `before`, which may be the same buffer. `state` starts as zeros, "master" as
  /// the parameters. `step` counts from 1.
  virtual void run(Buffer& parameters, const Buffer& before, const Buffer& gradient,
                   std::span<Buffer* const> state, std::int64_t step, Stream& stream) = 0;
};

class Collectives;

/// Token by which devices of several processes find each other; their processes pass it on.
using Invitation = std::vector<std::byte>;

/// One device. Not thread-safe, but `allocate` may be called beside all else, as may `copy` and `add` on
/// different streams.
class Backend {
 public:
  virtual ~Backend() = default;
  virtual std::string name() const = 0;  ///< "host", "cuda:0", "cuda:0/4"
  /// Backends of one place share its processors; not so on the host, where they have cores of their own.
  virtual std::string place() const { return name(); }
  /// What a measurement depends on, as ("device", "..."), ("oneDNN", "2.6.3"), ("threads", "2").
  virtual std::vector<std::pair<std::string, std::string>> identity() const = 0;
  virtual bool supports(Precision precision) const = 0;

  /// Throws BadInput when the device has no such room.
  virtual std::unique_ptr<Buffer> allocate(Element element, std::int64_t count) = 0;
  virtual std::unique_ptr<Stream> make_stream() = 0;
  /// Waits until the bytes have moved, not for work on other streams. As many bytes as the buffer has.
  virtual void write(Buffer& to, std::span<const std::byte> bytes) = 0;
  virtual void read(const Buffer& from, std::span<std::byte> bytes) = 0;
  virtual void copy(Buffer& to, const Buffer& from, Stream& stream) = 0;  ///< same element and count
  virtual void zero(Buffer& buffer, Stream& stream) = 0;
  virtual void add(Buffer& to, const Buffer& term, Stream& stream) = 0;  ///< to += term, floating elements

  /// Throws BadInput naming operator and extent where `shape` does not say what is to be computed, for kinds
  /// without a kernel, and for a precision the device lacks.
  virtual std::unique_ptr<Kernel> make_kernel(const graph::Operator& op, std::int64_t samples,
                                              Precision precision) = 0;
  /// What an attention does between its projections: inputs are its projected query, key and value, samples x
  /// tokens x inner, and so is the output; no parameters. Saved first: shares, samples x heads x queries by
  /// keys, of exponentials that add up to `log_sums`, saved second, in fp32. The gradient looks at shares and
  /// output alone, so that these may be of more keys than the kernel was given. Throws BadInput where the
  /// device has none.
  virtual std::unique_ptr<Kernel> make_attention_core(const graph::Operator& op, std::int64_t samples,
                                                      Precision precision);
  virtual std::unique_ptr<Update> make_update(const UpdateRule& rule, std::int64_t count,
                                              Precision precision) = 0;

  /// Collectives of the vendor's library among `ranks`, of which this backend is one. Null where the library
  /// has none for these. Throws core::Error where the library fails. Ranks of other processes are null: all
  /// who host some then ask for the same, with the invitation that one of them has made for it, and it is
  /// ready once Collectives::settled says so of their ranks.
  virtual std::unique_ptr<Collectives> collectives(const std::vector<Backend*>& ranks,
                                                   const Invitation& invitation = {});
  /// Invitation for one such group of ranks; empty where devices of other processes cannot be reached.
  virtual Invitation invite() { return {}; }
};

/// False for inputs, views and imported profiles: nothing is computed, or nobody knows what.
bool has_kernel(graph::OpKind kind);

}  // namespace penstock::kernels
