#pragma once
// Arguments that are not read: those that no plan states, and those that change nothing.

#include "megatron_arguments.hpp"

namespace penstock::frameworks {

/// Refuses a script of another model, and arguments that make another computation.
void refuse_foreign(MegatronArguments& args);

/// To be called behind all reading: refuses an argument that is neither read nor known to change nothing. One
/// that differs by a letter or two from one that is read names that one.
void refuse_unknown(MegatronArguments& args);

}  // namespace penstock::frameworks
