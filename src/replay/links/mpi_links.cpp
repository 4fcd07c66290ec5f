#include <fmt/format.h>

#include <array>
#include <chrono>
#include <cstring>
#include <limits>

#include "links/mpi_flights.hpp"
#include "links/process_links.hpp"
#include "penstock/core/error.hpp"
#include "words.hpp"

namespace penstock::replay {
namespace {

using core::Seconds;
using Clock = std::chrono::steady_clock;

constexpr Seconds kBeat{0.2}, kSilence{10};
constexpr std::chrono::seconds kFarewell{1};
constexpr int kPings = 8, kEagerPolls = 200;
constexpr std::chrono::microseconds kPause{100};

/// Kinds of notes between processes.
enum NoteKind : int {
  opened,    ///< the numbered transfer has a buffer at the receiver
  departed,  ///< the numbered transfer is on its channel
  beat,      ///< still alive; whether busy
  ping,      ///< time of sending
  pong,      ///< that time, and the answerer's
  failed,    ///< exit code and text
  noted,     ///< gathered or exchanged data
  shared     ///< data for the other end of `share`
};

template <class T>
Blob blob(const T& value) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  return {begin, begin + sizeof value};
}
template <class T>
T read(const Blob& bytes) {
  T out;
  core::require(bytes.size() == sizeof out, "a note is as long as its kind says");
  std::memcpy(&out, bytes.data(), sizeof out);
  return out;
}

/// Exit code and text of a failure, for other processes.
Blob in_words(const std::exception_ptr& why) {
  Blob out;
  try {
    std::rethrow_exception(why);
  } catch (const core::Error& error) {
    out = blob(error.code());
    const auto* text = reinterpret_cast<const std::byte*>(error.what());
    out.insert(out.end(), text, text + std::strlen(error.what()));
  }
  return out;
}

std::exception_ptr from_words(int rank, const Blob& bytes) {
  const auto code = read<core::ExitCode>({bytes.begin(), bytes.begin() + sizeof(core::ExitCode)});
  const std::string text(reinterpret_cast<const char*>(bytes.data()) + sizeof code,
                         bytes.size() - sizeof code);
  if (code == core::ExitCode::interrupted) return std::make_exception_ptr(core::InterruptedError());
  return std::make_exception_ptr(core::Error(code, fmt::format("process {}: {}", rank, text)));
}

void require_tags(std::size_t transfers) {
  int* most = nullptr;
  int known = 0;
  check_mpi(MPI_Comm_get_attr(MPI_COMM_WORLD, MPI_TAG_UB, &most, &known));
  if (known && transfers > static_cast<std::size_t>(*most))
    throw core::Error(core::ExitCode::limit,
                      fmt::format("{} messages, but this MPI tells {} apart", transfers, *most));
}

void require_one(const Blob& note, const char* otherwise) {
  if (note.size() > MpiFlights::kMostInOne) throw core::Error(core::ExitCode::limit, otherwise);
}

/// A receiver notifies the sender when its buffer is ready; the sender sends once it has data. Bytes go
/// directly from their source to their destination.
class MpiLinks : public ProcessLinks {
 public:
  MpiLinks(const MpiProcesses& processes, Monitor& monitor, ThreadLinks& local,
           std::vector<DeviceTransfer> transfers, Seconds patience,
           std::function<std::string(std::size_t)> name, std::function<void(Blob)> shared)
      : processes_(processes),
        monitor_(monitor),
        local_(local),
        transfers_(std::move(transfers)),
        silence_(std::min(patience, kSilence)),
        name_(std::move(name)),
        shared_(std::move(shared)),
        gathered_(static_cast<std::size_t>(processes.size())),
        outgoing_(transfers_.size()),
        heard_(gathered_.size()) {
    require_tags(transfers_.size());
    progress_thread_ = std::thread([this] { serve(); });
  }
  ~MpiLinks() override {
    order([this] { closed_ = true; });
    progress_thread_.join();
  }

  void send(std::size_t transfer, Pieces from) override {
    if (processes_.has(transfers_[transfer].receiver)) return local_.send(transfer, std::move(from));
    order([this, transfer, from = std::move(from)] {
      outgoing_[transfer].sent = true;
      outgoing_[transfer].from = from;
      depart_if_ready(transfer);
    });
  }
  void open(std::size_t transfer, std::function<Pieces()> room) override {
    local_.open(transfer, std::move(room));
    const int host = processes_.host(transfers_[transfer].sender);
    if (host != processes_.rank()) order([=, this] { tell(host, NoteKind::opened, blob(transfer)); });
  }
  void wait(std::size_t transfer, const std::function<std::string()>& awaited) override {
    local_.wait(transfer, awaited);
  }

  void meet(const std::function<std::string()>& awaited) override {
    const int wanted = ++barriers_;
    order([this] {
      MPI_Request request;
      check_mpi(MPI_Ibarrier(communicators().notes, &request));
      flights_.add(request, [this] { monitor_.change([&] { ++met_; }); });
    });
    monitor_.wait([&] { return met_ >= wanted; }, awaited);
  }

  Seconds ahead() override {
    if (processes_.rank() == 0) return {};
    monitor_.change([&] { pongs_ = 0, quickest_ = Seconds(std::numeric_limits<double>::infinity()); });
    order([this] { tell(0, NoteKind::ping, blob(monitor_.now())); });
    monitor_.wait([&] { return pongs_ == kPings; },
                  [&] { return fmt::format("process {} waits for the time", processes_.rank()); });
    return ahead_;
  }

  std::vector<Blob> gather(Blob own) override { return collect(std::move(own), false); }
  std::vector<Blob> all_gather(Blob own) override { return collect(std::move(own), true); }

  void use(DeviceChannels& channels, std::function<void()> abort) override {
    order([this, &channels, abort = std::move(abort)] {
      channels_ = &channels;
      abort_ = abort;
    });
  }

  void share(const std::vector<int>& to, Blob note) override {
    require_one(
        note,
        "a device shares more than 1 GiB with its group in other processes: replay it by one process, "
        "or with smaller micro-batches");
    const auto owner = std::make_shared<Blob>(std::move(note));
    order([this, to, owner] {
      for (const int rank : to)
        flights_.send(communicators().notes, rank, NoteKind::shared, {{owner, owner->data(), owner->size()}});
    });
  }

 private:
  /// Collects the data of all processes, at process 0 or at all, before any of them contributes again.
  std::vector<Blob> collect(Blob own, bool by_all) {
    require_one(own, "a process has noted more than 1 GiB: ask for fewer iterations");
    const auto words = [this] {
      return fmt::format("process {} waits for what others noted", processes_.rank());
    };
    const auto rank = static_cast<std::size_t>(processes_.rank());
    if (by_all)
      order([this, own] { tell_all(NoteKind::noted, own); });
    else if (rank > 0)
      order([this, own] { tell(0, NoteKind::noted, own); });
    std::vector<Blob> out;
    if (by_all || rank == 0) {
      monitor_.wait([&] { return came_ + 1 == heard_.size(); }, words);
      came_ = 0;
      out = std::exchange(gathered_, std::vector<Blob>(heard_.size()));
      out[rank] = std::move(own);
    }
    meet(words);
    return out;
  }

  struct OutgoingTransfer {
    bool sent = false, opened = false;
    Pieces from;
  };

  /// Schedules work for the progress thread.
  void order(std::function<void()> what) {
    {
      const std::lock_guard lock(mutex_);
      orders_.push_back(std::move(what));
    }
    wake_.notify_one();
  }

  void serve() {
    try {
      for (int idle = 0; !closed_ && !monitor_.failure();) {
        idle = step() ? 0 : idle + 1;
        if (idle > kEagerPolls) pause();
      }
    } catch (...) {
      monitor_.fail(told(here()));
    }
    try {
      part();
    } catch (...) {
      monitor_.fail(told(here()));
    }
  }

  void part() {
    if (const auto why = monitor_.failure(); why) {
      if (!told_) tell_all(NoteKind::failed, in_words(why));
      if (abort_) abort_();
    }
    const Clock::time_point end = Clock::now() + kFarewell;
    while (!flights_.empty() && Clock::now() < end) flights_.land();
  }

  /// Makes progress; returns true if there was anything to do.
  bool step() {
    bool did = obey();
    MpiFlights::ArrivedMessage caller;
    while (MpiFlights::called(communicators().notes, caller)) {
      did = true;
      take_note(caller);
    }
    while (MpiFlights::called(communicators().transfers, caller)) did = true, receive(caller);
    did = flights_.land() || did;
    if (channels_ != nullptr) did = channels_->land() || did;
    keep_in_touch();
    return did;
  }

  /// Short notes are read at once: they keep their order, on which users of a channel rely.
  void take_note(const MpiFlights::ArrivedMessage& caller) {
    if (caller.tag != NoteKind::failed && caller.tag != NoteKind::noted && caller.tag != NoteKind::shared)
      return read_note(caller.from, caller.tag, MpiFlights::take(caller));
    flights_.receive(caller,
                     [this, caller](Blob bytes) { read_note(caller.from, caller.tag, std::move(bytes)); });
  }

  bool obey() {
    std::vector<std::function<void()>> orders;
    {
      const std::lock_guard lock(mutex_);
      orders.swap(orders_);
    }
    for (const auto& each : orders) each();
    return !orders.empty();
  }

  void pause() {
    std::unique_lock lock(mutex_);
    wake_.wait_for(lock, kPause, [this] { return !orders_.empty(); });
  }

  void tell(int to, NoteKind kind, Blob bytes) {
    flights_.send(communicators().notes, to, kind, std::move(bytes));
  }
  void tell_all(NoteKind kind, const Blob& bytes) {
    for (int to = 0; to < processes_.size(); ++to)
      if (to != processes_.rank()) tell(to, kind, bytes);
  }

  /// Starts the transfer if ready. An order without data needs no message from the receiver.
  void depart_if_ready(std::size_t transfer) {
    OutgoingTransfer& out = outgoing_[transfer];
    if (!out.sent || (!out.opened && transfers_[transfer].bytes.value() > 0)) return;
    local_.leave(transfer);
    const int host = processes_.host(transfers_[transfer].receiver);
    if (!out.from.empty() && out.from.front().copier != nullptr) {
      tell(host, NoteKind::departed, blob(transfer));
      channels_->put(way(transfer), std::move(out.from), [] {});
    } else {
      flights_.send(communicators().transfers, host, static_cast<int>(transfer), out.from);
    }
    out = {};
  }

  DeviceChannels::Way way(std::size_t transfer) const {
    return {transfers_[transfer].sender, transfers_[transfer].receiver};
  }

  void receive(const MpiFlights::ArrivedMessage& caller) {
    const auto transfer = static_cast<std::size_t>(caller.tag);
    if (transfers_[transfer].bytes.value() == 0)
      flights_.receive(communicators().transfers, caller, {}, [=, this] { local_.send(transfer, {}); });
    else if (const auto room = room_for(transfer))
      flights_.receive(communicators().transfers, caller, *room, [=, this] { local_.arrive(transfer); });
  }

  /// Returns none if there is no buffer because the replay has failed.
  std::optional<Pieces> room_for(std::size_t transfer) {
    try {
      return local_.expect(transfer);
    } catch (...) {
      monitor_.fail(told(name_(transfer)));
      return {};
    }
  }

  void read_note(int from, int kind, Blob bytes) {
    heard_[static_cast<std::size_t>(from)] = monitor_.now();
    if (kind == NoteKind::opened) {
      const auto transfer = read<std::size_t>(bytes);
      outgoing_.at(transfer).opened = true;
      depart_if_ready(transfer);
    } else if (kind == NoteKind::departed) {
      const auto transfer = read<std::size_t>(bytes);
      if (auto room = room_for(transfer))
        channels_->put(way(transfer), std::move(*room), [=, this] { local_.arrive(transfer); });
    } else if (kind == NoteKind::beat) {
      if (read<bool>(bytes)) monitor_.others_move();
    } else if (kind == NoteKind::ping) {
      tell(from, NoteKind::pong, blob(std::array{read<Seconds>(bytes), monitor_.now()}));
    } else if (kind == NoteKind::pong) {
      read_pong(read<std::array<Seconds, 2>>(bytes));
    } else if (kind == NoteKind::failed) {
      told_ = true;
      monitor_.fail(from_words(from, bytes));
    } else if (kind == NoteKind::shared) {
      shared_(std::move(bytes));
    } else {
      gathered_[static_cast<std::size_t>(from)] = std::move(bytes);
      monitor_.change([&] { ++came_; });
    }
  }

  void read_pong(const std::array<Seconds, 2>& times) {
    const Seconds now = monitor_.now(), way = now - times[0];
    if (way < quickest_) {
      quickest_ = way;
      ahead_ = times[1] - times[0] - way / 2;
    }
    if (pongs_ + 1 < kPings) tell(0, NoteKind::ping, blob(monitor_.now()));
    monitor_.change([&] { ++pongs_; });
  }

  /// Heartbeat: signals the others that this process lives, and whether they must be patient; detects
  /// processes that have become silent.
  void keep_in_touch() {
    const Seconds now = monitor_.now();
    if (now - beaten_ < kBeat) return;
    tell_all(NoteKind::beat, blob(monitor_.busy(beaten_)));
    beaten_ = now;
    for (int rank = 0; rank < processes_.size(); ++rank)
      if (const auto& heard = heard_[static_cast<std::size_t>(rank)]; heard && now - *heard > silence_)
        monitor_.lose(fmt::format("process {} has not been heard of for {:.3g} s", rank, silence_.value()));
  }

  std::string here() const { return fmt::format("process {}", processes_.rank()); }

  const MpiProcesses& processes_;
  Monitor& monitor_;
  ThreadLinks& local_;
  const std::vector<DeviceTransfer> transfers_;
  const Seconds silence_;
  const std::function<std::string(std::size_t)> name_;
  const std::function<void(Blob)> shared_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<std::function<void()>> orders_;

  // Guarded by the monitor's lock.
  int barriers_ = 0, met_ = 0, pongs_ = 0;
  std::size_t came_ = 0;
  Seconds quickest_, ahead_;
  std::vector<Blob> gathered_;  ///< [rank]

  // Used by the progress thread.
  bool closed_ = false, told_ = false;
  std::vector<OutgoingTransfer> outgoing_;     ///< [transfer]
  std::vector<std::optional<Seconds>> heard_;  ///< [rank] time of the last note, if any
  Seconds beaten_;
  MpiFlights flights_;
  DeviceChannels* channels_ = nullptr;  ///< set if there are devices other than the host
  std::function<void()> abort_;
  std::thread progress_thread_;
};

}  // namespace

std::unique_ptr<ProcessLinks> connect(const MpiProcesses& processes, Monitor& monitor, ThreadLinks& local,
                                      std::vector<DeviceTransfer> transfers, Seconds patience,
                                      std::function<std::string(std::size_t)> name,
                                      std::function<void(Blob)> shared) {
  return std::make_unique<MpiLinks>(processes, monitor, local, std::move(transfers), patience,
                                    std::move(name), std::move(shared));
}

}  // namespace penstock::replay
