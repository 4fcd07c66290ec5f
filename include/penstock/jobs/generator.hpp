#pragma once
// Instances that generate sequences for reinforcement learning, with continuous batching (Yu et al., Orca, OSDI 2022): a
// sequence joins and leaves the batch of its instance while others decode.

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <optional>
#include <queue>
#include <set>
#include <utility>
#include <vector>

#include "penstock/core/units.hpp"

namespace penstock::jobs {

/// Tokens per second of one instance, by the number of sequences that it decodes at once. Linear between entries; below the
/// first entry in proportion. The last entry is also the most sequences that an instance takes.
class DecodeRates {
 public:
  /// `entries`: numbers of sequences, ascending, with rates above zero; not empty.
  explicit DecodeRates(const std::vector<std::pair<int, double>>& entries);
  double tokens_per_s(int sequences) const { return rates_[static_cast<std::size_t>(sequences)]; }
  int most() const { return static_cast<int>(rates_.size()) - 1; }

 private:
  std::vector<double> rates_;  ///< [sequences]; [0] is zero
};

/// All instances of a generator and the queue before them. Sequences start in the order of the queue, each on the instance
/// that decodes the fewest, the lowest index among equal ones. Sequences of one instance share its rate equally. Lengths
/// are tokens to generate; prefill has no time of its own. Moments never descend from call to call.
class SequenceGenerator {
 public:
  /// At most `most` sequences decode at once on all instances together.
  SequenceGenerator(const DecodeRates& rates, int instances,
                    std::int64_t most = std::numeric_limits<std::int64_t>::max());

  /// Appends a sequence of a batch to the queue.
  void enqueue(std::int64_t batch, std::int64_t tokens) { queue_.push_back({batch, tokens}); }
  /// Starts sequences where instances have room. Calls `started` with the batch of each. No effect while paused or closed.
  void fill(core::Picoseconds now, const std::function<void(std::int64_t batch)>& started);
  /// Moment of the next end of a sequence; none if no sequence decodes, or while paused.
  std::optional<core::Picoseconds> next_end();
  /// Ends all sequences at that moment, or within a nanosecond of it, and returns their batches.
  std::vector<std::int64_t> end_sequences();

  void close() { closed_ = true; }  ///< no sequence starts any more
  void open() { closed_ = false; }
  void pause(core::Picoseconds now);  ///< no sequence gains tokens until resume()
  void resume(core::Picoseconds now);
  bool empty() const { return decoding_ == 0; }

  /// Time during which instances had sequences, summed over them, without pauses.
  core::Picoseconds busy(core::Picoseconds now) const;

 private:
  struct QueuedSequence {
    std::int64_t batch, tokens;
  };
  struct RunningSequence {
    double end;  ///< tokens that each sequence of the instance has gained since the instance was last empty
    std::int64_t batch;
    bool operator>(const RunningSequence& other) const {
      return end != other.end ? end > other.end : batch > other.batch;
    }
  };
  struct DecodingInstance {
    std::priority_queue<RunningSequence, std::vector<RunningSequence>, std::greater<>> running;
    double gained = 0;  ///< tokens per sequence at `since`
    std::int64_t since = 0;
    std::uint64_t version = 0;  ///< of its next end; events with another version are void
  };
  struct SequenceEnd {
    std::int64_t time;
    std::size_t instance;
    std::uint64_t version;
    bool operator>(const SequenceEnd& other) const {
      return time != other.time ? time > other.time : instance > other.instance;
    }
  };

  double sequence_rate(const DecodingInstance& instance) const;  ///< tokens per ps of one sequence
  void advance(DecodingInstance& instance, std::int64_t now);
  void schedule(std::size_t at);
  void end_on(std::size_t at, std::int64_t time, std::vector<std::int64_t>& ended);

  const DecodeRates& rates_;
  std::vector<DecodingInstance> instances_;
  std::deque<QueuedSequence> queue_;
  std::priority_queue<SequenceEnd, std::vector<SequenceEnd>, std::greater<>> ends_;
  std::set<std::pair<std::size_t, std::size_t>> by_load_;  ///< (sequences, instance)
  std::int64_t most_, decoding_ = 0, busy_ = 0;
  bool paused_ = false, closed_ = false;
};

}  // namespace penstock::jobs
