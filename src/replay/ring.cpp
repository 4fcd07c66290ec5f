#include "ring.hpp"

#include <algorithm>

namespace penstock::replay {
namespace {

/// Part q of n: numbers from `start` on.
struct Part {
  Part(std::size_t numbers, std::size_t n, std::size_t q)
      : start(numbers * q / n), count(numbers * (q + 1) / n - start) {}
  std::size_t start, count;
};

}  // namespace

/// Member i hands on part i, then i - 1, ...: first sums as they grow, then, from i + 1 on, whole ones.
std::size_t Ring::part_of(std::size_t step, std::size_t sender) const {
  return (sender + 2 * replicas_ - step) % replicas_;
}

std::vector<Parcel> Ring::parcels(const std::vector<core::DeviceId>& devices, core::Bytes bytes) const {
  std::vector<Parcel> out;
  for (std::size_t step = 0; step < 2 * (replicas_ - 1); ++step)
    for (std::size_t i = 0; i < replicas_; ++i) {
      const Part part(static_cast<std::size_t>(bytes.value()), replicas_, part_of(step, i));
      const auto size = static_cast<std::int64_t>(std::max<std::size_t>(1, part.count));
      out.push_back({devices[i], devices[(i + 1) % replicas_], core::Bytes(size)});
    }
  return out;
}

void Ring::run(Links& links, std::size_t member, Numbers& values, Numbers& room,
               const std::function<std::string()>& awaited) const {
  const std::size_t before = (member + replicas_ - 1) % replicas_;
  for (std::size_t step = 0; step < 2 * (replicas_ - 1); ++step) {
    const bool adds = step + 1 < replicas_;
    const Part given(values.size(), replicas_, part_of(step, member)),
        taken(values.size(), replicas_, part_of(step, before));
    Numbers& to = adds ? room : values;
    links.send(parcel(step, member), values.piece(given.start, given.count));
    links.open(parcel(step, before),
               [&to, begin = adds ? 0 : taken.start, count = taken.count] { return to.piece(begin, count); });
    links.wait(parcel(step, before), awaited);
    if (adds) values.add(taken.start, room, taken.count);
  }
}

/// A step of a replica comes after the last one of the replica before it, whose sum it reads. Nothing that it
/// writes is still to be read: sums have come round by then.
void Ring::put(const std::vector<std::unique_ptr<DeviceNumbers>>& values,
               const std::vector<std::unique_ptr<DeviceNumbers>>& rooms) {
  const std::size_t n = values.size();
  const Ring ring(n, 0);
  std::vector<std::unique_ptr<kernels::Mark>> done, next(n);
  for (const auto& row : values) done.push_back(row->stream().mark());
  for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t before = (i + n - 1) % n;
      const Part part(values[i]->size(), n, ring.part_of(step, before));
      kernels::Stream& stream = values[i]->stream();
      stream.wait(*done[before]);
      if (step + 1 < n) {
        rooms[i]->put_copy(0, *values[before], part.start, part.count, stream);
        values[i]->put_sum(part.start, *rooms[i], part.count);
      } else {
        values[i]->put_copy(part.start, *values[before], part.start, part.count, stream);
      }
      next[i] = stream.mark();
    }
    std::swap(done, next);
  }
}

void Ring::sum(std::vector<std::vector<float>>& values) {
  const std::size_t n = values.size();
  for (std::size_t q = 0; q < n; ++q) {
    const Part part(values.front().size(), n, q);
    for (std::size_t i = part.start; i < part.start + part.count; ++i) {
      float total = values[q][i];
      for (std::size_t k = 1; k < n; ++k) total += values[(q + k) % n][i];
      for (auto& replica : values) replica[i] = total;
    }
  }
}

}  // namespace penstock::replay
