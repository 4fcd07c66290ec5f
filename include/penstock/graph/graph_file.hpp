#pragma once
// The file form of a computation graph, and its picture.
//
// A model file is JSON, or the same written as YAML:
//
//   {
//     "penstock": "model",
//     "version": 2,
//     "name": "tiny",
//     "element_bytes": 4,                      bytes of one number
//     "operators": [                           in any order
//       {
//         "name": "fc1",                       unique
//         "kind": "linear",                    see OpKind
//         "inputs": ["x"],                     names of the operators whose outputs it consumes, in the
//                                              order of its arguments; twice where it reads one twice
//         "shape": {"in": 8, "out": 16},       named extents, names up to 128 bytes
//         "forward_flops": 256,                per sample, as all FLOPs and sizes here
//         "input_gradient_flops": 256,
//         "weight_gradient_flops": 256,
//         "parameters": 144,                   count of numbers, not bytes
//         "parameters_of": "table",            instead: the operator before it whose parameters it uses
//         "gathered_parameters": 0,
//         "output_bytes": 64,
//         "kept_bytes": 64
//       }
//     ]
//   }
//
// `inputs` and `shape` may be left out when empty, counts and sizes when 0. Nothing else may be added.
//
// Version 1 has no `parameters_of`. A dense layer or table that has work for a weight gradient, but no
// parameters, uses those of the first one before it whose matrix has its size. Version 1 does not state the
// order of operands either: kernels separate them by their size, and of two equal ones the lower number comes
// first.

#include <string>

#include "penstock/graph/op_graph.hpp"

namespace penstock::graph {

/// Operators in their topological order, with every key that has a value; in version 1 where the order of
/// operands is unknown. `parse_graph` gives back this graph.
std::string to_json(const OpGraph& graph);

/// Throws BadInput with file, line and key on malformed text, unknown keys or kinds, repeated names, inputs
/// that name no operator, and cycles. Also throws for numbers that are negative, not finite or above 10^15
/// (10^30 for FLOPs).
OpGraph parse_graph(const std::string& text, const std::string& filename);
OpGraph load_graph(const std::string& path);

/// A Graphviz picture: one box per operator with its kind, one arrow per tensor handed on.
std::string to_dot(const OpGraph& graph);

}  // namespace penstock::graph
