#pragma once
// A decoder-only language model as a value, and the one builder that makes operators of it.

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "models/delta_net.hpp"
#include "models/layers.hpp"
#include "models/mixture.hpp"
#include "models/selective_scan.hpp"
#include "models/short_convolution.hpp"
#include "models/state_space.hpp"

namespace penstock::models {

/// Where the norms of a layer are. `before`: each branch reads a normalised input (GPT-2). `after`: each
/// branch's output is normalised before it is added (OLMo 2). `both`: (Gemma 2). `sum`: each sum is normalised
/// (GPT-1).
enum class NormPlace : std::uint8_t { before, after, both, sum };

/// How the two branches of a layer follow each other. `side_by_side`: both read the layer's input, each through
/// a norm of its own (GPT-NeoX). `shared_norm`: both read one norm (GPT-J).
enum class BranchOrder : std::uint8_t { in_turn, side_by_side, shared_norm };

/// Attention over heads of the token's own projections.
struct HeadAttention {
  std::int64_t heads = 0;
  AttentionForm form;
  bool split = false;  ///< seven operators instead of one (self_attention)
};

/// Attention over keys and values that are projected from a narrow vector (DeepSeek-V2, 2024, section 2.1).
struct LatentAttention {
  std::int64_t heads = 0, query_rank = 0,
               key_rank = 0;  ///< query_rank 0: queries are projected from the token
  std::int64_t head = 0, rotary = 0,
               value = 0;  ///< widths: of a head's own keys, of the shared part, of values
  AttentionMask mask = AttentionMask::causal;
  NormKind norm = NormKind::rms;  ///< of the narrow vectors
  bool output_bias = false, dropout = false;
};

/// A layer without this branch, as Mamba has no feed-forwards. Layers side by side have both branches.
struct NoBranch {};

/// The part of a layer that mixes tokens. New kinds of operators are further alternatives.
using Mixer = std::variant<HeadAttention, LatentAttention, StateSpace, SelectiveScan, DeltaNet,
                           GatedConvolution, NoBranch>;

/// Two matrices with an activation between; three if the activation has a gate.
struct DenseForm {
  std::int64_t width = 0;  ///< between the matrices; of gate and up projection each
  Activation activation = Activation::swiglu;
  bool biases = false;
  std::int64_t activation_weights = 0;  ///< numbers that the activation trains, where it has no gate
  bool numbered = false;  ///< operators are dense1, activation and dense2, as GPT's, even with a gate
};

using FeedForward = std::variant<DenseForm, Mixture, NoBranch>;

struct DecoderLayer {
  NormKind norm = NormKind::rms;
  NormPlace place = NormPlace::before;
  BranchOrder order = BranchOrder::in_turn;
  Mixer mixer;
  FeedForward feed_forward;
  bool dropout = false;  ///< of what either branch adds
};

struct Decoder {
  std::int64_t tokens = 0;  ///< of a sample
  std::int64_t width = 0, vocabulary = 0;
  std::int64_t positions = 0;  ///< rows of a table of learned positions; 0: none
  bool embedding_norm = false;
  std::vector<DecoderLayer> layers;
  NormKind norm = NormKind::rms;  ///< of the embeddings and before the head
  bool final_norm = true;
  bool tied_head = false;  ///< the head uses the token embedding's weights
  bool head_bias = false;
  graph::LossKernel loss = graph::LossKernel::none;  ///< none: the model ends in logits
  /// Layer of a module that predicts the token after the next (DeepSeek-V3, 2024, section 2.2).
  std::optional<DecoderLayer> predicted{};
};

/// Appends one layer: <name>.norm1, .attention (or .mixer), .add1, .norm2, the feed-forward's operators, .add2.
/// Norms of outputs are .norm1 and .norm2, or .after1 and .after2 where inputs have norms, too. Side by side
/// there is one sum, .add. A branch that a layer lacks has no norm and no sum.
Tensor decoder_layer(Layers& net, const std::string& name, const Tensor& x, const DecoderLayer& layer);

/// The operators of a whole decoder, per sample. The description must fit: widths, heads and experts are
/// checked where parameters are read.
graph::OpGraph build_decoder(const std::string& model, int element_bytes, const Decoder& decoder);

}  // namespace penstock::models
