#include "divide_activations.hpp"

#include <algorithm>
#include <limits>
#include <numeric>
#include <set>

#include "penstock/graph/in_place.hpp"

namespace penstock::cost {
namespace {

using core::Bytes;
using core::OpId;

constexpr std::size_t kElsewhere = std::numeric_limits<std::size_t>::max(), kSaved = kElsewhere - 1;

/// By operator of the graph: its segment, kSaved in none of them, kElsewhere in another stage.
std::vector<std::size_t> segment_of(const graph::OpGraph& graph, const plan::Stage& stage,
                                    const std::vector<std::vector<OpId>>& segments) {
  std::vector<std::size_t> out(graph.size(), kElsewhere);
  for (const OpId id : stage.operators) out[id.index()] = kSaved;
  for (std::size_t s = 0; s < segments.size(); ++s)
    for (const OpId id : segments[s]) out[id.index()] = s;
  return out;
}

/// Bytes of a micro-batch by the moment at which they are free.
struct DividedBytes {
  std::vector<Bytes>
      saved;  ///< [operator of the graph] saved bytes that its backward pass is the last to read
  std::vector<Bytes> made;  ///< [segment], then cores: bytes that exist from recomputation on
};

/// Adds each copy to what is saved, until the backward pass of its first reader, or to every segment that
/// reads it.
void add_copies(std::span<const HeldCopy> copies, const std::vector<std::size_t>& where,
                DividedBytes& bytes) {
  for (const HeldCopy& held : copies) {
    std::set<std::size_t> segments;
    for (const OpId reader : held.copy.readers) segments.insert(where[reader.index()]);
    if (segments.contains(kSaved))
      bytes.saved[std::ranges::min(held.copy.readers).index()] += held.bytes;
    else
      for (const std::size_t s : segments) bytes.made[s] += held.bytes;
  }
}

/// Bytes of the fullest moment of a backward pass that recomputes layer by layer. The pass begins with
/// everything saved. Where it recomputes a layer, what operators behind that layer saved is free.
Bytes fullest_by_layer(const DividedBytes& bytes, const std::vector<std::vector<OpId>>& layers) {
  std::vector<Bytes> up_to(bytes.saved.size());
  std::partial_sum(bytes.saved.begin(), bytes.saved.end(), up_to.begin());
  Bytes most = up_to.back();
  for (std::size_t s = 0; s < layers.size(); ++s)
    most = std::max(most, up_to[layers[s].back().index()] + bytes.made[s]);
  return most;
}

}  // namespace

void divide_activations(StageLoad& load, const graph::OpGraph& graph, const plan::Stage& stage,
                        const ActivationsOf& activations_of, std::span<const HeldCopy> copies) {
  const auto segments = plan::segments(graph, stage.operators, stage.recompute);
  const auto where = segment_of(graph, stage, segments);
  const auto cores = plan::inner_cores(graph, stage.operators, stage.recompute);
  DividedBytes bytes{std::vector<Bytes>(graph.size()), std::vector<Bytes>(segments.size())};
  auto& [saved, made] = bytes;
  add_copies(copies, where, bytes);
  for (const OpId id : stage.operators) {
    const ActivationBytes activations = activations_of(id);
    const std::size_t here = where[id.index()];
    if (here == kSaved) {
      const bool again = std::binary_search(cores.begin(), cores.end(), id);
      if (again) made.push_back(std::min(activations.core, activations.all));
      saved[id.index()] += again ? activations.all - made.back() : activations.all;
      continue;
    }
    const auto readers = graph.dag().successors(static_cast<graph::Vertex>(id.index()));
    const bool read_outside = std::any_of(readers.begin(), readers.end(), [&](graph::Vertex v) {
      const std::size_t there = where[static_cast<std::size_t>(v)];
      return there != here && there != kElsewhere;
    });
    saved[id.index()] += read_outside ? activations.output : Bytes(0);
    made[here] += activations.all - (read_outside ? std::min(activations.output, activations.all) : Bytes(0));
    // A view, or an operator in place, shares the memory of its input, or of the copy that it reads.
    const auto under = read_outside ? graph::lies_on(graph, id) : std::nullopt;
    if (!under) continue;
    const auto copy = std::ranges::find_if(copies, [&](const HeldCopy& held) {
      return held.copy.tensor == *under && std::ranges::count(held.copy.readers, id) > 0;
    });
    if (copy != copies.end()) {
      made[here] -= std::min(activations.output, copy->bytes);
    } else if (where[under->index()] == here) {
      const ActivationBytes input = activations_of(*under);
      made[here] -= std::min({activations.output, input.output, input.all});
    }
  }
  load.saved = std::accumulate(saved.begin(), saved.end(), Bytes(0));
  if (stage.recompute.of == plan::Recomputation::SegmentScope::layers)
    load.activations = fullest_by_layer(bytes, segments) - load.saved;
  else
    load.activations = made.empty() ? Bytes(0) : std::max(Bytes(0), std::ranges::max(made));
}

}  // namespace penstock::cost
