// A mixture of experts: rows are copied to their experts, sorted by expert, so that every expert multiplies
// one block of them; results return by the same places. The rows of an expert are known only at run time, so
// products use BLAS.

#include <algorithm>
#include <cmath>
#include <numeric>

#include "geometry.hpp"
#include "host/formats.hpp"
#include "host/kernel.hpp"
#include "host/threads.hpp"

namespace penstock::kernels::host {
namespace {

using Find = KernelProgram::Find;

struct ExpertMixture {
  Experts e;
  std::int64_t tokens;  ///< rows of all samples
  std::int64_t copies() const { return tokens * e.chosen; }
  std::size_t firsts() const { return e.gated ? 2 : 1; }  ///< matrices before the activation
};

// Saved: choices, their shares, copies, outputs of each first matrix, and input of the last one.
constexpr std::size_t kChoice = 0, kShare = 1, kCopy = 2, kFirst = 3;

TensorLocation weighed(const ExpertMixture& m) {
  return saved(kFirst + m.firsts());
}

/// Index of each copy among all, sorted by expert; those of one expert in the order of their rows.
struct SortedCopies {
  std::vector<std::int64_t> starts;  ///< start of each expert's block, one entry more than experts
  std::vector<std::int64_t> of;      ///< [copy]
};

SortedCopies places(const Find& at, const ExpertMixture& m) {
  const auto* choices = static_cast<const std::int64_t*>(at(saved(kChoice)));
  SortedCopies out{std::vector<std::int64_t>(static_cast<std::size_t>(m.e.experts) + 1), {}};
  for (std::int64_t i = 0; i < m.copies(); ++i) ++out.starts[choices[i] + 1];
  std::partial_sum(out.starts.begin(), out.starts.end(), out.starts.begin());
  std::vector<std::int64_t> next = out.starts;
  for (std::int64_t i = 0; i < m.copies(); ++i) out.of.push_back(next[choices[i]]++);
  return out;
}

/// Experts of a token: the most probable first, of equal ones the first; or the next ones in turn. The latter
/// is as even as the random choice of Megatron-LM's --moe-router-force-load-balancing, and reproducible.
template <class Format>
std::vector<std::int64_t> chosen(const Experts& e, const typename Format::Stored* p, std::int64_t token) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(e.experts));
  std::iota(order.begin(), order.end(), 0);
  const auto last = order.begin() + e.chosen;
  if (e.in_turn)
    std::rotate(order.begin(), order.begin() + token % e.rows * e.chosen % e.experts, order.end());
  else
    std::ranges::partial_sort(order, last, [&](auto a, auto b) {
      const float x = Format::load(p[a]), y = Format::load(p[b]);
      return x > y || (x == y && a < b);
    });
  order.erase(last, order.end());
  return order;
}

/// Chooses experts; shares are divided by their sum.
template <class Format>
void choose(const Find& at, const ExpertMixture& m) {
  const auto* all = read<Format>(at(input(1)));
  auto* choices = static_cast<std::int64_t*>(at(saved(kChoice)));
  auto* shares = static_cast<float*>(at(saved(kShare)));
  parallel_each(m.tokens, m.e.experts, [&](std::int64_t token) {
    const auto* p = all + token * m.e.experts;
    const std::vector<std::int64_t> order = chosen<Format>(m.e, p, token);
    float sum = 0;
    for (std::int64_t j = 0; j < m.e.chosen; ++j) sum += Format::load(p[order[j]]);
    for (std::int64_t j = 0; j < m.e.chosen; ++j) {
      choices[token * m.e.chosen + j] = order[j];
      shares[token * m.e.chosen + j] = Format::load(p[order[j]]) / sum;
    }
  });
}

/// Copies rows to their places.
template <class Format>
void dispatch(const SortedCopies& places, const ExpertMixture& m, const typename Format::Stored* rows,
              typename Format::Stored* copies) {
  parallel_each(m.copies(), m.e.hidden, [&](std::int64_t i) {
    std::copy_n(rows + i / m.e.chosen * m.e.hidden, m.e.hidden, copies + places.of[i] * m.e.hidden);
  });
}

/// Sums the copies of every row.
template <class Format>
void combine(const SortedCopies& places, const ExpertMixture& m, const typename Format::Stored* copies,
             typename Format::Stored* rows) {
  parallel_each(m.tokens, m.e.hidden * m.e.chosen, [&](std::int64_t token) {
    for (std::int64_t i = 0; i < m.e.hidden; ++i) {
      float sum = 0;
      for (std::int64_t j = 0; j < m.e.chosen; ++j)
        sum += Format::load(copies[places.of[token * m.e.chosen + j] * m.e.hidden + i]);
      rows[token * m.e.hidden + i] = Format::store(sum);
    }
  });
}

/// A row-major matrix in memory, read as it is or transposed.
template <class Format>
struct MatrixView {
  const typename Format::Stored* data;
  std::int64_t rows, columns;
  bool transposed = false;
};

/// Numbers in fp32: in place, or converted into `room`.
template <class Format>
const float* floats(const MatrixView<Format>& a, std::vector<float>& room) {
  if constexpr (std::is_same_v<typename Format::Stored, float>) return a.data;
  room.resize(static_cast<std::size_t>(a.rows * a.columns));
  std::transform(a.data, a.data + std::ssize(room), room.begin(), [](auto x) { return Format::load(x); });
  return room.data();
}

/// c = a b, or c += a b.
template <class Format>
void multiply(const MatrixView<Format>& a, const MatrixView<Format>& b, typename Format::Stored* c,
              bool add = false) {
  const std::int64_t m = a.transposed ? a.columns : a.rows, k = a.transposed ? a.rows : a.columns,
                     n = b.transposed ? b.rows : b.columns;
  std::vector<float> room_a, room_b, room_c;
  const float *left = floats(a, room_a), *right = floats(b, room_b);
  float* out;
  if constexpr (std::is_same_v<typename Format::Stored, float>) {
    out = c;
  } else {
    floats(MatrixView<Format>{c, m, n}, room_c);
    out = room_c.data();
  }
  dnnl::sgemm(a.transposed ? 'T' : 'N', b.transposed ? 'T' : 'N', m, n, k, 1, left, a.columns, right,
              b.columns, add ? 1.0f : 0.0f, out, n);
  std::transform(room_c.begin(), room_c.end(), c, [](float x) { return Format::store(x); });
}

/// Calls body(expert, first copy, copies) for every expert that has some.
template <class Body>
void each_block(const SortedCopies& places, const ExpertMixture& m, const Body& body) {
  for (std::int64_t e = 0; e < m.e.experts; ++e)
    if (const std::int64_t begin = places.starts[e], count = places.starts[e + 1] - begin; count > 0)
      body(e, begin, count);
}

/// Value between an expert's matrices, and its derivatives by the outputs of the first matrices.
struct HiddenValue {
  float value, by_first, by_second;
};

HiddenValue between(bool gated, float first, float second) {
  if (!gated) {
    const float half = 0.5f * (1 + std::erf(first * std::sqrt(0.5f))),
                bell = std::exp(-0.5f * first * first) * 0.3989422804f;  // of the normal distribution
    return {first * half, half + first * bell, 0};
  }
  const float sigmoid = 1 / (1 + std::exp(-first)), swish = first * sigmoid;
  return {swish * second, second * (sigmoid + swish * (1 - sigmoid)), swish};
}

/// Outputs of the first matrices for all copies.
template <class Format>
struct FirstOutputs {
  const typename Format::Stored *first, *second;  ///< second: only for gated experts
  FirstOutputs(const Find& at, const ExpertMixture& m)
      : first(read<Format>(at(saved(kFirst)))),
        second(m.e.gated ? read<Format>(at(saved(kFirst + 1))) : nullptr) {}
  HiddenValue between(std::int64_t number) const {
    const bool gated = second != nullptr;
    return host::between(gated, Format::load(first[number]), gated ? Format::load(second[number]) : 0);
  }
};

template <class Format>
void weigh(const Find& at, const SortedCopies& places, const ExpertMixture& m) {
  const auto* shares = static_cast<const float*>(at(saved(kShare)));
  auto* out = write<Format>(at(weighed(m)));
  const FirstOutputs<Format> made(at, m);
  parallel_each(m.copies(), m.e.inner, [&](std::int64_t i) {
    for (std::int64_t n = places.of[i] * m.e.inner; n < (places.of[i] + 1) * m.e.inner; ++n)
      out[n] = Format::store(shares[i] * made.between(n).value);
  });
}

template <class Format>
void forward(const Find& at, const ExpertMixture& m, TensorLocation results) {
  const std::int64_t inner = m.e.inner, hidden = m.e.hidden;
  choose<Format>(at, m);
  const SortedCopies sorted = places(at, m);
  auto* copies = write<Format>(at(saved(kCopy)));
  dispatch<Format>(sorted, m, read<Format>(at(input(0))), copies);
  each_block(sorted, m, [&](std::int64_t e, std::int64_t begin, std::int64_t count) {
    for (std::size_t f = 0; f < m.firsts(); ++f)
      multiply<Format>({copies + begin * hidden, count, hidden},
                       {read<Format>(at(parameter(f))) + e * inner * hidden, inner, hidden, true},
                       write<Format>(at(saved(kFirst + f))) + begin * inner);
  });
  weigh<Format>(at, sorted, m);
  each_block(sorted, m, [&](std::int64_t e, std::int64_t begin, std::int64_t count) {
    multiply<Format>({read<Format>(at(weighed(m))) + begin * inner, count, inner},
                     {read<Format>(at(parameter(m.firsts()))) + e * hidden * inner, hidden, inner, true},
                     write<Format>(at(results)) + begin * hidden);
  });
  combine<Format>(sorted, m, read<Format>(at(results)), write<Format>(at(kOutput)));
}

/// Converts the gradient of the last matrices' input, in the first handed slot, to those of the first
/// matrices' outputs. Returns gradients of the shares, by copy.
template <class Format>
std::vector<float> unweigh(const Find& at, const SortedCopies& places, const ExpertMixture& m) {
  const auto* shares = static_cast<const float*>(at(saved(kShare)));
  auto* first = write<Format>(at(handed(0)));
  auto* second = m.e.gated ? write<Format>(at(handed(1))) : nullptr;
  std::vector<float> out(static_cast<std::size_t>(m.copies()));
  const FirstOutputs<Format> made(at, m);
  parallel_each(m.copies(), m.e.inner, [&](std::int64_t i) {
    for (std::int64_t n = places.of[i] * m.e.inner; n < (places.of[i] + 1) * m.e.inner; ++n) {
      const HiddenValue here = made.between(n);
      const float gradient = Format::load(first[n]);
      out[i] += gradient * here.value;
      first[n] = Format::store(gradient * shares[i] * here.by_first);
      if (second != nullptr) second[n] = Format::store(gradient * shares[i] * here.by_second);
    }
  });
  return out;
}

/// share = p / sum of the chosen; a probability that was not chosen has no effect.
template <class Format>
void probabilities_gradient(const Find& at, const ExpertMixture& m, const std::vector<float>& by_share) {
  const auto* choices = static_cast<const std::int64_t*>(at(saved(kChoice)));
  const auto* shares = static_cast<const float*>(at(saved(kShare)));
  const auto* p = read<Format>(at(input(1)));
  auto* out = write<Format>(at(input_gradient(1)));
  parallel_each(m.tokens, m.e.experts, [&](std::int64_t token) {
    std::fill_n(out + token * m.e.experts, m.e.experts, Format::store(0));
    const std::int64_t begin = token * m.e.chosen, end = begin + m.e.chosen;
    float sum = 0, mean = 0;
    for (std::int64_t i = begin; i < end; ++i) {
      sum += Format::load(p[token * m.e.experts + choices[i]]);
      mean += shares[i] * by_share[i];
    }
    for (std::int64_t i = begin; i < end; ++i)
      out[token * m.e.experts + choices[i]] = Format::store((by_share[i] - mean) / sum);
  });
}

template <class Format>
void to_inputs(const Find& at, const ExpertMixture& m, TensorLocation came, TensorLocation made) {
  const std::int64_t inner = m.e.inner, hidden = m.e.hidden;
  const SortedCopies sorted = places(at, m);
  dispatch<Format>(sorted, m, read<Format>(at(kOutputGradient)), write<Format>(at(came)));
  each_block(sorted, m, [&](std::int64_t e, std::int64_t begin, std::int64_t count) {
    multiply<Format>({read<Format>(at(came)) + begin * hidden, count, hidden},
                     {read<Format>(at(parameter(m.firsts()))) + e * hidden * inner, hidden, inner},
                     write<Format>(at(handed(0))) + begin * inner);
  });
  probabilities_gradient<Format>(at, m, unweigh<Format>(at, sorted, m));
  each_block(sorted, m, [&](std::int64_t e, std::int64_t begin, std::int64_t count) {
    for (std::size_t f = 0; f < m.firsts(); ++f)
      multiply<Format>({read<Format>(at(handed(f))) + begin * inner, count, inner},
                       {read<Format>(at(parameter(f))) + e * inner * hidden, inner, hidden},
                       write<Format>(at(made)) + begin * hidden, f > 0);
  });
  combine<Format>(sorted, m, read<Format>(at(made)), write<Format>(at(input_gradient(0))));
}

/// Weight gradients; an expert without rows gets zeros.
template <class Format>
void to_weights(const Find& at, const ExpertMixture& m, TensorLocation came) {
  const std::int64_t inner = m.e.inner, hidden = m.e.hidden, last = static_cast<std::int64_t>(m.firsts());
  const SortedCopies sorted = places(at, m);
  dispatch<Format>(sorted, m, read<Format>(at(kOutputGradient)), write<Format>(at(came)));
  for (std::int64_t i = 0; i <= last; ++i)
    std::fill_n(write<Format>(at(parameter_gradient(i))), m.e.experts * inner * hidden, Format::store(0));
  each_block(sorted, m, [&](std::int64_t e, std::int64_t begin, std::int64_t count) {
    for (std::size_t f = 0; f < m.firsts(); ++f)
      multiply<Format>({read<Format>(at(handed(f))) + begin * inner, count, inner, true},
                       {read<Format>(at(saved(kCopy))) + begin * hidden, count, hidden},
                       write<Format>(at(parameter_gradient(f))) + e * inner * hidden);
    multiply<Format>({read<Format>(at(came)) + begin * hidden, count, hidden, true},
                     {read<Format>(at(weighed(m))) + begin * inner, count, inner},
                     write<Format>(at(parameter_gradient(last))) + e * hidden * inner);
  });
}

void add_slots(KernelDraft& draft, const ExpertMixture& m) {
  const std::int64_t copies = m.e.rows * m.e.chosen;
  const auto slot = [&](const char* name, std::int64_t rows, std::int64_t width) {
    return Slot{name, {draft.samples, rows, width}, draft.element};
  };
  draft.slots.saved = {{"choices", {draft.samples, m.e.rows, m.e.chosen}, Element::int64},
                       {"shares", {draft.samples, m.e.rows, m.e.chosen}, Element::fp32},
                       slot("copies", copies, m.e.hidden)};
  for (std::size_t f = 0; f < m.firsts(); ++f) {
    draft.slots.saved.push_back(slot("first", copies, m.e.inner));
    draft.slots.handed.push_back(slot("first_gradient", copies, m.e.inner));
  }
  draft.slots.saved.push_back(slot("weighed", copies, m.e.inner));
}

}  // namespace

void build_experts(KernelDraft& draft) {
  const ExpertMixture m{experts(draft.op), draft.samples * experts(draft.op).rows};
  add_slots(draft, m);
  const Desc rows = plain({m.copies(), m.e.hidden}, draft.type);
  const Element element = draft.element;
  const TensorLocation results = draft.forward.scratch(rows).where,
                       came = draft.input_gradient.scratch(rows).where,
                       made = draft.input_gradient.scratch(rows).where,
                       again = draft.weight_gradient.scratch(rows).where;
  draft.forward.call("experts", [=](const Find& at) {
    with_format(element, [&](auto format) { forward<decltype(format)>(at, m, results); });
  });
  draft.input_gradient.call("experts", [=](const Find& at) {
    with_format(element, [&](auto format) { to_inputs<decltype(format)>(at, m, came, made); });
  });
  draft.weight_gradient.call("experts", [=](const Find& at) {
    with_format(element, [&](auto format) { to_weights<decltype(format)>(at, m, again); });
  });
}

}  // namespace penstock::kernels::host
