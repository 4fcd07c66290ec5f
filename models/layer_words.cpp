#include "models/layer_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "penstock/core/error.hpp"

namespace penstock::models {
namespace {

using LayerWords = std::vector<LayerWord>;

bool is_word_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '_';
}

class LayerWordReader {
 public:
  LayerWordReader(std::string_view text, std::size_t most) : whole_(text), text_(text), most_(most) {}

  LayerWords read() {
    LayerWords out = list();
    if (!text_.empty()) fail();
    return out;
  }

 private:
  LayerWords list() {
    if (++depth_ > 8) fail();
    LayerWords out = item();
    while (skip('+')) append(out, item());
    --depth_;
    return out;
  }

  LayerWords item() {
    const bool grouped = skip('(');
    LayerWords once = grouped ? list() : LayerWords{word()};
    if (grouped && !skip(')')) fail();
    const std::int64_t times = skip('*') ? number() : 1;
    LayerWords out;
    for (std::int64_t i = 0; i < times; ++i) append(out, once);
    return out;
  }

  LayerWord word() {
    const auto end = std::ranges::find_if_not(text_, is_word_letter);
    LayerWord out{std::string(text_.begin(), end)};
    if (out.word.empty()) fail();
    text_.remove_prefix(out.word.size());
    if (!skip('(')) return out;
    out.number = number();
    if (!skip(')')) fail();
    return out;
  }

  std::int64_t number() {
    std::int64_t out = 0;
    const auto [end, fault] = std::from_chars(text_.data(), text_.data() + text_.size(), out);
    if (fault != std::errc() || out < 1) fail();
    text_.remove_prefix(static_cast<std::size_t>(end - text_.data()));
    return out;
  }

  void append(LayerWords& out, const LayerWords& more) {
    if (out.size() + more.size() > most_) fail();
    out.insert(out.end(), more.begin(), more.end());
  }

  bool skip(char c) {
    if (!text_.starts_with(c)) return false;
    text_.remove_prefix(1);
    return true;
  }

  [[noreturn]] void fail() const {
    throw core::BadInput(fmt::format(
        "expected words with counts for at most {} layers, such as (window(4096)+full)*13, not '{}'", most_,
        whole_));
  }

  std::string_view whole_, text_;
  std::size_t most_;
  int depth_ = 0;
};

std::string one_word(const LayerWord& layer) {
  return layer.number == 0 ? layer.word : fmt::format("{}({})", layer.word, layer.number);
}

/// Layers [begin, end) as runs.
std::string runs(const LayerWords& layers, std::size_t begin, std::size_t end) {
  std::string out;
  for (std::size_t i = begin; i < end;) {
    std::size_t next = i;
    while (next < end && layers[next] == layers[i]) ++next;
    if (!out.empty()) out += '+';
    out += one_word(layers[i]);
    if (next - i > 1) out += fmt::format("*{}", next - i);
    i = next;
  }
  return out;
}

/// Times that the first `period` layers come one after the other from the first layer on.
std::size_t repeats(const LayerWords& layers, std::size_t period) {
  std::size_t end = period;
  while (end < layers.size() && layers[end] == layers[end - period]) ++end;
  return end / period;
}

}  // namespace

std::vector<LayerWord> parse_layer_words(std::string_view text, std::size_t most) {
  return LayerWordReader(text, most).read();
}

std::string written(const std::vector<LayerWord>& layers) {
  if (layers.empty()) return "";
  if (repeats(layers, 1) == layers.size()) return one_word(layers.front());
  std::string best = runs(layers, 0, layers.size());
  for (std::size_t period = 2; period <= layers.size() / 2; ++period) {
    const std::size_t times = repeats(layers, period), rest = times * period;
    if (times < 2) continue;
    std::string text = fmt::format("({})*{}", runs(layers, 0, period), times);
    if (rest < layers.size()) text += '+' + runs(layers, rest, layers.size());
    if (text.size() < best.size()) best = std::move(text);
  }
  return best;
}

}  // namespace penstock::models
