#pragma once
// A row of the table of decoders: how one model type of transformers reads as the zoo's family `decoder`.

#include <string_view>
#include <vector>

namespace penstock::frameworks {

class DecoderKeys;

/// Reads keys that no text of a row expresses.
using DecoderRule = void (*)(DecoderKeys&);

/// Texts are words between spaces. Source: configuration and modeling files of transformers 5.24.
struct DecoderRow {
  std::string_view model_type, model_class;
  /// KEY=VALUE: what the configuration class has for a key that is left out; "null" is None. A key that is
  /// neither here nor common to all decoders is refused.
  std::string_view defaults;
  /// PARAMETER=VALUE of every model of this type.
  std::string_view fixed = {};
  /// KEY>PARAMETER: a count. KEY?PARAMETER=VALUE: a flag, and what the parameter is if it is true.
  std::string_view fields = {};
  /// KEY=VALUE that the model must have; another value computes what family `decoder` does not.
  std::string_view demands = {};
  /// Keys that change no operator.
  std::string_view passed = {};
  /// KEY=OTHER: names that the configuration class takes for one key.
  std::string_view aliases = {};
  std::vector<DecoderRule> rules = {};
};

const std::vector<DecoderRow>& decoder_rows();
/// Rows of layers with scans or short convolutions. decoder_rows() has them, too.
std::vector<DecoderRow> hybrid_rows();

}  // namespace penstock::frameworks
