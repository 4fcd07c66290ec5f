#include "penstock/kernels/values.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <utility>

#include "half.hpp"
#include "penstock/core/error.hpp"
#include "penstock/core/parallel.hpp"
#include "penstock/core/random.hpp"

namespace penstock::kernels {
namespace {

constexpr std::int64_t kDrawn = std::int64_t{1} << 20, kPiece = std::int64_t{1} << 12;

void encode(Element element, double value, std::byte* to) {
  const auto put = [to](auto number) { std::memcpy(to, &number, sizeof number); };
  switch (element) {
    case Element::fp32:
      return put(static_cast<float>(value));
    case Element::bf16:
      return put(to_bf16(static_cast<float>(value)));
    case Element::fp16:
      return put(to_fp16(static_cast<float>(value)));
    case Element::int64:
      return put(static_cast<std::int64_t>(value));
  }
}

double decode(Element element, const std::byte* from) {
  const auto get = [from](auto number) { return std::memcpy(&number, from, sizeof number), number; };
  switch (element) {
    case Element::fp32:
      return get(float{});
    case Element::bf16:
      return from_bf16(get(std::uint16_t{}));
    case Element::fp16:
      return from_fp16(get(std::uint16_t{}));
    case Element::int64:
      return static_cast<double>(get(std::int64_t{}));
  }
  return 0;
}

/// Fills the buffer with value(i), repeating the first `period` of them.
template <class Value>
void write_each(Backend& backend, Buffer& to, const Value& value, std::int64_t period) {
  const std::int64_t step = size(to.element()), first = std::min(period, to.count());
  std::vector<std::byte> bytes(static_cast<std::size_t>(to.bytes().value()));
  for (std::int64_t i = 0; i < first; ++i) encode(to.element(), value(i), bytes.data() + i * step);
  const auto drawn = static_cast<std::size_t>(first * step);
  for (std::size_t at = drawn; at < bytes.size(); at *= 2)
    std::memcpy(bytes.data() + at, bytes.data(), std::min(at, bytes.size() - at));
  backend.write(to, bytes);
}

/// Reads all values of the buffer, on this thread.
template <class Number>
void read_into(Backend& backend, const Buffer& from, std::span<Number> values) {
  const auto all = static_cast<std::size_t>(from.bytes().value());
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(all);
  backend.read(from, {bytes.get(), all});
  const std::byte* at = bytes.get();
  for (Number& value : values)
    value = static_cast<Number>(decode(from.element(), std::exchange(at, at + size(from.element()))));
}

}  // namespace

void write_pieces(Backend& backend, Buffer& to, const Piece& piece) {
  const std::int64_t step = size(to.element());
  const auto all = static_cast<std::size_t>(to.bytes().value());
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(all);
  core::parallel_for(static_cast<std::size_t>((to.count() + kPiece - 1) / kPiece), [&](std::size_t p) {
    const std::int64_t begin = static_cast<std::int64_t>(p) * kPiece;
    std::array<double, kPiece> room;
    const std::span values(room.data(), static_cast<std::size_t>(std::min(kPiece, to.count() - begin)));
    piece(begin, values);
    std::byte* at = bytes.get() + begin * step;
    for (const double value : values) encode(to.element(), value, std::exchange(at, at + step));
  });
  backend.write(to, {bytes.get(), all});
}

void write_values(Backend& backend, Buffer& to, std::span<const double> values) {
  core::require(std::ssize(values) == to.count(), "as many values as the buffer has");
  write_pieces(backend, to, [values](std::int64_t begin, std::span<double> out) {
    std::ranges::copy(values.subspan(static_cast<std::size_t>(begin), out.size()), out.begin());
  });
}

void write_values(Backend& backend, Buffer& to, const Buffer& from) {
  core::require(to.count() == from.count(), "as many values as the buffer has");
  std::vector<std::byte> bytes(static_cast<std::size_t>(from.bytes().value()));
  backend.read(from, bytes);
  const std::int64_t step = size(from.element());
  write_pieces(backend, to, [&](std::int64_t begin, std::span<double> out) {
    const std::byte* at = bytes.data() + begin * step;
    for (double& value : out) value = decode(from.element(), std::exchange(at, at + step));
  });
}

std::vector<double> read_values(Backend& backend, const Buffer& from) {
  std::vector<double> values(static_cast<std::size_t>(from.count()));
  read_into(backend, from, std::span(values));
  return values;
}

// Called within a device's tasks, so it uses only their thread.
void write_floats(Backend& backend, Buffer& to, std::span<const float> values) {
  core::require(std::ssize(values) == to.count(), "as many values as the buffer has");
  if (to.element() == Element::fp32) return backend.write(to, std::as_bytes(values));
  const auto all = static_cast<std::size_t>(to.bytes().value());
  const auto bytes = std::make_unique_for_overwrite<std::byte[]>(all);
  const std::int64_t step = size(to.element());
  std::byte* at = bytes.get();
  for (const float value : values) encode(to.element(), value, std::exchange(at, at + step));
  backend.write(to, {bytes.get(), all});
}

void read_floats(Backend& backend, const Buffer& from, std::span<float> values) {
  core::require(std::ssize(values) == from.count(), "as many values as the buffer has");
  if (from.element() == Element::fp32) return backend.read(from, std::as_writable_bytes(values));
  read_into(backend, from, values);
}

void write_random(Backend& backend, Buffer& to, std::uint64_t seed, double low, double high) {
  core::Random random(seed);
  const bool whole = to.element() == Element::int64;
  const auto draw = [&](std::int64_t) {
    const double value = low + (high - low) * random.unit();
    return whole ? std::floor(value) : value;
  };
  write_each(backend, to, draw, kDrawn);
}

void poison(Backend& backend, Buffer& to) {
  const double value = to.element() == Element::int64
                           ? static_cast<double>(std::numeric_limits<std::int64_t>::min())
                           : std::numeric_limits<double>::quiet_NaN();
  write_each(
      backend, to, [value](std::int64_t) { return value; }, 1);
}

std::unique_ptr<Buffer> allocate(Backend& backend, const Slot& slot) {
  return backend.allocate(slot.element, slot.count());
}

}  // namespace penstock::kernels
