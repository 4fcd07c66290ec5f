#include "lengths_file.hpp"

#include <algorithm>
#include <array>
#include <charconv>

#include "penstock/core/spelling.hpp"

namespace penstock::sim {
namespace {

using core::Yaml;

constexpr std::int64_t kMostTokens = 1'000'000'000;

std::int64_t tokens(const Yaml& node) {
  return node.integer(1, kMostTokens);
}

LognormalLengths lognormal(const Yaml& node) {
  constexpr double kMostSigma = 10;
  node.only({"median", "sigma"});
  const LognormalLengths out{node.at("median").number(), node.at("sigma").number()};
  if (!(out.median >= 1) || out.median > static_cast<double>(kMostTokens))
    node.at("median").fail("expected a number of tokens, at least 1");
  if (!(out.sigma >= 0) || out.sigma > kMostSigma)
    node.at("sigma").fail("expected the standard deviation of the logarithm, from 0 to 10");
  return out;
}

UniformLengths uniform(const Yaml& node) {
  node.only({"from", "to"});
  const UniformLengths out{tokens(node.at("from")), tokens(node.at("to"))};
  if (out.to < out.from) node.at("to").fail("expected no less than 'from'");
  return out;
}

/// Parses a key that is a number of tokens.
std::int64_t length_of(const std::string& key, const Yaml& node) {
  std::int64_t out = 0;
  const auto [end, fault] = std::from_chars(key.data(), key.data() + key.size(), out);
  if (fault != std::errc() || end != key.data() + key.size() || out < 1 || out > kMostTokens)
    node.fail("expected a length in tokens and how many sequences have it, such as 512: 40");
  return out;
}

CountedLengths counted(const Yaml& node) {
  constexpr std::int64_t kMostSequences = 1'000'000'000'000;
  std::vector<std::pair<std::int64_t, std::int64_t>> counts;
  for (const auto& [key, value] : node.entries())
    counts.emplace_back(length_of(key, value), value.integer(1, kMostSequences));
  if (counts.empty()) node.fail("expected lengths and how many sequences have them");
  std::ranges::sort(counts);
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < counts.size(); ++i) {
    if (i > 0 && counts[i].first == counts[i - 1].first)
      node.fail(std::to_string(counts[i].first) + " appears twice");
    sum = counts[i].second += sum;
    if (sum > kMostSequences) node.fail("too many sequences");
  }
  return {std::move(counts)};
}

SequenceLengths::SequencePacking packing(const Yaml& node) {
  std::array<std::string_view, 3> names;
  for (std::size_t i = 0; i < names.size(); ++i)
    names[i] = name(static_cast<SequenceLengths::SequencePacking>(i));
  const std::string text = node.text();
  const auto found = std::ranges::find(names, text);
  if (found == names.end())
    node.fail("unknown packing; " + core::did_you_mean(text, {names.begin(), names.end()}));
  return static_cast<SequenceLengths::SequencePacking>(found - names.begin());
}

std::int64_t pad(const Yaml& node) {
  if (node.text() == "none") return 1;
  if (node.text() == "maximum") return SequenceLengths::kFull;
  if (node.text().find_first_not_of("0123456789") != std::string::npos)
    node.fail("expected none, maximum or a number of tokens that samples are padded to multiples of");
  return tokens(node);
}

}  // namespace

SequenceLengths read_lengths(const Yaml& node) {
  node.only({"lognormal", "uniform", "counts", "maximum", "packing", "pad"});
  SequenceLengths out;
  out.place = node.place();
  int given = 0;
  if (const auto d = node.find("lognormal")) out.distribution = lognormal(*d), ++given;
  if (const auto d = node.find("uniform")) out.distribution = uniform(*d), ++given;
  if (const auto d = node.find("counts")) out.distribution = counted(*d), ++given;
  if (given != 1) node.fail("expected one of lognormal, uniform and counts");
  if (const auto maximum = node.find("maximum")) out.maximum = tokens(*maximum);
  if (const auto how = node.find("packing")) out.packing = packing(*how);
  if (const auto to = node.find("pad")) out.pad = pad(*to);
  return out;
}

}  // namespace penstock::sim
