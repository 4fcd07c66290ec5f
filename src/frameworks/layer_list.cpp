#include "layer_list.hpp"

#include <fmt/format.h>

#include <charconv>
#include <string>

#include "penstock/core/error.hpp"

namespace penstock::frameworks {
namespace {

using List = std::vector<std::int64_t>;

constexpr std::size_t kMostLayers = 65'536;
constexpr int kMostDepth = 20;

/// Grammar: sum = product ("+" product)*, product = list ("*" number)*, list = "[" numbers "]" | "(" sum ")".
class LayerListReader {
 public:
  explicit LayerListReader(std::string_view text) : text_(text) {}

  List read() {
    List out = sum(kMostDepth);
    if (at_ < text_.size()) fail();
    return out;
  }

 private:
  [[noreturn]] void fail() const {
    throw core::BadInput(fmt::format(
        "expected a list of layers, such as [0]*3+[1]*58 or [0, 1, 1], found '{}'", text_.substr(0, 200)));
  }

  bool take(char wanted) {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    if (at_ == text_.size() || text_[at_] != wanted) return false;
    ++at_;
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
    return true;
  }

  std::int64_t number() {
    std::int64_t out = 0;
    const char* begin = text_.data() + at_;
    const auto [end, fault] = std::from_chars(begin, text_.data() + text_.size(), out);
    if (fault != std::errc() || out < 0) fail();
    at_ += static_cast<std::size_t>(end - begin);
    return out;
  }

  List sum(int depth) {
    List out = product(depth);
    while (take('+')) {
      const List more = product(depth);
      out.insert(out.end(), more.begin(), more.end());
      check(out.size());
    }
    return out;
  }

  List product(int depth) {
    List out = list(depth);
    while (take('*')) {
      const auto times = static_cast<std::size_t>(number());
      if (!out.empty() && times > kMostLayers / out.size()) check(kMostLayers + 1);
      List repeated;
      for (std::size_t i = 0; i < times && !out.empty(); ++i)
        repeated.insert(repeated.end(), out.begin(), out.end());
      out = std::move(repeated);
    }
    return out;
  }

  List list(int depth) {
    if (depth == 0) fail();
    List out;
    if (take('(')) {
      out = sum(depth - 1);
      if (!take(')')) fail();
      return out;
    }
    if (!take('[')) fail();
    if (take(']')) return out;
    out.push_back(number());
    while (take(',')) {
      if (take(']')) return out;
      out.push_back(number());
    }
    if (!take(']')) fail();
    check(out.size());
    return out;
  }

  void check(std::size_t size) const {
    if (size > kMostLayers) throw core::BadInput(fmt::format("more than {} layers", kMostLayers));
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

std::vector<std::int64_t> parse_layer_list(std::string_view text) {
  return LayerListReader(text).read();
}

}  // namespace penstock::frameworks
