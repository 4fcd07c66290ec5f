#pragma once
// Training runs that others measured, one row each, with everything that determines their time.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "penstock/graph/product_format.hpp"

namespace penstock::report {

/// One training run of a Transformer. Its ranks are numbered tensor, then context, then data, then pipeline
/// parallel.
struct PublishedRun {
  int line = 0;         ///< line of the file
  std::string set, id;  ///< publisher; name of the run
  std::string group;    ///< runs of one group differ only in how they are divided
  std::string cluster;
  int devices = 0;
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, ffn = 0, sequence = 0, vocabulary = 0;
  std::string framework{};  ///< cluster::runtime; "": not stated
  std::string block;        ///< family of the zoo: gpt, llama, mixtral or deepseek_v3
  /// Parameters of that family, in addition to those named here.
  std::map<std::string, std::string> parameters;
  std::string positions;  ///< table or rope
  std::string attention;  ///< plain or flash
  int element_bytes = 0;  ///< of weights and activations
  /// In which layers multiply, beside numbers of two bytes.
  graph::ProductFormat products = graph::ProductFormat::stored;
  std::vector<std::int64_t> layers_per_stage;  ///< [stage] of pp x vpp stages, in model order; empty: equal
  int tp = 1, cp = 1, pp = 1, dp = 1;
  int ep = 1;                    ///< devices that divide the experts, among those with equal other weights
  int vpp = 1;                   ///< stages of a pipeline rank
  std::int64_t micro_batch = 1;  ///< per replica
  std::int64_t mini_batch = 1;   ///< of all replicas
  std::string schedule;
  std::string recompute;  ///< none, full (all layers) or selective (attention's cores)
  int zero = 0;
  std::vector<std::string> beside;     ///< other settings of the run, in words: "fp32 gradients"
  double measured_s = 0;               ///< seconds per iteration; 0: no measurement, only a prediction
  std::optional<double> measured_gib;  ///< peak of the fullest device
};

/// Parses CSV (RFC 4180) whose header has at least these columns, in any order (`beside`, called ignored, cp,
/// ep, vpp, products and parameters are optional); others are ignored. Throws BadInput naming file, line and column for
/// a missing column, an invalid number, an unknown word, or degrees whose product is not the number of
/// devices. Also for a mini-batch that replicas cannot share, and for stages that do not have all layers.
std::vector<PublishedRun> parse_published_runs(const std::string& text, const std::string& file);

}  // namespace penstock::report
