#include "shell_values.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <utility>

#include "penstock/core/error.hpp"

namespace penstock::frameworks::shell {
namespace {

constexpr std::size_t kMostText = std::size_t{1} << 20;  // variables may grow in one another
constexpr std::size_t kMostFields = 65'536;
constexpr int kMostExpansions = 20;

bool is_space(char c) {
  return c == ' ' || c == '\t' || c == '\n' || c == '\r';
}

bool in_name(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

/// "NAME" at the beginning, or digits, or one special letter.
std::size_t name_length(std::string_view text) {
  constexpr std::string_view kSpecial = "@*#?$!-";
  if (text.empty()) return 0;
  if (kSpecial.find(text.front()) != kSpecial.npos) return 1;
  if (std::isdigit(static_cast<unsigned char>(text.front())) != 0) {
    std::size_t digits = 0;
    while (digits < text.size() && std::isdigit(static_cast<unsigned char>(text[digits])) != 0) ++digits;
    return digits;
  }
  std::size_t out = 0;
  while (out < text.size() && in_name(text[out])) ++out;
  return out;
}

/// "$@" and "${NAME[@]}" make no word where there is none.
bool only_list(std::string_view raw) {
  return raw == "$@" || (raw.starts_with("${") && raw.ends_with("[@]}") && raw.find('}') == raw.size() - 1);
}

}  // namespace

int Field::line_at(std::size_t letter) const {
  int out = line;
  for (const LineMark& mark : marks) {
    if (mark.begin > letter) break;
    out = mark.line;
  }
  return out;
}

void Expander::begin() {
  if (!now_) now_ = Field{"", line_};
}

void Expander::end() {
  if (now_) out_.push_back(std::move(*now_));
  now_.reset();
  if (out_.size() > kMostFields) throw core::BadInput({file_, line_, ""}, "more than 65,536 words");
}

void Expander::letter(char c) {
  begin();
  if (++letters_ > kMostText) throw core::BadInput({file_, line_, ""}, "a word of more than 1 MiB");
  const int last = now_->marks.empty() ? now_->line : now_->marks.back().line;
  if (line_ != last) now_->marks.push_back({now_->text.size(), line_});
  now_->text += c;
  now_->unset = false;
  if (c == '\n') ++line_;
}

void Expander::raw_text(std::string_view raw, bool unset) {
  const bool fresh = !now_;
  for (const char c : raw) letter(c);
  if (now_ && fresh && unset) now_->unset = true;
}

/// A value: its letters keep their lines.
void Expander::put(const Field& field, bool quoted) {
  const int line = line_;
  const bool fresh = !now_;
  auto mark = field.marks.begin();
  line_ = field.line;
  for (std::size_t i = 0; i < field.text.size(); ++i) {
    int at = line_;
    for (; mark != field.marks.end() && mark->begin <= i; ++mark) at = mark->line;
    line_ = at;
    if (!quoted && !one_ && is_space(field.text[i]))
      end();
    else
      letter(field.text[i]);
    line_ = at;
  }
  if (now_ && fresh && field.unset) now_->unset = true;
  line_ = line;
}

const Choice* Expander::find(std::string_view name) {
  const auto found = variables_.find(name);
  if (found == variables_.end()) return nullptr;
  if (found->second.size() > 1) choices.emplace(name);
  const auto pick = picks_.find(name);
  const Choice& out =
      found->second[pick == picks_.end() ? 0 : std::min(pick->second, found->second.size() - 1)];
  return out.set ? &out : nullptr;
}

void Expander::insert(std::string_view name, std::string_view raw, bool all, bool quoted) {
  const bool list = name == "@" || name == "*";
  const Choice* value = find(name);
  if (!value) {
    if (list) return;  // a script is read as started without arguments
    if (name == "#") return raw_text("0", false);
    unset_used = unset_used || is_name(name);
    opaque = opaque || name == "?" || name == "$" || name == "!" || name == "-";
    return raw_text(raw, true);
  }
  if (!value->array) return put(value->words.front(), quoted);
  if (!all && !list && value->words.size() > 1)
    array_fault =
        fmt::format("{} is an array, of which ${} is the first word: write \"${{{}[@]}}\"", name, name, name);
  for (std::size_t i = 0; i < value->words.size(); ++i) {
    if (i > 0 && one_) letter(' ');
    if (i > 0 && !one_) end();
    if (quoted && !one_) begin();
    put(value->words[i], quoted);
    if (!all && !list) return;
  }
}

void Expander::arithmetic(std::string_view inner, std::string_view raw) {
  std::string plain;
  for (std::size_t at = 0; at < inner.size(); ++at) {  // $NAME and ${NAME} are NAME
    if (inner[at] == '$' && at + 1 < inner.size() &&
        (in_name(inner[at + 1]) || inner[at + 1] == '{' || inner[at + 1] == '#')) {
      const bool braced = inner[at + 1] == '{';
      const std::size_t begin = at + (braced ? 2 : 1), length = name_length(inner.substr(begin));
      if (braced && (begin + length >= inner.size() || inner[begin + length] != '}')) {
        opaque = true;
        return raw_text(raw, false);
      }
      std::string name(inner.substr(begin, length));
      if (name == "#" || (!name.empty() && std::isdigit(static_cast<unsigned char>(name.front())) != 0)) {
        const Choice* argument = find(name);
        const bool number = argument && !argument->array && whole_number(argument->words.front().text);
        name = number ? argument->words.front().text : "?";
      }
      plain += name;
      at = begin + length - (braced ? 0 : 1);
    } else {
      plain += inner[at];
    }
  }
  if (++levels_ > kMostExpansions) throw core::BadInput({file_, line_, ""}, "expansions lie too deep");
  const auto value = arithmetic_value(plain, [&](std::string_view name) -> std::optional<std::int64_t> {
    if (!is_name(name)) return whole_number(name);
    const Choice* found = find(name);
    return found && found->words.size() == 1 ? whole_number(found->words.front().text) : std::nullopt;
  });
  --levels_;
  if (!value) opaque = true;
  raw_text(value ? std::to_string(*value) : std::string(raw), false);
}

void Expander::braces(std::string_view inner, std::string_view raw, bool quoted) {
  const auto unknown = [&] {
    opaque = true;
    raw_text(raw, false);
  };
  if (inner.size() > 1 && inner.front() == '#') {
    const std::string_view name = inner.substr(1, name_length(inner.substr(1)));
    const Choice* found = is_name(name) ? find(name) : nullptr;
    const std::string_view rest = inner.substr(1 + name.size());
    if (!found || (rest != "[@]" && rest != "[*]")) return unknown();
    return raw_text(std::to_string(found->words.size()), false);
  }
  const std::string_view name = inner.substr(0, name_length(inner));
  if (name.empty() || inner.front() == '!') return unknown();
  std::string_view rest = inner.substr(name.size());
  const bool all = rest.starts_with("[@]") || rest.starts_with("[*]");
  if (all) rest.remove_prefix(3);
  if (rest.empty()) return insert(name, raw, all, quoted);
  const bool colon = rest.front() == ':';
  if (colon) rest.remove_prefix(1);
  if (rest.empty() || std::string_view("-=+?").find(rest.front()) == rest.npos) return unknown();
  const char op = rest.front();
  rest.remove_prefix(1);
  const Choice* found = find(name);
  const bool empty =
      !found ||
      (colon && (found->words.empty() || (found->words.size() == 1 && found->words.front().text.empty())));
  if (op == '+' ? empty : !empty) {
    if (op != '+') insert(name, raw, all, quoted);
    return;
  }
  if (op == '?') return unknown();
  if (++levels_ > kMostExpansions) throw core::BadInput({file_, line_, ""}, "expansions lie too deep");
  expand(rest, quoted);
  --levels_;
  if (op == '=') assigned.emplace_back(name, rest);
}

/// One behind what was read.
std::size_t Expander::dollar(std::string_view raw, std::size_t at, bool quoted) {
  const std::size_t end = end_of_part(raw, at);
  if (end == raw.npos || end > raw.size()) {  // closed elsewhere: no shell reads on here
    raw_text(raw.substr(at), false);
    opaque = true;
    return raw.size();
  }
  const std::string_view part = raw.substr(at, end - at);
  if (part.starts_with("$((") && part.ends_with("))")) {
    arithmetic(part.substr(3, part.size() - 5), part);
  } else if (part.starts_with("$(")) {
    opaque = true;
    raw_text(part, false);
  } else if (part.starts_with("${")) {
    braces(part.substr(2, part.size() - 3), part, quoted);
  } else {
    const std::size_t length = name_length(raw.substr(at + 1));
    if (length == 0) {
      if (quoted || at + 1 == raw.size() || (raw[at + 1] != '\'' && raw[at + 1] != '"')) letter('$');
      return at + 1;
    }
    insert(raw.substr(at + 1, length), raw.substr(at, length + 1), false, quoted);
    return at + 1 + length;
  }
  return end;
}

void Expander::expand(std::string_view raw, bool quoted) {
  for (std::size_t at = 0; at < raw.size();) {
    const char c = raw[at];
    if (c == '$') {
      at = dollar(raw, at, quoted);
      continue;
    }
    const std::size_t end = c == '\'' && quoted ? at + 1 : std::min(end_of_part(raw, at), raw.size());
    const std::string_view part = raw.substr(at, end - at);
    at = end;
    if (c == '\\' && part.size() == 2) {
      if (part[1] == '\n') {
        ++line_;
        continue;
      }
      if (quoted && std::string_view("$`\"\\").find(part[1]) == part.npos) letter('\\');
      letter(part[1]);
    } else if (c == '\'' && !quoted && part.size() > 1) {
      begin();
      for (const char inner : part.substr(1, part.size() - 2)) letter(inner);
    } else if (c == '"' && part.size() > 1) {
      const std::string_view inner = part.substr(1, part.size() - 2);
      if (!only_list(inner)) begin();
      if (++levels_ > kMostExpansions) throw core::BadInput({file_, line_, ""}, "expansions lie too deep");
      expand(inner, true);
      --levels_;
    } else if (c == '`') {
      opaque = true;
      raw_text(part, false);
    } else {
      for (const char inner : part)  // spaces are bare only in ${NAME:-several words}
        if (!quoted && !one_ && is_space(inner)) {
          this->end();
          if (inner == '\n') ++line_;
        } else {
          letter(inner);
        }
    }
  }
}

void Expander::add(const Token& word) {
  line_ = word.line;
  expand(word.text, false);
  end();
}

std::vector<Field> Expander::fields() {
  return std::exchange(out_, {});
}

Field Expander::field(const Token& word) {
  one_ = true;
  line_ = word.line;
  expand(word.text, false);
  end();
  one_ = false;
  Field out{"", word.line};
  for (Field& field : fields())  // one at most
    out = std::move(field);
  out.unset = false;
  return out;
}

}  // namespace penstock::frameworks::shell
