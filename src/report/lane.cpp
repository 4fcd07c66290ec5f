#include "lane.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

#include "penstock/core/error.hpp"

namespace penstock::report {
namespace {

using core::Picoseconds;
using trace::Span;
using trace::TaskKind;

constexpr Tenths kPool = 2 * kPixel;  ///< width within which thin spans are merged
constexpr Tenths kDigit = 65;         ///< upper bound on a digit's width in the labels' font

/// Converts spans of one row, in order of time, into boxes.
class LaneRow {
 public:
  LaneRow(const LineScale& time, Tenths thinnest) : time_(time), thinnest_(thinnest) {}

  void add(SpanPaint paint, const Span& span, bool later = false) {
    const Tenths x = time_.at(span.start), end = time_.at(span.end);
    if (end - x >= kPixel) return add_wide({paint, x, end, span.micro_batch, later});
    if (x / kPool != pool_x_ / kPool) flush();
    if (pooled_ == decltype(pooled_){}) pool_x_ = x;
    pooled_[static_cast<std::size_t>(paint)] += span.end - span.start;
  }

  std::vector<SpanBox> finish() && {
    flush();
    return std::move(boxes_);
  }

 private:
  /// Merges concurrent communication; computations keep their boxes, because these are numbered.
  void add_wide(const SpanBox& box) {
    flush();
    const bool communication = box.paint >= SpanPaint::all_reduce;
    if (communication && !boxes_.empty() && box.x < boxes_.back().end) {
      boxes_.back().end = std::max(boxes_.back().end, box.end);
    } else {
      boxes_.push_back(box);
    }
  }

  void flush() {
    Tenths x = pool_x_;
    for (std::size_t p = 0; p < kPaints; ++p) {
      if (pooled_[p] == Picoseconds()) continue;
      const Tenths end = x + std::clamp(time_.at(pooled_[p]), thinnest_, kPool + kPixel);
      boxes_.push_back({static_cast<SpanPaint>(p), x, end, -1, false});
      x = end;
    }
    pooled_ = {};
  }

  LineScale time_;
  Tenths thinnest_;  ///< minimum width of a box
  std::vector<SpanBox> boxes_;
  std::array<Picoseconds, kPaints> pooled_{};
  Tenths pool_x_ = 0;
};

/// Rows of one lane, without overlaps except for concurrent transfers.
struct LaneRows {
  LaneRow compute, all_reduce, sent, received;
  explicit LaneRows(const LineScale& time)
      : compute(time, 1), all_reduce(time, kPixel), sent(time, kPixel / 2), received(time, kPixel / 2) {}
};

SpanPaint paint(TaskKind compute) {
  switch (compute) {
    case TaskKind::forward:
      return SpanPaint::forward;
    case TaskKind::recompute:
      return SpanPaint::recompute;
    case TaskKind::step:
      return SpanPaint::step;
    case TaskKind::input_gradient:
      return SpanPaint::input_gradient;
    case TaskKind::weight_gradient:
      return SpanPaint::weight_gradient;
    default:
      return SpanPaint::backward;
  }
}

void append(std::vector<SpanBox>& boxes, LaneRow&& row) {
  const std::vector<SpanBox> more = std::move(row).finish();
  boxes.insert(boxes.end(), more.begin(), more.end());
}

bool continues(const SpanBox& before, const SpanBox& box) {
  return box.paint == before.paint && box.micro_batch == before.micro_batch + 1 &&
         box.x - before.end < kPixel;
}

/// True for every tenth backward pass: its number may extend over neighbours, on which dark digits are
/// readable.
bool may_spill(const SpanBox& box, Tenths width) {
  return box.paint == SpanPaint::backward && box.micro_batch % 10 == 0 && 3 * (box.end - box.x) >= width;
}

/// Numbers each box that is wide enough; a run of consecutive micro-batches that are too narrow shares a
/// range. Numbers never touch.
std::vector<BoxLabel> labels(const std::vector<SpanBox>& boxes) {
  std::vector<BoxLabel> out;
  Tenths reached = 0;  // end of the last label
  const auto write = [&](const SpanBox& first, const SpanBox& last, const std::string& text) {
    const Tenths width = kDigit * static_cast<Tenths>(text.size()) + kPixel,
                 middle = (first.x + last.end) / 2;
    if (last.end - first.x < width && !may_spill(first, width)) return false;
    if (middle - width / 2 < reached) return false;
    out.push_back({first.paint, middle, text});
    reached = middle + width / 2;
    return true;
  };
  for (std::size_t i = 0, next = 0; i < boxes.size(); i = next) {
    next = i + 1;
    if (boxes[i].micro_batch < 0) continue;
    if (write(boxes[i], boxes[i], std::to_string(boxes[i].micro_batch))) continue;
    while (next < boxes.size() && continues(boxes[next - 1], boxes[next])) ++next;
    const SpanBox& last = boxes[next - 1];
    write(boxes[i], last, fmt::format("{}-{}", boxes[i].micro_batch, last.micro_batch));
  }
  return out;
}

std::vector<MemoryLevel> memory(const trace::DeviceTrace& device, const LineScale& time) {
  const core::Bytes fixed = std::accumulate(device.fixed.begin(), device.fixed.end(), core::Bytes());
  std::vector<MemoryLevel> out{{0, fixed}};
  core::Bytes held = fixed;  // actual level; the drawn one may be higher until the pool ends
  Tenths pool_end = 0;
  const auto settle = [&] {
    if (out.back().bytes != held) out.push_back({pool_end, held});
  };
  const auto& points = device.memory;
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (i + 1 < points.size() && points[i + 1].time == points[i].time) continue;  // had no duration
    const MemoryLevel level{time.at(points[i].time), fixed + points[i].activations + points[i].buffers};
    if (level.x < pool_end) {
      out.back().bytes = std::max(out.back().bytes, level.bytes);
    } else {
      settle();
      out.push_back(level);
      pool_end = level.x + kPool;
    }
    held = level.bytes;
  }
  settle();
  return out;
}

}  // namespace

/// True for a chunk other than the device's first.
static bool later(const trace::DeviceTrace& device, const Span& span) {
  return device.stages.size() > 1 && span.stage != device.stages.front();
}

std::vector<DeviceLane> lanes(const trace::Trace& trace, const LineScale& time) {
  std::vector<LaneRows> rows(trace.devices.size(), LaneRows(time));
  const auto row_of = [&](core::DeviceId device) -> LaneRows& {
    core::require(device.valid() && device.index() < rows.size(), "a span names devices of its trace");
    return rows[device.index()];
  };
  for (const Span& span : trace.spans) {
    LaneRows& own = row_of(span.device);
    if (computes(span.kind))
      own.compute.add(paint(span.kind), span, later(trace.devices[span.device.index()], span));
    if (span.kind == TaskKind::all_reduce) own.all_reduce.add(SpanPaint::all_reduce, span);
    if (span.kind != TaskKind::transfer && span.kind != TaskKind::collective) continue;
    own.sent.add(SpanPaint::sent, span);
    row_of(span.peer).received.add(SpanPaint::received, span);
  }
  std::vector<DeviceLane> out(rows.size());
  for (std::size_t d = 0; d < rows.size(); ++d) {
    out[d].boxes = std::move(rows[d].compute).finish();
    out[d].labels = labels(out[d].boxes);
    for (LaneRow* row : {&rows[d].all_reduce, &rows[d].sent, &rows[d].received})
      append(out[d].boxes, std::move(*row));
    out[d].memory = memory(trace.devices[d], time);
  }
  return out;
}

}  // namespace penstock::report
