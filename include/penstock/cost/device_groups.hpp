#pragma once
// Groups of devices that speak among themselves.

#include <compare>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include "penstock/core/ids.hpp"

namespace penstock::cost {

/// Lists of devices, which never change: copies share them, for the many reductions of one stage among many
/// devices. Safe to read from any thread.
class DeviceGroups {
 public:
  using List = std::vector<std::vector<core::DeviceId>>;

  DeviceGroups(List groups = {}) : list_(std::make_shared<const List>(std::move(groups))) {}

  const List& list() const { return *list_; }
  operator std::span<const std::vector<core::DeviceId>>() const { return *list_; }
  auto begin() const { return list_->begin(); }
  auto end() const { return list_->end(); }
  std::size_t size() const { return list_->size(); }
  const std::vector<core::DeviceId>& front() const { return list_->front(); }
  const std::vector<core::DeviceId>& operator[](std::size_t i) const { return (*list_)[i]; }
  /// Copies that share the lists, this one among them.
  std::int64_t owners() const { return list_.use_count(); }

  /// By what the lists hold.
  friend bool operator==(const DeviceGroups& a, const DeviceGroups& b) {
    return a.list_ == b.list_ || *a.list_ == *b.list_;
  }
  friend std::strong_ordering operator<=>(const DeviceGroups& a, const DeviceGroups& b) {
    return a.list_ == b.list_ ? std::strong_ordering::equal : *a.list_ <=> *b.list_;
  }

 private:
  std::shared_ptr<const List> list_;
};

}  // namespace penstock::cost
