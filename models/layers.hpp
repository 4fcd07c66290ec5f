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

/// What one operator hands to the next, for one sample.
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
using graph::Mask;

struct Dense {
  bool bias = false;
  Activation fused = Activation::none;
  std::string parameters_of = {};  ///< operator whose weights it uses, counted there (an embedding's table)
};

struct Table {
  std::int64_t rows, width;
  bool sum = false;                ///< add the looked-up rows into one
  std::string parameters_of = {};  ///< operator whose table it uses, counted there
};

struct Window {
  std::array<std::int64_t, 2> kernel;  ///< height, width
  std::array<std::int64_t, 2> stride = {1, 1};
  std::array<std::int64_t, 2> padding = {0, 0};
};

struct AttentionForm {
  bool bias = false;
  AttentionCore core = AttentionCore::counted;
  std::int64_t kv_heads =
      0;                ///< that groups of heads share (Ainslie et al., GQA, EMNLP 2023); 0: each has its own
  bool rotary = false;  ///< queries and keys are turned by their positions (Su et al., RoFormer, 2021)
  bool qkv_bias = false;    ///< biases of query, key and value alone (Qwen2)
  bool qk_norm = false;     ///< queries and keys are normalised head by head, by their root (Qwen3)
  bool whole_norm = false;  ///< they are so all heads together, each number with a weight of its own (OLMoE)
  std::int64_t head_width = 0;                    ///< 0: heads together are as wide as the query
  std::int64_t hidden = 0;                        ///< width of its output; 0: as the query
  std::int64_t value_head = 0, rotary_width = 0;  ///< graph::Attention
  Mask mask = Mask::none;
  std::int64_t reach = 0;  ///< tokens, of a mask that has one
  bool dropout = false;    ///< graph::Attention
};

struct ExpertForm {
  std::int64_t chosen;                                                ///< experts that a row takes
  std::int64_t inner;                                                 ///< width of an expert
  bool gated = true, bias = false, clamped = false, in_turn = false;  ///< graph::Experts
};

/// Adds one operator per call. Conventions, so that every model counts alike:
/// - A multiply-add is two FLOPs; biases and fused activations are not counted. Element-wise operators and
///   norms carry a rough FLOP count per element: memory bounds them.
/// - Input gradients cost nothing where no trainable operator stands before (`needs_gradient`).
/// - Kept for backward: the operator's own output and internals, never its inputs. A view and an activation
///   that works in place (relu, sigmoid, tanh: the derivative follows from the output) keep nothing of their
///   own.
/// Shapes that do not fit are defects of the model that asks; models check their parameters before.
class Layers {
 public:
  explicit Layers(const std::string& model, int element_bytes = 4);

  /// Parameters of the layers that follow do not train, until told otherwise: they have no weight gradient,
  /// and no input gradient where nothing before them trains.
  void freeze(bool frozen) { frozen_ = frozen; }

  Tensor input(const std::string& name, Shape shape);
  Tensor indices(const std::string& name, std::int64_t count);  ///< row numbers of a table, 64 bit each

  Tensor linear(const std::string& name, const Tensor& x, std::int64_t width, const Dense& dense = {});
  /// Fused multi-head attention with its four projections to the width of `query`, or as the form has it.
  /// Softmax is not counted; its result (heads x queries x keys) is kept, as are the projected query, key and
  /// value and the context.
  Tensor attention(const std::string& name, const Tensor& query, const Tensor& key, const Tensor& value,
                   std::int64_t heads, AttentionForm form = {});
  /// A mixture of as many experts as `probabilities`, of a router, are wide (graph::Experts). What is between
  /// an expert's matrices is not counted as work. Kept: a copy of each row for every expert it takes, sorted
  /// by expert; what their first matrices make, also as clamped where it is, and what the last one reads; the
  /// output; and for each copy its expert, 64 bit, and its share, fp32.
  Tensor experts(const std::string& name, const Tensor& x, const Tensor& probabilities, ExpertForm form);
  Tensor matmul(const std::string& name, const Tensor& a, const Tensor& b, Product product,
                const Shape& shape);
  Tensor embedding(const std::string& name, const Tensor& rows, const Table& table);
  Tensor conv2d(const std::string& name, const Tensor& x, std::int64_t channels, Window window,
                bool bias = false);
  Tensor max_pool(const std::string& name, const Tensor& x, Window window);
  Tensor average_pool(const std::string& name, const Tensor& x, Window window);
  /// Averages over a grid of `size` x `size` cells; 1 is the global average. Differs from torch where the
  /// image is no multiple of `size`: all windows have one length. A smaller image leaves no window (stride
  /// 0).
  Tensor adaptive_average_pool(const std::string& name, const Tensor& x, std::int64_t size);
  Tensor layer_norm(const std::string& name, const Tensor& x);
  Tensor plain_norm(const std::string& name, const Tensor& x);  ///< a layer norm without weights
  /// Every row of `x` scaled, and shifted or added to, by numbers that all rows share; one kernel.
  Tensor modulate(const std::string& name, const Tensor& x, const Tensor& by);
  /// By the root of the mean square, without bias (Zhang and Sennrich, NeurIPS 2019).
  Tensor rms_norm(const std::string& name, const Tensor& x);
  Tensor batch_norm(const std::string& name, const Tensor& x);
  Tensor activation(const std::string& name, const Tensor& x, Activation kind);
  /// Halves the width: the first half, through swish, times the second (Shazeer, GLU Variants, 2020); one
  /// kernel.
  Tensor swiglu(const std::string& name, const Tensor& x);
  Tensor softmax(const std::string& name, const Tensor& x);
  /// The softmax of a cross entropy (graph::Softmax::loss), computed and kept in fp32 whatever the model's
  /// numbers are.
  Tensor loss(const std::string& name, const Tensor& x);
  /// Written over its latest term that is of a layer or norm and that nobody else reads, where there is one
  /// (graph::lies_on). With `dropout` it keeps a byte for each number (graph::Elementwise).
  Tensor add(const std::string& name, const std::vector<Tensor>& terms, bool dropout = false);
  /// In `shape`, as it lies in memory with channels last: `rows` rows of `part0`, `part1`, ... numbers side
  /// by side.
  Tensor concat(const std::string& name, const std::vector<Tensor>& parts, std::size_t axis = 0);
  /// The same numbers under another shape, or their leading part when `shape` is smaller.
  Tensor view(const std::string& name, const Tensor& x, Shape shape);
  Tensor flatten(const std::string& name, const Tensor& x) { return view(name, x, {x.elements()}); }

  /// Whether a sum was written over the tensor, so that nobody may read it again.
  bool spent(const Tensor& x) const { return overwritten_.contains(x.producer); }

  graph::OpGraph build() const;

 private:
  Tensor emit(graph::Operator op, const std::vector<Tensor>& inputs, Shape shape,
              std::int64_t saved_elements);
  Tensor norm(const std::string& name, const Tensor& x, std::int64_t channels, std::int64_t statistics,
              graph::NormForm form, bool weights);
  Tensor pool(const std::string& name, const Tensor& x, const Shape& shape, std::int64_t work_per_output,
              const Window& window, bool average);

  graph::GraphBuilder builder_;
  int element_bytes_;
  bool frozen_ = false;
  std::set<core::OpId> spare_;  ///< whose outputs nobody has read, nor will for their own gradients
  std::set<core::OpId> overwritten_;
};

}  // namespace penstock::models
