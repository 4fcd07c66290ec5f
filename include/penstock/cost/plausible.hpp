#pragma once
// Limits that numbers of devices obey, whatever their source. A reader refuses a number beyond its limit, for
// its file most likely has another unit than the reader expects.

#include <cstdint>
#include <span>
#include <string>

namespace penstock::cost {

/// "870000 TFLOP/s, above the 312 TFLOP/s of a100 at its peak" where `flops` in `seconds` are more than the
/// device's 16-bit rate allows; "" where they are not. `device` as its vendor calls it; one that no built-in
/// cluster or short form has is held to kFastest.
std::string above_peak(double flops, double seconds, const std::string& device);

/// "" unless the device is known and `best` is below a hundredth of its peak. `best` is the highest rate of
/// large products (kLargeFlops or more each); zero is none.
std::string far_below_peak(double best, const std::string& device);
inline constexpr double kLargeFlops = 1e11;

/// "" unless a kernel takes less than any does, a tenth of a microsecond.
std::string below_any_kernel(double seconds);
/// "" unless a kernel takes more than 1000 s.
std::string above_any_kernel(double seconds);

/// "" unless a device reads or writes more bytes than its memory bandwidth allows.
std::string above_memory_bandwidth(double bytes, double seconds, const std::string& device);

/// "" unless a rank of a collective sends more bytes than any link between devices can.
std::string above_link_bandwidth(double bytes, double seconds);

/// "" for a share of a peak that is above 0 and at most `most`: 1, or 2 where work that a causal mask leaves
/// out counts as done.
std::string no_efficiency(double share, double most = 1);

/// "4 ms at 1, but 1 ms at 8" where times, by ascending size, fall by more than measuring scatters; else "".
std::string falling(std::span<const std::int64_t> sizes, std::span<const double> seconds);

/// "" for a share of the devices' peak that a model can reach.
std::string above_whole(double mfu);

}  // namespace penstock::cost
