#include "groups/shared_note.hpp"

#include <cstring>

#include "penstock/core/error.hpp"

namespace penstock::replay {
namespace {

constexpr std::size_t kWord = sizeof(std::uint64_t);

std::size_t in_words(std::size_t bytes) {
  return (bytes + kWord - 1) / kWord;
}

}  // namespace

// Format: group, member, round, number of buffers, the size of each; then the buffers, in whole words.
Blob written(const SharedNote& note, const GroupPeers::Shared& shared) {
  std::vector<std::uint64_t> heading = {note.group, note.member, note.round, shared.size()};
  for (const auto& buffer : shared) heading.push_back(buffer.size());
  std::size_t words = heading.size();
  for (const auto& buffer : shared) words += in_words(buffer.size());
  Blob out(words * kWord);
  std::memcpy(out.data(), heading.data(), heading.size() * kWord);
  std::size_t at = heading.size() * kWord;
  for (const auto& buffer : shared) {
    if (!buffer.empty()) std::memcpy(out.data() + at, buffer.data(), buffer.size());
    at += in_words(buffer.size()) * kWord;
  }
  return out;
}

SharedNote read_shared(const Blob& bytes, GroupPeers::Shared& shared) {
  const auto word = [&](std::size_t i) {
    core::require(i < bytes.size() / kWord, "what a device shares is as long as it says");
    std::uint64_t out = 0;
    std::memcpy(&out, bytes.data() + i * kWord, kWord);
    return out;
  };
  const std::uint64_t buffers = word(3);
  shared.clear();
  for (std::uint64_t b = 0, at = 4 + buffers; b < buffers; ++b) {
    const std::uint64_t size = word(4 + b);
    core::require(at * kWord <= bytes.size() && size <= bytes.size() - at * kWord,
                  "what a device shares is as long as it says");
    shared.emplace_back(bytes.data() + at * kWord, size);
    at += in_words(size);
  }
  return {word(0), word(1), word(2)};
}

}  // namespace penstock::replay
