#pragma once
// A collective as messages between its members.

#include <cstdint>
#include <map>
#include <utility>
#include <vector>

namespace penstock::collective {

/// The i-th of n parts of `bytes`, as equal as can be; the first ones are larger.
inline std::int64_t nearly_equal_part(std::int64_t bytes, std::int64_t n, std::int64_t i) {
  return bytes / n + (i < bytes % n ? 1 : 0);
}

using Members = std::vector<std::size_t>;  ///< indices into a group

/// One message, from one member to another.
struct Message {
  std::size_t from = 0, to = 0;
  std::int64_t bytes = 0;
  std::vector<std::size_t>
      after;  ///< messages (indices) that must have arrived; the sender's own gradients besides
};

/// Messages in rounds: those of one round are under way at once, what follows may build on them.
class Messages {
 public:
  explicit Messages(std::size_t members) : arrived_(members) {}
  /// Waits for all that has arrived at the sender so far, and for its own earlier message to the receiver.
  void send(std::size_t from, std::size_t to, std::int64_t bytes);
  void arrive();  ///< ends a round
  std::vector<Message> take() { return std::move(out_); }

 private:
  std::vector<Message> out_, pending_;
  std::vector<std::map<std::size_t, std::size_t>> arrived_;  ///< [member] the last message of each sender
};

}  // namespace penstock::collective
