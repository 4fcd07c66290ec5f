#include "models/layers.hpp"

#include <algorithm>
#include <functional>
#include <numeric>
#include <optional>
#include <utility>

#include "models/frozen.hpp"
#include "penstock/core/error.hpp"
#include "penstock/graph/attention_core.hpp"
#include "penstock/graph/in_place.hpp"
#include "penstock/graph/scan_work.hpp"

namespace penstock::models {

using core::Bytes;
using core::Flops;
using graph::Operator;
using graph::OpKind;

namespace {

// Rough FLOPs per element. Exact values do not matter: these operators wait for memory.
constexpr std::int64_t kNormForward = 8, kNormInputGradient = 8, kNormWeightGradient = 4, kSoftmax = 5,
                       kRmsForward = 4, kRmsWeightGradient = 2, kSwiglu = 6, kSwigluBackward = 12,
                       kGatedForward = kRmsForward + kSwiglu,
                       kGatedBackward = kNormInputGradient + kSwigluBackward;

struct ActivationInfo {
  std::int64_t forward, backward;  ///< FLOPs per element
  bool in_place;
};

constexpr ActivationInfo kActivations[] = {
    {0, 0, true}, {1, 1, true}, {4, 3, true}, {4, 3, true}, {8, 12, false}};  // by graph::Function

const ActivationInfo& info(Activation kind) {
  return kActivations[static_cast<std::size_t>(kind)];
}

std::int64_t product(const Shape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

Flops flops(std::int64_t count) {
  return Flops(static_cast<double>(count));
}

/// Sets the FLOPs of an operator: forward, then backward to inputs (none if they need no gradient) and to
/// weights.
void set_work(Operator& op, Flops forward, Flops to_inputs, Flops to_weights) {
  op.forward_flops = forward;
  op.input_gradient_flops = to_inputs;
  op.weight_gradient_flops = to_weights;
}

Flops if_needed(const Tensor& x, Flops work) {
  return x.needs_gradient ? work : Flops(0);
}

std::int64_t window_count(std::int64_t extent, const Window& window, std::size_t axis) {
  return (extent + 2 * window.padding[axis] - window.kernel[axis]) / window.stride[axis] + 1;
}

/// The shape after a window slid over {channels, height, width}.
Shape slide(const Tensor& x, std::int64_t channels, const Window& window) {
  core::require(x.shape.size() == 3, "a window slides over channels, height, width");
  Shape out = {channels, window_count(x.shape[1], window, 0), window_count(x.shape[2], window, 1)};
  core::require(out[1] > 0 && out[2] > 0, "a window fits its tensor");
  return out;
}

Operator named(const std::string& name, OpKind kind, graph::Attributes attributes) {
  Operator op;
  op.name = name;
  op.kind = kind;
  op.attributes = std::move(attributes);
  return op;
}

/// The window as graph::Window, over an `x` of {channels, height, width}.
graph::Window over(const Tensor& x, const Window& w) {
  return {x.shape[0], {x.shape[1], x.shape[2]}, w.kernel, w.stride, w.padding};
}

/// The window that averages `extent` cells into `size` cells without overlap. All windows have one length and
/// stride; if `size` is no divisor, the stride is the longest that fits.
std::pair<std::int64_t, std::int64_t> adaptive(std::int64_t extent, std::int64_t size) {
  const std::int64_t stride = extent / size;
  return {extent - (size - 1) * stride, stride};
}

}  // namespace

std::int64_t Tensor::elements() const {
  return product(shape);
}

Layers::Layers(const std::string& model, int element_bytes)
    : builder_(model, element_bytes), element_bytes_(element_bytes) {}

Tensor Layers::emit(Operator op, const std::vector<Tensor>& inputs, Shape shape,
                    std::int64_t saved_elements) {
  if (frozen_) op.frozen_parameters = std::exchange(op.parameters, 0), op.weight_gradient_flops = Flops(0);
  if (frozen_ && std::ranges::none_of(inputs, &Tensor::needs_gradient)) op.input_gradient_flops = Flops(0);
  Tensor out{{}, std::move(shape), op.parameters > 0};
  const bool spare = graph::hands_over(op);
  std::vector<core::OpId> producers;
  for (const Tensor& x : inputs) {
    core::require(!spent(x), "what a sum was written over is not read again");
    producers.push_back(x.producer);
    spare_.erase(x.producer);
    out.needs_gradient |= x.needs_gradient;
  }
  op.output_bytes = Bytes(out.elements() * element_bytes_);
  op.saved_bytes = Bytes(saved_elements * element_bytes_);
  out.producer = builder_.add(std::move(op), producers);
  if (spare) spare_.insert(out.producer);
  return out;
}

graph::OpGraph Layers::build() const {
  const graph::OpGraph all = builder_.build();
  return all.frozen_parameters() > 0 ? without_unread(all) : all;
}

Tensor Layers::input(const std::string& name, Shape shape) {
  const std::int64_t elements = product(shape);
  return emit(named(name, OpKind::input, graph::Elements{elements}), {}, std::move(shape), elements);
}

Tensor Layers::indices(const std::string& name, std::int64_t count) {
  Operator op = named(name, OpKind::input, graph::Elements{count});
  op.output_bytes = op.saved_bytes = Bytes(count * 8);
  return {builder_.add(std::move(op)), {count}, false};
}

Tensor Layers::linear(const std::string& name, const Tensor& x, std::int64_t width, const Dense& dense) {
  Operator op =
      named(name, OpKind::linear, graph::Linear{x.rows(), x.width(), width, dense.bias, dense.fused});
  const Flops work = flops(2 * x.elements() * width);
  set_work(op, work, if_needed(x, work), work);
  op.parameters_of = dense.parameters_of;
  if (op.parameters_of.empty()) op.parameters = x.width() * width + (dense.bias ? width : 0);
  Shape shape = x.shape;
  shape.back() = width;
  return emit(std::move(op), {x}, shape, product(shape));
}

namespace {

/// Weights of the norms of queries and keys, of `head` numbers each head and `all` numbers all heads of both.
std::int64_t key_norm_weights(KeyNorm norm, std::int64_t head, std::int64_t all) {
  switch (norm) {
    case KeyNorm::none:
    case KeyNorm::plain:
      return 0;
    case KeyNorm::head:
      return 2 * head;
    case KeyNorm::layer:
      return 4 * head;
    case KeyNorm::whole:
      break;
  }
  return all;
}

}  // namespace

Tensor Layers::attention(const std::string& name, const Tensor& query, const Tensor& key, const Tensor& value,
                         std::int64_t heads, AttentionForm form) {
  const std::int64_t width = form.hidden > 0 ? form.hidden : query.width(), queries = query.rows(),
                     keys = key.rows();
  const std::int64_t kv_heads = form.kv_heads > 0 ? form.kv_heads : heads;
  core::require((form.head_width > 0 || width % heads == 0) && heads % kv_heads == 0 && keys == value.rows(),
                "attention heads and keys match");
  const std::int64_t head = form.head_width > 0 ? form.head_width : width / heads;
  const graph::Attention asked{.queries = queries,
                               .keys = keys,
                               .hidden = width,
                               .heads = heads,
                               .key_width = key.width(),
                               .value_width = value.width(),
                               .bias = form.bias,
                               .kv_heads = kv_heads == heads ? 0 : kv_heads,
                               .rotary = form.rotary,
                               .core = form.core,
                               .inner = head * heads == width ? 0 : head * heads,
                               .qkv_bias = form.qkv_bias,
                               .qk_norm = form.key_norm != KeyNorm::none,
                               .query_width = query.width() == width ? 0 : query.width(),
                               .value_head = form.value_head,
                               .rotary_width = form.rotary_width,
                               .mask = form.mask,
                               .reach = form.reach,
                               .dropout = form.dropout};
  Operator op = named(name, OpKind::attention, asked);
  const std::int64_t inner = asked.inner_width(), shared = asked.shared_width(),
                     keyed = asked.projected_width(), valued = asked.values_width(),
                     result = asked.result_width(), key_width = key.width() - form.rotary_width;
  const Flops of_query = flops(2 * query.elements() * inner), of_key = flops(2 * keys * key_width * keyed),
              of_value = flops(2 * value.elements() * valued),
              to_output = flops(2 * queries * result * width),
              projections = of_query + of_key + of_value + to_output;
  const Flops products = flops(2 * queries * keys * (inner + result));  // scores, then weighted sum of values
  const Flops to_inputs = if_needed(query, of_query) + if_needed(key, of_key) + if_needed(value, of_value);
  set_work(op, projections + products, products * 2 + to_output + to_inputs, projections);
  op.parameters = query.width() * inner + key_width * keyed + value.width() * valued + result * width +
                  (form.bias || form.qkv_bias ? inner + keyed + valued : 0) +
                  (form.bias || form.output_bias ? width : 0) +
                  key_norm_weights(form.key_norm, head, inner + shared) + (form.sinks ? heads : 0);
  // Query, key, value, the core's own, context, output; before their norms query and key once more.
  const std::int64_t saved = queries * inner + keys * (shared + valued) +
                             graph::core_bytes(op, element_bytes_).value() / element_bytes_ +
                             queries * result + queries * width +
                             (asked.qk_norm ? queries * inner + keys * shared : 0);
  Shape shape = query.shape;
  shape.back() = width;
  return emit(std::move(op), {query, key, value}, std::move(shape), saved);
}

Tensor Layers::experts(const std::string& name, const Tensor& x, const Tensor& probabilities,
                       ExpertForm form) {
  constexpr std::int64_t kChoice = 8 + 4;  // bytes: the chosen expert, and its share
  const std::int64_t rows = x.rows(), count = probabilities.width(), copies = rows * form.chosen;
  core::require(probabilities.rows() == rows && form.chosen <= count, "every row has a router's choice");
  const graph::Experts asked{rows,       x.width(), form.inner,   count,       form.chosen,
                             form.gated, form.bias, form.clamped, form.in_turn};
  const std::int64_t first = (asked.matrices() - 1) * form.inner;
  Operator op = named(name, OpKind::experts, asked);
  const Flops work = flops(2 * asked.matrices() * copies * x.width() * form.inner);
  set_work(op, work, if_needed(x, work), work);
  op.parameters = count * (asked.matrices() * x.width() * form.inner + (form.bias ? first + x.width() : 0));
  const std::int64_t saved = copies * x.width() + copies * asked.matrices() * form.inner +
                             (form.clamped ? copies * first : 0) + x.elements() +
                             copies * kChoice / element_bytes_;
  return emit(std::move(op), {x, probabilities}, x.shape, saved);
}

Tensor Layers::scan(const std::string& name, const std::vector<Tensor>& operands, graph::LinearScan scan) {
  scan.rows = operands.at(0).rows();
  std::int64_t width = 0;
  bool needed = false;
  for (const Tensor& x : operands) {
    core::require(x.rows() == scan.rows, "operands of a scan have the same tokens");
    width += x.width();
    needed |= x.needs_gradient;
  }
  core::require(width == scan.read_width(), "operands of a scan have what it reads");
  Operator op = named(name, OpKind::scan, scan);
  const Flops work = graph::scan_flops(scan);
  set_work(op, work, needed ? work * 2 : Flops(0), flops(2 * scan.rows * scan.parameters()));
  op.parameters = scan.parameters();
  const std::int64_t kept = graph::scan_bytes(scan, element_bytes_).value();
  return emit(std::move(op), operands, {scan.rows, scan.features()},
              scan.rows * scan.features() + (kept + element_bytes_ - 1) / element_bytes_);
}

Tensor Layers::short_convolution(const std::string& name, const Tensor& x, ConvolutionForm form) {
  const graph::ShortConvolution asked{x.rows(), x.width(), form.kernel, form.bias, form.silu};
  Operator op = named(name, OpKind::short_convolution, asked);
  const Flops work = flops(2 * x.elements() * form.kernel);
  set_work(op, work, if_needed(x, work), work);
  op.parameters = x.width() * (form.kernel + (form.bias ? 1 : 0));
  return emit(std::move(op), {x}, x.shape, x.elements());
}

Tensor Layers::matmul(const std::string& name, const Tensor& a, const Tensor& b, Product p,
                      const Shape& shape) {
  core::require(a.elements() == p.batch * p.rows * p.inner && b.elements() == p.batch * p.inner * p.columns,
                "matrix shapes fit");
  Operator op = named(name, OpKind::matmul, p);
  const Flops work = flops(2 * p.batch * p.rows * p.inner * p.columns);
  set_work(op, work, if_needed(a, work) + if_needed(b, work), Flops(0));
  return emit(std::move(op), {a, b}, shape, product(shape));
}

Tensor Layers::embedding(const std::string& name, const Tensor& rows, const Table& table) {
  const std::int64_t count = rows.elements(), gathered = count * table.width;
  Operator op = named(name, OpKind::embedding, graph::Embedding{count, table.rows, table.width, table.sum});
  op.parameters_of = table.parameters_of;
  if (op.parameters_of.empty()) op.parameters = table.rows * table.width;
  op.gathered_parameters = gathered;
  set_work(op, flops(table.sum ? gathered : 0), Flops(0), flops(gathered));
  Shape shape = table.sum ? Shape{table.width} : Shape{count, table.width};
  Tensor out = emit(std::move(op), {rows}, shape, product(shape));
  out.needs_gradient |= !frozen_;  // also where the table is tied
  return out;
}

Tensor Layers::conv2d(const std::string& name, const Tensor& x, std::int64_t channels, Window window,
                      bool bias) {
  const Shape shape = slide(x, channels, window);
  const std::int64_t weights = x.shape[0] * window.kernel[0] * window.kernel[1];  // of one output channel
  Operator op = named(name, OpKind::convolution, graph::Convolution{over(x, window), channels, bias});
  const Flops work = flops(2 * product(shape) * weights);
  set_work(op, work, if_needed(x, work), work);
  op.parameters = channels * (weights + (bias ? 1 : 0));
  return emit(std::move(op), {x}, shape, product(shape));
}

Tensor Layers::pool(const std::string& name, const Tensor& x, const Shape& shape,
                    std::int64_t work_per_output, const Window& window, bool average) {
  Operator op =
      named(name, OpKind::pool, graph::Pool{product(shape), work_per_output, over(x, window), average});
  const Flops work = flops(product(shape) * work_per_output);
  set_work(op, work, if_needed(x, work), Flops(0));
  // One byte per output gives the index of the largest input of its window.
  const std::int64_t indices = average ? 0 : (product(shape) + element_bytes_ - 1) / element_bytes_;
  return emit(std::move(op), {x}, shape, product(shape) + indices);
}

Tensor Layers::max_pool(const std::string& name, const Tensor& x, Window window) {
  return pool(name, x, slide(x, x.shape[0], window), window.kernel[0] * window.kernel[1], window, false);
}

Tensor Layers::average_pool(const std::string& name, const Tensor& x, Window window) {
  return pool(name, x, slide(x, x.shape[0], window), window.kernel[0] * window.kernel[1], window, true);
}

Tensor Layers::adaptive_average_pool(const std::string& name, const Tensor& x, std::int64_t size) {
  const Shape shape = {x.shape[0], size, size};
  const auto [kernel_height, stride_height] = adaptive(x.shape[1], size);
  const auto [kernel_width, stride_width] = adaptive(x.shape[2], size);
  const Window window{{kernel_height, kernel_width}, {stride_height, stride_width}};
  return pool(name, x, shape, std::max<std::int64_t>(1, x.elements() / product(shape)), window, true);
}

Tensor Layers::norm(const std::string& name, const Tensor& x, std::int64_t channels, std::int64_t statistics,
                    graph::NormForm form, std::int64_t parameters) {
  Operator op = named(name, OpKind::norm, graph::Norm{x.elements(), channels, form});
  const Flops per_element = flops(x.elements());
  set_work(op, per_element * kNormForward, if_needed(x, per_element * kNormInputGradient),
           parameters > 0 ? per_element * kNormWeightGradient : Flops(0));
  op.parameters = parameters;
  return emit(std::move(op), {x}, x.shape, x.elements() + statistics);
}

// Keeps mean and deviation of every row.
Tensor Layers::layer_norm(const std::string& name, const Tensor& x) {
  return norm(name, x, x.width(), 2 * x.rows(), graph::NormForm::layer, 2 * x.width());
}

Tensor Layers::plain_norm(const std::string& name, const Tensor& x) {
  return norm(name, x, x.width(), 2 * x.rows(), graph::NormForm::layer, 0);
}

Tensor Layers::modulate(const std::string& name, const Tensor& x, const Tensor& by) {
  Operator op = named(name, OpKind::elementwise, graph::Elementwise{x.elements(), 2, true});
  const Flops twice = flops(2 * x.elements());
  set_work(op, twice, if_needed(x, twice) + if_needed(by, twice), Flops(0));
  return emit(std::move(op), {x, by}, x.shape, x.elements());
}

Tensor Layers::multiply(const std::string& name, const Tensor& a, const Tensor& b) {
  core::require(a.shape == b.shape, "factors of a product have one shape");
  Operator op = named(name, OpKind::elementwise, graph::Elementwise{a.elements(), 2, true});
  const Flops once = flops(a.elements());
  set_work(op, once, if_needed(a, once) + if_needed(b, once), Flops(0));
  return emit(std::move(op), {a, b}, a.shape, a.elements());
}

// Keeps the root of every row.
Tensor Layers::rms_norm(const std::string& name, const Tensor& x, bool weights) {
  Operator op = named(name, OpKind::norm, graph::Norm{x.elements(), x.width(), graph::NormForm::rms});
  const Flops per_element = flops(x.elements());
  set_work(op, per_element * kRmsForward, if_needed(x, per_element * kNormInputGradient),
           weights ? per_element * kRmsWeightGradient : Flops(0));
  if (weights) op.parameters = x.width();
  return emit(std::move(op), {x}, x.shape, x.elements() + x.rows());
}

Tensor Layers::normalised(const std::string& name, const Tensor& x, NormKind kind) {
  switch (kind) {
    case NormKind::rms:
    case NormKind::rms_plain:
      return rms_norm(name, x, kind == NormKind::rms);
    case NormKind::layer:
      return layer_norm(name, x);
    case NormKind::layer_plain:
      return plain_norm(name, x);
    case NormKind::layer_unbiased:
      break;
  }
  return norm(name, x, x.width(), 2 * x.rows(), graph::NormForm::layer, x.width());
}

// Keeps the root of every group of a row.
Tensor Layers::gated_norm(const std::string& name, const Tensor& x, const Tensor& gate, std::int64_t groups,
                          std::int64_t weights) {
  core::require(x.shape == gate.shape && x.width() % groups == 0, "a gate is as large as what it multiplies");
  Operator op = named(name, OpKind::norm, graph::Norm{x.elements(), x.width(), graph::NormForm::gated});
  const Flops per_element = flops(x.elements());
  set_work(op, per_element * kGatedForward,
           x.needs_gradient || gate.needs_gradient ? per_element * kGatedBackward : Flops(0),
           per_element * kRmsWeightGradient);
  op.parameters = weights;
  return emit(std::move(op), {x, gate}, x.shape, x.elements() + x.rows() * groups);
}

// Batch-norm statistics are per batch, not per sample.
Tensor Layers::batch_norm(const std::string& name, const Tensor& x) {
  return norm(name, x, x.shape[0], 0, graph::NormForm::batch, 2 * x.shape[0]);
}

Tensor Layers::activation(const std::string& name, const Tensor& x, Activation kind, std::int64_t weights) {
  const ActivationInfo& cost = info(kind);
  Operator op = named(name, OpKind::activation, graph::Activation{x.elements(), kind});
  set_work(op, flops(cost.forward * x.elements()), if_needed(x, flops(cost.backward * x.elements())),
           flops(weights * x.elements()));
  op.parameters = weights;
  return emit(std::move(op), {x}, x.shape, cost.in_place ? 0 : x.elements());
}

Tensor Layers::shift(const std::string& name, const Tensor& x) {
  Operator op = named(name, OpKind::activation, graph::Activation{x.elements(), Activation::none});
  const Flops work = flops(x.elements());
  set_work(op, work, Flops(0), work);
  op.parameters = x.width();
  return emit(std::move(op), {x}, x.shape, 0);
}

Tensor Layers::swiglu(const std::string& name, const Tensor& x) {
  core::require(x.width() % 2 == 0, "a gated activation halves its width");
  Shape shape = x.shape;
  shape.back() /= 2;
  const std::int64_t elements = product(shape);
  Operator op = named(name, OpKind::activation, graph::Activation{elements, Activation::swiglu});
  set_work(op, flops(kSwiglu * elements), if_needed(x, flops(kSwigluBackward * elements)), Flops(0));
  return emit(std::move(op), {x}, shape, elements);
}

Tensor Layers::softmax(const std::string& name, const Tensor& x) {
  Operator op = named(name, OpKind::softmax, graph::Softmax{x.rows(), x.width()});
  const Flops work = flops(kSoftmax * x.elements());
  set_work(op, work, if_needed(x, work), Flops(0));
  return emit(std::move(op), {x}, x.shape, x.elements());
}

Tensor Layers::loss(const std::string& name, const Tensor& x, graph::LossKernel kernel) {
  constexpr std::int64_t kWhole = 4;  // bytes
  const std::int64_t beside =
      kernel == graph::LossKernel::te ? 0 : std::max<std::int64_t>(0, kWhole - element_bytes_);
  Operator op = named(name, OpKind::softmax, graph::Softmax{x.rows(), x.width(), kernel});
  const Flops work = flops(kSoftmax * x.elements());
  set_work(op, work, if_needed(x, work), Flops(0));
  return emit(std::move(op), {x}, x.shape, x.elements() * beside / element_bytes_);
}

Tensor Layers::add(const std::string& name, const std::vector<Tensor>& terms, bool dropout) {
  const Tensor& first = terms.at(0);
  for (const Tensor& x : terms) core::require(x.shape == first.shape, "terms of a sum have one shape");
  const auto count = static_cast<std::int64_t>(terms.size());
  Operator op = named(name, OpKind::elementwise, graph::Elementwise{first.elements(), count, false, dropout});
  op.forward_flops = flops((count - 1) * first.elements());  // backward hands the gradient on as it is
  std::optional<core::OpId> over;                            // as graph::lies_on
  for (const Tensor& x : terms)
    if (spare_.contains(x.producer) && std::ranges::count(terms, x.producer, &Tensor::producer) == 1)
      over = std::max(over, std::optional(x.producer));
  const std::int64_t mask = dropout ? (first.elements() + element_bytes_ - 1) / element_bytes_ : 0;
  Tensor out = emit(std::move(op), terms, first.shape, (over ? 0 : first.elements()) + mask);
  if (over) overwritten_.insert(*over);
  return out;
}

Tensor Layers::concat(const std::string& name, const std::vector<Tensor>& parts, std::size_t axis) {
  Shape shape = parts.at(0).shape;
  std::int64_t joined = 0;
  for (const Tensor& x : parts) {
    Shape same = x.shape;
    joined += std::exchange(same.at(axis), shape.at(axis));
    core::require(same == shape, "concatenated parts differ along one axis only");
  }
  shape[axis] = joined;
  const bool image = shape.size() == 3;  // channels-last in memory: whole pixels are joined
  core::require(!image || axis == 0, "images are concatenated along their channels");
  const std::int64_t rows = image ? shape[1] * shape[2] : product({shape.begin(), shape.begin() + axis});
  graph::Concat asked{product(shape), rows, {}};
  for (const Tensor& x : parts) asked.widths.push_back(x.elements() / rows);
  return emit(named(name, OpKind::concat, asked), parts, shape, product(shape));
}

Tensor Layers::view(const std::string& name, const Tensor& x, Shape shape) {
  core::require(product(shape) <= x.elements(), "a view shows no more than there is");
  Operator op = named(name, OpKind::reshape, graph::Elements{product(shape)});
  return emit(std::move(op), {x}, std::move(shape), 0);
}

}  // namespace penstock::models
