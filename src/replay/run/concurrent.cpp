#include "run/concurrent.hpp"

#include <fmt/format.h>

#include <thread>

#include "groups/process_groups.hpp"
#include "links/copier.hpp"
#include "links/device_net.hpp"
#include "links/gathered.hpp"
#include "links/reducers.hpp"
#include "links/thread_links.hpp"
#include "penstock/core/error.hpp"
#include "run/cores.hpp"
#include "words.hpp"
#include "worker/regions.hpp"

namespace penstock::replay {
namespace {

using core::DeviceId;

using Copiers = std::vector<std::unique_ptr<PieceCopier>>;

/// [device] null on the host, and without a worker.
Copiers copiers_for(const std::vector<Worker*>& workers) {
  Copiers out;
  for (Worker* worker : workers) {
    const bool device = worker != nullptr && !on_host(worker->backend());
    out.push_back(device ? std::make_unique<PieceCopier>(worker->backend()) : nullptr);
  }
  return out;
}

class ReplaySession {
 public:
  ReplaySession(const DevicePrograms& program, const cost::Problem& problem, const plan::Plan& plan,
                const std::vector<Worker*>& workers, const ReplayOptions& options)
      : program_(program),
        workers_(workers),
        reductions_(program, problem.graph, plan),
        arrivals_(copiers_for(workers)),
        moves_(copiers_for(workers)),
        monitor_(options.patience, options.stop),
        sums_(monitor_, reductions_, plan, workers, arrivals_, program.messages.size()),
        processes_(options.processes),
        local_(
            monitor_, problem.cluster, transfers(), options.throttle, [this](DeviceId d) { return here(d); },
            [this](std::size_t transfer) { return transfer_name(transfer); }),
        process_groups_(
            monitor_, PeerGroups(plan), processes_, options.throttle,
            [this](const std::vector<int>& to, Blob note) { remote_->share(to, std::move(note)); }),
        warm_up_(options.warm_up),
        rounds_(options.warm_up + options.iterations),
        record_(program) {
    records_.peaks.resize(program.devices.size());
    for (std::size_t d = 0; d < program.devices.size(); ++d) {
      if (!works_here(d)) continue;
      ++devices_;
      if (GroupPeers* const peers = process_groups_.peers(DeviceId(d))) worker(d).join(*peers);
    }
    if (processes_ != nullptr)
      remote_ = connect(
          *processes_, monitor_, local_, transfers(), options.patience,
          [this](std::size_t transfer) { return transfer_name(transfer); },
          [this](Blob note) { process_groups_.arrive(std::move(note)); });
  }

  ReplayRecords run(const std::vector<int>& cores) {
    join_devices();
    {
      std::vector<std::jthread> threads = sums_.start(links());
      std::size_t next = 0;
      for (std::size_t d = 0; d < program_.devices.size(); ++d) {
        if (!works_here(d)) continue;
        const auto core = cores.empty() ? std::nullopt : std::optional(cores[next++ % cores.size()]);
        threads.emplace_back([this, d, core] { serve(d, core); });
      }
    }
    monitor_.rethrow();
    note_losses(workers_, records_);
    try {
      if (remote_) gather(program_, *processes_, *remote_, records_);
    } catch (const EndSignal&) {
      monitor_.rethrow();
    }
    return std::move(records_);
  }

 private:
  /// Connects devices of other processes, if they are not on the host.
  void join_devices() {
    if (!remote_) return;
    try {
      remote_->meet([&] { return fmt::format("process {} waits for the others", processes_->rank()); });
      net_.emplace(*processes_, monitor_, *remote_, workers_, program_.messages, reductions_);
      for (const auto& [devices, library] : net_->sums()) sums_.use(devices, library);
      remote_->use(net_->channels(), [this] { net_->abort(); });
    } catch (const EndSignal&) {
    } catch (...) {
      monitor_.fail(std::current_exception());
    }
    monitor_.rethrow();
  }

  const DeviceMessage& message(MessageId id) const { return program_.messages[static_cast<std::size_t>(id)]; }
  Worker& worker(std::size_t device) const { return *workers_[device]; }
  bool here(DeviceId device) const { return processes_ == nullptr || processes_->has(device); }
  bool works_here(std::size_t d) const { return !program_.devices[d].empty() && here(DeviceId(d)); }
  TransferLinks& links() { return remote_ ? static_cast<TransferLinks&>(*remote_) : local_; }

  std::vector<DeviceTransfer> transfers() const {
    std::vector<DeviceTransfer> out;
    for (const DeviceMessage& m : program_.messages) out.push_back({m.sender, m.receiver, m.bytes});
    sums_.add_transfers(out);
    return out;
  }
  std::string transfer_name(std::size_t transfer) const {
    return transfer < program_.messages.size() ? name(program_.messages[transfer]) : "a sum of gradients";
  }

  void serve(std::size_t device, std::optional<int> core) {
    if (core) pin(*core);
    try {
      for (int round = 0; round < rounds_; ++round) {
        meet(device, [&] { begin(round); });
        iterate(device);
      }
      if (meet(device, [&] { begin(rounds_); })) monitor_.change([&] { sums_.close(); });
    } catch (const EndSignal&) {
    } catch (...) {
      monitor_.fail(told(fmt::format("device {}", device)));
    }
  }

  void begin(int round) {
    if (round > warm_up_) keep();
    record_ = IterationRecord(program_);
    local_.reset();
    sums_.reset();
  }
  void keep() {
    for (std::size_t m = 0; m < record_.messages.size(); ++m)
      if (program_.messages[m].bytes.value() > 0) record_.messages[m] = local_.when(m);
    sums_.note(record_);
    shift(record_, ahead_);
    records_.iterations.push_back(std::move(record_));
  }

  void iterate(std::size_t device) {
    for (const MessageId id : program_.open_at_start[device]) open(device, id);
    const auto& instructions = program_.devices[device];
    for (std::size_t p = 0; p < instructions.size(); ++p) {
      try {
        perform(device, p);
      } catch (const EndSignal&) {
        throw;
      } catch (...) {
        monitor_.fail(told(task_name(DeviceId(device), instructions[p])));
        throw EndSignal{};
      }
    }
    sums_.wait_for_all(device);
  }

  void perform(std::size_t device, std::size_t p) {
    const DeviceInstruction& instruction = program_.devices[device][p];
    for (const MessageId id : instruction.receives) receive(device, instruction, id);
    if (instruction.kind == schedule::ActionKind::step) sums_.wait_for(device, p, instruction);
    if (instruction.kind == schedule::ActionKind::barrier) meet(device, {});
    TimeInterval& when = record_.instructions[device][p];
    when.start = monitor_.now();
    monitor_.work([&] { worker(device).run(instruction); });
    when.end = monitor_.now();
    record_.collectives[device][p] = process_groups_.taken(DeviceId(device));
    note_memory(worker(device), p, record_.held[device][p], records_.peaks[device]);
    for (const MessageId id : instruction.sends) send(device, id);
    for (const MessageId id : instruction.opens)
      if (message(id).sender != message(id).receiver) open(device, id);
    if (instruction.kind == schedule::ActionKind::reduce_gradient) sums_.begin(device, p);
  }

  void receive(std::size_t device, const DeviceInstruction& instruction, MessageId id) {
    if (message(id).sender == message(id).receiver) return;  // it moved when it was made
    links().wait(static_cast<std::size_t>(id), [&] {
      return task_name(DeviceId(device), instruction) + " waits for " + name(message(id));
    });
  }

  void send(std::size_t device, MessageId id) {
    const DeviceMessage& m = message(id);
    PieceCopier* const own = moves_[device].get();
    Pieces from = m.bytes.value() > 0 ? pieces(worker(device).outgoing(m), own) : Pieces();
    if (m.sender != m.receiver)
      links().send(static_cast<std::size_t>(id), std::move(from));
    else if (m.bytes.value() > 0)
      copy(from, pieces(worker(device).incoming(m), own));
  }

  void open(std::size_t device, MessageId id) {
    links().open(static_cast<std::size_t>(id), [this, device, id] {
      return pieces(worker(device).incoming(message(id)), arrivals_[device].get());
    });
  }

  /// Waits for all devices. The last one to arrive first runs `together`; returns true for it.
  bool meet(std::size_t device, const std::function<void()>& together) {
    const auto awaited = [&] { return fmt::format("device {} waits for the others", device); };
    int generation = 0;
    bool last = false;
    monitor_.change([&] {
      generation = generation_;
      last = ++here_ == devices_;
    });
    if (last) lead(together, awaited);
    monitor_.wait([&] { return generation_ != generation; }, awaited);
    return last;
  }

  /// Runs `together` for all devices of this process. No process sends data that belongs after it while
  /// others are before it.
  void lead(const std::function<void()>& together, const std::function<std::string()>& awaited) {
    if (remote_) remote_->meet(awaited);
    if (remote_ && together) ahead_ = remote_->ahead();
    monitor_.change([&] {
      if (together) together();
    });
    if (remote_ && together) remote_->meet(awaited);
    monitor_.change([&] {
      here_ = 0;
      ++generation_;
    });
  }

  const DevicePrograms& program_;
  const std::vector<Worker*>& workers_;
  const ReductionList reductions_;
  const Copiers arrivals_, moves_;  ///< [device] for its carrier's thread; for its own
  Monitor monitor_;
  GradientReducers sums_;
  const MpiProcesses* const processes_;
  ThreadLinks local_;
  std::optional<DeviceNet> net_;
  ProcessGroups process_groups_;
  std::unique_ptr<ProcessLinks> remote_;  ///< set if there are several processes
  const int warm_up_, rounds_;
  int devices_ = 0, here_ = 0, generation_ = 0;
  core::Seconds ahead_;     ///< offset of process 0's clock
  IterationRecord record_;  ///< of the current iteration; every device writes its own part
  ReplayRecords records_;   ///< every device writes its own peak
};

}  // namespace

ReplayRecords run_concurrent(const DevicePrograms& program, const cost::Problem& problem,
                             const plan::Plan& plan, const std::vector<Worker*>& workers,
                             const ReplayOptions& options, const std::vector<int>& cores) {
  return ReplaySession(program, problem, plan, workers, options).run(cores);
}

}  // namespace penstock::replay
