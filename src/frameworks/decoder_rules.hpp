#pragma once
// Rules of the table of decoders for keys that no text of a row expresses, one function each.

#include "decoder_keys.hpp"

namespace penstock::frameworks {

/// Writes attention kinds of each layer: `layer_types`, or a default pattern of 's' (window) and 'f' (full),
/// repeated. `period_key`: key that replaces the pattern by one full layer after so many minus one with a
/// window; "" for none. `full`: the word of layers without a window.
void read_windows(DecoderKeys& keys, std::string_view pattern, std::string_view period_key,
                  std::string_view full);

void read_shared_experts(DecoderKeys& keys);  ///< a count of shared experts, each as wide as a routed one
void read_some_shared(DecoderKeys& keys);     ///< read_shared_experts(), at least one
void read_sparse_layers(DecoderKeys& keys);   ///< mlp_layer_types, or dense layers before those with experts
void read_ernie_layers(DecoderKeys& keys);    ///< every so many layers from one to another have experts
void read_own_head(DecoderKeys& keys);      ///< heads together are as wide as the token, whatever head_dim is
void read_four_times(DecoderKeys& keys);    ///< feed-forward four times as wide as the token, if not stated
void read_same_experts(DecoderKeys& keys);  ///< experts as wide as intermediate_size
void read_learned_positions(DecoderKeys& keys);  ///< a table of as many positions as are known
void read_biogpt_positions(DecoderKeys& keys);   ///< two rows more
void read_whole_nope(DecoderKeys& keys);     ///< full layers turn nothing if others have windows (EXAONE 4)
void read_smollm_layers(DecoderKeys& keys);  ///< no_rope_layers
void read_llama4_layers(DecoderKeys& keys);  ///< chunks, layers without positions, interleaved experts
void read_mimo_layers(DecoderKeys& keys);    ///< layers with windows have twice as many heads of keys
void read_dots_layers(DecoderKeys& keys);    ///< windows behind max_window_layers
void read_neo_layers(DecoderKeys& keys);     ///< attention_layers of GPT-Neo
void read_falcon(DecoderKeys& keys);         ///< its two architectures
void read_seed_bias(DecoderKeys& keys);      ///< biases of projections and of the output, each by its key
void read_cohere_norm(DecoderKeys& keys);    ///< RMS norms if their epsilon is stated
void read_mpt(DecoderKeys& keys);            ///< attn_config
void read_multi_query(DecoderKeys& keys);    ///< one head of keys and values (GPT-BigCode)

}  // namespace penstock::frameworks
