#include "models/scan_parameters.hpp"

namespace penstock::models {
namespace {

constexpr std::int64_t kLongestKernel = 1'024;  ///< tokens of a short convolution
constexpr std::int64_t kMostChannels = 4 * kWidest;

/// Refuses parameters that are 0 although a mixer needs them.
void need(const Parameters& p, const std::string& word, const std::vector<const char*>& names) {
  for (const char* name : names)
    if (p.integer(name, 0, kMostChannels) == 0) p.fail(name, "at least 1, where mixers has " + word);
}

void need_heads(const Parameters& p, const std::string& word, std::int64_t heads, std::int64_t groups) {
  need(p, word, {"state_heads", "state_groups", "state_head_width", "state_width"});
  if (heads % groups != 0) p.fail("state_groups", "a divisor of state_heads");
}

/// The chunk of the usual kernel where none is stated.
std::int64_t chunk_or(std::int64_t given, std::int64_t usual) {
  return given > 0 ? given : usual;
}

/// Numbers of more than one mixer.
struct ScanNumbers {
  std::int64_t heads, groups, head_width, width, kernel, chunk;
  bool bias, convolution_bias;
};

ScanNumbers read_numbers(const Parameters& p) {
  return {p.integer("state_heads", 0, kMostHeads),
          p.integer("state_groups", 0, kMostHeads),
          p.integer("state_head_width", 0, kWidest),
          p.integer("state_width", 0, kWidest),
          p.integer("convolution_tokens", 1, kLongestKernel),
          p.integer("scan_chunk", 0, kWidest),
          p.flag("mixer_bias"),
          p.flag("convolution_bias")};
}

StateSpace read_state_space(const Parameters& p, const ScanNumbers& n) {
  return {.heads = n.heads,
          .head_width = n.head_width,
          .groups = n.groups,
          .state = n.width,
          .kernel = n.kernel,
          .chunk = chunk_or(n.chunk, StateSpace{}.chunk),
          .in_bias = n.bias,
          .out_bias = n.bias,
          .conv_bias = n.convolution_bias,
          .norm = p.flag("state_norm")};
}

SelectiveScan read_selective(const Parameters& p, const ScanNumbers& n) {
  const std::string norms = p.word("step_norms", {"no", "yes", "plain"});
  return {.channels = p.integer("state_channels", 0, kMostChannels),
          .state = n.width,
          .step_rank = p.integer("step_rank", 0, kWidest),
          .kernel = n.kernel,
          .chunk = chunk_or(n.chunk, SelectiveScan{}.chunk),
          .bias = n.bias,
          .conv_bias = n.convolution_bias,
          .norms = norms != "no",
          .norm_weights = norms == "yes"};
}

DeltaNet read_delta(const Parameters& p, const ScanNumbers& n) {
  const std::int64_t latent = p.integer("decay_rank", 0, kWidest);
  return {.key_heads = n.groups,
          .value_heads = n.heads,
          .key_width = n.width,
          .value_width = n.head_width,
          .kernel = n.kernel,
          .chunk = chunk_or(n.chunk, DeltaNet{}.chunk),
          .channel_decay = latent > 0,
          .latent = latent};
}

}  // namespace

ScanChoice read_scans(const Parameters& p) {
  const ScanNumbers n = read_numbers(p);
  return {read_state_space(p, n), read_selective(p, n), read_delta(p, n), {n.kernel, n.bias}};
}

std::optional<Mixer> scan_mixer(const Parameters& p, const std::string& word, const ScanChoice& all) {
  if (word == "convolution") return all.convolution;
  if (word == "selective") {
    need(p, word, {"state_channels", "state_width", "step_rank"});
    return all.selective;
  }
  if (word != "state_space" && word != "delta") return {};
  need_heads(p, word, all.space.heads, all.space.groups);
  return word == "delta" ? Mixer(all.delta) : Mixer(all.space);
}

std::vector<ParameterInfo> scan_parameters() {
  return {
      {"state_heads", "0", "of state_space and delta: heads, each with a state"},
      {"state_groups", "0", "of them: groups of heads that share keys and queries; divides state_heads"},
      {"state_head_width", "0", "of them: width of a head's values"},
      {"state_width", "0", "of them and of selective: width of keys and queries, which values are kept by"},
      {"state_channels", "0", "of selective: channels, each with a state"},
      {"step_rank", "0", "of selective: width that the steps are projected from"},
      {"step_norms", "no",
       "of selective, yes: norms of steps, keys and queries (Jamba); plain: without weights (Falcon Mamba)"},
      {"state_norm", "yes", "of state_space, yes: a norm with a gate behind the scan; no: the gate alone"},
      {"decay_rank", "0",
       "of delta: width between two projections to a decay of each number of a key, and to the gate (Kimi "
       "Linear); 0: a decay of each head, one projection"},
      {"scan_chunk", "0",
       "tokens of a scan's chunk; 0: 256 of state_space, 2048 between kept states of selective, 64 of delta"},
      {"convolution_tokens", "4", "tokens that the short convolution of a scan or of convolution reaches"},
      {"convolution_bias", "yes", "biases of that convolution of state_space and selective"},
      {"mixer_bias", "no",
       "yes: state_space, selective and convolution have biases in their projections (convolution: in all parts)"}};
}

}  // namespace penstock::models
