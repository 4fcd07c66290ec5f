#include "xml_elements.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>

#include "penstock/core/error.hpp"

namespace penstock::cluster {
namespace {

class XmlReader {
 public:
  XmlReader(std::string_view text, const std::string& file) : rest_(text), file_(file) {}

  XmlElement read() {
    skip_blanks();
    XmlElement root = element(0);
    skip_blanks();
    if (!rest_.empty()) fail("expected the end of the file behind the first element");
    return root;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw core::BadInput({file_, line_, ""}, message);
  }

  void drop(std::size_t count) {
    line_ +=
        static_cast<int>(std::count(rest_.begin(), rest_.begin() + static_cast<std::ptrdiff_t>(count), '\n'));
    rest_.remove_prefix(count);
  }
  bool take(std::string_view text) {
    if (!rest_.starts_with(text)) return false;
    drop(text.size());
    return true;
  }
  void drop_behind(std::string_view end, const char* what) {
    const std::size_t at = rest_.find(end);
    if (at == rest_.npos) fail(fmt::format("{} is not closed", what));
    drop(at + end.size());
  }
  void skip_spaces() {
    std::size_t count = 0;
    while (count < rest_.size() && std::isspace(static_cast<unsigned char>(rest_[count]))) ++count;
    drop(count);
  }
  /// Skips spaces, comments and declarations.
  void skip_blanks() {
    for (skip_spaces();; skip_spaces()) {
      if (rest_.starts_with("<!--"))
        drop_behind("-->", "a comment");
      else if (rest_.starts_with("<?"))
        drop_behind("?>", "a declaration");
      else
        return;
    }
  }
  std::string name() {
    std::size_t count = 0;
    const auto in_name = [](unsigned char c) { return std::isalnum(c) || c == '_' || c == '-'; };
    while (count < rest_.size() && in_name(static_cast<unsigned char>(rest_[count]))) ++count;
    if (count == 0) fail("expected a name");
    const std::string out(rest_.substr(0, count));
    drop(count);
    return out;
  }

  void attribute(XmlElement& of) {
    const std::string key = name();
    const auto same = [&](const auto& known) { return known.first == key; };
    if (std::ranges::any_of(of.attributes, same)) fail(fmt::format("{} has two attributes {}", of.name, key));
    if (!take("=\"")) fail(fmt::format("expected =\" behind {}", key));
    const std::size_t end = rest_.find('"');
    if (end == rest_.npos) fail(fmt::format("the value of {} is not closed", key));
    const std::string value(rest_.substr(0, end));
    if (value.find_first_of("<&\n") != value.npos)
      fail(fmt::format("the value of {} has a '<', '&' or line", key));
    drop(end + 1);
    of.attributes.emplace_back(key, value);
  }

  XmlElement element(int depth) {
    constexpr int kMostDepth = 64;
    if (depth > kMostDepth) fail(fmt::format("elements are nested more than {} deep", kMostDepth));
    if (!take("<")) fail("expected an element");
    XmlElement out{name(), line_, {}, {}};
    for (skip_spaces(); !rest_.starts_with("/>") && !rest_.starts_with(">"); skip_spaces()) attribute(out);
    if (take("/>")) return out;
    take(">");
    for (skip_blanks(); !take("</"); skip_blanks()) out.children.push_back(element(depth + 1));
    if (const std::string closed = name(); closed != out.name)
      fail(fmt::format("</{}> closes <{}> of line {}", closed, out.name, out.line));
    skip_spaces();
    if (!take(">")) fail(fmt::format("</{} is not closed", out.name));
    return out;
  }

  std::string_view rest_;
  const std::string& file_;
  int line_ = 1;
};

}  // namespace

XmlElement parse_xml(std::string_view text, const std::string& file) {
  return XmlReader(text, file).read();
}

}  // namespace penstock::cluster
