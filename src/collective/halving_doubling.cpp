#include <bit>

#include "ring.hpp"

namespace penstock::collective {
namespace {

void swap_round(MessageRounds& out, std::size_t count, std::size_t distance, std::int64_t bytes) {
  for (std::size_t i = 0; i < count; ++i) out.send(i, i ^ distance, bytes);
  out.arrive();
}

std::vector<Message> halve_and_double(const cluster::Cluster&, Group group, std::int64_t bytes) {
  const std::size_t count = std::bit_floor(group.size());
  MessageRounds out(group.size());
  // Members beyond a power of two fold into others first.
  for (std::size_t i = count; i < group.size(); ++i) out.send(i, i - count, bytes);
  out.arrive();
  // Reduce-scatter by recursive halving: partners at half the distance exchange half of what is left.
  std::vector<std::int64_t> sizes;  // of each halving, rounded up
  std::int64_t size = bytes;
  for (std::size_t distance = count / 2; distance > 0; distance /= 2) {
    size = (size + 1) / 2;
    sizes.push_back(size);
    swap_round(out, count, distance, size);
  }
  // All-gather by recursive doubling: the same rounds backwards.
  for (std::size_t distance = 1; distance < count; distance *= 2) {
    swap_round(out, count, distance, sizes.back());
    sizes.pop_back();
  }
  // The members that folded get the result.
  for (std::size_t i = count; i < group.size(); ++i) out.send(i - count, i, bytes);
  out.arrive();
  return out.take();
}

}  // namespace

/// Recursive halving, then doubling (Thakur, Rabenseifner, Gropp, IJHPCA 2005, section 4.4).
constinit const Algorithm kHalvingDoubling{
    .name = "halving_doubling",
    .applies = nullptr,
    .closed_form = nullptr,
    .scatters = false,
    .rounds_up = true,
    .messages = halve_and_double,
};

}  // namespace penstock::collective
