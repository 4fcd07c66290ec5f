#include "penstock/graph/scan_work.hpp"

namespace penstock::graph {
namespace {

/// Multiply-adds of one chunk's products.
double chunk_products(const LinearScan& s) {
  const auto heads = static_cast<double>(s.heads), groups = static_cast<double>(s.key_groups()),
             key = static_cast<double>(s.key), value = static_cast<double>(s.value),
             chunk = static_cast<double>(s.chunk), pairs = chunk * chunk, states = chunk * key * value;
  if (s.form == ScanForm::state_space) return groups * pairs * key + heads * (pairs * value + 2 * states);
  return heads * (pairs * (3 * key + 2 * value) + 3 * states);
}

/// Numbers of the model's size, and in fp32.
struct KeptNumbers {
  std::int64_t plain = 0, whole = 0;
};

KeptNumbers kept_numbers(const LinearScan& s) {
  const std::int64_t keys = 2 * s.rows * s.key_groups() * s.key, roots = 2 * s.rows * s.key_groups(),
                     each = s.rows * s.heads, gate = s.gated ? s.rows * s.features() : 0;
  switch (s.form) {
    case ScanForm::delta:
      return {keys + each * s.chunk, roots + 2 * each};
    case ScanForm::channel_delta:
      return {keys + 2 * each * s.chunk, roots + each};
    case ScanForm::state_space:
      return {gate, each};
    case ScanForm::selective:
      return {gate, 2 * s.chunks() * s.heads * s.key};
  }
  return {};
}

}  // namespace

core::Flops scan_flops(const LinearScan& s) {
  if (s.form != ScanForm::selective)
    return core::Flops(2 * static_cast<double>(s.chunks()) * chunk_products(s));
  const auto channels = static_cast<double>(s.rows) * static_cast<double>(s.heads);
  return core::Flops(channels * (9 * static_cast<double>(s.key) + 1 + (s.gated ? 1 : 0)));
}

core::Bytes scan_bytes(const LinearScan& s, int element_bytes) {
  constexpr std::int64_t kFp32 = 4;  // bytes
  const KeptNumbers numbers = kept_numbers(s);
  return core::Bytes(numbers.plain * element_bytes + numbers.whole * kFp32);
}

}  // namespace penstock::graph
