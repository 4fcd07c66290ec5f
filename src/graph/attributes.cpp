#include "penstock/graph/attributes.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <concepts>
#include <span>
#include <type_traits>

#include "penstock/core/spelling.hpp"

namespace penstock::graph {
namespace {

constexpr std::array<std::string_view, 17> kKindNames = {
    "input",   "linear",     "attention",   "embedding", "convolution",      "matmul",
    "norm",    "activation", "elementwise", "pool",      "softmax",          "concat",
    "reshape", "profiled",   "experts",     "scan",      "short_convolution"};
constexpr std::int64_t kMostParts = 4096;
constexpr double kMostScanNumbers = 1e15;

/// Names of the values of an enumeration above zero.
constexpr std::array<std::string_view, 5> kFunctions = {"relu", "sigmoid", "tanh", "gelu", "swiglu"};
constexpr std::array<std::string_view, 2> kCores = {"plain", "flash"};
constexpr std::array<std::string_view, 3> kNorms = {"batch", "rms", "gated"};
constexpr std::array<std::string_view, 3> kScans = {"delta", "channel_delta", "selective"};
constexpr std::array<std::string_view, 4> kLosses = {"loss", "native_loss", "te_loss", "torch_loss"};
constexpr std::array<std::string_view, 4> kMasks = {"causal", "window", "blocks", "top_k"};
using Names = std::span<const std::string_view>;

template <class A, class T>
concept Is = std::same_as<std::remove_const_t<A>, T>;

// The extents of each kind, in the order that files have them, for an ExtentReader, an ExtentWriter or an
// ExtentDigester.

template <class Visitor, Is<Elements> A>
void visit_extents(Visitor& visit, A& a) {
  visit("elements", a.elements);
}

template <class Visitor, Is<Linear> A>
void visit_extents(Visitor& visit, A& a) {
  visit("rows", a.rows);
  visit("in", a.in);
  visit("out", a.out);
  visit("bias", a.bias);
  visit.one_of(Names(kFunctions).first(4), a.function);
}

template <class Visitor, Is<Attention> A>
void visit_extents(Visitor& visit, A& a) {
  visit("queries", a.queries);
  visit("keys", a.keys);
  visit("hidden", a.hidden);
  visit("heads", a.heads);
  visit("key_width", a.key_width);
  visit("value_width", a.value_width);
  visit("bias", a.bias);
  visit("kv_heads", a.kv_heads);
  visit("rotary", a.rotary);
  visit.one_of(kCores, a.core);
  visit("inner", a.inner);
  visit("partial", a.partial);
  visit("qkv_bias", a.qkv_bias);
  visit("qk_norm", a.qk_norm);
  visit("own_keys", a.own_keys);
  visit("query_width", a.query_width);
  visit("value_head", a.value_head);
  visit("rotary_width", a.rotary_width);
  visit.one_of(kMasks, a.mask);
  visit("reach", a.reach);
  visit("dropout", a.dropout);
}

template <class Visitor, Is<Embedding> A>
void visit_extents(Visitor& visit, A& a) {
  visit("lookups", a.lookups);
  visit("rows", a.rows);
  visit("width", a.width);
  visit("sum", a.sum);
  visit("first", a.first);
  visit("table", a.table);
}

/// Writes all of them where one is stated: a padding of zero is one.
template <class Visitor, Is<Window> A>
void visit_window(Visitor& visit, A& a) {
  const bool said = a.kernel[0] > 0 || a.kernel[1] > 0;
  visit("kernel_height", a.kernel[0], said);
  visit("stride_height", a.stride[0], said);
  visit("padding_height", a.padding[0], said);
  visit("kernel_width", a.kernel[1], said);
  visit("stride_width", a.stride[1], said);
  visit("padding_width", a.padding[1], said);
}

template <class Visitor, Is<Convolution> A>
void visit_extents(Visitor& visit, A& a) {
  visit("in", a.window.channels);
  visit("height", a.window.image[0]);
  visit("width", a.window.image[1]);
  visit("out", a.out);
  visit_window(visit, a.window);
  visit("bias", a.bias);
}

template <class Visitor, Is<Matmul> A>
void visit_extents(Visitor& visit, A& a) {
  visit("batch", a.batch);
  visit("rows", a.rows);
  visit("inner", a.inner);
  visit("columns", a.columns);
}

template <class Visitor, Is<Norm> A>
void visit_extents(Visitor& visit, A& a) {
  visit("elements", a.elements);
  visit("channels", a.channels);
  visit.one_of(kNorms, a.form);
}

template <class Visitor, Is<Activation> A>
void visit_extents(Visitor& visit, A& a) {
  visit("elements", a.elements);
  visit.one_of(kFunctions, a.function);
}

template <class Visitor, Is<Elementwise> A>
void visit_extents(Visitor& visit, A& a) {
  visit("elements", a.elements);
  visit("terms", a.terms);
  visit("product", a.product);
  visit("dropout", a.dropout);
}

template <class Visitor, Is<Pool> A>
void visit_extents(Visitor& visit, A& a) {
  visit("elements", a.elements);
  visit("window", a.work);
  visit("channels", a.window.channels);
  visit("height", a.window.image[0]);
  visit("width", a.window.image[1]);
  visit_window(visit, a.window);
  visit("average", a.average);
}

template <class Visitor, Is<Softmax> A>
void visit_extents(Visitor& visit, A& a) {
  visit("rows", a.rows);
  visit("width", a.width);
  visit.one_of(kLosses, a.loss);
}

template <class Visitor, Is<Concat> A>
void visit_extents(Visitor& visit, A& a) {
  std::int64_t parts = std::ssize(a.widths);
  visit("elements", a.elements);
  visit("parts", parts);
  visit("rows", a.rows);
  if constexpr (!std::is_const_v<A>) visit.resize(a.widths, parts);
  for (std::size_t i = 0; i < a.widths.size(); ++i) visit("part" + std::to_string(i), a.widths[i]);
}

template <class Visitor, Is<Experts> A>
void visit_extents(Visitor& visit, A& a) {
  visit("rows", a.rows);
  visit("hidden", a.hidden);
  visit("inner", a.inner);
  visit("experts", a.experts);
  visit("chosen", a.chosen);
  visit("gated", a.gated);
  visit("bias", a.bias);
  visit("clamped", a.clamped);
  visit("in_turn", a.in_turn);
}

template <class Visitor, Is<LinearScan> A>
void visit_extents(Visitor& visit, A& a) {
  visit("rows", a.rows);
  visit("heads", a.heads);
  visit("groups", a.groups);
  visit("key", a.key);
  visit("value", a.value);
  visit("chunk", a.chunk);
  visit.one_of(kScans, a.form);
  visit("gated", a.gated);
}

template <class Visitor, Is<ShortConvolution> A>
void visit_extents(Visitor& visit, A& a) {
  visit("rows", a.rows);
  visit("channels", a.channels);
  visit("kernel", a.kernel);
  visit("bias", a.bias);
  visit("silu", a.silu);
}

template <class Visitor>
void visit_extents(Visitor&, const std::monostate&) {}

/// Attributes of its kind, nothing stated.
Attributes empty_of(OpKind kind) {
  switch (kind) {
    case OpKind::input:
    case OpKind::reshape:
      return Elements{};
    case OpKind::linear:
      return Linear{};
    case OpKind::attention:
      return Attention{};
    case OpKind::embedding:
      return Embedding{};
    case OpKind::convolution:
      return Convolution{};
    case OpKind::matmul:
      return Matmul{};
    case OpKind::norm:
      return Norm{};
    case OpKind::activation:
      return Activation{};
    case OpKind::elementwise:
      return Elementwise{};
    case OpKind::pool:
      return Pool{};
    case OpKind::softmax:
      return Softmax{};
    case OpKind::concat:
      return Concat{};
    case OpKind::experts:
      return Experts{};
    case OpKind::scan:
      return LinearScan{};
    case OpKind::short_convolution:
      return ShortConvolution{};
    case OpKind::profiled:
      break;
  }
  return {};
}

struct ExtentLister {
  std::vector<std::string> names;
  void operator()(std::string_view name, std::int64_t, bool = false) { names.emplace_back(name); }
  template <class Enum>
  void one_of(Names choice, Enum) {
    names.insert(names.end(), choice.begin(), choice.end());
  }
};

/// All that it may have.
std::vector<std::string> extents_of(OpKind kind) {
  ExtentLister out;
  std::visit([&](const auto& a) { visit_extents(out, a); }, empty_of(kind));
  return std::move(out.names);
}

/// Finds extents by name in any order; at the end all must have been found.
class ExtentReader {
 public:
  explicit ExtentReader(const Shape& shape) : shape_(shape), read_(shape.size()) {}

  void operator()(std::string_view name, std::int64_t& value, bool = false) {
    if (const auto* found = find(name)) value = *found;
  }
  void operator()(std::string_view name, bool& value) { value = on(name); }
  template <class Enum>
  void one_of(Names names, Enum& value) {
    for (std::size_t i = 0; i < names.size(); ++i)
      if (on(names[i])) {
        if (value != Enum{}) throw ExtentFault(std::string(names[i]), "there is another one");
        value = static_cast<Enum>(i + 1);
      }
  }
  void resize(std::vector<std::int64_t>& widths, std::int64_t parts) const {
    if (parts > kMostParts) throw ExtentFault("parts", fmt::format("{} is more than {}", parts, kMostParts));
    widths.resize(static_cast<std::size_t>(parts));
  }
  void finish(OpKind kind) const {
    for (std::size_t i = 0; i < shape_.size(); ++i)
      if (!read_[i])
        throw ExtentFault(shape_[i].first,
                          fmt::format("no extent of kind {}; {}", name(kind),
                                      core::did_you_mean(shape_[i].first, extents_of(kind))));
  }

 private:
  /// Searches from behind the last one found: files have them in this order.
  const std::int64_t* find(std::string_view name) {
    for (std::size_t i = 0; i < shape_.size(); ++i, ++next_) {
      if (next_ >= shape_.size()) next_ = 0;
      if (shape_[next_].first == name) return read_[next_] = true, &shape_[next_].second;
    }
    return nullptr;
  }
  bool on(std::string_view name) {
    const std::int64_t* value = find(name);
    if (value != nullptr && (*value < 0 || *value > 1))
      throw ExtentFault(std::string(name), fmt::format("{} is not from 0 to 1", *value));
    return value != nullptr && *value == 1;
  }

  const Shape& shape_;
  std::vector<bool> read_;
  std::size_t next_ = 0;
};

/// Leaves out unstated extents.
struct ExtentWriter {
  Shape shape;
  void operator()(std::string_view name, std::int64_t value, bool zero_too = false) {
    if (value != 0 || zero_too) shape.emplace_back(name, value);
  }
  void operator()(std::string_view name, bool value) { (*this)(name, std::int64_t{value}); }
  template <class Enum>
  void one_of(Names names, Enum value) {
    if (value != Enum{}) shape.emplace_back(names[static_cast<std::size_t>(value) - 1], 1);
  }
};

struct ExtentDigester {
  std::uint64_t digest;
  void operator()(std::string_view, std::int64_t value, bool = false) {
    digest = (digest ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
    digest ^= digest >> 29;
  }
  template <class Enum>
  void one_of(Names, Enum value) {
    (*this)("", static_cast<std::int64_t>(value));
  }
};

/// Heads of keys and values are shared by groups of equally many heads.
void check_heads(const Shape& shape, const Attributes& attributes) {
  const auto* a = std::get_if<Attention>(&attributes);
  const auto shared = std::ranges::find(shape, "kv_heads", &Shape::value_type::first);
  if (a == nullptr || shared == shape.end()) return;
  if (a->kv_heads < 1 || a->heads < 1 || a->heads % a->kv_heads != 0)
    throw ExtentFault("kv_heads", fmt::format("expected a divisor of the {} heads", a->heads));
}

/// The part of a key that heads share must be less than the key.
void check_rotary(const Attributes& attributes) {
  const auto* a = std::get_if<Attention>(&attributes);
  if (a == nullptr || a->rotary_width == 0 || a->heads == 0) return;
  const std::int64_t head = a->inner_width() / a->heads;
  if (a->rotary_width >= head)
    throw ExtentFault("rotary_width", fmt::format("{} leaves nothing of a head's {}", a->rotary_width, head));
}

/// A mask that hides what is further away must have a reach, and no other may.
void check_mask(const Attributes& attributes) {
  const auto* a = std::get_if<Attention>(&attributes);
  if (a == nullptr) return;
  const bool needs = a->mask != AttentionMask::none && a->mask != AttentionMask::causal;
  if (needs && a->reach < 1) throw ExtentFault("reach", "expected the tokens that the mask leaves");
  if (!needs && a->reach != 0) throw ExtentFault("reach", "only a window, blocks or top_k have one");
}

/// A token takes no expert twice.
void check_experts(const Attributes& attributes) {
  const auto* e = std::get_if<Experts>(&attributes);
  if (e != nullptr && e->experts > 0 && e->chosen > e->experts)
    throw ExtentFault("chosen", fmt::format("{} is more than the {} experts", e->chosen, e->experts));
}

/// Groups have equally many heads; chunks are needed where work is stated.
void check_scan(const Attributes& attributes) {
  const auto* s = std::get_if<LinearScan>(&attributes);
  if (s == nullptr) return;
  if (s->groups > 0 && s->heads % s->groups != 0)
    throw ExtentFault("groups", fmt::format("expected a divisor of the {} heads", s->heads));
  if (s->form == ScanForm::selective && s->value > 1)
    throw ExtentFault("value", fmt::format("a head of `selective` is one channel, not {}", s->value));
  if (s->rows > 0 && s->heads > 0 && s->chunk < 1)
    throw ExtentFault("chunk",
                      "expected tokens of a chunk: 64 of fla's delta rules, 256 of mamba_ssm's "
                      "state spaces, 2048 of `selective`");
  if (s->gated && (s->form == ScanForm::delta || s->form == ScanForm::channel_delta))
    throw ExtentFault("gated", "a delta rule has no gate of its own; a norm with the switch `gated` has one");
  // Counts of its numbers are exact: no product of extents overflows.
  const auto of_a_row =
      static_cast<double>(s->heads + s->key_groups()) * static_cast<double>(s->key + s->value + s->chunk + 1);
  if (of_a_row * static_cast<double>(std::max<std::int64_t>(s->rows, 1)) > kMostScanNumbers)
    throw ExtentFault("rows", fmt::format("a scan has more than {:g} numbers", kMostScanNumbers));
}

}  // namespace

std::int64_t LinearScan::read_width() const {
  std::int64_t beside = heads;  // decays, or the steps that they are made of
  if (form == ScanForm::delta) beside = 2 * heads;
  if (form == ScanForm::channel_delta) beside = heads * key + heads;
  return 2 * key_groups() * key + features() + beside + (gated ? features() : 0);
}

std::int64_t LinearScan::parameters() const {
  switch (form) {
    case ScanForm::state_space:
      return 3 * heads;
    case ScanForm::delta:
      return 2 * heads;
    case ScanForm::channel_delta:
      return heads + heads * key;
    case ScanForm::selective:
      return heads * key + heads;
  }
  return 0;
}

std::string_view name(OpKind kind) {
  return kKindNames[static_cast<std::size_t>(kind)];
}

OpKind op_kind(std::string_view name) {
  for (std::size_t i = 0; i < kKindNames.size(); ++i)
    if (kKindNames[i] == name) return static_cast<OpKind>(i);
  throw core::BadInput("unknown operator kind '" + std::string(name) + "'; " +
                       core::did_you_mean(name, {kKindNames.begin(), kKindNames.end()}));
}

std::string_view name(Function function) {
  return function == Function::none ? "none" : kFunctions[static_cast<std::size_t>(function) - 1];
}

bool suits(OpKind kind, const Attributes& attributes) {
  return std::holds_alternative<std::monostate>(attributes) || empty_of(kind).index() == attributes.index();
}

std::uint64_t digest(const Attributes& attributes) {
  ExtentDigester out{attributes.index()};
  std::visit([&](const auto& a) { visit_extents(out, a); }, attributes);
  return out.digest;
}

Shape shape_of(const Attributes& attributes) {
  ExtentWriter out;
  std::visit([&](const auto& a) { visit_extents(out, a); }, attributes);
  return std::move(out.shape);
}

Attributes attributes_of(OpKind kind, const Shape& shape) {
  if (shape.empty()) return {};
  Attributes out = empty_of(kind);
  ExtentReader reader(shape);
  std::visit([&](auto& a) { visit_extents(reader, a); }, out);
  reader.finish(kind);
  check_heads(shape, out);
  check_rotary(out);
  check_mask(out);
  check_experts(out);
  check_scan(out);
  return out == empty_of(kind) ? Attributes() : out;
}

}  // namespace penstock::graph
