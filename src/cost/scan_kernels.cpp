#include "scan_kernels.hpp"

namespace penstock::cost {
namespace {

using graph::LinearScan;
using graph::Matmul;
using graph::ScanForm;

/// Sizes of tensors, for one sample.
struct ScanSizes {
  explicit ScanSizes(const LinearScan& s)
      : chunk(s.chunk),
        key(s.key),
        value(s.value),
        heads(s.heads * s.chunks()),
        groups(s.key_groups() * s.chunks()),
        each(static_cast<double>(s.rows * s.heads)),
        keys(static_cast<double>(s.rows * s.key_groups() * s.key)),
        head_keys(each * static_cast<double>(key)),
        values(each * static_cast<double>(value)),
        pairs(each * static_cast<double>(chunk)),
        states(static_cast<double>(heads) * static_cast<double>(key * value)),
        group_pairs(static_cast<double>(groups) * static_cast<double>(chunk * chunk)),
        decays(s.form == ScanForm::channel_delta ? head_keys : each),
        gate(s.gated ? values : 0) {}

  Matmul product(std::int64_t rows, std::int64_t inner, std::int64_t columns) const {
    return {heads, rows, inner, columns};
  }
  Matmul group_product(std::int64_t rows, std::int64_t inner, std::int64_t columns) const {
    return {groups, rows, inner, columns};
  }

  std::int64_t chunk, key, value;
  std::int64_t heads, groups;  ///< of all chunks
  double each;                 ///< a number per token and head
  double keys;                 ///< queries or keys, as they are read
  double head_keys, values;    ///< a key, or a value, per token and head
  double pairs, states;        ///< scores of chunks, and states, per head
  double group_pairs;          ///< scores of chunks, per group
  double decays, gate;
};

/// Both factors of the state's update, from keys and values by the inverse of the triangle.
ScanKernel update_factors(const ScanSizes& z) {
  return {{z.product(z.chunk, z.chunk, z.value), z.product(z.chunk, z.chunk, z.key)},
          0,
          z.keys + 2 * z.values + z.pairs + z.head_keys,
          z.decays + z.each};
}

/// States of all chunks, one after the other, and values without what the state already holds.
ScanKernel corrected_states(const ScanSizes& z) {
  return {{z.product(z.chunk, z.key, z.value), z.product(z.key, z.chunk, z.value)},
          0,
          z.keys + z.head_keys + 2 * z.values + z.states,
          z.decays};
}

ScanKernel only_streamed(double numbers, double whole = 0) {
  return {{}, 0, numbers, whole};
}

std::vector<ScanKernel> delta_forward(const ScanSizes& z) {
  return {only_streamed(2 * z.keys),
          only_streamed(2 * z.keys),          // normalised queries, keys
          only_streamed(z.decays, z.decays),  // decays, summed within chunks
          only_streamed(z.each, z.each),      // steps
          {{z.product(z.chunk, z.key, z.chunk)}, 0, z.keys + z.pairs, z.decays + z.each},
          update_factors(z),
          corrected_states(z),
          {{z.product(z.chunk, z.key, z.value), z.product(z.chunk, z.key, z.chunk),
            z.product(z.chunk, z.chunk, z.value)},
           0,
           2 * z.keys + 2 * z.values + z.states,
           z.decays}};
}

/// Gradients through the inverse of the triangle, to keys and values.
ScanKernel factor_gradients(const ScanSizes& z) {
  const Matmul by_key = z.product(z.chunk, z.key, z.chunk), to_key = z.product(z.chunk, z.chunk, z.key),
               triangle = z.product(z.chunk, z.chunk, z.chunk);
  return {{by_key, to_key, z.product(z.chunk, z.value, z.chunk), z.product(z.chunk, z.chunk, z.value),
           triangle, triangle, by_key, to_key, to_key},
          0,
          z.keys + 3 * z.values + z.pairs + 2 * z.head_keys,
          2 * z.decays + 2 * z.each};
}

std::vector<ScanKernel> delta_backward(const ScanSizes& z) {
  const Matmul by_state = z.product(z.chunk, z.key, z.value), to_key = z.product(z.chunk, z.value, z.key),
               to_state = z.product(z.key, z.chunk, z.value), scored = z.product(z.chunk, z.chunk, z.key);
  return {update_factors(z),
          corrected_states(z),
          // Gradient of corrected values within chunks.
          {{z.product(z.chunk, z.key, z.chunk), z.product(z.chunk, z.chunk, z.value)},
           0,
           2 * z.keys + 2 * z.values,
           z.decays},
          // Gradients of states, from the last chunk to the first.
          {{by_state, to_state, to_state}, 0, 2 * z.keys + z.head_keys + 3 * z.values + z.states, z.decays},
          // Gradients of queries, keys and the state's factors.
          {{z.product(z.chunk, z.value, z.chunk), to_key, to_key, to_key, scored, scored},
           0,
           2 * z.keys + 3 * z.values + 2 * z.states + 3 * z.head_keys,
           2 * z.decays},
          factor_gradients(z),
          only_streamed(3 * z.head_keys),               // both gradients of keys
          only_streamed(2 * z.keys + 2 * z.head_keys),  // heads of a group, of queries and keys
          only_streamed(z.decays, 2 * z.decays),        // decays
          only_streamed(2 * z.each, z.each),            // steps
          only_streamed(3 * z.keys),
          only_streamed(3 * z.keys)};  // before queries and keys were normalised
}

std::vector<ScanKernel> space_forward(const ScanSizes& z) {
  return {only_streamed(z.each, 2 * z.each),  // steps, and decays summed within chunks
          {{z.product(z.key, z.chunk, z.value)}, 0, z.keys + z.values, z.states + 2 * z.each},
          {{}, 2 * z.states, z.states, z.states},  // states handed from chunk to chunk
          {{z.group_product(z.chunk, z.key, z.chunk)}, 0, 2 * z.keys, z.group_pairs},
          {{z.product(z.chunk, z.chunk, z.value), z.product(z.chunk, z.key, z.value)},
           0,
           z.keys + 2 * z.values + 2 * z.gate + z.states,
           z.group_pairs + 2 * z.each}};
}

std::vector<ScanKernel> space_backward(const ScanSizes& z) {
  const Matmul to_key = z.product(z.chunk, z.value, z.key), pairs = z.product(z.chunk, z.value, z.chunk),
               by_scores = z.group_product(z.chunk, z.chunk, z.key);
  std::vector<ScanKernel> out = space_forward(z);
  out.pop_back();  // its output is not made again
  if (z.gate > 0) out.push_back(only_streamed(5 * z.gate));
  const std::vector<ScanKernel> gradients{
      {{z.product(z.key, z.chunk, z.value)}, 0, z.keys + z.values, z.states + z.each},  // of states
      {{}, 4 * z.states, 2 * z.states, 2 * z.states},  // of states, handed from chunk to chunk
      {{z.product(z.chunk, z.key, z.value), z.product(z.chunk, z.chunk, z.value)},
       0,
       z.keys + 3 * z.values + z.states,
       z.group_pairs + 3 * z.each},                                 // of values
      {{to_key}, 0, z.values + z.states, 2 * z.keys + 2 * z.each},  // of keys
      {{to_key}, 0, z.values + z.states, 2 * z.keys + 2 * z.each},  // of queries
      {{pairs}, 0, 2 * z.values, 2 * z.each + z.group_pairs},       // of scores
      {{by_scores}, 0, 2 * z.keys, z.group_pairs},                  // of queries by scores
      {{by_scores}, 0, 2 * z.keys, z.group_pairs},                  // of keys by scores
      {{pairs}, 0, 2 * z.values, z.group_pairs + 3 * z.each},       // of decays: the scores' once more
      only_streamed(z.each, 4 * z.each)};                           // of steps
  out.insert(out.end(), gradients.begin(), gradients.end());
  return out;
}

/// FLOPs per number of the state: graph::scan_flops().
constexpr double kSelective = 9;

std::vector<ScanKernel> selective_forward(const ScanSizes& z) {
  return {{{}, kSelective * z.head_keys + z.each, 2 * z.keys + 3 * z.each + 2 * z.gate, 2 * z.states}};
}

std::vector<ScanKernel> selective_backward(const ScanSizes& z) {
  return {{{},
           3 * (kSelective * z.head_keys + z.each),
           2 * z.keys + 5 * z.each + 3 * z.gate,
           2 * z.states + 2 * z.keys}};
}

}  // namespace

ScanKernels scan_kernels(const LinearScan& scan) {
  const ScanSizes z(scan);
  switch (scan.form) {
    case ScanForm::delta:
    case ScanForm::channel_delta:
      return {delta_forward(z), delta_backward(z)};
    case ScanForm::state_space:
      return {space_forward(z), space_backward(z)};
    case ScanForm::selective:
      break;
  }
  return {selective_forward(z), selective_backward(z)};
}

ScanScratch scan_scratch(const LinearScan& scan) {
  const ScanSizes z(scan);
  if (scan.form == ScanForm::selective) return {0, 2 * z.keys};
  if (scan.form == ScanForm::state_space) return {2 * z.states, 2 * z.states + 2 * z.group_pairs};
  return {3 * z.head_keys + 4 * z.values + 2 * z.states, 0};
}

}  // namespace penstock::cost
