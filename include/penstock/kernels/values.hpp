#pragma once
// Reads and writes values of buffers, on any device and for any element.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Rounds to the buffer's element, to nearest even; int64 buffers take whole numbers. `values` has the size
/// of the buffer (checked).
void write_values(Backend& backend, Buffer& to, std::span<const double> values);
/// Fills `out` with values [begin, begin + out.size()) of a buffer; called in any order, from several
/// threads.
using Piece = std::function<void(std::int64_t begin, std::span<double> out)>;
/// Writes values that are not stored anywhere, requested piece by piece.
void write_pieces(Backend& backend, Buffer& to, const Piece& piece);
/// Copies the values of another buffer with any element.
void write_values(Backend& backend, Buffer& to, const Buffer& from);
std::vector<double> read_values(Backend& backend, const Buffer& from);
/// Writes and reads fp32 values, the format in which a device computes.
void write_floats(Backend& backend, Buffer& to, std::span<const float> values);
void read_floats(Backend& backend, const Buffer& from, std::span<float> values);

/// Writes numbers that are uniform in [low, high), by seed, before rounding; whole numbers from low to high -
/// 1 in an int64 buffer. The first 2^20 are drawn and repeated.
void write_random(Backend& backend, Buffer& to, std::uint64_t seed, double low = -1, double high = 1);
/// Fills with NaN (in an int64 buffer the lowest number), so that elements that a kernel does not write are
/// visible.
void poison(Backend& backend, Buffer& to);

/// Allocates a buffer for the slot.
std::unique_ptr<Buffer> allocate(Backend& backend, const Slot& slot);

}  // namespace penstock::kernels
