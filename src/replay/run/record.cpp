#include "run/record.hpp"

namespace penstock::replay {

IterationRecord::IterationRecord(const DevicePrograms& program) : messages(program.messages.size()) {
  for (const auto& list : program.devices) {
    instructions.emplace_back(list.size());
    held.emplace_back(list.size());
    collectives.emplace_back(list.size());
    reductions.emplace_back(list.size());
  }
}

void note_memory(const Worker& worker, std::size_t position, HeldMemory& held, DevicePeak& peak) {
  const Worker::WorkerMemory memory = worker.memory();
  held = {at(memory.now, plan::MemoryKind::activations), at(memory.now, plan::MemoryKind::buffers)};
  if (plan::total(memory.at_peak) > plan::total(peak.memory)) peak = {memory.at_peak, position};
}

void note_losses(const std::vector<Worker*>& workers, ReplayRecords& records) {
  records.losses.clear();
  for (const Worker* worker : workers)
    records.losses.push_back(worker != nullptr ? worker->losses() : std::vector<double>());
}

}  // namespace penstock::replay
