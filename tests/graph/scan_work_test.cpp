#include "penstock/graph/scan_work.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "penstock/core/random.hpp"
#include "support/near.hpp"

using namespace penstock;
using graph::LinearScan;
using graph::ScanForm;
using support::near;

namespace {

/// A matrix in rows. Products count their multiply-adds.
struct DenseMatrix {
  std::size_t rows = 0, columns = 0;
  std::vector<double> numbers{};
  DenseMatrix(std::size_t r, std::size_t c) : rows(r), columns(c), numbers(r * c) {}
  double& at(std::size_t r, std::size_t c) { return numbers[r * columns + c]; }
  double at(std::size_t r, std::size_t c) const { return numbers[r * columns + c]; }
};

DenseMatrix drawn(core::Random& random, std::size_t rows, std::size_t columns) {
  DenseMatrix out(rows, columns);
  for (double& number : out.numbers) number = random.unit() - 0.5;
  return out;
}

DenseMatrix part(const DenseMatrix& whole, std::size_t first, std::size_t rows) {
  DenseMatrix out(rows, whole.columns);
  for (std::size_t r = 0; r < rows; ++r)
    for (std::size_t c = 0; c < whole.columns; ++c) out.at(r, c) = whole.at(first + r, c);
  return out;
}

DenseMatrix turned(const DenseMatrix& a) {
  DenseMatrix out(a.columns, a.rows);
  for (std::size_t r = 0; r < a.rows; ++r)
    for (std::size_t c = 0; c < a.columns; ++c) out.at(c, r) = a.at(r, c);
  return out;
}

/// Counts what it multiplies.
class CountedProduct {
 public:
  DenseMatrix operator()(const DenseMatrix& a, const DenseMatrix& b) {
    REQUIRE(a.columns == b.rows);
    DenseMatrix out(a.rows, b.columns);
    for (std::size_t r = 0; r < a.rows; ++r)
      for (std::size_t c = 0; c < b.columns; ++c)
        for (std::size_t i = 0; i < a.columns; ++i, ++count_) out.at(r, c) += a.at(r, i) * b.at(i, c);
    return out;
  }
  double flops() const { return 2 * static_cast<double>(count_); }

 private:
  std::int64_t count_ = 0;
};

/// Inputs of one head. Decays are one per token and number of a key.
struct HeadInputs {
  DenseMatrix query, key, value, decay;
  std::vector<double> step;
};

HeadInputs drawn_head(core::Random& random, const LinearScan& s) {
  const auto tokens = static_cast<std::size_t>(s.rows), key = static_cast<std::size_t>(s.key);
  HeadInputs out{drawn(random, tokens, key),
                 drawn(random, tokens, key),
                 drawn(random, tokens, static_cast<std::size_t>(s.value)),
                 DenseMatrix(tokens, key),
                 {}};
  for (std::size_t t = 0; t < tokens; ++t) {
    const double decay = 0.5 + random.unit() / 2;
    for (std::size_t d = 0; d < key; ++d)
      out.decay.at(t, d) = s.form == ScanForm::channel_delta ? 0.5 + random.unit() / 2 : decay;
    out.step.push_back(s.form == ScanForm::state_space ? 1 : random.unit());
  }
  return out;
}

/// The definition, token by token (penstock/graph/attributes.hpp, ScanForm).
DenseMatrix token_by_token(const HeadInputs& in, bool corrects) {
  DenseMatrix state(in.key.columns, in.value.columns), out(in.key.rows, in.value.columns);
  for (std::size_t t = 0; t < in.key.rows; ++t) {
    for (std::size_t d = 0; d < state.rows; ++d)
      for (std::size_t v = 0; v < state.columns; ++v) state.at(d, v) *= in.decay.at(t, d);
    for (std::size_t v = 0; v < state.columns; ++v) {
      double held = 0;
      for (std::size_t d = 0; d < state.rows; ++d) held += in.key.at(t, d) * state.at(d, v);
      const double change = in.step[t] * (in.value.at(t, v) - (corrects ? held : 0));
      for (std::size_t d = 0; d < state.rows; ++d) state.at(d, v) += in.key.at(t, d) * change;
      for (std::size_t d = 0; d < state.rows; ++d) out.at(t, v) += in.query.at(t, d) * state.at(d, v);
    }
  }
  return out;
}

/// Decays from the beginning of each chunk on, by token and number of a key.
DenseMatrix decays_in_chunks(const DenseMatrix& decay, std::size_t chunk) {
  DenseMatrix out = decay;
  for (std::size_t t = 0; t < decay.rows; ++t)
    for (std::size_t d = 0; d < decay.columns; ++d)
      if (t % chunk != 0) out.at(t, d) *= out.at(t - 1, d);
  return out;
}

DenseMatrix times(DenseMatrix a, const DenseMatrix& by, bool divide = false) {
  for (std::size_t i = 0; i < a.numbers.size(); ++i)
    a.numbers[i] = divide ? a.numbers[i] / by.numbers[i] : a.numbers[i] * by.numbers[i];
  return a;
}

DenseMatrix each_times(DenseMatrix a, const std::vector<double>& by, std::size_t first) {
  for (std::size_t r = 0; r < a.rows; ++r)
    for (std::size_t c = 0; c < a.columns; ++c) a.at(r, c) *= by[first + r];
  return a;
}

void keep_lower(DenseMatrix& a, bool diagonal) {
  for (std::size_t r = 0; r < a.rows; ++r)
    for (std::size_t c = diagonal ? r + 1 : r; c < a.columns; ++c) a.at(r, c) = 0;
}

/// Inverse of the unit triangle 1 + a; counts its multiply-adds.
DenseMatrix inverse(const DenseMatrix& a, std::int64_t& count) {
  DenseMatrix out(a.rows, a.rows);
  for (std::size_t r = 0; r < a.rows; ++r) {
    out.at(r, r) = 1;
    for (std::size_t c = 0; c < r; ++c)
      for (std::size_t i = c; i < r; ++i, ++count) out.at(r, c) -= a.at(r, i) * out.at(i, c);
  }
  return out;
}

/// Adds a chunk's update to the state, and returns the chunk's output. `scores` are queries by keys, decayed.
DenseMatrix advance(CountedProduct& multiply, DenseMatrix& state, const DenseMatrix& query,
                    const DenseMatrix& key, const DenseMatrix& value, DenseMatrix scores,
                    const DenseMatrix& decay) {
  keep_lower(scores, true);
  DenseMatrix out = multiply(query, state);
  const DenseMatrix inside = multiply(scores, value);
  for (std::size_t i = 0; i < out.numbers.size(); ++i) out.numbers[i] += inside.numbers[i];
  const DenseMatrix update = multiply(turned(key), value);
  for (std::size_t d = 0; d < state.rows; ++d)
    for (std::size_t v = 0; v < state.columns; ++v)
      state.at(d, v) = decay.at(decay.rows - 1, d) * (state.at(d, v) + update.at(d, v));
  return out;
}

void write(DenseMatrix& out, const DenseMatrix& chunk, std::size_t first) {
  for (std::size_t r = 0; r < chunk.rows; ++r)
    for (std::size_t c = 0; c < chunk.columns; ++c) out.at(first + r, c) = chunk.at(r, c);
}

/// Gated delta rule by chunks (Yang et al., 2025, section 3.3).
DenseMatrix delta_by_chunks(CountedProduct& multiply, std::int64_t& triangles, const HeadInputs& in,
                            std::size_t chunk) {
  const DenseMatrix decays = decays_in_chunks(in.decay, chunk);
  DenseMatrix state(in.key.columns, in.value.columns), out(in.value.rows, in.value.columns);
  for (std::size_t first = 0; first < in.key.rows; first += chunk) {
    const DenseMatrix decay = part(decays, first, chunk), query = times(part(in.query, first, chunk), decay),
                      from = times(part(in.key, first, chunk), decay),
                      to = times(part(in.key, first, chunk), decay, true);
    DenseMatrix lower = each_times(multiply(from, turned(to)), in.step, first);
    keep_lower(lower, false);
    const DenseMatrix solved = inverse(lower, triangles);
    DenseMatrix fresh = multiply(solved, each_times(part(in.value, first, chunk), in.step, first));
    const DenseMatrix old = multiply(multiply(solved, each_times(from, in.step, first)), state);
    for (std::size_t i = 0; i < fresh.numbers.size(); ++i) fresh.numbers[i] -= old.numbers[i];
    write(out, advance(multiply, state, query, to, fresh, multiply(query, turned(to)), decay), first);
  }
  return out;
}

/// SSD by chunks (Dao and Gu, 2024, listing 1); groups of heads share keys and queries.
std::vector<DenseMatrix> space_by_chunks(CountedProduct& multiply, const std::vector<HeadInputs>& heads,
                                         std::size_t groups, std::size_t chunk) {
  const HeadInputs& any = heads.front();
  std::vector<DenseMatrix> states(heads.size(), DenseMatrix(any.key.columns, any.value.columns)),
      out(heads.size(), DenseMatrix(any.value.rows, any.value.columns));
  for (std::size_t first = 0; first < any.key.rows; first += chunk)
    for (std::size_t g = 0, each = heads.size() / groups; g < groups; ++g) {
      const HeadInputs& shared = heads[g * each];
      const DenseMatrix products =
          multiply(part(shared.query, first, chunk), turned(part(shared.key, first, chunk)));
      for (std::size_t h = g * each; h < (g + 1) * each; ++h) {
        const DenseMatrix decay = part(decays_in_chunks(heads[h].decay, chunk), first, chunk);
        DenseMatrix scores = products;
        for (std::size_t r = 0; r < chunk; ++r)
          for (std::size_t c = 0; c < chunk; ++c) scores.at(r, c) *= decay.at(r, 0) / decay.at(c, 0);
        write(out[h],
              advance(multiply, states[h], times(part(heads[h].query, first, chunk), decay),
                      times(part(heads[h].key, first, chunk), decay, true),
                      part(heads[h].value, first, chunk), scores, decay),
              first);
      }
    }
  return out;
}

double largest_difference(const DenseMatrix& a, const DenseMatrix& b) {
  double out = 0;
  for (std::size_t i = 0; i < a.numbers.size(); ++i)
    out = std::max(out, std::abs(a.numbers[i] - b.numbers[i]));
  return out;
}

}  // namespace

TEST_CASE("a delta rule's products by hand") {
  // 4 tokens in 2 chunks of 2, 2 heads, keys of 3, values of 5. Multiply-adds of one head's chunk:
  //   keys by keys, queries by keys         2 x 3 x 2 = 12 each
  //   inverse by values, scores by values   2 x 2 x 5 = 20 each
  //   inverse by keys                       2 x 2 x 3 = 12
  //   keys, queries, updates by the state   2 x 3 x 5 = 30 each
  // These are 24 + 40 + 12 + 90 = 166.
  const LinearScan scan{
      .rows = 4, .heads = 2, .groups = 1, .key = 3, .value = 5, .chunk = 2, .form = ScanForm::delta};
  CHECK(graph::scan_flops(scan) == core::Flops(2 * 4 * 166));
  LinearScan other = scan;
  other.form = ScanForm::channel_delta;
  CHECK(graph::scan_flops(other) == graph::scan_flops(scan));
  other.rows = 3;  // the last chunk counts as a whole one
  CHECK(graph::scan_flops(other) == graph::scan_flops(scan));
}

TEST_CASE("a state space's products by hand") {
  // 6 tokens in 2 chunks of 3, 4 heads in 2 groups, state 2, values of 5. Multiply-adds of a chunk:
  //   queries by keys, of a group                      3 x 2 x 3 = 18
  //   scores by values, of a head                      3 x 3 x 5 = 45
  //   keys by values and queries by state, of a head   3 x 2 x 5 = 30 each
  // These are 2 x 18 + 4 x 105 = 456.
  CHECK(graph::scan_flops({.rows = 6, .heads = 4, .groups = 2, .key = 2, .value = 5, .chunk = 3}) ==
        core::Flops(2 * 2 * 456));
}

TEST_CASE("a selective scan's operations by hand") {
  // 7 tokens, 3 channels, state 2: 42 numbers of states, 21 outputs. FLOPs for each number:
  //   exponent of step by decay 3, key by step and input 2, update 2, by query 2
  // The skip adds one for each output, and so does the gate.
  LinearScan scan{
      .rows = 7, .heads = 3, .groups = 1, .key = 2, .value = 1, .chunk = 4, .form = ScanForm::selective};
  CHECK(graph::scan_flops(scan) == core::Flops(42 * 9 + 21));
  scan.gated = true;
  CHECK(graph::scan_flops(scan) == core::Flops(42 * 9 + 21 + 21));
}

TEST_CASE("the chunked delta rule equals the rule token by token, with the counted products") {
  core::Random random(5);
  for (int run = 0; run < 40; ++run) {
    LinearScan scan{.heads = 1,
                    .key = random.between(1, 5),
                    .value = random.between(1, 5),
                    .chunk = random.between(1, 6),
                    .form = run % 2 == 0 ? ScanForm::delta : ScanForm::channel_delta};
    scan.rows = scan.chunk * random.between(1, 4);
    const HeadInputs in = drawn_head(random, scan);
    CountedProduct multiply;
    std::int64_t triangles = 0;
    const DenseMatrix out = delta_by_chunks(multiply, triangles, in, static_cast<std::size_t>(scan.chunk));
    CHECK(largest_difference(out, token_by_token(in, true)) < 1e-9);
    CHECK(multiply.flops() == graph::scan_flops(scan).value());
    const std::int64_t c = scan.chunk;  // of the triangles, not counted in scan_flops
    CHECK(triangles == scan.chunks() * (c * c * c - c) / 6);
  }
}

TEST_CASE("the chunked state space equals the recurrence token by token, with the counted products") {
  core::Random random(6);
  for (int run = 0; run < 40; ++run) {
    const int groups = random.between(1, 3), each = random.between(1, 3);
    LinearScan scan{.heads = groups * each,
                    .groups = groups,
                    .key = random.between(1, 5),
                    .value = random.between(1, 5),
                    .chunk = random.between(1, 6)};
    scan.rows = scan.chunk * random.between(1, 4);
    std::vector<HeadInputs> heads;
    for (int h = 0; h < groups * each; ++h) {
      heads.push_back(drawn_head(random, scan));
      heads.back().key = heads[static_cast<std::size_t>(h / each * each)].key;
      heads.back().query = heads[static_cast<std::size_t>(h / each * each)].query;
    }
    CountedProduct multiply;
    const auto out = space_by_chunks(multiply, heads, static_cast<std::size_t>(groups),
                                     static_cast<std::size_t>(scan.chunk));
    for (std::size_t h = 0; h < heads.size(); ++h)
      CHECK(largest_difference(out[h], token_by_token(heads[h], false)) < 1e-9);
    CHECK(multiply.flops() == graph::scan_flops(scan).value());
  }
}

TEST_CASE("tensors that scans keep for the backward pass, by hand") {
  // 4 tokens, 2 heads in 1 group, keys of 3, values of 5, chunks of 2, two bytes per number. Normalised queries and
  // keys 2 x 4 x 3 = 24 and the triangle 4 x 2 x 2 = 16 numbers; in fp32 8 roots, 8 decays, 8 steps.
  LinearScan scan{
      .rows = 4, .heads = 2, .groups = 1, .key = 3, .value = 5, .chunk = 2, .form = ScanForm::delta};
  CHECK(graph::scan_bytes(scan, 2) == core::Bytes(2 * (24 + 16) + 4 * (8 + 8 + 8)));
  // Two triangles; no decays.
  scan.form = ScanForm::channel_delta;
  CHECK(graph::scan_bytes(scan, 2) == core::Bytes(2 * (24 + 32) + 4 * (8 + 8)));
  // Sums of decays, 4 x 2 in fp32; with a gate the 4 x 2 x 5 results before it.
  scan.form = ScanForm::state_space;
  CHECK(graph::scan_bytes(scan, 2) == core::Bytes(4 * 8));
  scan.gated = true;
  CHECK(graph::scan_bytes(scan, 2) == core::Bytes(4 * 8 + 2 * 40));
  // Two states of 2 channels x 3 after each of 2 chunks.
  CHECK(
      graph::scan_bytes(
          {.rows = 4, .heads = 2, .groups = 1, .key = 3, .value = 1, .chunk = 2, .form = ScanForm::selective},
          2) == core::Bytes(4 * 2 * 2 * 6));
}
