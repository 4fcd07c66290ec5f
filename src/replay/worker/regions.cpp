#include "worker/regions.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include "links/copier.hpp"
#include "penstock/core/error.hpp"
#include "penstock/kernels/values.hpp"

namespace penstock::replay {
namespace {

using kernels::Backend;
using kernels::Element;

std::size_t size(core::Bytes bytes) {
  return static_cast<std::size_t>(bytes.value());
}

std::byte* address(const Region& region) {
  return static_cast<std::byte*>(region.buffer->data()) + region.offset.value();
}

std::vector<std::byte> read(Backend& backend, const kernels::Buffer& buffer) {
  std::vector<std::byte> bytes(size(buffer.bytes()));
  backend.read(buffer, bytes);
  return bytes;
}

/// The region's part of its buffer, in numbers.
struct RegionPart {
  std::size_t first, count;
};
RegionPart part(const Region& region) {
  const std::int64_t each = kernels::size(region.buffer->element());
  return {static_cast<std::size_t>(region.offset.value() / each),
          static_cast<std::size_t>(region.bytes.value() / each)};
}

bool plain(const Backend& backend, const Region& region) {
  return on_host(backend) && region.buffer->element() == Element::fp32;
}

}  // namespace

std::size_t element_count(const std::vector<Region>& regions) {
  std::size_t out = 0;
  for (const Region& region : regions) out += part(region).count;
  return out;
}

bool on_host(const Backend& backend) {
  return backend.name() == "host";
}

Pieces pieces(const std::vector<Region>& regions, Copier* copier) {
  Pieces out;
  for (const Region& region : regions)
    out.push_back({region.buffer, address(region), size(region.bytes), copier});
  return out;
}

void copy(const Pieces& from, const Pieces& to) {
  core::require(from.size() == to.size(), "both ends of a message have the same tensors");
  for (std::size_t i = 0; i < from.size(); ++i)
    core::require(from[i].size == to[i].size, "both ends of a message have the same size");
  if (!to.empty() && to.front().copier != nullptr) return to.front().copier->copy(from, to);
  for (std::size_t i = 0; i < from.size(); ++i)
    if (from[i].size > 0 && from[i].data != to[i].data) std::memcpy(to[i].data, from[i].data, from[i].size);
}

void copy(const std::vector<Region>& from, Backend& sender, const std::vector<Region>& to,
          Backend& receiver) {
  if (on_host(sender) && on_host(receiver)) return copy(pieces(from), pieces(to));
  core::require(from.size() == to.size(), "both ends of a message have the same tensors");
  for (std::size_t i = 0; i < from.size(); ++i) {
    const auto source = read(sender, *from[i].buffer);
    auto target = read(receiver, *to[i].buffer);
    core::require(from[i].bytes == to[i].bytes, "both ends of a message have the same size");
    std::copy_n(source.begin() + from[i].offset.value(), from[i].bytes.value(),
                target.begin() + to[i].offset.value());
    receiver.write(*to[i].buffer, target);
  }
}

bool plain(const Backend& backend, const std::vector<Region>& regions) {
  return std::ranges::all_of(regions, [&](const Region& region) { return plain(backend, region); });
}

std::vector<float> gather(Backend& backend, const std::vector<Region>& regions) {
  std::vector<float> out;
  gather(backend, regions, out);
  return out;
}

void gather(Backend& backend, const std::vector<Region>& regions, std::vector<float>& out) {
  out.resize(element_count(regions));
  auto to = out.begin();
  for (const Region& region : regions) {
    const auto [first, count] = part(region);
    if (plain(backend, region)) {
      std::memcpy(&*to, address(region), size(region.bytes));
    } else {
      const auto values = kernels::read_values(backend, *region.buffer);
      std::transform(values.begin() + static_cast<std::ptrdiff_t>(first),
                     values.begin() + static_cast<std::ptrdiff_t>(first + count), to,
                     [](double value) { return static_cast<float>(value); });
    }
    to += static_cast<std::ptrdiff_t>(count);
  }
}

void gather(Backend& backend, const std::vector<std::vector<Region>>& terms, std::vector<float>& out) {
  gather(backend, terms.front(), out);
  for (std::size_t t = 1; t < terms.size(); ++t) {
    const auto more = gather(backend, terms[t]);
    std::transform(out.begin(), out.end(), more.begin(), out.begin(), std::plus<>());
  }
}

void scatter(Backend& backend, const std::vector<Region>& regions, const std::vector<float>& values) {
  core::require(values.size() == element_count(regions), "as many numbers as the regions have");
  auto from = values.begin();
  for (const Region& region : regions) {
    const auto [first, count] = part(region);
    if (plain(backend, region)) {
      std::memcpy(address(region), &*from, size(region.bytes));
    } else {
      auto all = kernels::read_values(backend, *region.buffer);
      std::copy_n(from, count, all.begin() + static_cast<std::ptrdiff_t>(first));
      kernels::write_values(backend, *region.buffer, all);
    }
    from += static_cast<std::ptrdiff_t>(count);
  }
}

Floats::Floats(Backend& backend, kernels::Buffer& buffer) : backend_(backend), buffer_(buffer) {
  if (on_host(backend) && buffer.element() == Element::fp32) {
    values_ = {static_cast<float*>(buffer.data()), static_cast<std::size_t>(buffer.count())};
    return;
  }
  const auto values = kernels::read_values(backend, buffer);
  copy_.assign(values.begin(), values.end());
  values_ = copy_;
}

void Floats::write_back() const {
  if (!copy_.empty())
    kernels::write_values(backend_, buffer_, std::vector<double>(copy_.begin(), copy_.end()));
}

}  // namespace penstock::replay
