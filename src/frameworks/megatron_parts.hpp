#pragma once
// Parts of a Megatron-LM model that several families of the zoo have.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "megatron_arguments.hpp"

namespace penstock::frameworks {

/// Layers of --hybrid-layer-pattern (before: --hybrid-override-pattern), of one branch each.
struct HybridPattern {
  std::string layers;                ///< M: state space, *: attention, -: dense feed-forward, E: experts
  std::vector<std::int64_t> stages;  ///< layers between the bars of the pattern; one number without bars
};

/// True if the layers are given by a pattern.
bool is_hybrid(MegatronArguments& args);

/// Throws BadInput for another letter, an empty stage, and predictors behind a slash.
HybridPattern hybrid_pattern(MegatronArguments& args);

/// Adds mixers, feed-forwards and the widths of state spaces. `attention`: the word of a layer with attention.
void read_hybrid(MegatronArguments& args, const std::string& attention,
                 std::map<std::string, std::string>& out);

/// Layers: --num-layers, the letters of a pattern, or --encoder-num-layers of a T5.
std::int64_t layer_count(MegatronArguments& args);

/// Words with counts, as "full*3+nope".
std::string counted_words(const std::vector<std::string>& words);

/// By --swiglu, gated_linear_unit of Megatron-Bridge, or --glu-activation of Megatron-DeepSpeed.
bool is_gated(MegatronArguments& args);

/// True unless --disable-bias-linear, or add_bias_linear of Megatron-Bridge, takes the biases of matrices away.
bool has_biases(MegatronArguments& args);

/// True unless both dropouts are 0. Masks take time and memory in every Megatron-LM that has no argument to leave
/// them out.
bool has_dropout(MegatronArguments& args);

bool has_experts(MegatronArguments& args);

/// Heads of keys and values.
std::int64_t kv_heads(MegatronArguments& args);

/// Width of a gated feed-forward.
std::int64_t gated_width(MegatronArguments& args);

/// [layer] 1 if it has experts, else 0. A number N of --moe-layer-freq gives them to every N-th layer from the first.
/// MindSpeed's --first-k-dense-replace takes them from the first layers.
std::vector<std::int64_t> expert_layers(MegatronArguments& args);

/// How rows come to their experts, and how these are run, changes no model. `dense`: width of a feed-forward.
void read_experts(MegatronArguments& args, std::map<std::string, std::string>& out, std::int64_t dense);

/// Ranks and widths of latent attention. Those that are not given are Megatron-LM's (MLATransformerConfig).
void read_latent(MegatronArguments& args, std::map<std::string, std::string>& out);

/// True of a model that has parts which llama, mixtral, deepseek_v3 and gpt lack.
bool is_described(MegatronArguments& args);

/// Parameters of the zoo's decoder that is described layer by layer, beside those that all families share.
void read_described(MegatronArguments& args, std::map<std::string, std::string>& out);

/// Words in the name of the script that the arguments start; none without a script. "pretrain_vision_classify.py"
/// has pretrain, vision and classify. Of folders only the last counts, as in examples/multimodal/train.py.
std::set<std::string, std::less<>> script_words(const MegatronArguments& args);

/// Family of the zoo that a script with an encoder trains: bert of pretrain_bert.py, encoder_decoder of
/// pretrain_t5.py, "" of any other.
std::string encoder_family(const MegatronArguments& args);

/// Parameters of that family, beside those that all families share. Throws BadInput for parts that it lacks.
void read_encoder(MegatronArguments& args, const std::string& family,
                  std::map<std::string, std::string>& out);

/// Operators of that family that tensor parallelism leaves whole: torch's layers in BERT's heads.
std::vector<std::string> whole_operators(const std::string& family);

}  // namespace penstock::frameworks
