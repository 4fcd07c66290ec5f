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
ModelInfo llama();
ModelInfo mixtral();
ModelInfo deepseek_v3();
ModelInfo opt();
ModelInfo gpt_neox();
ModelInfo decoder();
ModelInfo encoder_decoder();
ModelInfo resnet50();
ModelInfo vgg16();
ModelInfo vit();
ModelInfo vlm();
ModelInfo dit();
ModelInfo inception_v3();

}  // namespace penstock::models
