#pragma once
// A barrier of replicas, made of messages.

#include <string>
#include <vector>

#include "links/links.hpp"

namespace penstock::replay {

/// Every member sends every other an empty message and waits for all of theirs.
class MessageBarrier {
 public:
  /// For n members (or none); its transfers are numbered from `first` on.
  MessageBarrier(std::size_t members, std::size_t first) : members_(members), first_(first) {}
  std::vector<DeviceTransfer> transfers(const std::vector<core::DeviceId>& devices) const {
    std::vector<DeviceTransfer> out;
    for (std::size_t from = 0; from < members_; ++from)
      for (std::size_t to = 0; to < members_; ++to)
        out.push_back({devices[from], devices[to], core::Bytes(0)});
    return out;
  }
  /// Returns once all have called it.
  void arrive_and_wait(TransferLinks& links, std::size_t member,
                       const std::function<std::string()>& awaited) const {
    for (std::size_t to = 0; to < members_; ++to) links.send(transfer(member, to), {});
    for (std::size_t from = 0; from < members_; ++from) links.wait(transfer(from, member), awaited);
  }

 private:
  std::size_t transfer(std::size_t from, std::size_t to) const { return first_ + from * members_ + to; }

  std::size_t members_, first_;
};

}  // namespace penstock::replay
