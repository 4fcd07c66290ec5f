#include "penstock/graph/product_format.hpp"

#include <array>
#include <cmath>

#include "penstock/core/error.hpp"
#include "penstock/core/spelling.hpp"

namespace penstock::graph {
namespace {

constexpr std::size_t kFormats = 6;
constexpr double kWholeScale = 4;  // bytes of a scale in fp32

constexpr std::array<FormatFacts, kFormats> kFacts = {{{"stored", 0, 0, 0, 1, false},
                                                       {"fp8_delayed", 8, 0, 1, 16, false},
                                                       {"fp8_current", 8, 0, 2, 16, false},
                                                       {"fp8_block", 8, kWholeScale / 128, 1, 16, false},
                                                       {"mxfp8", 8, 1.0 / 32, 1, 32, true},
                                                       {"nvfp4", 4, 1.0 / 16, 2, 32, true}}};

constexpr auto kFormatNames = [] {
  std::array<std::string_view, kFormats> out;
  for (std::size_t i = 0; i < kFormats; ++i) out[i] = kFacts[i].name;
  return out;
}();

}  // namespace

const FormatFacts& facts(ProductFormat format) {
  return kFacts[static_cast<std::size_t>(format)];
}

std::string_view name(ProductFormat format) {
  return facts(format).name;
}

ProductFormat product_format(std::string_view given) {
  return static_cast<ProductFormat>(core::index_of(given, kFormatNames, "format of products"));
}

core::Bytes quantized_bytes(ProductFormat format, std::int64_t numbers) {
  constexpr double kBits = 8;
  core::require(format != ProductFormat::stored, "stored numbers have the size of the model's");
  const double each = facts(format).bits / kBits + facts(format).scale;
  return core::Bytes(static_cast<std::int64_t>(std::ceil(static_cast<double>(numbers) * each)));
}

}  // namespace penstock::graph
