// Rows of a table looked up, or summed over a bag. Gradients are added row by row in the order of the
// look-ups, one thread per row, so that bits do not depend on the number of threads.

#include <algorithm>
#include <numeric>

#include "geometry.hpp"
#include "host/formats.hpp"
#include "host/kernel.hpp"
#include "host/threads.hpp"
#include "penstock/core/error.hpp"

namespace penstock::kernels::host {
namespace {

using Find = KernelProgram::Find;

/// The look-ups of all samples.
struct LookupBags {
  std::int64_t samples;
  EmbeddingShape e;
  std::int64_t lookups() const { return samples * e.lookups; }
  std::int64_t outputs() const { return e.sum ? samples : lookups(); }  ///< rows of the output
  std::int64_t output_of(std::int64_t lookup) const { return e.sum ? lookup / e.lookups : lookup; }
  /// True if the row is in this part of the table.
  bool has(std::int64_t row) const { return row >= e.first && row < e.first + e.rows; }
};

const std::int64_t* rows_at(const Find& at, const LookupBags& bags) {
  const auto* rows = static_cast<const std::int64_t*>(at(input(0)));
  const bool inside = std::all_of(rows, rows + bags.lookups(),
                                  [&](std::int64_t row) { return row >= 0 && row < bags.e.table; });
  if (!inside) throw core::BadInput("an embedding looks up a row that its table does not have");
  return rows;
}

/// Computes one output row: the sum of the `count` rows of the table.
template <class Format>
void gather(const LookupBags& bags, const typename Format::Stored* table, const std::int64_t* rows,
            std::int64_t count, typename Format::Stored* out) {
  for (std::int64_t j = 0; j < bags.e.width; ++j) {
    float value = 0;
    for (std::int64_t i = 0; i < count; ++i)
      if (bags.has(rows[i])) value += Format::load(table[(rows[i] - bags.e.first) * bags.e.width + j]);
    out[j] = Format::store(value);
  }
}

template <class Format>
void forward(const Find& at, const LookupBags& bags) {
  const std::int64_t* rows = rows_at(at, bags);
  const auto* table = read<Format>(at(parameter(0)));
  auto* out = write<Format>(at(kOutput));
  const std::int64_t count = bags.e.sum ? bags.e.lookups : 1;
  parallel_each(bags.outputs(), count * bags.e.width, [&](std::int64_t i) {
    gather<Format>(bags, table, rows + i * count, count, out + i * bags.e.width);
  });
}

/// Look-ups sorted by row, and the start of each row's (one more entry than rows).
struct SortedLookups {
  std::vector<std::int64_t> lookups, starts;
};

SortedLookups by_row(const std::int64_t* rows, std::int64_t count) {
  SortedLookups s;
  s.lookups.resize(static_cast<std::size_t>(count));
  std::iota(s.lookups.begin(), s.lookups.end(), 0);
  std::ranges::stable_sort(s.lookups, {}, [rows](std::int64_t i) { return rows[i]; });
  for (std::int64_t i = 0; i < count; ++i)
    if (i == 0 || rows[s.lookups[i]] != rows[s.lookups[i - 1]]) s.starts.push_back(i);
  s.starts.push_back(count);
  return s;
}

template <class Format>
void weight_gradient(const Find& at, const LookupBags& bags) {
  const std::int64_t* rows = rows_at(at, bags);
  const auto* from = read<Format>(at(kOutputGradient));
  auto* table = write<Format>(at(parameter_gradient(0)));
  const SortedLookups sorted = by_row(rows, bags.lookups());
  parallel_each(std::ssize(sorted.starts) - 1, bags.e.width, [&](std::int64_t i) {
    const std::int64_t row = rows[sorted.lookups[sorted.starts[i]]];
    if (!bags.has(row)) return;
    auto* to = table + (row - bags.e.first) * bags.e.width;
    for (std::int64_t j = 0; j < bags.e.width; ++j) {
      float value = Format::load(to[j]);
      for (std::int64_t k = sorted.starts[i]; k < sorted.starts[i + 1]; ++k)
        value += Format::load(from[bags.output_of(sorted.lookups[k]) * bags.e.width + j]);
      to[j] = Format::store(value);
    }
  });
}

}  // namespace

void build_embedding(KernelDraft& draft) {
  const LookupBags bags{draft.samples, embedding(draft.op)};
  draft.forward.call("gather", [=, element = draft.element](const Find& at) {
    with_format(element, [&](auto format) { forward<decltype(format)>(at, bags); });
  });
  draft.weight_gradient.call("scatter", [=, element = draft.element](const Find& at) {
    with_format(element, [&](auto format) { weight_gradient<decltype(format)>(at, bags); });
  });
}

}  // namespace penstock::kernels::host
