#include <algorithm>
#include <array>
#include <string>

#include "families.hpp"

namespace penstock::schedule {
namespace {

constexpr std::size_t kBlock = 6;
/// F and f: forward down and up; B and b: input gradient up and down; W and w: their weight gradients.
constexpr std::string_view kKinds = "FfBbWw";

using Lines = std::vector<std::string>;  ///< one character per slot and rank, blank where nothing runs

std::size_t kind_of(char c) {
  return kKinds.find(c);
}

/// Slots of the repeating block: down, up, then the gradients, each directly followed by its weight gradient.
Lines block(int p) {
  Lines lines(static_cast<std::size_t>(p), std::string(kBlock, ' '));
  int now = 0;
  const auto put = [&](int r, int slot, char c) {
    lines[static_cast<std::size_t>(r)][static_cast<std::size_t>(slot) % kBlock] = c;
  };
  for (int r = 0; r < p; ++r) put(r, ++now, 'F');
  for (int r = p; r-- > 0;) put(r, ++now, 'f');
  now += p % 3 == 0 ? 4 : 1;
  int cycle = (3 - (p + 2) % 3) % 3;
  const auto gradient = [&](int r, char b, char w) {
    put(r, now, b), put(r, now + 1, w);
    now += 2;
    if (++cycle == 3) cycle = 0, now += 3;
  };
  for (int r = 0; r < p; ++r) gradient(r, 'B', 'W');
  for (int r = p; r-- > 0;) gradient(r, 'b', 'w');
  return lines;
}

Lines repeated(const Lines& block, std::size_t times) {
  Lines out(block.size());
  for (std::size_t r = 0; r < block.size(); ++r)
    for (std::size_t k = 0; k < times; ++k) out[r] += block[r];
  return out;
}

/// Keeps the first micro-batch's occurrence at `slot` and the m - 1 after it.
void keep(std::string& line, std::size_t slot, std::size_t m) {
  for (std::size_t s = slot % kBlock; s < line.size(); s += kBlock)
    if (s < slot || s >= slot + kBlock * m) line[s] = ' ';
}

/// Follows the first micro-batch through all ranks and drops what is before and after its m micro-batches.
void keep_micro_batches(Lines& lines, std::size_t m) {
  std::size_t slot = kBlock;
  for (const char kind : std::string_view("FfBb")) {
    const bool upward = kind == 'f' || kind == 'b';
    for (std::size_t k = 0; k < lines.size(); ++k) {
      std::string& line = lines[upward ? lines.size() - 1 - k : k];
      slot = line.find(kind, slot);
      keep(line, slot, m);
      if (kind == 'B' || kind == 'b') keep(line, line.find(kind == 'B' ? 'W' : 'w', slot), m);
      ++slot;
    }
  }
}

/// Moves every pass to the earliest free slot that its inputs allow; forwards move only while the peak of the
/// whole schedule stays equal.
class WarmUpPhase {
 public:
  WarmUpPhase(Lines& lines, std::size_t m) : lines_(lines) {
    for (std::string& line : lines_) {
      auto& held = held_.emplace_back();
      int now = 0;
      for (const char c : line) {
        now += c == 'F' || c == 'f' ? 1 : c == 'W' || c == 'w' ? -1 : 0;
        held.push_back(now);
        peak_ = std::max(peak_, now);
      }
      count_.push_back({});
      slot_.emplace_back(m + 1);
    }
  }

  void run() {
    for (std::size_t i = 0; i < lines_[0].size(); ++i)
      for (std::size_t r = 0; r < lines_.size(); ++r)
        if (lines_[r][i] != ' ') move(r, i);
  }

 private:
  int slot(std::size_t r, std::size_t micro_batch, char kind) const {
    return slot_[r][micro_batch][kind_of(kind)];
  }

  int earliest(std::size_t r, std::size_t m, char kind) const {
    const std::size_t last = lines_.size() - 1;
    int after = m > 1 ? slot(r, m - 1, kind) : -1;
    const auto wait = [&](std::size_t rank, char other) { after = std::max(after, slot(rank, m, other)); };
    if (kind == 'W') wait(r, 'B');
    if (kind == 'w') wait(r, 'b');
    if (kind == 'F' && r > 0) wait(r - 1, 'F');
    if (kind == 'f') r == last ? wait(r, 'F') : wait(r + 1, 'f');
    if (kind == 'B') r == 0 ? wait(r, 'f') : wait(r - 1, 'W');  // both halves of a backward run as one
    if (kind == 'b') r == last ? wait(r, 'W') : wait(r + 1, 'w');
    return after + 1;
  }

  /// Earliest slot of a forward by memory: not before the last slot at which the rank is full.
  std::size_t room(std::size_t r, std::size_t from, std::size_t i) const {
    std::size_t place = i;
    while (place > from && held_[r][place - 1] < peak_) --place;
    while (place < i && lines_[r][place] != ' ') ++place;
    return place;
  }

  void move(std::size_t r, std::size_t i) {
    std::string& line = lines_[r];
    const char kind = line[i];
    const std::size_t m = ++count_[r][kind_of(kind)];
    auto to = static_cast<std::size_t>(earliest(r, m, kind));
    while (to < i && line[to] != ' ') ++to;
    if (kind == 'B' || kind == 'b')
      while (to < i && (line[to] != ' ' || line[to + 1] != ' ')) ++to;
    const bool ahead = kind == 'F' || kind == 'f';
    if (ahead && to < i) to = room(r, to, i);
    std::swap(line[to], line[i]);
    slot_[r][m][kind_of(kind)] = static_cast<int>(to);
    const int change = ahead ? 1 : kind == 'W' || kind == 'w' ? -1 : 0;
    for (std::size_t s = to; s < i; ++s) held_[r][s] += change;
  }

  Lines& lines_;
  int peak_ = 0;
  std::vector<std::vector<int>> held_;                 ///< [rank][slot] activations
  std::vector<std::array<std::size_t, 6>> count_;      ///< [rank][kind] micro-batches so far
  std::vector<std::vector<std::array<int, 6>>> slot_;  ///< [rank][micro-batch from 1][kind]
};

RankOrder row(const std::string& line, int p, int r) {
  RankOrder out;
  std::array<int, 4> next{};
  for (const char c : line) {
    if (kind_of(c) >= next.size()) continue;
    const int m = next[kind_of(c)]++, down = r, up = 2 * p - 1 - r;
    out.push_back(c == 'F'   ? forward(down, m)
                  : c == 'f' ? forward(up, m)
                  : c == 'B' ? backward(up, m)
                             : backward(down, m));
  }
  return out;
}

}  // namespace

Schedule v_1f1b(const ScheduleShape& shape) {
  demand(shape.chunks == 2, "two stages per rank");
  const int p = shape.ranks;
  const auto m = static_cast<std::size_t>(shape.micro_batches);
  Lines lines = repeated(block(p), static_cast<std::size_t>(4 * p) + m + 1);
  keep_micro_batches(lines, m);
  WarmUpPhase(lines, m).run();
  Schedule schedule{{}, zigzag_placement(p, 2)};
  for (int r = 0; r < p; ++r) schedule.ranks.push_back(row(lines[static_cast<std::size_t>(r)], p, r));
  return schedule;
}

}  // namespace penstock::schedule
