#pragma once
// Attributes of operators: one struct per kind. All extents are counts per sample; zero means not stated, as
// planning by analytic or profiled costs does without most of them. A kind that works row by row has `rows`,
// and features() of each row that it makes.

#include <array>
#include <compare>
#include <cstdint>
#include <numeric>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "penstock/core/error.hpp"
#include "penstock/graph/op_kind.hpp"

namespace penstock::graph {

/// Element-wise; gelu by the error function; swiglu halves its width.
enum class Function : std::uint8_t { none, relu, sigmoid, tanh, gelu, swiglu };
std::string_view name(Function function);

/// Attributes of inputs, and of views, whose elements are the leading ones of what they show.
struct Elements {
  std::int64_t elements = 0;
  friend auto operator<=>(const Elements&, const Elements&) = default;
};

/// rows x in -> rows x out; weights are out x in, as the table of a tied embedding.
struct Linear {
  std::int64_t rows = 0, in = 0, out = 0;
  bool bias = false;
  Function function = Function::none;  ///< applied at its end; not swiglu
  std::int64_t features() const { return out; }
  friend auto operator<=>(const Linear&, const Linear&) = default;
};

/// How the core of attention runs, which decides what it moves and keeps. `plain`: kernel by kernel; each reads
/// and writes the scores (heads x queries x keys), with scale and mask. `flash`: one kernel that never writes
/// the scores (Dao et al., FlashAttention, NeurIPS 2022). `counted`: neither; scores are kept once and move
/// nothing.
enum class AttentionCore : std::uint8_t { counted, plain, flash };

/// Pairs of a query and a key that attention computes. `causal`: keys up to the query's own token. The others
/// are causal, too. `window`: the last `reach` keys. `blocks`: keys in the query's own block of `reach` tokens
/// (packed documents). `top_k`: `reach` keys that an index picks (DeepSeek-V3.2, 2025).
enum class AttentionMask : std::uint8_t { none, causal, window, blocks, top_k };

/// Softmax of scaled scores; queries, keys and values are projected to `inner`, their result
/// back to `hidden`.
struct Attention {
  std::int64_t queries = 0, keys = 0;           ///< tokens
  std::int64_t hidden = 0, heads = 0;           ///< width of its queries and its output; heads of queries
  std::int64_t key_width = 0, value_width = 0;  ///< of what it reads
  bool bias = false;
  std::int64_t kv_heads =
      0;                ///< that groups of heads share (Ainslie et al., GQA, EMNLP 2023); 0: each has its own
  bool rotary = false;  ///< queries and keys are turned by their positions (Su et al., RoFormer, 2021)
  AttentionCore core = AttentionCore::counted;
  std::int64_t inner = 0;  ///< all heads side by side, where they are not as wide as its output; 0: hidden
  bool partial = false;    ///< some of the heads of a larger one: others add the last bias
  bool qkv_bias = false;   ///< biases of only query, key and value (Qwen2)
  bool qk_norm = false;    ///< queries and keys are normalised head by head, by their root (Qwen3)
  /// Keys and values that it projects itself, where it is given the others projected already
  /// (layout/context.hpp); 0: all of them.
  std::int64_t own_keys = 0;
  std::int64_t projected_keys() const { return own_keys == 0 ? keys : own_keys; }
  // Latent attention (DeepSeek-V2, 2024, section 2.1): what queries, keys and values are projected from is
  // narrower than its output.
  std::int64_t query_width = 0;   ///< of what its queries are projected from; 0: hidden
  std::int64_t value_head = 0;    ///< width of a head's values and of its result; 0: as of its keys
  std::int64_t rotary_width = 0;  ///< last numbers of each key, which all heads take as they come
  AttentionMask mask = AttentionMask::none;
  std::int64_t reach = 0;  ///< tokens, of a mask that has one
  /// Some shares are set to zero. A plain core runs a kernel for this; it keeps the kernel's input and output,
  /// and a byte for each share. A flash core keeps nothing: it draws the same random numbers twice.
  bool dropout = false;
  /// Width of its projected queries, all heads side by side.
  std::int64_t inner_width() const { return inner == 0 ? hidden : inner; }
  /// Width of its keys, as the core reads them; of its values too, unless these have a width of their own.
  std::int64_t shared_width() const {
    return kv_heads == 0 || kv_heads == heads ? inner_width() : inner_width() / heads * kv_heads;
  }
  /// Part of shared_width() that is projected, without the part that heads share.
  std::int64_t projected_width() const { return shared_width() - key_heads() * rotary_width; }
  std::int64_t values_width() const { return value_head == 0 ? shared_width() : key_heads() * value_head; }
  /// Width of what the core makes, all heads side by side.
  std::int64_t result_width() const { return value_head == 0 ? inner_width() : heads * value_head; }
  std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }
  friend auto operator<=>(const Attention&, const Attention&) = default;
};

/// `lookups` of the `rows` of a table; `sum` adds them up. Rows from `first` on of a larger one of `table`
/// rows: looking up another makes zeros.
struct Embedding {
  std::int64_t lookups = 0, rows = 0, width = 0;
  bool sum = false;
  std::int64_t first = 0, table = 0;  ///< 0: it has the whole table
  friend auto operator<=>(const Embedding&, const Embedding&) = default;
};

/// Slides over an image. Index 0 is height, 1 is width.
struct Window {
  std::int64_t channels = 0;
  std::array<std::int64_t, 2> image{}, kernel{}, stride{}, padding{};
  std::int64_t output(std::size_t axis) const {
    return (image[axis] + 2 * padding[axis] - kernel[axis]) / stride[axis] + 1;
  }
  friend auto operator<=>(const Window&, const Window&) = default;
};

struct Convolution {
  Window window;
  std::int64_t out = 0;  ///< channels
  bool bias = false;
  friend auto operator<=>(const Convolution&, const Convolution&) = default;
};

/// `batch` products of a rows x inner with an inner x columns matrix.
struct Matmul {
  std::int64_t batch = 0, rows = 0, inner = 0, columns = 0;
  friend auto operator<=>(const Matmul&, const Matmul&) = default;
};

/// `layer`: over the channels of each row. `batch`: per channel over all rows of all samples. `rms`: by the root
/// of a row's mean square, without bias (Zhang and Sennrich, NeurIPS 2019). `gated`: rms of a row or of groups
/// of its channels, times silu of a second tensor, in one kernel (fla's FusedRMSNormGated, mamba_ssm's
/// RMSNormGated).
enum class NormForm : std::uint8_t { layer, batch, rms, gated };

struct Norm {
  std::int64_t elements = 0, channels = 0;
  NormForm form = NormForm::layer;
  friend auto operator<=>(const Norm&, const Norm&) = default;
};

struct Activation {
  std::int64_t elements = 0;  ///< of its output
  Function function = Function::none;
  friend auto operator<=>(const Activation&, const Activation&) = default;
};

/// A sum of its terms, or their product. With `dropout` some numbers of the last term are set to zero by the
/// same kernel, which keeps a byte for each of them (Megatron-LM's bias_dropout_add).
struct Elementwise {
  std::int64_t elements = 0, terms = 0;
  bool product = false;
  bool dropout = false;
  friend auto operator<=>(const Elementwise&, const Elementwise&) = default;
};

/// The largest number under a window, or their mean, which counts the padding as zeros.
struct Pool {
  std::int64_t elements = 0, work = 0;  ///< of its output; FLOPs for each of these
  Window window;
  bool average = false;
  friend auto operator<=>(const Pool&, const Pool&) = default;
};

/// How a framework computes a cross entropy over the vocabulary. They differ in what they hold of each logit
/// (cost/backward_sweep.hpp).
enum class LossKernel : std::uint8_t {
  none,      ///< a plain softmax
  in_place,  ///< Megatron-LM: softmax and gradient are written over the fp32 copy of the logits
  native,    ///< Megatron-LM's --cross-entropy-loss-fusion, as measured: one fp32 copy more
  te,        ///< Transformer Engine's: the gradient is written over the logits
  torch      ///< torch.nn.functional.cross_entropy of logits in fp32
};

/// Over rows of `width`; with `loss` that of a cross entropy, which costs take to be in fp32.
struct Softmax {
  std::int64_t rows = 0, width = 0;
  LossKernel loss = LossKernel::none;
  std::int64_t features() const { return width; }
  friend auto operator<=>(const Softmax&, const Softmax&) = default;
};

/// Rows of `widths` side by side.
struct Concat {
  std::int64_t elements = 0, rows = 0;
  std::vector<std::int64_t> widths;
  std::int64_t features() const { return std::reduce(widths.begin(), widths.end()); }
  friend auto operator<=>(const Concat&, const Concat&) = default;
};

/// `experts` feed-forwards from `hidden` to `inner` and back. Every row takes the `chosen` ones that its
/// router's probabilities, rows x experts, are largest for (of equal ones the first). It adds up what they
/// make, weighed by these probabilities, which are divided by their sum (Jiang et al., Mixtral of Experts,
/// 2024, section 2.1). Dropless: no row is turned away, however full an expert is (Gale et al., MegaBlocks,
/// MLSys 2023). A share weighs what is between an expert's matrices, as in Megatron-LM: what the last one
/// makes need not be kept.
struct Experts {
  std::int64_t rows = 0, hidden = 0, inner = 0, experts = 0, chosen = 0;
  bool gated = false;    ///< swiglu of two matrices side by side, gate and up; else gelu of one
  bool bias = false;     ///< each matrix has a bias, the last one's weighed by the share (GPT-OSS)
  bool clamped = false;  ///< what the first matrices make is clamped before the activation (GPT-OSS)
  bool in_turn = false;  ///< a sample's rows take experts one after the other, whatever the router chooses
  std::int64_t features() const { return hidden; }
  std::int64_t matrices() const { return gated ? 3 : 2; }  ///< hidden x inner each, of an expert
  friend auto operator<=>(const Experts&, const Experts&) = default;
};

/// How a token updates a scan's state S, a key x value matrix per head. A decay a, a key k, a value v and a step
/// b come from the token; its query q then reads q S.
/// - `state_space`: S = a S + k v, one decay per head: the SSD of Mamba-2 (Dao and Gu, ICML 2024), where k, v and
///   q are called B, x and C, and x is multiplied by its step.
/// - `delta`: S = a (S - b k (k S)) + b k v: the gated delta rule (Yang et al., Gated Delta Networks, ICLR 2025),
///   with queries and keys normalised in the kernel.
/// - `channel_delta`: `delta` with a decay for each number of a key (Kimi Linear, 2025, section 3).
/// - `selective`: S = a S + k v, where every head is a channel (value 1) with a decay for each number of its
///   state: the selective scan of Mamba (Gu and Dao, 2023), token by token.
enum class ScanForm : std::uint8_t { state_space, delta, channel_delta, selective };

/// Linear attention and state spaces. The first operands hold queries, keys and values, the next ones what decays
/// and steps are made of, the last one a gate.
struct LinearScan {
  std::int64_t rows = 0;    ///< tokens
  std::int64_t heads = 0;   ///< of values; each has a state
  std::int64_t groups = 0;  ///< heads of queries and keys, which groups of heads share; 0: each has its own
  std::int64_t key = 0;     ///< width of a head's queries and keys: of its state
  std::int64_t value = 0;   ///< width of a head's values
  /// Tokens that products compute at once; of `selective`, tokens between two states that it keeps.
  std::int64_t chunk = 0;
  ScanForm form = ScanForm::state_space;
  bool gated = false;  ///< the result is multiplied by silu of a gate in the kernel; not of delta rules
  std::int64_t key_groups() const { return groups == 0 ? heads : groups; }
  /// The last chunk counts as a whole one: kernels compute whole tiles.
  std::int64_t chunks() const { return chunk == 0 ? 0 : (rows + chunk - 1) / chunk; }
  std::int64_t features() const { return heads * value; }
  /// Numbers that it reads for each token.
  std::int64_t read_width() const;
  /// Counts the scan's own weights: decays (A_log); biases of steps (dt_bias) and the skip (D) where the form has
  /// them. The steps of `selective` come with their bias.
  std::int64_t parameters() const;
  friend auto operator<=>(const LinearScan&, const LinearScan&) = default;
};

/// A convolution of each channel by itself along the tokens, over the token and the `kernel` - 1 tokens before
/// it (Tri Dao's causal_conv1d; Fu et al., Hungry Hungry Hippos, ICLR 2023).
struct ShortConvolution {
  std::int64_t rows = 0, channels = 0, kernel = 0;
  bool bias = false;
  bool silu = false;  ///< x / (1 + exp(-x)) of its result, in the same kernel
  std::int64_t features() const { return channels; }
  friend auto operator<=>(const ShortConvolution&, const ShortConvolution&) = default;
};

/// std::monostate of an operator without attributes, as those have that only a profile describes.
using Attributes =
    std::variant<std::monostate, Elements, Linear, Attention, Embedding, Convolution, Matmul, Norm,
                 Activation, Elementwise, Pool, Softmax, Concat, Experts, LinearScan, ShortConvolution>;

/// True if an operator of that kind may have these attributes.
bool suits(OpKind kind, const Attributes& attributes);

/// Equal attributes have equal digests.
std::uint64_t digest(const Attributes& attributes);

/// File form of attributes: named extents, such as {"hidden", 1024}, and switches that are 1 where they hold.
/// In model files and as keys of calibrations.
using Shape = std::vector<std::pair<std::string, std::int64_t>>;

/// Only the stated extents, in the order of docs/formats/model.md.
Shape shape_of(const Attributes& attributes);

/// Throws ExtentFault for an extent the kind does not have, and one out of range.
Attributes attributes_of(OpKind kind, const Shape& shape);

struct ExtentFault : core::BadInput {
  std::string extent, why;
  ExtentFault(const std::string& which, const std::string& reason)
      : BadInput("shape: " + which + ": " + reason), extent(which), why(reason) {}
};

}  // namespace penstock::graph
