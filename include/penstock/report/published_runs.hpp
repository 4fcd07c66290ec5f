#pragma once
// Training runs that others measured, one row each, with all that decides their time.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace penstock::report {

/// One iteration of a Transformer. Its ranks are numbered tensor, then context, then data, then pipeline
/// parallel.
struct PublishedRun {
  int line = 0;         ///< of the file
  std::string set, id;  ///< publisher, and name of the run
  std::string group;    ///< runs of one group differ in nothing but how they are divided
  std::string cluster;
  int devices = 0;
  std::int64_t layers = 0, hidden = 0, heads = 0, kv_heads = 0, ffn = 0, sequence = 0, vocabulary = 0;
  std::string block;                              ///< family of the zoo: gpt, llama, mixtral or deepseek_v3
  std::map<std::string, std::string> parameters;  ///< of that family, beside those named here
  std::string positions;                          ///< table or rope
  std::string attention;                          ///< plain or flash
  int element_bytes = 0;                          ///< of weights and activations
  std::vector<std::int64_t> layers_per_stage;     ///< of pp x vpp stages, in model order; empty: all the same
  int tp = 1, cp = 1, pp = 1, dp = 1;
  int ep = 1;   ///< devices that divide the experts, of those that hold the same weights otherwise
  int vpp = 1;  ///< stages of a pipeline rank
  std::int64_t micro_batch = 1;  ///< of one replica
  std::int64_t mini_batch = 1;   ///< of all
  std::string schedule;
  std::string recompute;  ///< none, full (all layers) or selective (attention's cores)
  int zero = 0;
  std::vector<std::string> beside;     ///< what else the run did, in words: "fp32 gradients"
  double measured_s = 0;               ///< of an iteration; 0: nobody measured it, it is predicted alone
  std::optional<double> measured_gib;  ///< peak of the fullest device
};

/// CSV (RFC 4180) whose header names at least these columns (`beside`, called ignored, cp, ep, vpp and
/// parameters may be missing), in any order; others are left aside. Throws BadInput naming file, line and
/// column: a column that is missing, a number that is none or out of range, a word that is not known, degrees
/// that do not multiply to the devices, a mini-batch that replicas cannot share, stages that do not have all
/// layers.
std::vector<PublishedRun> parse_published_runs(const std::string& text, const std::string& file);

}  // namespace penstock::report
