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

std::byte* address(const BufferRegion& region) {
  return static_cast<std::byte*>(region.buffer->data()) + region.offset.value();
}

std::int64_t count(const BufferRegion& region) {
  return region.bytes.value() / kernels::size(region.buffer->element());
}

BufferSlice slice(const BufferRegion& region) {
  return {region.buffer->element(), count(region), address(region)};
}

bool plain(const Backend& backend, const BufferRegion& region) {
  return on_host(backend) && region.buffer->element() == Element::fp32;
}

}  // namespace

std::size_t element_count(const std::vector<BufferRegion>& regions) {
  std::size_t out = 0;
  for (const BufferRegion& region : regions) out += static_cast<std::size_t>(count(region));
  return out;
}

bool on_host(const Backend& backend) {
  return backend.name() == "host";
}

Pieces pieces(const std::vector<BufferRegion>& regions, PieceCopier* copier) {
  Pieces out;
  for (const BufferRegion& region : regions)
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

void copy(const std::vector<BufferRegion>& from, Backend& sender, const std::vector<BufferRegion>& to,
          Backend& receiver) {
  if (on_host(sender) && on_host(receiver)) return copy(pieces(from), pieces(to));
  core::require(from.size() == to.size(), "both ends of a message have the same tensors");
  std::vector<std::byte> bytes;
  for (std::size_t i = 0; i < from.size(); ++i) {
    core::require(from[i].bytes == to[i].bytes, "both ends of a message have the same size");
    bytes.resize(size(from[i].bytes));
    sender.read(slice(from[i]), bytes);
    BufferSlice target = slice(to[i]);
    receiver.write(target, bytes);
  }
}

bool plain(const Backend& backend, const std::vector<BufferRegion>& regions) {
  return std::ranges::all_of(regions, [&](const BufferRegion& region) { return plain(backend, region); });
}

std::vector<float> gather(Backend& backend, const std::vector<BufferRegion>& regions) {
  std::vector<float> out;
  gather(backend, regions, out);
  return out;
}

void gather(Backend& backend, const std::vector<BufferRegion>& regions, std::vector<float>& out) {
  out.resize(element_count(regions));
  std::span<float> left = out;
  for (const BufferRegion& region : regions) {
    const auto own = left.first(static_cast<std::size_t>(count(region)));
    kernels::read_floats(backend, slice(region), own);
    left = left.subspan(own.size());
  }
}

void gather(Backend& backend, const std::vector<std::vector<BufferRegion>>& terms, std::vector<float>& out) {
  gather(backend, terms.front(), out);
  for (std::size_t t = 1; t < terms.size(); ++t) {
    const auto more = gather(backend, terms[t]);
    std::transform(out.begin(), out.end(), more.begin(), out.begin(), std::plus<>());
  }
}

void scatter(Backend& backend, const std::vector<BufferRegion>& regions, const std::vector<float>& values) {
  core::require(values.size() == element_count(regions), "as many numbers as the regions have");
  std::span<const float> left = values;
  for (const BufferRegion& region : regions) {
    const auto own = left.first(static_cast<std::size_t>(count(region)));
    BufferSlice to = slice(region);
    kernels::write_floats(backend, to, own);
    left = left.subspan(own.size());
  }
}

FloatView::FloatView(Backend& backend, kernels::Buffer& buffer) : backend_(backend), buffer_(buffer) {
  if (on_host(backend) && buffer.element() == Element::fp32) {
    values_ = {static_cast<float*>(buffer.data()), static_cast<std::size_t>(buffer.count())};
    return;
  }
  copy_.resize(static_cast<std::size_t>(buffer.count()));
  kernels::read_floats(backend, buffer, copy_);
  values_ = copy_;
}

void FloatView::write_back() const {
  if (!copy_.empty()) kernels::write_floats(backend_, buffer_, copy_);
}

}  // namespace penstock::replay
