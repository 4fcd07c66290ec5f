#include "links/ring.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace penstock::replay {
namespace {

constexpr std::size_t kSliceBytes = std::size_t{4} << 20, kMostSlices = 16;

/// Slice q of n of this many numbers, or of another slice, from `start` on.
struct RingSlice {
  RingSlice(std::size_t numbers, std::size_t n, std::size_t q)
      : start(numbers * q / n), count(numbers * (q + 1) / n - start) {}
  RingSlice(const RingSlice& whole, std::size_t n, std::size_t q) : RingSlice(whole.count, n, q) {
    start += whole.start;
  }
  std::size_t start, count;
};

void copy(const float* from, const Pieces& to) {
  for (const MemoryPiece& piece : to) {
    std::memcpy(piece.data, from, piece.size);
    from += piece.size / sizeof(float);
  }
}

}  // namespace

ReductionRing::ReductionRing(std::size_t replicas, core::Bytes bytes, std::size_t first, bool sliced)
    : replicas_(replicas),
      bytes_(static_cast<std::size_t>(bytes.value())),
      slices_(sliced ? std::clamp<std::size_t>(bytes_ / replicas / kSliceBytes, 1, kMostSlices) : 1),
      first_(first) {}

/// Member i passes on part i, then i - 1, ...: first partial sums (reduce-scatter), then, from i + 1 on,
/// complete ones (all-gather).
std::size_t ReductionRing::part_of(std::size_t step, std::size_t sender) const {
  return (sender + 2 * replicas_ - step) % replicas_;
}

std::vector<DeviceTransfer> ReductionRing::transfers(const std::vector<core::DeviceId>& devices) const {
  std::vector<DeviceTransfer> out;
  for (std::size_t move = 0; move < moves(); ++move)
    for (std::size_t i = 0; i < replicas_; ++i) {
      const RingSlice slice(RingSlice(bytes_, replicas_, part_of(move / slices_, i)), slices_,
                            move % slices_);
      const auto size = static_cast<std::int64_t>(std::max<std::size_t>(1, slice.count));
      out.push_back({devices[i], devices[(i + 1) % replicas_], core::Bytes(size)});
    }
  return out;
}

/// Work of one replica. It reads gradients and accumulates in `sums`, which neighbours read. So they find
/// their data even after the gradients have been replaced and used.
class ReductionRing::Member {
 public:
  Member(const ReductionRing& ring, TransferLinks& links, std::size_t member, const FloatPieces& gradients,
         const RingScratch& scratch)
      : ring_(ring),
        links_(links),
        member_(member),
        before_((member + ring.replicas_ - 1) % ring.replicas_),
        gradients_(gradients),
        scratch_(scratch) {
    scratch_.sums->resize(gradients.size());
    const std::size_t most = gradients.size() / (ring.replicas_ * ring.slices_) + 2;
    for (const auto& room : scratch_.rooms) room->resize(most);
  }

  /// With several slices the next move begins before the received one is added.
  void run(const std::function<std::string()>& awaited) const {
    if (ring_.moves() > 0) begin(0);
    for (std::size_t move = 0; move < ring_.moves(); ++move) {
      links_.wait(ring_.transfer(move, before_), awaited);
      const bool last = move + 1 == ring_.moves();
      if (!last && ring_.slices_ > 1) begin(move + 1);
      end(move);
      if (!last && ring_.slices_ == 1) begin(move + 1);
    }
  }

 private:
  RingSlice slice(std::size_t move, std::size_t sender) const {
    const RingSlice part(gradients_.size(), ring_.replicas_, ring_.part_of(move / ring_.slices_, sender));
    return {part, ring_.slices_, move % ring_.slices_};
  }
  bool adds(std::size_t move) const { return move / ring_.slices_ + 1 < ring_.replicas_; }
  /// True for moves whose arrival no later task waits for.
  bool ends(std::size_t move) const { return move + ring_.slices_ >= ring_.moves(); }
  /// Pieces of the sums, divided like the gradients.
  Pieces in_sums(const RingSlice& part) const {
    return laid_out(gradients_.part(part.start, part.count), scratch_.sums,
                    scratch_.sums->data() + part.start);
  }

  void begin(std::size_t move) const {
    const RingSlice given = slice(move, member_), taken = slice(move, before_);
    links_.send(ring_.transfer(move, member_),
                move < ring_.slices_ ? gradients_.part(given.start, given.count) : in_sums(given));
    links_.open(ring_.transfer(move, before_), [pieces = target(move, taken)] { return pieces; });
  }

  Pieces target(std::size_t move, const RingSlice& taken) const {
    const Pieces own = gradients_.part(taken.start, taken.count);
    const auto& room = scratch_.rooms[move % 2];
    if (adds(move)) return laid_out(own, room, room->data());
    return ends(move) ? own : in_sums(taken);
  }

  void end(std::size_t move) const {
    const RingSlice taken = slice(move, before_);
    const Pieces own = gradients_.part(taken.start, taken.count);
    float* const sums = scratch_.sums->data() + taken.start;
    if (adds(move)) add(own, scratch_.rooms[move % 2]->data(), sums);
    if (adds(move) ? !adds(move + ring_.slices_) : !ends(move)) copy(sums, own);
  }

  static void add(const Pieces& own, const float* came, float* sums) {
    for (const MemoryPiece& piece : own)
      for (const float value : floats(piece)) *sums++ = value + *came++;
  }

  const ReductionRing& ring_;
  TransferLinks& links_;
  std::size_t member_, before_;
  const FloatPieces& gradients_;
  const RingScratch& scratch_;
};

void ReductionRing::run(TransferLinks& links, std::size_t member, const FloatPieces& gradients,
                        const RingScratch& scratch, const std::function<std::string()>& awaited) const {
  Member(*this, links, member, gradients, scratch).run(awaited);
}

void ReductionRing::run(TransferLinks& links, std::size_t member, GradientAccumulator& values,
                        GradientAccumulator& room, const std::function<std::string()>& awaited) const {
  const std::size_t before = (member + replicas_ - 1) % replicas_;
  for (std::size_t step = 0; step < 2 * (replicas_ - 1); ++step) {
    const bool adds = step + 1 < replicas_;
    const RingSlice given(values.size(), replicas_, part_of(step, member)),
        taken(values.size(), replicas_, part_of(step, before));
    GradientAccumulator& to = adds ? room : values;
    links.send(transfer(step, member), values.piece(given.start, given.count));
    links.open(transfer(step, before),
               [&to, begin = adds ? 0 : taken.start, count = taken.count] { return to.piece(begin, count); });
    links.wait(transfer(step, before), awaited);
    if (adds) values.add(taken.start, room, taken.count);
  }
}

/// A step of a replica follows the last step of the replica before it, whose sum it reads. It writes nothing
/// that is still to be read, because sums have come round by then.
void ReductionRing::put(const std::vector<std::unique_ptr<DeviceAccumulator>>& values,
                        const std::vector<std::unique_ptr<DeviceAccumulator>>& rooms) {
  const std::size_t n = values.size();
  const ReductionRing ring(n, core::Bytes(0), 0, false);
  std::vector<std::unique_ptr<kernels::Event>> done, next(n);
  for (const auto& row : values) done.push_back(row->stream().record_event());
  for (std::size_t step = 0; step < 2 * (n - 1); ++step) {
    for (std::size_t i = 0; i < n; ++i) {
      const std::size_t before = (i + n - 1) % n;
      const RingSlice part(values[i]->size(), n, ring.part_of(step, before));
      kernels::Stream& stream = values[i]->stream();
      stream.wait(*done[before]);
      if (step + 1 < n) {
        rooms[i]->put_copy(0, *values[before], part.start, part.count, stream);
        values[i]->put_sum(part.start, *rooms[i], part.count);
      } else {
        values[i]->put_copy(part.start, *values[before], part.start, part.count, stream);
      }
      next[i] = stream.record_event();
    }
    std::swap(done, next);
  }
}

void ReductionRing::sum(std::span<std::vector<float>> values) {
  const std::size_t n = values.size();
  for (std::size_t q = 0; q < n; ++q) {
    const RingSlice part(values.front().size(), n, q);
    for (std::size_t i = part.start; i < part.start + part.count; ++i) {
      float total = values[q][i];
      for (std::size_t k = 1; k < n; ++k) total += values[(q + k) % n][i];
      for (auto& replica : values) replica[i] = total;
    }
  }
}

}  // namespace penstock::replay
