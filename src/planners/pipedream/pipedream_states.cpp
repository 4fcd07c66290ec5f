#include "pipedream/pipedream_states.hpp"

#include <algorithm>
#include <map>
#include <queue>

#include "penstock/core/error.hpp"

namespace penstock::planners {
namespace {

using Order = std::vector<std::size_t>;

/// Kahn's algorithm, smallest layer first.
Order layer_order(const LayerGraph& graph) {
  std::vector<std::size_t> waiting(graph.layers.size()), order;
  for (const auto& readers : graph.next)
    for (std::size_t v : readers) ++waiting[v];
  std::priority_queue<std::size_t, Order, std::greater<>> ready;
  for (std::size_t v = 0; v < waiting.size(); ++v)
    if (waiting[v] == 0) ready.push(v);
  while (!ready.empty()) {
    const std::size_t v = ready.top();
    ready.pop();
    order.push_back(v);
    for (std::size_t w : graph.next[v])
      if (--waiting[w] == 0) ready.push(w);
  }
  core::require(order.size() == waiting.size(), "a graph of layers has no cycle");
  return order;
}

template <class F>
void for_each(const LayerSet& set, F&& f) {
  for (std::size_t v = set.find_first(); v != LayerSet::npos; v = set.find_next(v)) f(v);
}

void sum_up(const LayerGraph& graph, CutState& state) {
  state.compute = state.activation = state.parameters = state.output = 0;
  for_each(state.done, [&](std::size_t v) {
    state.compute += graph.layers[v].compute;
    state.activation += graph.layers[v].activation;
    state.parameters += graph.layers[v].parameters;
  });
  for_each(state.frontier, [&](std::size_t v) { state.output += graph.layers[v].activation; });
}

class CutEnumeration {
 public:
  explicit CutEnumeration(const LayerGraph& graph)
      : graph_(graph),
        ancestors_(graph.layers.size(), LayerSet(graph.layers.size())),
        descendants_(ancestors_),
        extras_(ancestors_) {
    const Order order = layer_order(graph);
    for (std::size_t v : order)
      for (std::size_t w : graph.next[v]) (ancestors_[w] |= ancestors_[v]).set(v);
    for (auto v = order.rbegin(); v != order.rend(); ++v)
      for (std::size_t w : graph.next[*v]) (descendants_[*v] |= descendants_[w]).set(w);
    for (std::size_t v = 0; v < extras_.size(); ++v)
      for_each(ancestors_[v], [&](std::size_t p) {
        if (read_elsewhere(p, v)) extras_[v].set(p);
      });
  }

  std::size_t first_source() const {
    std::size_t v = 0;
    while (v < ancestors_.size() && ancestors_[v].any()) ++v;
    return v;
  }

  LayerSet as_set(const Order& layers) const {
    LayerSet out(graph_.layers.size());
    for (std::size_t v : layers) out.set(v);
    return out;
  }

  CutState state(const Order& antichain) const {
    CutState out;
    out.frontier = as_set(antichain);
    for (std::size_t v : antichain) out.frontier |= extras_[v];
    out.done = out.frontier;
    for_each(out.frontier, [&](std::size_t v) { out.done |= ancestors_[v]; });
    sum_up(graph_, out);
    return out;
  }

  /// Members keep their places, because the order in which cuts are found determines the order of the row.
  std::vector<Order> next(const Order& antichain, const LayerSet& frontier) const {
    const LayerSet members = as_set(antichain);
    Order augmented;
    for_each(frontier - members, [&](std::size_t v) { augmented.push_back(v); });
    augmented.insert(augmented.end(), antichain.begin(), antichain.end());
    std::vector<Order> out;
    for (std::size_t x : augmented)
      for (std::size_t y : graph_.next[x])
        if (!members.test(y) && !descendants_[y].intersects(frontier))
          out.push_back(replaced(augmented, x, y));
    return out;
  }

 private:
  bool read_elsewhere(std::size_t p, std::size_t v) const {
    return std::any_of(graph_.next[p].begin(), graph_.next[p].end(),
                       [&](std::size_t reader) { return reader != v && !ancestors_[v].test(reader); });
  }
  Order replaced(Order layers, std::size_t x, std::size_t y) const {
    std::replace(layers.begin(), layers.end(), x, y);
    const LayerSet all = as_set(layers);
    std::erase_if(layers, [&](std::size_t v) { return descendants_[v].intersects(all); });
    return layers;
  }

  const LayerGraph& graph_;
  std::vector<LayerSet> ancestors_, descendants_;
  std::vector<LayerSet> extras_;  ///< [v] ancestors of v with readers other than v and its ancestors
};

/// Reverse post-order of a depth-first search from state 0, which reaches all others.
Order reverse_post_order(const std::vector<CutState>& states) {
  Order order, path{0};
  std::vector<std::size_t> tried(states.size());
  std::vector<bool> seen(states.size());
  seen[0] = true;
  while (!path.empty()) {
    const std::size_t s = path.back();
    if (tried[s] == states[s].next.size()) {
      order.push_back(s);
      path.pop_back();
    } else if (const std::size_t t = states[s].next[tried[s]++]; !seen[t]) {
      seen[t] = true;
      path.push_back(t);
    }
  }
  std::reverse(order.begin(), order.end());
  return order;
}

std::vector<CutState> arranged(std::vector<CutState> states) {
  const Order order = reverse_post_order(states);
  std::vector<std::size_t> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
  std::vector<CutState> out;
  for (std::size_t s : order) {
    out.push_back(std::move(states[s]));
    for (std::size_t& t : out.back().next) t = place[t];
  }
  return out;
}

}  // namespace

std::optional<std::vector<CutState>> antichain_states(const LayerGraph& graph, std::size_t most,
                                                      core::StopToken stop) {
  if (graph.layers.empty()) return std::vector<CutState>{};
  const CutEnumeration cuts(graph);
  std::vector<CutState> states;
  std::vector<Order> antichains;
  std::map<LayerSet, std::size_t> known;
  const auto number = [&](const Order& antichain) {
    const auto [entry, fresh] = known.emplace(cuts.as_set(antichain), states.size());
    if (fresh) {
      states.push_back(cuts.state(antichain));
      antichains.push_back(antichain);
    }
    return entry->second;
  };
  number({cuts.first_source()});
  for (std::size_t s = 0; s < states.size(); ++s) {
    std::vector<std::size_t> next;
    for (const Order& antichain : cuts.next(antichains[s], states[s].frontier)) {
      stop.check();
      const std::size_t t = number(antichain);
      if (std::find(next.begin(), next.end(), t) == next.end()) next.push_back(t);
    }
    if (states.size() > most) return std::nullopt;
    states[s].next = std::move(next);
  }
  return arranged(std::move(states));
}

void weigh(const LayerGraph& graph, std::vector<CutState>& states) {
  for (CutState& state : states) sum_up(graph, state);
}

std::vector<CutState> row_states(const LayerGraph& graph) {
  std::vector<CutState> states;
  LayerSet done(graph.layers.size());
  for (std::size_t v : layer_order(graph)) {
    CutState state;
    state.done = done.set(v);
    state.frontier.resize(done.size());
    for_each(done, [&](std::size_t p) {
      const auto& readers = graph.next[p];
      if (std::any_of(readers.begin(), readers.end(), [&](std::size_t w) { return !done.test(w); }))
        state.frontier.set(p);
    });
    sum_up(graph, state);
    if (!states.empty()) states.back().next = {states.size()};
    states.push_back(std::move(state));
  }
  return states;
}

}  // namespace penstock::planners
