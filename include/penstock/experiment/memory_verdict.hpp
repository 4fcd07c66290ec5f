#pragma once
// Verdict on whether devices have the memory that a plan needs.

#include <string>

#include "penstock/cluster/cluster.hpp"
#include "penstock/trace/summary.hpp"

namespace penstock::experiment {

/// Mean error of predicted peaks over Megatron-LM's own tests (results/measured_memory).
inline constexpr double kMemoryError = 0.05;

enum class MemoryVerdict {
  fits,
  close,  ///< within kMemoryError of what a device has
  full    ///< does not fit
};

/// Verdict for the device that is fullest for its size. Reserved memory counts as full.
MemoryVerdict memory_verdict(const cluster::Cluster& cluster, const trace::Summary& summary);

/// "fits", "too close to say", "does not fit".
std::string in_words(MemoryVerdict verdict);

/// Note behind the peak in a line of text: empty for a plan that fits.
std::string verdict_note(MemoryVerdict verdict);

}  // namespace penstock::experiment
