#include "penstock/graph/pipedream_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "penstock/core/error.hpp"
#include "penstock/core/files.hpp"
#include "penstock/graph/graph_builder.hpp"

namespace penstock::graph {
namespace {

using core::BadInput;
using Text = std::string_view;

constexpr std::size_t kMostNodes = std::size_t{1} << 16, kMostEdges = std::size_t{1} << 20;
constexpr double kMost = 1e15, kMostMs = 1e10;
constexpr Text kDash = " -- ";
constexpr int kNumberBytes = 4;

/// The text before `mark`, which is taken off `rest` with it; all of it when there is no mark.
Text cut(Text& rest, Text mark) {
  const std::size_t at = rest.find(mark);
  const Text head = rest.substr(0, at);
  rest = at == Text::npos ? Text() : rest.substr(at + mark.size());
  return head;
}

Text trimmed(Text text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\r')) text.remove_suffix(1);
  return text;
}

class PipedreamReader {
 public:
  explicit PipedreamReader(const std::string& file) { graph_.file = file; }

  PipedreamGraph read(Text text) {
    while (!text.empty()) {
      ++line_;
      const Text line = cut(text, "\n");
      if (line.starts_with('\t'))
        edge(line.substr(1));
      else if (!trimmed(line).empty())
        node(line);
    }
    if (graph_.nodes.empty()) fail("", "expected at least one node");
    resolve();
    check_acyclic();
    return std::move(graph_);
  }

 private:
  struct NodeLink {
    std::string from, to;
    int line;
  };

  [[noreturn]] void fail(const std::string& key, const std::string& message) const {
    throw BadInput({graph_.file, line_, key}, message);
  }

  void edge(Text line) {
    if (links_.size() == kMostEdges) fail("", fmt::format("more than {} edges", kMostEdges));
    const Text from = trimmed(cut(line, kDash)), to = trimmed(line);
    if (from.empty() || to.empty()) fail("", "expected an edge: from -- to");
    links_.push_back({std::string(from), std::string(to), line_});
  }

  void node(Text line) {
    if (graph_.nodes.size() == kMostNodes) fail("", fmt::format("more than {} nodes", kMostNodes));
    const std::size_t at = line.rfind(" -- forward_compute_time=");
    Text head = line.substr(0, at);
    if (at == Text::npos || head.find(kDash) == Text::npos)
      fail("", "expected a node: id -- description -- forward_compute_time=..., or an edge after a tab");
    PipedreamNode out;
    out.line = line_;
    out.id = trimmed(cut(head, kDash));
    out.description = trimmed(head);
    if (out.id.empty()) fail("", "the node has no id");
    fields(line.substr(at + kDash.size()), out);
    if (!number_.emplace(out.id, graph_.nodes.size()).second) fail(out.id, "the node appears twice");
    graph_.nodes.push_back(std::move(out));
  }

  void fields(Text rest, PipedreamNode& node) const {
    Text costs = cut(rest, kDash);
    if (!rest.empty()) value(trimmed(rest), "stage_id");
    node.forward_ms = time(trimmed(cut(costs, ",")), "forward_compute_time");
    node.backward_ms = time(trimmed(cut(costs, ",")), "backward_compute_time");
    node.activation_bytes = value(trimmed(cut(costs, ",")), "activation_size");
    node.parameter_bytes = value(trimmed(costs), "parameter_size");
  }

  double time(Text field, Text key) const {
    const double ms = value(field, key);
    if (ms > kMostMs) fail(std::string(key), fmt::format("expected at most {:g} ms", kMostMs));
    return ms;
  }

  double value(Text field, Text key) const {
    const Text name = cut(field, "=");
    if (name != key) fail(std::string(key), fmt::format("expected {}=<number>, found '{}'", key, name));
    if (!field.starts_with('[')) return number(field, key);
    if (key != "activation_size" || !field.ends_with(']')) fail(std::string(key), "expected one number");
    field = field.substr(1, field.size() - 2);
    double sum = 0;
    do sum += number(trimmed(cut(field, ";")), key);
    while (!field.empty());
    if (sum > kMost) fail(std::string(key), fmt::format("expected a sum of at most {:g}", kMost));
    return sum;
  }

  double number(Text text, Text key) const {
    double out = 0;
    const auto [rest, fault] = std::from_chars(text.data(), text.data() + text.size(), out);
    if (fault != std::errc() || rest != text.data() + text.size() || !(out >= 0 && out <= kMost))
      fail(std::string(key),
           fmt::format("expected a number from 0 to {:g}, found '{}'", kMost, text.substr(0, 40)));
    return out;
  }

  void resolve() {
    for (const NodeLink& link : links_) {
      line_ = link.line;
      graph_.edges.emplace_back(find(link.from), find(link.to));
      graph_.nodes[graph_.edges.back().second].source = false;
    }
  }
  std::size_t find(const std::string& id) const {
    const auto found = number_.find(id);
    if (found == number_.end()) fail(id, "the edge names a node that does not exist");
    return found->second;
  }

  /// Takes away nodes without predecessors until none is left.
  void check_acyclic() {
    std::vector<std::size_t> waiting(graph_.nodes.size()), ready;
    std::vector<std::vector<std::size_t>> next(graph_.nodes.size());
    for (const auto& [from, to] : graph_.edges) {
      next[from].push_back(to);
      ++waiting[to];
    }
    for (std::size_t v = 0; v < waiting.size(); ++v)
      if (waiting[v] == 0) ready.push_back(v);
    for (std::size_t done = 0; done < ready.size(); ++done)
      for (std::size_t w : next[ready[done]])
        if (--waiting[w] == 0) ready.push_back(w);
    if (ready.size() == waiting.size()) return;
    for (const auto& [from, to] : graph_.edges)
      if (waiting[from] > 0 && waiting[to] > 0) {
        line_ = graph_.nodes[to].line;
        fail(graph_.nodes[to].id, "the node is on a cycle, or after one");
      }
  }

  PipedreamGraph graph_;
  std::vector<NodeLink> links_;
  std::unordered_map<std::string, std::size_t> number_;
  int line_ = 0;
};

core::Bytes per_sample(double bytes, std::int64_t samples) {
  return core::Bytes(static_cast<std::int64_t>(std::ceil(bytes / static_cast<double>(samples))));
}

Operator to_operator(const PipedreamGraph& graph, std::size_t v, std::int64_t samples) {
  const PipedreamNode& node = graph.nodes[v];
  const double count = node.parameter_bytes / kNumberBytes;
  if (count != std::floor(count))
    throw BadInput({graph.file, node.line, "parameter_size"}, "expected whole numbers of 4 bytes");
  Operator op;
  op.name = node.id;
  op.kind = graph.is_input(v) ? OpKind::input : OpKind::profiled;
  op.parameters = static_cast<std::int64_t>(count);
  op.output_bytes = per_sample(node.activation_bytes, samples);
  op.saved_bytes = graph.is_input(v) ? core::Bytes(0) : op.output_bytes;
  return op;
}

}  // namespace

bool PipedreamGraph::is_input(std::size_t node) const {
  return nodes[node].source && nodes[node].description.starts_with("Input");
}

PipedreamGraph parse_pipedream_graph(const std::string& text, const std::string& filename) {
  return PipedreamReader(filename).read(text);
}

PipedreamGraph load_pipedream_graph(const std::string& path) {
  return parse_pipedream_graph(core::read_file(path), path);
}

namespace {

/// Layer that each one is part of, as idle layers join their neighbours one after the other.
class LayerHosts {
 public:
  explicit LayerHosts(const PipedreamGraph& graph)
      : graph_(graph), gone_(graph.nodes.size()), before_(graph.nodes.size()), after_(graph.nodes.size()) {
    for (const auto& [from, to] : graph.edges) join(from, to);
  }

  PipedreamGraph joined() {
    for (bool changed = true; changed;) {
      changed = false;
      for (std::size_t v = 0; v < gone_.size(); ++v)
        if (const auto host = host_of(v)) {
          remove(v, *host);
          changed = true;
        }
    }
    return rest();
  }

 private:
  void join(std::size_t from, std::size_t to) {
    if (from == to || std::ranges::find(after_[from], to) != after_[from].end()) return;
    after_[from].push_back(to);
    before_[to].push_back(from);
  }

  std::optional<std::size_t> host_of(std::size_t v) const {
    const PipedreamNode& node = graph_.nodes[v];
    if (gone_[v] || graph_.is_input(v) || node.forward_ms > 0 || node.backward_ms > 0 ||
        node.parameter_bytes > 0)
      return std::nullopt;
    if (after_[v].empty() && before_[v].size() == 1) return before_[v].front();
    double read = 0;
    for (const std::size_t u : before_[v]) read += graph_.nodes[u].activation_bytes;
    if (after_[v].size() == 1 && read <= node.activation_bytes) return after_[v].front();
    return std::nullopt;
  }

  /// Makes its neighbours the host's.
  void remove(std::size_t v, std::size_t host) {
    gone_[v] = true;
    for (const std::size_t u : before_[v]) std::erase(after_[u], v);
    for (const std::size_t w : after_[v]) std::erase(before_[w], v);
    for (const std::size_t u : before_[v]) join(u, host);
  }

  PipedreamGraph rest() const {
    PipedreamGraph out{graph_.file, {}, {}};
    std::vector<std::size_t> number(gone_.size());
    for (std::size_t v = 0; v < gone_.size(); ++v) {
      if (gone_[v]) continue;
      number[v] = out.nodes.size();
      out.nodes.push_back(graph_.nodes[v]);
      out.nodes.back().source = before_[v].empty();
    }
    for (std::size_t v = 0; v < gone_.size(); ++v)
      for (const std::size_t w : after_[v])
        if (!gone_[v]) out.edges.emplace_back(number[v], number[w]);
    return out;
  }

  const PipedreamGraph& graph_;
  std::vector<bool> gone_;
  std::vector<std::vector<std::size_t>> before_, after_;
};

}  // namespace

PipedreamGraph without_idle(const PipedreamGraph& graph) {
  return LayerHosts(graph).joined();
}

OpGraph to_op_graph(const PipedreamGraph& graph, const std::string& name, std::int64_t samples) {
  GraphBuilder builder(name, kNumberBytes);
  for (std::size_t v = 0; v < graph.nodes.size(); ++v) builder.add(to_operator(graph, v, samples));
  for (const auto& [from, to] : graph.edges) builder.add_edge(core::OpId(from), core::OpId(to));
  return builder.build();
}

}  // namespace penstock::graph
