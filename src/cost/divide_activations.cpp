#include "divide_activations.hpp"

#include <algorithm>
#include <limits>
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

/// Each copy to what is saved, or to every segment that reads it.
void add_copies(std::span<const HeldCopy> copies, const std::vector<std::size_t>& where, Bytes& saved,
                std::vector<Bytes>& made) {
  for (const HeldCopy& held : copies) {
    std::set<std::size_t> segments;
    for (const OpId reader : held.copy.readers) segments.insert(where[reader.index()]);
    if (segments.contains(kSaved))
      saved += held.bytes;
    else
      for (const std::size_t s : segments) made[s] += held.bytes;
  }
}

}  // namespace

void divide_activations(StageLoad& load, const graph::OpGraph& graph, const plan::Stage& stage,
                        const ActivationsOf& activations_of, std::span<const HeldCopy> copies) {
  const auto segments = plan::segments(graph, stage.operators, stage.recompute);
  const auto where = segment_of(graph, stage, segments);
  const auto cores = plan::inner_cores(graph, stage.operators, stage.recompute);
  std::vector<Bytes> made(segments.size());
  load.saved = Bytes(0);
  add_copies(copies, where, load.saved, made);
  for (const OpId id : stage.operators) {
    const ActivationBytes activations = activations_of(id);
    const std::size_t here = where[id.index()];
    if (here == kSaved) {
      const bool again = std::binary_search(cores.begin(), cores.end(), id);
      if (again) made.push_back(std::min(activations.core, activations.all));
      load.saved += again ? activations.all - made.back() : activations.all;
      continue;
    }
    const auto readers = graph.dag().successors(static_cast<graph::Vertex>(id.index()));
    const bool read_outside = std::any_of(readers.begin(), readers.end(), [&](graph::Vertex v) {
      const std::size_t there = where[static_cast<std::size_t>(v)];
      return there != here && there != kElsewhere;
    });
    load.saved += read_outside ? activations.output : Bytes(0);
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
  load.activations =
      made.empty() ? Bytes(0) : std::max(Bytes(0), *std::max_element(made.begin(), made.end()));
}

}  // namespace penstock::cost
