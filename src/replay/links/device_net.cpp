#include "links/device_net.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>

#include "penstock/core/error.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {
namespace {

using core::DeviceId;
using kernels::Invitation;

/// Appends an item with its size, so that several processes can combine theirs.
void append(Blob& to, const void* data, std::size_t size) {
  const auto* first = static_cast<const std::byte*>(data);
  to.insert(to.end(), reinterpret_cast<const std::byte*>(&size),
            reinterpret_cast<const std::byte*>(&size + 1));
  to.insert(to.end(), first, first + size);
}
Blob next(const Blob& from, std::size_t& at) {
  std::size_t size = 0;
  core::require(from.size() - at >= sizeof size, "all that was put together is there");
  std::memcpy(&size, from.data() + at, sizeof size);
  at += sizeof size;
  core::require(from.size() - at >= size, "all that was put together is there");
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(at);
  at += size;
  return {first, first + static_cast<std::ptrdiff_t>(size)};
}

std::string in_words(const std::vector<DeviceId>& devices) {
  std::string out;
  for (const DeviceId device : devices) out += fmt::format("{}{}", out.empty() ? "" : ", ", device.index());
  return out;
}

[[noreturn]] void refuse(const kernels::Backend& backend) {
  throw core::BadInput(
      fmt::format("{} reaches no devices of other processes: that takes whole GPUs, and a build with NCCL",
                  backend.name()));
}

}  // namespace

DeviceNet::DeviceNet(const MpiProcesses& processes, Monitor& monitor, ProcessLinks& links,
                     const std::vector<Worker*>& workers, const std::vector<DeviceMessage>& messages,
                     const ReductionList& reductions)
    : processes_(processes), workers_(workers) {
  if (on_host(links)) return;
  const std::vector<LibraryGroup> all = groups(messages, reductions);
  const std::vector<Invitation> invited = invitations(links, all);
  for (std::size_t g = 0; g < all.size(); ++g) join(monitor, all[g], invited[g]);
}

/// Processes of other machines check theirs.
bool DeviceNet::on_host(ProcessLinks& links) const {
  Blob own;
  for (Worker* const worker : workers_) {
    if (worker == nullptr) continue;
    const std::string place = replay::on_host(worker->backend()) ? "" : worker->backend().place();
    append(own, place.data(), place.size());
  }
  const std::vector<Blob> all = links.all_gather(std::move(own));
  const std::vector<int>& neighbours = processes_.on_this_machine();
  std::map<std::string, int> seen;
  bool host = false, others = false;
  for (int rank = 0; rank < processes_.size(); ++rank) {
    const Blob& told = all[static_cast<std::size_t>(rank)];
    for (std::size_t at = 0; at < told.size();) {
      const Blob bytes = next(told, at);
      const std::string place(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      (place.empty() ? host : others) = true;
      if (place.empty() || std::ranges::count(neighbours, rank) == 0) continue;
      if (const auto [known, fresh] = seen.try_emplace(place, rank); !fresh)
        throw core::BadInput(fmt::format("processes {} and {} are both on {}; each needs GPUs of its own",
                                         known->second, rank, place));
    }
  }
  if (host && others) throw core::BadInput("devices of the host and others do not run side by side");
  return host;
}

/// Groups in an order that is equal in all processes.
std::vector<DeviceNet::LibraryGroup> DeviceNet::groups(const std::vector<DeviceMessage>& messages,
                                                       const ReductionList& reductions) const {
  const auto spans = [&](const Devices& devices) {
    return std::ranges::any_of(devices, [&](DeviceId device) {
      return processes_.host(device) != processes_.host(devices.front());
    });
  };
  std::set<Devices> sums, ways;
  for (const GradientReduction& reduction : reductions.list)
    if (spans(reduction.devices)) sums.insert(reduction.devices);
  for (const DeviceMessage& message : messages)
    if (const Devices way = {message.sender, message.receiver}; message.bytes.value() > 0 && spans(way))
      ways.insert(way);
  std::vector<LibraryGroup> out;
  for (const Devices& devices : sums) out.push_back({devices, true});
  for (const Devices& devices : ways) out.push_back({devices, false});
  return out;
}

/// [group] invitation, made by the process of its first device.
std::vector<Invitation> DeviceNet::invitations(ProcessLinks& links,
                                               const std::vector<LibraryGroup>& groups) const {
  Blob own;
  for (const LibraryGroup& group : groups) {
    if (!here(group.devices.front())) continue;
    const Invitation made = backend(group.devices.front()).invite();
    if (made.empty()) refuse(backend(group.devices.front()));
    append(own, made.data(), made.size());
  }
  const std::vector<Blob> all = links.all_gather(std::move(own));
  std::vector<std::size_t> at(all.size());
  std::vector<Invitation> out;
  for (const LibraryGroup& group : groups) {
    const auto rank = static_cast<std::size_t>(processes_.host(group.devices.front()));
    out.push_back(next(all[rank], at[rank]));
  }
  return out;
}

/// Processes join groups in one order, so that every process that is waited for is on its way.
void DeviceNet::join(Monitor& monitor, const LibraryGroup& group, const Invitation& invitation) {
  std::vector<kernels::Backend*> ranks;
  std::vector<std::size_t> own;
  for (std::size_t r = 0; r < group.devices.size(); ++r) {
    const DeviceId device = group.devices[r];
    ranks.push_back(here(device) ? &backend(device) : nullptr);
    if (here(device)) own.push_back(r);
  }
  if (own.empty()) return;
  auto library = ranks[own.front()]->collectives(ranks, invitation);
  if (library == nullptr) refuse(*ranks[own.front()]);
  monitor.wait([&] { return std::ranges::all_of(own, [&](std::size_t r) { return library->settled(r); }); },
               [&] { return fmt::format("devices {} wait for each other", in_words(group.devices)); });
  if (group.sum)
    sums_.emplace(group.devices, std::move(library));
  else
    channels_.add({group.devices[0], group.devices[1]}, own.front(), *ranks[own.front()], std::move(library));
}

void DeviceNet::abort() {
  for (const auto& [devices, library] : sums_) library->abort();
  channels_.abort();
}

}  // namespace penstock::replay
