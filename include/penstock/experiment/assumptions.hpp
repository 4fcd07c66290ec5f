#pragma once
// Assumptions of an answer: what the user stated, and the defaults used instead.

#include <optional>
#include <string>
#include <vector>

#include "penstock/cost/problem.hpp"
#include "penstock/frameworks/model_reference.hpp"
#include "penstock/plan/plan.hpp"

namespace penstock::experiment {

struct ProblemAssumption {
  std::string key;      ///< key in JSON, such as "precision"
  std::string words;    ///< value in words, such as "mixed_bf16" or "4096 tokens per sample"
  std::string option;   ///< option that changes it, such as "--precision"; "": none
  std::string keyword;  ///< Python keyword that changes it, such as "precision="; "": none
  bool assumed = true;  ///< false: stated by the user, a plan file or a cluster file
};

/// Precision, optimizer, tokens per sample, mini-batch, reserved memory, runtime, costs, in this order.
using Assumptions = std::vector<ProblemAssumption>;

/// Returns a text such as "assumed: mixed_bf16 (--precision), adam (--optimizer); given: mini-batch 64".
std::string in_words(const Assumptions& assumptions);
/// JSON: an object with `value`, `assumed` and `option` by key.
std::string json_text(const Assumptions& assumptions);
/// Like in_words, with Python's keywords.
std::string in_python_words(const Assumptions& assumptions);

/// Training settings that the user states.
struct StatedTraining {
  std::optional<plan::Optimizer> optimizer{};
  std::optional<std::string> precision{};  ///< name of plan::mixed_precision
  bool reserved = false;                   ///< true: plan::ClusterRef::reserved is stated
  std::string framework{};                 ///< plan::ClusterRef::runtime
};

/// Training settings and reserve with defaults filled in.
struct ChosenTraining {
  plan::Optimizer optimizer = plan::Optimizer::sgd;
  std::optional<plan::MixedPrecision> precision{};  ///< none: the precision of the model
  std::optional<core::Bytes> reserved{};            ///< as in plan::ClusterRef
  std::string precision_note{};                     ///< why it differs from the model's file
};

/// Fills in defaults. A language model (models::is_language_model) gets adam, the precision of its file or
/// else mixed_bf16, and on GPUs the usual reserve (cluster::takes_usual_reserve). If some device has no rate
/// for that kind of 16-bit numbers, the other kind is used, or fp32. Any other model gets sgd, its own
/// precision and no reserve. A model whose parameter element_bytes is given also keeps its own precision.
ChosenTraining choose_training(const frameworks::NamedModel& model, const cluster::Cluster& cluster,
                               const StatedTraining& stated);

/// Gives a model flash attention unless it states its attention: the zoo's other defaults are those of papers.
/// Returns true if that changed the model.
bool choose_attention(plan::ModelRef& model);

/// Usual reserve for a search near a plan of a language model. None if the plan or the cluster's file states
/// one, or if the plan needs that memory itself. The plan must be complete.
std::optional<core::Bytes> usual_reserve(const cost::Problem& problem, const plan::Plan& plan);

/// Flags of the parts that were stated, for a known problem.
struct StatedParts {
  bool precision = false, optimizer = false, tokens = false, mini_batch = true, reserved = false,
       costs = false, loss = false, attention = true;
  std::string precision_note{};
  std::string framework{};  ///< plan::ClusterRef::runtime; "": not stated
};
/// Flags for everything that a plan states. `cluster` is the cluster of `ref`, whose file may state a
/// reserve.
StatedParts stated_by_plan(const plan::ClusterRef& ref, const cluster::Cluster& cluster, bool costs);

Assumptions assumptions(const cost::Problem& problem, const plan::ModelRef& model, const StatedParts& stated);

}  // namespace penstock::experiment
