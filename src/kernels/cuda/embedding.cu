// Rows of a table looked up, or summed over a bag. The gradient sorts look-ups by row, and adds to each row
// in the order of its look-ups: identical bits on every run.

#include "cuda/elements.hpp"
#include "cuda/kernel.hpp"
#include "cuda/sort.hpp"
#include "geometry.hpp"

namespace penstock::kernels::cuda {
namespace {

/// The look-ups of all samples.
struct LookupBags {
  std::int64_t samples;
  EmbeddingShape e;
  PENSTOCK_BOTH std::int64_t lookups() const { return samples * e.lookups; }
  PENSTOCK_BOTH std::int64_t count() const { return e.sum ? e.lookups : 1; }  ///< look-ups per output row
  PENSTOCK_BOTH bool knows(std::int64_t row) const { return row >= 0 && row < e.table; }
  PENSTOCK_BOTH bool has(std::int64_t row) const { return row >= e.first && row < e.first + e.rows; }
};

template <class T>
void gather(const LaunchQueue& queue, const LookupBags& bags, const std::int64_t* rows, const T* table,
            T* y) {
  int* fault = queue.fault;
  each(queue, bags.lookups() / bags.count() * bags.e.width, [=] PENSTOCK_DEVICE(std::int64_t i) {
    const std::int64_t first = i / bags.e.width * bags.count(), column = i % bags.e.width;
    float sum = 0;
    for (std::int64_t k = first; k < first + bags.count(); ++k)
      if (bags.has(rows[k]))
        sum += load(table[(rows[k] - bags.e.first) * bags.e.width + column]);
      else if (!bags.knows(rows[k]))
        *fault = 1;
    store(y[i], sum);
  });
}

void number_all(const LaunchQueue& queue, std::int64_t count, std::int64_t* numbers) {
  each(queue, count, [=] PENSTOCK_DEVICE(std::int64_t i) { numbers[i] = i; });
}

/// Adds up gradients: `rows` and `lookups` are sorted by row; the first of a row's look-ups adds up all of
/// them.
template <class T>
void scatter(const LaunchQueue& queue, const LookupBags& bags, const std::int64_t* rows,
             const std::int64_t* lookups, const T* y, T* table) {
  int* fault = queue.fault;
  each_by_team(queue, bags.lookups(), [=] PENSTOCK_DEVICE(const RowThreads& team, std::int64_t i) {
    const std::int64_t row = rows[i], width = bags.e.width;
    if (i > 0 && rows[i - 1] == row) return;
    if (!bags.has(row)) {
      if (!bags.knows(row)) *fault = 1;
      return;
    }
    T* to = table + (row - bags.e.first) * width;
    for (std::int64_t column = team.rank(); column < width; column += team.size()) {
      float sum = load(to[column]);
      for (std::int64_t k = i; k < bags.lookups() && rows[k] == row; ++k)
        sum += load(y[lookups[k] / bags.count() * width + column]);
      store(to[column], sum);
    }
  });
}

void gradient_steps(KernelProgram& program, const LookupBags& bags, Element element) {
  const std::int64_t count = bags.lookups(), bytes = count * 8, extra = sort_workspace(count);
  const TensorLocation numbers = program.scratch(bytes), rows = program.scratch(bytes),
                       lookups = program.scratch(bytes), workspace = program.scratch(extra);
  program.call("sort", [=](const KernelProgram::StepContext& run) {
    number_all(run.queue, count, run.as<std::int64_t>(numbers));
    sort_pairs(run.queue, count, run.at(workspace), extra, run.as<const std::int64_t>(input(0)),
               run.as<std::int64_t>(rows), run.as<const std::int64_t>(numbers),
               run.as<std::int64_t>(lookups));
  });
  program.call("scatter", [=](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      scatter(run.queue, bags, run.as<const std::int64_t>(rows), run.as<const std::int64_t>(lookups),
              run.as<const T>(kOutputGradient), run.as<T>(parameter_gradient(0)));
    });
  });
}

}  // namespace

void build_embedding(KernelDraft& draft) {
  const LookupBags bags{draft.samples, embedding(draft.op)};
  draft.forward.call("gather", [=, element = draft.element](const KernelProgram::StepContext& run) {
    with_element(element, [&](auto zero) {
      using T = decltype(zero);
      gather(run.queue, bags, run.as<const std::int64_t>(input(0)), run.as<const T>(parameter(0)),
             run.as<T>(kOutput));
    });
  });
  gradient_steps(draft.weight_gradient, bags, draft.element);
}

}  // namespace penstock::kernels::cuda
