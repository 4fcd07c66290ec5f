#pragma once
// Where replicas wait for each other.

#include <string>
#include <vector>

#include "links.hpp"

namespace penstock::replay {

/// Each tells each other that it has come, by a parcel without bytes.
class Rendezvous {
 public:
  /// Of n members or none; its parcels are numbered from `first` on.
  Rendezvous(std::size_t members, std::size_t first) : members_(members), first_(first) {}
  std::vector<Parcel> parcels(const std::vector<core::DeviceId>& devices) const {
    std::vector<Parcel> out;
    for (std::size_t from = 0; from < members_; ++from)
      for (std::size_t to = 0; to < members_; ++to)
        out.push_back({devices[from], devices[to], core::Bytes(0)});
    return out;
  }
  /// Returns once all have come.
  void meet(Links& links, std::size_t member, const std::function<std::string()>& awaited) const {
    for (std::size_t to = 0; to < members_; ++to) links.send(parcel(member, to), {});
    for (std::size_t from = 0; from < members_; ++from) links.wait(parcel(from, member), awaited);
  }

 private:
  std::size_t parcel(std::size_t from, std::size_t to) const { return first_ + from * members_ + to; }

  std::size_t members_, first_;
};

}  // namespace penstock::replay
