#include "penstock/collective/messages.hpp"

#include <utility>

namespace penstock::collective {

void MessageRounds::send(std::size_t from, std::size_t to, std::int64_t bytes) {
  Message message{from, to, bytes, {}};
  for (const auto& [sender, last] : arrived_[from]) message.after.push_back(last);
  if (const auto own = arrived_[to].find(from); own != arrived_[to].end())
    message.after.push_back(own->second);
  pending_.push_back(std::move(message));
}

void MessageRounds::arrive() {
  for (Message& message : pending_) {
    arrived_[message.to][message.from] = out_.size();
    out_.push_back(std::move(message));
  }
  pending_.clear();
}

}  // namespace penstock::collective
