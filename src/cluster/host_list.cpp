#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <map>

#include "penstock/cluster/machine_topology.hpp"
#include "penstock/core/error.hpp"
#include "text_lines.hpp"

namespace penstock::cluster {
namespace {

constexpr int kMostSlots = 1024;

/// Fails with the line of a list of hosts.
struct HostLine {
  const std::string& file;
  int line;
  [[noreturn]] void fail(const std::string& message) const {
    throw core::BadInput({file, line, ""}, message);
  }

  int slots(std::string_view text) const {
    const auto number = whole_number(text);
    if (!number || *number < 1 || *number > kMostSlots)
      fail(fmt::format("expected 1 to {} slots; found '{}'", kMostSlots, text));
    return *number;
  }
};

/// Splits "node1:8", MPICH's form. A colon with more behind it is no host's.
ListedHost host_named(const std::string& word, const HostLine& at) {
  ListedHost out{word, {}, at.line};
  if (const std::size_t colon = word.find(':'); colon != word.npos) {
    out.name = word.substr(0, colon);
    out.slots = at.slots(std::string_view(word).substr(colon + 1));
  }
  if (word.find('[') != word.npos)
    at.fail(fmt::format("'{}' is a compressed list: expand it with scontrol show hostnames", word));
  if (out.name.empty() || !std::ranges::all_of(out.name, [](unsigned char c) {
        return std::isalnum(c) || c == '.' || c == '-' || c == '_';
      }))
    at.fail(fmt::format("'{}' is not a host's name", word));
  return out;
}

/// Reads slots=8. max_slots is a limit for jobs that start more processes than there are slots.
void read_setting(const std::string& word, ListedHost& host, const HostLine& at) {
  const std::size_t equal = word.find('=');
  const std::string key = word.substr(0, equal);
  if (equal == word.npos || (key != "slots" && key != "max_slots" && key != "max-slots"))
    at.fail(fmt::format("unknown word '{}'; expected slots=N or max_slots=N behind a host", word));
  const int number = at.slots(std::string_view(word).substr(equal + 1));
  if (key != "slots") return;
  if (host.slots && *host.slots != number) at.fail(fmt::format("{} has two numbers of slots", host.name));
  host.slots = number;
}

}  // namespace

std::vector<ListedHost> parse_host_list(std::string_view text, const std::string& file) {
  std::vector<ListedHost> out;
  std::map<std::string, int> listed;  // line by name
  int line = 0;
  for (auto& words : lines_of_words(text)) {
    ++line;
    const HostLine at{file, line};
    const auto comment = std::ranges::find_if(words, [](const auto& word) { return word.starts_with('#'); });
    words.erase(comment, words.end());
    if (words.empty()) continue;
    ListedHost host = host_named(words[0], at);
    for (std::size_t w = 1; w < words.size(); ++w) read_setting(words[w], host, at);
    const auto [before, fresh] = listed.emplace(host.name, line);
    if (!fresh) at.fail(fmt::format("host {} is listed twice, first in line {}", host.name, before->second));
    out.push_back(std::move(host));
  }
  if (out.empty()) throw core::BadInput({file, 0, ""}, "expected a host in a line; the list is empty");
  return out;
}

}  // namespace penstock::cluster
