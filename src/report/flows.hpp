#pragma once
// Path of data from one computation through a transfer to the next. Private to the room.

#include <cstdint>
#include <vector>

#include "penstock/trace/trace.hpp"

namespace penstock::report {

inline constexpr std::uint32_t kNoSpan = UINT32_MAX;

/// One transfer; members are indices into Trace::spans.
struct TransferFlow {
  std::uint32_t transfer;
  std::uint32_t sender = kNoSpan;    ///< computation that made the data
  std::uint32_t receiver = kNoSpan;  ///< computation that needs the data
};

/// One flow per transfer, in the trace's order. A trace stores a transfer's stage and micro-batch but neither
/// its direction nor its receiver, so both are inferred:
///  - the sender is the backward pass (or input gradient) of that micro-batch on that device if it has
///    ended, otherwise the forward pass;
///  - the receiver is the first computation of that direction on the peer that starts after the transfer,
///    needs samples of the sender and received nothing else from it. A stage's micro-batches share all
///    samples evenly; the devices that run one, in order of their numbers, share it.
/// Members stay kNoSpan if no span fits.
std::vector<TransferFlow> flows(const trace::Trace& trace);

}  // namespace penstock::report
