#pragma once
// From layers to operators: shapes, FLOPs and bytes per sample, written down once for the whole zoo.

#include <array>
#include <cstdint>
#include <set>
#include <string>
#include <vector>

#include "penstock/graph/graph_builder.hpp"

namespace penstock::models {

using Shape = std::vector<std::int64_t>;

/// Output of one operator for another, for one sample.
struct Tensor {
  core::OpId producer;
  Shape shape;                  ///< no batch axis: {width}, {tokens, width} or {channels, height, width}
  bool needs_gradient = false;  ///< false until the first operator with parameters

  std::int64_t elements() const;
  std::int64_t width() const { return shape.back(); }
  std::int64_t rows() const { return elements() / width(); }
};

using Activation = graph::Function;
using Product = graph::Matmul;
using graph::AttentionCore;
using graph::AttentionMask;

struct Dense {
  bool bias = false;
  Activation fused = Activation::none;
  /// Operator with the weights it uses, counted there (an embedding's table)
  std::string parameters_of = {};
};

struct Table {
  std::int64_t rows, width;
  bool sum = false;                ///< add the looked-up rows into one
  std::string parameters_of = {};  ///< operator with the table it uses, counted there
};

struct Window {
  std::array<std::int64_t, 2> kernel;  ///< height, width
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> padding = {0, 0};
};

/// Norm over the numbers of a token. `rms`: by the root of their mean square, one weight each (Zhang and
/// Sennrich, NeurIPS 2019). `layer`: with mean, weights and biases. `unbiased`: without biases. `plain`: neither.
enum class NormKind : std::uint8_t { rms, rms_plain, layer, layer_unbiased, layer_plain };

/// Norms of queries and keys. `head`: by the root of each head, one weight per number of a head (Qwen3).
/// `whole`: one weight per number of all heads (OLMoE). `plain`: without weights (Llama 4). `layer`: of each
/// head with mean, weights and biases (Persimmon).
enum class KeyNorm : std::uint8_t { none, head, whole, plain, layer };

struct AttentionForm {
  bool bias = false;
  AttentionCore core = AttentionCore::counted;
  std::int64_t kv_heads =
      0;                ///< that groups of heads share (Ainslie et al., GQA, EMNLP 2023); 0: each has its own
  bool rotary = false;  ///< queries and keys are turned by their positions (Su et al., RoFormer, 2021)
  bool qkv_bias = false;     ///< biases of only query, key and value (Qwen2)
  bool output_bias = false;  ///< only the output has a bias (GPT-Neo)
  KeyNorm key_norm = KeyNorm::none;
  bool sinks = false;           ///< each head of queries has a learned score of no key (GPT-OSS)
  std::int64_t head_width = 0;  ///< 0: heads together are as wide as the query
  std::int64_t hidden = 0;      ///< width of its output; 0: as the query
  std::int64_t value_head = 0, rotary_width = 0;  ///< graph::Attention
  AttentionMask mask = AttentionMask::none;
  std::int64_t reach = 0;  ///< tokens, of a mask that has one
  bool dropout = false;    ///< graph::Attention
};

struct ConvolutionForm {
  std::int64_t kernel = 4;          ///< tokens that an output reads
  bool bias = false, silu = false;  ///< graph::ShortConvolution
};

struct ExpertForm {
  std::int64_t chosen;                                                ///< experts that a row takes
  std::int64_t inner;                                                 ///< width of an expert
  bool gated = true, bias = false, clamped = false, in_turn = false;  ///< graph::Experts
};

/// Adds one operator per call. Conventions, the same for every model:
/// - A multiply-add is two FLOPs; biases and fused activations are not counted. Element-wise operators and
///   norms carry a rough FLOP count per element: memory bounds them.
/// - Input gradients cost nothing if no trainable operator comes before (`needs_gradient`).
/// - Kept for backward: the operator's own output and internals, never its inputs. Views and activations that
///   work in place (relu, sigmoid, tanh: the derivative follows from the output) keep nothing of their own.
/// Shapes that do not fit are defects of the calling model; models check their parameters before.
class Layers {
 public:
  explicit Layers(const std::string& model, int element_bytes = 4);

  /// Decides for the layers that follow, until the next call. Frozen parameters do not train: they have no
  /// weight gradient, and no input gradient if nothing before them trains.
  void freeze(bool frozen) { frozen_ = frozen; }

  Tensor input(const std::string& name, Shape shape);
  Tensor indices(const std::string& name, std::int64_t count);  ///< row numbers of a table, 64 bit each

  /// Adds a trained number to every column of `x`, in place: the bias of a product whose matrix is another operator's.
  Tensor shift(const std::string& name, const Tensor& x);
  Tensor linear(const std::string& name, const Tensor& x, std::int64_t width, const Dense& dense = {});
  /// Fused multi-head attention with its four projections to the width of `query`, or to the widths of
  /// `form`. Softmax is not counted; its result (heads x queries x keys) is kept, and so are the projected
  /// query, key and value and the context.
  Tensor attention(const std::string& name, const Tensor& query, const Tensor& key, const Tensor& value,
                   std::int64_t heads, AttentionForm form = {});
  /// A mixture of experts (graph::Experts), one per column of the router's `probabilities`. Work between an
  /// expert's matrices is not counted. Kept are:
  /// - a copy of each row for every expert it takes, sorted by expert, with its expert (64 bit) and its share
  ///   (fp32);
  /// - outputs of the first matrices, also clamped if they are, and inputs of the last one;
  /// - the output.
  Tensor experts(const std::string& name, const Tensor& x, const Tensor& probabilities, ExpertForm form);
  /// Linear attention or a state space over the tokens of its operands, which have rows in common and
  /// LinearScan::read_width() numbers in each; `scan.rows` is set. Work and kept tensors: graph/scan_work.hpp, and its
  /// output.
  Tensor scan(const std::string& name, const std::vector<Tensor>& operands, graph::LinearScan scan);
  /// Convolves each channel along the tokens. Only its output is kept: with silu, its kernel computes the
  /// convolution again in the backward pass (causal_conv1d).
  Tensor short_convolution(const std::string& name, const Tensor& x, ConvolutionForm form = {});
  Tensor matmul(const std::string& name, const Tensor& a, const Tensor& b, Product product,
                const Shape& shape);
  Tensor embedding(const std::string& name, const Tensor& rows, const Table& table);
  Tensor conv2d(const std::string& name, const Tensor& x, std::int64_t channels, Window window,
                bool bias = false);
  Tensor max_pool(const std::string& name, const Tensor& x, Window window);
  Tensor average_pool(const std::string& name, const Tensor& x, Window window);
  /// Averages over a grid of `size` x `size` cells; 1 is the global average. Difference from torch if the
  /// image is no multiple of `size`: all windows have one length. A smaller image leaves no window (stride
  /// 0).
  Tensor adaptive_average_pool(const std::string& name, const Tensor& x, std::int64_t size);
  Tensor layer_norm(const std::string& name, const Tensor& x);
  Tensor plain_norm(const std::string& name, const Tensor& x);  ///< a layer norm without weights
  /// Every row of `x` scaled, and shifted or added to, by numbers that all rows share; one kernel.
  Tensor modulate(const std::string& name, const Tensor& x, const Tensor& by);
  Tensor multiply(const std::string& name, const Tensor& a, const Tensor& b);  ///< number by number
  /// Divides by the root of the mean square, without bias (Zhang and Sennrich, NeurIPS 2019).
  Tensor rms_norm(const std::string& name, const Tensor& x, bool weights = true);
  /// rms_norm in `groups` parts of each row, times silu of `gate`; one kernel. `weights` trainable numbers, which
  /// groups may share.
  Tensor gated_norm(const std::string& name, const Tensor& x, const Tensor& gate, std::int64_t groups,
                    std::int64_t weights);
  Tensor normalised(const std::string& name, const Tensor& x, NormKind kind);
  Tensor batch_norm(const std::string& name, const Tensor& x);
  /// `weights`: numbers of its own that train (xIELU has two).
  Tensor activation(const std::string& name, const Tensor& x, Activation kind, std::int64_t weights = 0);
  /// Halves the width: the first half, through swish, times the second (Shazeer, GLU Variants, 2020); one
  /// kernel.
  Tensor swiglu(const std::string& name, const Tensor& x);
  Tensor softmax(const std::string& name, const Tensor& x);
  /// The softmax of a cross entropy, kept in fp32 for every element size where the logits were; of Transformer
  /// Engine's nothing is kept beside the logits.
  Tensor loss(const std::string& name, const Tensor& x, graph::LossKernel kernel);
  /// A sum, written over its latest term that a layer or norm makes and that no other operator reads, if
  /// there is one (graph::lies_on). With `dropout` it keeps a byte for each number (graph::Elementwise).
  Tensor add(const std::string& name, const std::vector<Tensor>& terms, bool dropout = false);
  /// Joins `parts` into `shape`. In memory, with channels last, it has `rows` rows of `part0`, `part1`, ...
  /// numbers side by side.
  Tensor concat(const std::string& name, const std::vector<Tensor>& parts, std::size_t axis = 0);
  /// Returns the numbers of `x` with another shape, or their leading part if `shape` is smaller. Mixers of hybrid
  /// decoders show a part of every row; costs need only its size, and no replay runs these.
  Tensor view(const std::string& name, const Tensor& x, Shape shape);
  Tensor flatten(const std::string& name, const Tensor& x) { return view(name, x, {x.elements()}); }

  /// True if a sum was written over the tensor, so that no operator may read it again.
  bool spent(const Tensor& x) const { return overwritten_.contains(x.producer); }

  graph::OpGraph build() const;

 private:
  Tensor emit(graph::Operator op, const std::vector<Tensor>& inputs, Shape shape,
              std::int64_t saved_elements);
  Tensor norm(const std::string& name, const Tensor& x, std::int64_t channels, std::int64_t statistics,
              graph::NormForm form, std::int64_t parameters);
  Tensor pool(const std::string& name, const Tensor& x, const Shape& shape, std::int64_t work_per_output,
              const Window& window, bool average);

  graph::GraphBuilder builder_;
  int element_bytes_;
  bool frozen_ = false;
  std::set<core::OpId> spare_;  ///< outputs that no operator has read, nor will for its own gradients
  std::set<core::OpId> overwritten_;
};

}  // namespace penstock::models
