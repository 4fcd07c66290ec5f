#pragma once
// The workload files of Piper: layers with tensor-parallel degrees, recomputation and edges with sizes.
// Tarnawski, Narayanan, Phanishayee, "Piper: Multidimensional Planner for DNN Parallelization", NeurIPS 2021;
// the form is that of the authors' repository (msr-fiddle/piper).

#include <string>
#include <vector>

#include "penstock/graph/dag.hpp"
#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// One way to run a layer. Device memory is per_micro_batch * (micro-batches in flight) + fixed.
struct PiperConfiguration {
  std::string name;
  double time = 0;  ///< p: seconds, forward and backward of one micro-batch, tensor-parallel traffic included
  double per_micro_batch = 0;  ///< a: bytes
  double fixed = 0;            ///< b: bytes
};

/// A layer spread over `degree` devices.
struct PiperDegree {
  int degree = 1;                                  ///< t
  double weights = 0;                              ///< w: bytes on each device
  std::vector<PiperConfiguration> configurations;  ///< one or two (plain, recomputed)
};

struct PiperLayer {
  std::string name;                  ///< unique
  std::vector<PiperDegree> degrees;  ///< ascending; at least one
};

/// Costs of a tensor-parallel end of an edge, added to its bytes where the edge joins two stages.
struct PiperEdge {
  Vertex from = 0;
  Vertex to = 0;
  double bytes = 0;
  std::vector<double> leaving;   ///< [index into degrees of `from`]: bytes the sender adds
  std::vector<double> entering;  ///< [index into degrees of `to`]: bytes the receiver adds
};

/// The devices and the mini-batch that Piper plans for.
struct PiperSetting {
  int devices = 1;        ///< K
  double memory = 0;      ///< M: bytes of a device
  double bandwidth = 1;   ///< B: bytes per second between any two devices
  int micro_batches = 1;  ///< N: per mini-batch
};

struct PiperWorkload {
  std::vector<PiperLayer> layers;  ///< in topological order
  std::vector<PiperEdge> edges;    ///< each leads from a lower to a higher layer
  PiperSetting setting;            ///< the file's defaults
};

Dag dag_of(const PiperWorkload& workload);

/// Unit of a file's `timePerSample`. The format does not state it, and the published files differ: BERT has
/// seconds; GNMT and ResNet have milliseconds, though the published program takes both for seconds.
enum class PiperTime { seconds, milliseconds };

/// Throws BadInput naming file and key ("nodes[3].TMPCs.2[1].timePerSample") on malformed text and missing
/// keys. Numbers must be finite, not negative and not beyond 1e15 bytes or 1e7 seconds. Ids must not repeat;
/// edges must not repeat or join unknown layers; sync entries must match the edges; there are no cycles.
/// Names have at most 128 bytes, files at most 2,000 layers, 20,000 edges and 16 degrees per layer. Piper's
/// own limits hold too: at most two configurations per degree, which agree in weights and sync bytes. Other
/// keys are ignored.
PiperWorkload parse_piper(const std::string& text, const std::string& file, PiperTime unit);
PiperWorkload load_piper(const std::string& path, PiperTime unit);

/// The layers at their smallest degree, plain, as a model of ours in which one sample is one micro-batch of
/// Piper's. Weights are numbers of four bytes, the largest outgoing edge is the one output tensor, and `a` is
/// the saved activations. The part of `b` beyond weights and gradients has no place in it.
OpGraph op_graph_of(const PiperWorkload& workload, const std::string& name);

}  // namespace penstock::graph
