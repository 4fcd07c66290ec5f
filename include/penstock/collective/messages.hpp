#pragma once
// A collective as messages between its members.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace penstock::collective {

/// The i-th of n parts of `bytes`, as equal as possible; the first ones are larger.
inline std::int64_t nearly_equal_part(std::int64_t bytes, std::int64_t n, std::int64_t i) {
  return bytes / n + (i < bytes % n ? 1 : 0);
}

using Members = std::vector<std::size_t>;  ///< indices into a group

/// One message, from one member to another.
struct Message {
  std::size_t from = 0, to = 0;
  std::int64_t bytes = 0;
  std::vector<std::size_t>
      after;  ///< indices of messages that must have arrived, besides the sender's own gradients
};

/// Messages in rounds: those of one round are under way at once; later ones may depend on them.
class MessageRounds {
 public:
  explicit MessageRounds(std::size_t members) : arrived_(members) {}
  /// The message waits for all that have arrived at the sender so far, and for the sender's earlier one to
  /// the receiver.
  void send(std::size_t from, std::size_t to, std::int64_t bytes);
  void arrive();  ///< ends a round
  std::vector<Message> take() { return std::move(out_); }

 private:
  std::vector<Message> out_, pending_;
  std::vector<std::map<std::size_t, std::size_t>> arrived_;  ///< [member] the last message of each sender
};

}  // namespace penstock::collective
