#include "penstock/collective/catalogue.hpp"

namespace penstock::collective {

std::vector<Message> all_to_all(std::size_t members, std::int64_t bytes) {
  MessageRounds out(members);
  const auto n = static_cast<std::int64_t>(members);
  for (std::size_t step = 1; step < members; ++step) {
    for (std::size_t i = 0; i < members; ++i) {
      const std::size_t to = (i + step) % members;
      out.send(i, to, nearly_equal_part(bytes, n * n, static_cast<std::int64_t>(i * members + to)));
    }
    out.arrive();
  }
  return out.take();
}

}  // namespace penstock::collective
