#pragma once
// One function per model file; catalogue.cpp lists them.

#include "models/catalogue.hpp"

namespace penstock::models {

ModelInfo mmt();
ModelInfo dlrm();
ModelInfo candle_uno();
ModelInfo case_study();
ModelInfo clip();
ModelInfo transformer();
ModelInfo bert();
ModelInfo gpt();
ModelInfo encoder_decoder();

}  // namespace penstock::models
