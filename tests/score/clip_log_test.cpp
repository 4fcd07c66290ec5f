// GraphPipe's published optimizer logs, memory columns: in the logs weights count 8 times, activations once
// or twice.

#include "support/clip_log.hpp"

#include <doctest/doctest.h>

#include "penstock/cost/analytic.hpp"
#include "penstock/cost/stage_load.hpp"

using namespace penstock;
using core::OpId;
using plan::MemoryKind;

namespace {

std::vector<OpId> slice(const std::vector<OpId>& ops, std::size_t from, std::size_t count) {
  return {ops.begin() + static_cast<std::ptrdiff_t>(from),
          ops.begin() + static_cast<std::ptrdiff_t>(from + count)};
}

/// The logs cut megabytes off after the decimal point.
std::int64_t megabytes(core::Bytes bytes) {
  return bytes.value() >> 20;
}

struct LoggedRow {
  std::vector<OpId> operators;
  std::int64_t in_flight, micro_batch, devices;
  std::int64_t weight_mb, activation_mb;
};

void check(const support::ClipLog& clip, const LoggedRow& row, std::int64_t activation_copies) {
  const cost::MemoryRule rule{8, 0, activation_copies, false, false};
  const auto memory = cost::stage_memory(cost::stage_load(clip.graph, cost::AnalyticCosts(), row.operators),
                                         rule, {.optimizer = plan::Optimizer::sgd},
                                         row.micro_batch / row.devices, row.in_flight / row.micro_batch);
  CHECK(megabytes(at(memory, MemoryKind::weights)) == row.weight_mb);
  CHECK(megabytes(at(memory, MemoryKind::activations)) == row.activation_mb);
  CHECK(megabytes(plan::total(memory)) == row.weight_mb + row.activation_mb);
}

}  // namespace

TEST_CASE("log 1: eight devices, micro-batch 8, tensors and their gradients counted") {
  const auto clip = support::clip_log({3, 3, true});
  auto last = slice(clip.image, 66, 11);
  last.push_back(clip.join);
  const std::vector<LoggedRow> rows = {{slice(clip.image, 0, 14), 56, 8, 1, 600, 1179},
                                       {slice(clip.image, 14, 10), 48, 8, 1, 704, 808},
                                       {slice(clip.image, 24, 11), 40, 8, 1, 640, 735},
                                       {slice(clip.image, 35, 10), 32, 8, 1, 704, 539},
                                       {slice(clip.image, 45, 11), 24, 8, 1, 640, 441},
                                       {slice(clip.image, 56, 10), 16, 8, 1, 704, 269},
                                       {last, 8, 8, 1, 640, 161},
                                       {clip.text, 16, 8, 1, 576, 190}};
  for (const LoggedRow& row : rows) check(clip, row, 2);
}

TEST_CASE("log 3: twelve devices, micro-batch 128, replicated stages, tensors counted once") {
  const auto clip = support::clip_log({2, 1, false});
  auto last = slice(clip.image, 46, 30);
  last.push_back(clip.join);
  const std::vector<LoggedRow> rows = {{slice(clip.image, 0, 7), 512, 128, 1, 216, 2646},
                                       {slice(clip.image, 7, 13), 384, 128, 2, 896, 2058},
                                       {slice(clip.image, 20, 26), 256, 128, 4, 1600, 1323},
                                       {last, 128, 128, 4, 1920, 764},
                                       {clip.text, 256, 128, 1, 576, 1444}};
  for (const LoggedRow& row : rows) check(clip, row, 1);
}
