#pragma once
// Private to the room: batch sizes in files.

#include <fmt/format.h>

#include <charconv>

#include "penstock/core/yaml.hpp"

namespace penstock::cost {

inline constexpr std::int64_t kMostBatch = std::int64_t{1} << 40;

/// Batch size that is a mapping's key, which `node` is under. Throws BadInput.
inline std::int64_t batch_size(const std::string& key, const core::Yaml& node) {
  std::int64_t samples = 0;
  const auto [rest, fault] = std::from_chars(key.data(), key.data() + key.size(), samples);
  if (fault != std::errc() || rest != key.data() + key.size() || samples < 1 || samples > kMostBatch)
    node.fail(fmt::format("expected a batch size as key, found '{}'", key));
  return samples;
}

}  // namespace penstock::cost
