#include "links/reducers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "words.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {

GradientReducers::GradientReducers(Monitor& monitor, const ReductionList& reductions, const plan::Plan& plan,
                                   const std::vector<Worker*>& workers,
                                   const std::vector<std::unique_ptr<PieceCopier>>& copiers,
                                   std::size_t first_transfer)
    : monitor_(monitor),
      reductions_(reductions),
      plan_(plan),
      workers_(workers),
      copiers_(copiers),
      devices_(reductions.at.size()),
      scratch_(reductions.at.size()) {
  for (auto& scratch : scratch_) scratch = std::vector<ReducerScratch>(reductions.list.size());
  const bool on_host = std::ranges::all_of(copiers, [](const auto& copier) { return copier == nullptr; });
  for (const GradientReduction& reduction : reductions.list) {
    rings_.emplace_back(reduction.devices.size(), reduction.bytes, first_transfer, on_host);
    first_transfer += rings_.back().transfers(reduction.devices).size();
    barriers_.emplace_back(on_host ? 0 : reduction.devices.size(), first_transfer);
    first_transfer += barriers_.back().transfers(reduction.devices).size();
    find_library(reduction);
  }
}

void GradientReducers::find_library(const GradientReduction& reduction) {
  std::vector<kernels::Backend*> ranks;
  for (const core::DeviceId device : reduction.devices) {
    if (workers_[device.index()] == nullptr) return;  // belongs to another process
    ranks.push_back(&workers_[device.index()]->backend());
  }
  const auto [found, fresh] = libraries_.try_emplace(reduction.devices);
  if (fresh) found->second = ranks.front()->collectives(ranks);
}

void GradientReducers::add_transfers(std::vector<DeviceTransfer>& transfers) const {
  for (std::size_t r = 0; r < rings_.size(); ++r) {
    const auto& devices = reductions_.list[r].devices;
    for (const DeviceTransfer& transfer : rings_[r].transfers(devices)) transfers.push_back(transfer);
    for (const DeviceTransfer& transfer : barriers_[r].transfers(devices)) transfers.push_back(transfer);
  }
}

std::vector<std::jthread> GradientReducers::start(TransferLinks& links) {
  std::vector<bool> sums(devices_.size());
  for (const GradientReduction& reduction : reductions_.list)
    for (const core::DeviceId device : reduction.devices) sums[device.index()] = true;
  std::vector<std::jthread> threads;
  for (std::size_t d = 0; d < sums.size(); ++d)
    if (sums[d] && workers_[d] != nullptr) threads.emplace_back([this, &links, d] { serve(links, d); });
  return threads;
}

void GradientReducers::begin(std::size_t device, std::size_t position) {
  if (reductions_.at[device][position] < 0) return;
  const auto r = static_cast<std::size_t>(reductions_.at[device][position]);
  ReductionTask task{position, terms(reductions_.list[r], plan_, core::DeviceId(device), *workers_[device])};
  monitor_.change([&] { devices_[device].tasks.push_back(std::move(task)); });
}

void GradientReducers::wait_for(std::size_t device, std::size_t position, const DeviceInstruction& step) {
  const std::int32_t wanted = reductions_.at[device][position];
  if (wanted < 0) return;
  const DeviceSums& own = devices_[device];
  monitor_.wait(
      [&] {
        for (std::size_t t = 0; t < own.ended; ++t)
          if (reductions_.at[device][own.tasks[t].position] == wanted) return true;
        return false;
      },
      [&] { return task_name(core::DeviceId(device), step) + " waits for its sum of gradients"; });
}

void GradientReducers::wait_for_all(std::size_t device) {
  const DeviceSums& own = devices_[device];
  monitor_.wait([&] { return own.ended == own.tasks.size(); },
                [&] { return fmt::format("device {} waits for its sums of gradients", device); });
}

void GradientReducers::reset() {
  devices_.assign(devices_.size(), {});
}

void GradientReducers::note(IterationRecord& record) const {
  for (std::size_t d = 0; d < devices_.size(); ++d)
    for (const ReductionTask& task : devices_[d].tasks) record.reductions[d][task.position] = task.when;
}

void GradientReducers::serve(TransferLinks& links, std::size_t device) {
  DeviceSums& own = devices_[device];
  try {
    for (;;) {
      ReductionTask task;
      bool closed = false;
      monitor_.idle([&] {
        closed = closed_;
        if (own.begun == own.tasks.size()) return closed;
        task = std::move(own.tasks[own.begun++]);
        return true;
      });
      if (task.terms.empty() && closed) return;
      task.when.start = monitor_.now();
      sum(links, device, task);
      task.terms.clear();  // waiters for this sum may now release its gradients
      task.when.end = monitor_.now();
      monitor_.change([&] { own.tasks[own.ended++].when = task.when; });
    }
  } catch (const EndSignal&) {
  } catch (...) {
    monitor_.fail(told(fmt::format("device {}, sum of gradients", device)));
  }
}

void GradientReducers::sum(TransferLinks& links, std::size_t device, const ReductionTask& task) {
  const auto r = static_cast<std::size_t>(reductions_.at[device][task.position]);
  const auto& devices = reductions_.list[r].devices;
  const auto member = std::find(devices.begin(), devices.end(), core::DeviceId(device)) - devices.begin();
  const auto awaited = [&] {
    return fmt::format("device {} waits for a sum of gradients of stage {}", device,
                       reductions_.list[r].stage.index());
  };
  if (copiers_[device] == nullptr)
    sum_on_host(links, r, static_cast<std::size_t>(member), device, task.terms, awaited);
  else
    sum_on_device(links, r, static_cast<std::size_t>(member), device, task.terms, awaited);
}

void GradientReducers::sum_on_host(TransferLinks& links, std::size_t r, std::size_t member,
                                   std::size_t device, const Terms& terms, const Awaited& awaited) {
  const ReducerScratch& scratch = scratch_[device][r];
  kernels::Backend& backend = workers_[device]->backend();
  const auto run = [&](const Pieces& gradients) {
    rings_[r].run(links, member, FloatPieces(gradients), scratch.ring, awaited);
  };
  if (terms.size() == 1 && plain(backend, terms[0])) return run(pieces(terms[0]));
  gather(backend, terms, *scratch.gathered);
  run({{scratch.gathered, reinterpret_cast<std::byte*>(scratch.gathered->data()),
        scratch.gathered->size() * sizeof(float)}});
  for (const auto& regions : terms) scatter(backend, regions, *scratch.gathered);
}

void GradientReducers::sum_on_device(TransferLinks& links, std::size_t r, std::size_t member,
                                     std::size_t device, const Terms& terms, const Awaited& awaited) {
  ReducerScratch& scratch = scratch_[device][r];
  auto& [values, room] = scratch.on_device;
  if (values == nullptr) {
    values = make_accumulator(workers_[device]->backend(), copiers_[device].get(), terms[0]);
    room = values->room(std::max<std::size_t>(1, rings_[r].largest_part(values->size())));
  }
  values->take(terms[0]);
  for (std::size_t t = 1; t < terms.size(); ++t) {
    const auto more = values->room(values->size());
    more->take(terms[t]);
    values->add(0, *more, values->size());
  }
  if (!sum_by_library(links, r, member, *values, awaited))
    rings_[r].run(links, member, *values, *room, awaited);
  for (const auto& regions : terms) values->give(regions);
}

bool GradientReducers::sum_by_library(TransferLinks& links, std::size_t r, std::size_t member,
                                      GradientAccumulator& values, const Awaited& awaited) {
  const auto library = libraries_.find(reductions_.list[r].devices);
  if (library == libraries_.end() || library->second == nullptr) return false;
  barriers_[r].arrive_and_wait(links, member, awaited);
  bool summed = false;
  monitor_.work([&] { summed = values.sum(*library->second, member); });
  return summed;
}

}  // namespace penstock::replay
