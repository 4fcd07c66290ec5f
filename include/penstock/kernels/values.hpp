#pragma once
// Values in and out of buffers, whatever the device and the element.

#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "penstock/kernels/backend.hpp"

namespace penstock::kernels {

/// Rounds to the buffer's element, to nearest even; int64 buffers take whole numbers. As many values as the
/// buffer has (checked).
void write_values(Backend& backend, Buffer& to, std::span<const double> values);
/// Gives values [begin, begin + out.size()) of a buffer, whichever are asked for first, from several threads.
using Piece = std::function<void(std::int64_t begin, std::span<double> out)>;
/// The same for values that nobody holds: they are asked for piece by piece.
void write_pieces(Backend& backend, Buffer& to, const Piece& piece);
/// The values of another buffer, whatever its element.
void write_values(Backend& backend, Buffer& to, const Buffer& from);
std::vector<double> read_values(Backend& backend, const Buffer& from);
/// The same as fp32, which holds what a device computes in.
void write_floats(Backend& backend, Buffer& to, std::span<const float> values);
void read_floats(Backend& backend, const Buffer& from, std::span<float> values);

/// Uniform in [low, high), by seed, before rounding; in an int64 buffer whole numbers from low up to high
/// - 1. The first 2^20 are drawn and stand there again and again.
void write_random(Backend& backend, Buffer& to, std::uint64_t seed, double low = -1, double high = 1);
/// NaN; in an int64 buffer the lowest number. What a kernel forgets to write then shows.
void poison(Backend& backend, Buffer& to);

/// Allocates a buffer for the slot.
std::unique_ptr<Buffer> allocate(Backend& backend, const Slot& slot);

}  // namespace penstock::kernels
